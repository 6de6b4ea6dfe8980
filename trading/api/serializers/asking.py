"""Questions to the record and their answers."""

from typing import Any, ClassVar

from rest_framework import serializers

from config.lib.rest.views import InputSerializer
from trading.api.serializers.fields import ValueSerializer
from trading.asking.query import GROUPS, MEASURES, QUESTION
from trading.asking.sizing import NUMBERS, PLAN


def _describe_word(name: str) -> str:
    several = "One value, or several with commas between them."
    return {
        "measure": f"{', '.join(MEASURES)}; by default net.",
        "group": f"{', '.join(GROUPS)}; empty: no groups.",
        "period": "Of the exit, in the user's zone: last month, last 30 days, 2026-03, 2026-03-01..2026-03-15.",
        "hour": f"Of the entry, such as 14 or 9-17. {several}",
        "skill": "Its id or its name.",
        "deployment": "Its id; that of a backtest's deployment counts the backtest's trades.",
        **NUMBERS,
    }.get(name, several)


class _WordsQuery(InputSerializer):
    """Words that the record's own parser reads."""

    words: ClassVar[tuple[str, ...]] = ()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return a field for each word."""
        return {
            name: serializers.CharField(default="", max_length=200, help_text=_describe_word(name))
            for name in self.words
        }


class QuestionQuery(_WordsQuery):
    """A question; what is left out lets all trades pass."""

    words = QUESTION


class PlanQuery(_WordsQuery):
    """A planned trade; symbol and side are needed."""

    words = PLAN


class RecordAnswerSerializer(ValueSerializer):
    """The answer to a question; null: not known."""

    measure = serializers.CharField()
    unit = serializers.CharField(help_text="usd, count, pct (0..100), ratio, minutes or r.")
    scope = serializers.CharField(help_text="Which trades, in words.")
    period = serializers.DictField(
        child=serializers.CharField(allow_null=True),
        required=False,
        help_text="The first day (from) and the last (to), null: not bounded; zone.",
    )
    n = serializers.IntegerField(help_text="Trades that the value rests on.")
    value = serializers.FloatField(allow_null=True)
    mean = serializers.FloatField(required=False, help_text="Of a sum: what a trade adds.")
    interval_90pct = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        allow_null=True,
        help_text="Null below five trades; an upper null is not bounded. Groups share the 90 %.",
    )
    interval_of = serializers.CharField(help_text="value, or mean where the value is a sum.")
    not_known = serializers.IntegerField(required=False, help_text="Trades without a known value.")
    is_too_few = serializers.BooleanField()
    groups = serializers.ListField(
        child=serializers.DictField(),
        required=False,
        help_text="Of each group its name with n, value, mean and interval; of the group trade each trade's value.",
    )
    groups_left_out = serializers.IntegerField(required=False)
    best = serializers.DictField(required=False, help_text="The trade with the highest value; worst: the lowest.")
    worst = serializers.DictField(required=False)
    trade_ids = serializers.ListField(child=serializers.UUIDField(), help_text="The last to close, newest first.")
    trades_left_out = serializers.IntegerField(required=False)
    link = serializers.CharField(help_text="The page that answers the question.")
