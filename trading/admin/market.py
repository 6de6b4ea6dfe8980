"""Market data: read-only prices; staff add and edit news and events."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone

from config.lib.admin import MAX_REASON, LookOnlyAdmin, log_act, name_row, register_rows
from config.lib.text import one_line
from trading.market.imports.events import make_event_key
from trading.market.imports.news import make_news_key
from trading.models import Bar, FundingRate, MarketEvent, NewsItem
from trading.skills.schemas import parse_symbols

_PRICES: dict[str, Any] = {"search_fields": ("symbol__exact",), "show_full_result_count": False}
register_rows(
    Bar,
    LookOnlyAdmin,
    list_display=("symbol", "interval", "opened_at", "open", "high", "low", "close", "volume", "source"),
    list_filter=("interval", "is_simulated"),
    ordering=("-symbol", "-interval", "-opened_at"),  # as its index has them
    **_PRICES,
)
register_rows(
    FundingRate,
    LookOnlyAdmin,
    list_display=("symbol", "at", "rate", "hours", "source", "is_simulated"),
    list_filter=("is_simulated",),
    ordering=("-symbol", "-at"),
    **_PRICES,
)


class _Lines(forms.ModelForm):
    """A form that stores lines and symbols like an import, with a reason."""

    reason = forms.CharField(min_length=4, max_length=MAX_REASON, help_text="Noted in the staff log.")

    line: str  # the field that is one line of a prompt

    def make_key(self, values: dict[str, Any]) -> str:
        raise NotImplementedError

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean() or self.cleaned_data
        if self.line in cleaned:
            cleaned[self.line] = one_line(cleaned[self.line])
            if not cleaned[self.line]:
                self.add_error(self.line, "Write at least a word.")
        if self.instance.pk is None and not self.errors:
            self.instance.key = self.make_key(cleaned)
            if self._meta.model._default_manager.filter(key=self.instance.key).exists():
                self.add_error(None, "This entry is known already; edit it instead.")
        return cleaned

    def clean_symbols(self) -> list[str]:
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

    def make_key(self, values: dict[str, Any]) -> str:
        return make_news_key(values["source"], values["headline"], values["published_at"])


class MarketEventForm(_Lines):
    line = "title"

    class Meta:
        model = MarketEvent
        fields = ("kind", "title", "starts_at", "importance", "symbols", "source", "is_simulated")

    def make_key(self, values: dict[str, Any]) -> str:
        return make_event_key(values["kind"], values["title"], values["starts_at"], values["symbols"])


class EntryAdmin(admin.ModelAdmin):
    """Rows of imports and of staff: each change asks for a reason and is logged."""

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        self._log(request, obj, "edit" if change else "add", form.cleaned_data["reason"])

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self._log(request, obj, "delete", "Deleted in the admin.")
        super().delete_model(request, obj)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Offer no deletion of many rows, which would go unlogged."""
        return {}

    def _log(self, request: HttpRequest, obj: Any, act: str, reason: str) -> None:
        staff: Any = request.user
        log_act(staff=staff, user_id=staff.pk, act=act, subject=name_row(obj), reason=reason, now=timezone.now())


@admin.register(NewsItem)
class NewsItemAdmin(EntryAdmin):
    form = NewsItemForm
    list_display = ("headline", "source", "published_at", "symbols", "sentiment", "is_simulated")
    list_filter = ("is_simulated",)
    search_fields = ("headline", "source")
    date_hierarchy = "published_at"
    ordering = ("-published_at", "id")


@admin.register(MarketEvent)
class MarketEventAdmin(EntryAdmin):
    form = MarketEventForm
    list_display = ("title", "kind", "starts_at", "importance", "symbols", "source", "is_simulated")
    list_filter = ("kind", "is_simulated")
    search_fields = ("title", "source")
    date_hierarchy = "starts_at"
    ordering = ("-starts_at", "id")
