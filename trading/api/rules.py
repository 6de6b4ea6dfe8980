"""Rules read from facts over REST."""

from typing import Any

from config.lib.rest.operations import read
from config.lib.rest.views import ApiView
from trading.api.serializers.rules import RulesSerializer
from trading.rules.services import list_rule_records


class RulesView(ApiView):
    @read("list_rules", "trades", RulesSerializer)
    def get(self) -> Any:
        """List the confirmed rules, with how the trades kept them."""
        return {"rules": list_rule_records()}
