"""The signed-in user over REST."""

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from config.lib.rest.views import ApiRequest, ApiView
from trading.api.serializers.account import MeSerializer


class MeView(ApiView):
    @extend_schema(operation_id="get_me", tags=["me"], responses=MeSerializer)
    def get(self, request: ApiRequest) -> Response:
        """Tell who is signed in."""
        return Response(MeSerializer(request.user).data)
