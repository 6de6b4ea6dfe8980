"""What chats use of the models, over REST."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from chat.api.serializers.usage import UsageSerializer
from chat.conversations.usage import get_daily_budget
from chat.models import UsageDay
from config.lib.paging import get_page
from config.lib.rest.views import ApiRequest, ApiView, PageQuery


class UsageView(ApiView):
    @extend_schema(operation_id="list_usage", tags=["chat"], parameters=[PageQuery], responses=UsageSerializer)
    def get(self, request: ApiRequest) -> Response:
        """Return the tokens left today, and the usage of each day."""
        query, today = self.query(PageQuery), timezone.now().date()
        page = get_page(UsageDay.objects.all(), by=("-day", "id"), **query)
        spent = UsageDay.objects.filter(day=today).first()
        used = spent.prompt_tokens + spent.completion_tokens + spent.reserved_tokens if spent else 0
        limit = get_daily_budget(request.user.daily_token_budget)
        budget = {"day": today, "budget_tokens": limit, "used_tokens": used, "left_tokens": max(0, limit - used)}
        shown = {"today": budget, "items": page.items, "next_cursor": page.next_cursor}
        return Response(UsageSerializer(shown).data)
