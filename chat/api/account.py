"""What a user has here as a whole, over REST: its use of models and its export."""

from typing import Any, ClassVar

from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers

from chat.conversations.usage import get_daily_budget, get_day
from chat.endings.export import iter_zip
from chat.models import UsageDay
from chat.parts import Json
from config.lib.edge.second_factor import read_proof
from config.lib.edge.streaming import stream_file
from config.lib.paging import get_page
from config.lib.rest.operations import describe, read
from config.lib.rest.views import ApiRequest, ApiView, PageQuery, ReadOnlySerializer


class UsageDaySerializer(ReadOnlySerializer):
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


class UsageView(ApiView):
    areas = frozenset(("chats",))

    @read("list_usage", UsageSerializer, PageQuery)
    def get(self, **query: Any) -> Any:
        """Return the tokens left today, and the usage of each day."""
        today = get_day(timezone.now().date())
        page = get_page(UsageDay.objects.all(), by=("-day", "id"), **query)
        used, limit = today.used_tokens + today.reserved_tokens, get_daily_budget(self.user.daily_token_budget)
        budget = {"day": today.day, "budget_tokens": limit, "used_tokens": used, "left_tokens": max(0, limit - used)}
        return {"today": budget, "items": page.items, "next_cursor": page.next_cursor}


class ExportView(ApiView):
    areas = frozenset(("facts", "chats", "record", "agents"))

    @describe(operation_id="export_everything", responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: ApiRequest) -> HttpResponseBase:
        """Return one zip of JSON files with everything of yours; `schema.json` in it describes the others."""
        now = timezone.now()
        parts = iter_zip(request.user.pk, proof=read_proof(request), now=now)
        return stream_file(request._request, parts, content_type="application/zip", filename=f"keel-{now:%Y-%m-%d}.zip")
