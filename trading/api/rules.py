"""Rules read from facts over REST."""

from typing import Any

from rest_framework import serializers

from config.lib.rest.operations import read
from config.lib.rest.views import ApiView, define_answer
from config.lib.words.rules import KINDS
from trading.api.fields import ValueSerializer
from trading.api.skills import PerformanceSerializer
from trading.rules.services import list_rule_records


class RuleSerializer(ValueSerializer):
    """A confirmed rule with its record."""

    id = serializers.UUIDField(source="row.id")
    fact_id = serializers.UUIDField(source="row.fact_id")
    words = serializers.CharField(source="row.words", help_text="The fact.")
    kind = serializers.ChoiceField([*KINDS], source="row.payload.kind")
    reading = serializers.CharField(help_text="The rule in plain words.")
    valid_from = serializers.DateTimeField(source="row.valid_from")
    valid_until = serializers.DateTimeField(source="row.valid_until", allow_null=True)
    kept_trades = serializers.ListField(child=serializers.UUIDField(), source="trade_ids.kept")
    broken_trades = serializers.ListField(child=serializers.UUIDField(), source="trade_ids.broken")
    unknown_trades = serializers.ListField(child=serializers.UUIDField(), source="trade_ids.unknown")
    unknown_reasons = serializers.DictField(
        child=serializers.IntegerField(), source="whys", help_text="Why Keel cannot tell, with the number of trades."
    )
    kept = PerformanceSerializer()
    broken = PerformanceSerializer()


RulesSerializer = define_answer("Rules", "The rules, newest first.", rules=RuleSerializer(many=True))


class RulesView(ApiView):
    areas = frozenset(("record",))

    @read("list_rules", RulesSerializer)
    def get(self) -> Any:
        """List the confirmed rules, with how the trades kept them."""
        return {"rules": list_rule_records()}
