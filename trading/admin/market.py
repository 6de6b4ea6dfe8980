"""Market data: read-only prices, editable news and events."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest

from config.lib.admin import LookOnlyAdmin
from config.lib.text import one_line
from trading.market.imports.events import parse_symbols
from trading.models import Bar, FundingRate, MarketEvent, NewsItem


@admin.register(Bar)
class BarAdmin(LookOnlyAdmin):
    """Bars, each symbol's and interval's newest first."""

    list_display = ("symbol", "interval", "opened_at", "open", "high", "low", "close", "volume", "source")
    list_filter = ("interval", "is_simulated")
    list_select_related = False
    search_fields = ("symbol__exact",)
    ordering = ("-symbol", "-interval", "-opened_at")  # as its index has them
    show_full_result_count = False


@admin.register(FundingRate)
class FundingRateAdmin(LookOnlyAdmin):
    """Funding, each symbol's newest first."""

    list_display = ("symbol", "at", "rate", "hours", "source", "is_simulated")
    list_filter = ("is_simulated",)
    list_select_related = False
    search_fields = ("symbol__exact",)
    ordering = ("-symbol", "-at")
    show_full_result_count = False


class _Lines(forms.ModelForm):
    """A form that stores lines and symbols like an import."""

    line: str  # the field that is one line of a prompt

    def clean(self) -> dict[str, Any] | None:
        """Bring text and symbols into their stored form."""
        cleaned = super().clean() or self.cleaned_data
        if self.line in cleaned:
            cleaned[self.line] = one_line(cleaned[self.line])
            if not cleaned[self.line]:
                self.add_error(self.line, "Write at least a word.")
        return cleaned

    def clean_symbols(self) -> list[str]:
        """Return the symbols, each once, in their stored form."""
        given = self.cleaned_data["symbols"] or []
        if not isinstance(given, list):
            raise ValidationError('A list of symbols, such as ["BTC", "ETH"]; empty for all.')
        try:
            return parse_symbols(given)
        except ValueError as error:
            raise ValidationError(f"This cannot be a symbol: {error}.") from error


class NewsItemForm(_Lines):
    line = "headline"

    class Meta:
        model = NewsItem
        fields = ("headline", "source", "published_at", "symbols", "sentiment", "is_simulated")


class MarketEventForm(_Lines):
    line = "title"

    class Meta:
        model = MarketEvent
        fields = ("kind", "title", "starts_at", "importance", "symbols", "source", "is_simulated")


class PutRightAdmin(admin.ModelAdmin):
    """Imported rows: staff may correct but not add them."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse: `import_news` and `import_events` add."""
        return False


@admin.register(NewsItem)
class NewsItemAdmin(PutRightAdmin):
    form = NewsItemForm
    list_display = ("headline", "source", "published_at", "symbols", "sentiment", "is_simulated")
    list_filter = ("is_simulated",)
    search_fields = ("headline", "source")
    date_hierarchy = "published_at"
    ordering = ("-published_at", "id")


@admin.register(MarketEvent)
class MarketEventAdmin(PutRightAdmin):
    form = MarketEventForm
    list_display = ("title", "kind", "starts_at", "importance", "symbols", "source", "is_simulated")
    list_filter = ("kind", "is_simulated")
    search_fields = ("title", "source")
    date_hierarchy = "starts_at"
    ordering = ("-starts_at", "id")
