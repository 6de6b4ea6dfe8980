from typing import Any, ClassVar

from rest_framework import serializers

from chat.models import UsageDay
from chat.parts import Json
from config.lib.rest.views import RowSerializer


class UsageDaySerializer(RowSerializer):
    """Model usage of one UTC day; cached and cache write tokens are prompt tokens."""

    class Meta:
        model = UsageDay
        fields = (
            *("day", "turns", "prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens"),
            *("reserved_tokens", "cost_usd", "saved_usd"),
        )
        extra_kwargs: ClassVar[Json] = {
            "cost_usd": {"help_text": "As far as prices are known."},
            "saved_usd": {"help_text": "By the providers' caches; negative until what was written is read."},
        }


class BudgetSerializer(serializers.Serializer[Any]):
    """What may be used today; it is counted anew at 00:00 UTC."""

    day = serializers.DateField()
    budget_tokens = serializers.IntegerField()
    used_tokens = serializers.IntegerField(help_text="With those that running turns have reserved.")
    left_tokens = serializers.IntegerField()


class UsageSerializer(serializers.Serializer[Any]):
    """Today's budget, and a page of days."""

    today = BudgetSerializer()
    items = UsageDaySerializer(many=True)
    next_cursor = serializers.CharField(help_text="Ask for the next page with it; empty: this is the last one.")
