"""Model usage in a user's chats, and today's budget."""

from decimal import Decimal

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from chat.conversations.usage import get_daily_budget, list_days
from config.lib.web import AuthedRequest, owned_page

DAYS_SHOWN = 30


@owned_page
def usage(request: AuthedRequest) -> HttpResponse:
    """Show the tokens and the cost of the last days."""
    days = list_days(DAYS_SHOWN)
    today = next((day for day in days if day.day == timezone.now().date()), None)
    used = today.prompt_tokens + today.completion_tokens if today else 0
    budget = get_daily_budget(request.user.daily_token_budget)
    context = {
        "days": days,
        "saved_usd": sum((day.saved_usd for day in days), Decimal(0)),
        "used": used,
        "reserved": today.reserved_tokens if today else 0,
        "budget": budget,
        "left": max(0, budget - used - (today.reserved_tokens if today else 0)),
    }
    return TemplateResponse(request, "chat/usage.html", context)
