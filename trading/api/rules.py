"""Rules read from facts over REST."""

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from config.lib.rest.views import ApiRequest, ApiView
from trading.api.serializers.rules import RulesSerializer
from trading.rules.services import list_rule_records


class RulesView(ApiView):
    @extend_schema(operation_id="list_rules", tags=["trades"], responses=RulesSerializer)
    def get(self, request: ApiRequest) -> Response:
        """List the confirmed rules, with how the trades kept them."""
        return Response(RulesSerializer({"rules": list_rule_records()}).data)
