"""What chats use of the models, over REST."""

from typing import Any

from django.utils import timezone

from chat.api.serializers.usage import UsageSerializer
from chat.conversations.usage import get_daily_budget
from chat.models import UsageDay
from config.lib.paging import get_page
from config.lib.rest.operations import read
from config.lib.rest.views import ApiView, PageQuery


class UsageView(ApiView):
    @read("list_usage", "chat", UsageSerializer, PageQuery)
    def get(self, **query: Any) -> Any:
        """Return the tokens left today, and the usage of each day."""
        today = timezone.now().date()
        page = get_page(UsageDay.objects.all(), by=("-day", "id"), **query)
        spent = UsageDay.objects.filter(day=today).first()
        used = spent.prompt_tokens + spent.completion_tokens + spent.reserved_tokens if spent else 0
        limit = get_daily_budget(self.user.daily_token_budget)
        budget = {"day": today, "budget_tokens": limit, "used_tokens": used, "left_tokens": max(0, limit - used)}
        return {"today": budget, "items": page.items, "next_cursor": page.next_cursor}
