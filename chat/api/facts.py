"""What a fact's erasure takes out of chats, over REST."""

from http import HTTPStatus
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from chat.api.serializers.facts import EraseInput
from chat.endings.erasure import erase_fact
from config.lib.owned import owned_tx
from config.lib.rest.views import ApiRequest, ApiView


class EraseFactView(ApiView):
    @extend_schema(operation_id="erase_fact", tags=["facts"], request=EraseInput, responses={204: None})
    def post(self, request: ApiRequest, fact_id: UUID) -> Response:
        """Erase a trashed fact everywhere, chats included. This cannot be undone."""
        fields = self.body(EraseInput)
        with owned_tx(request.user):
            erase_fact(fact_id=fact_id, **fields)
        return Response(status=HTTPStatus.NO_CONTENT)
