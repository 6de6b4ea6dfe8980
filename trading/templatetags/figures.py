"""Template filters over `config.lib.figures`; an unknown value reads as a dash."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final, TypeVar

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.lib import figures
from config.lib.charts.svg import draw_sparkline

register = template.Library()

DASH: Final = "–"

Value = TypeVar("Value")


def _or_dash(format_value: Callable[[Value], str]) -> Callable[[Value | None], str]:
    return lambda value: DASH if value is None else format_value(value)


def _of_decimal(format_amount: Callable[[Decimal], str]) -> Callable[[Decimal | float | None], str]:
    """Accept floats too, as they are written."""
    return lambda amount: DASH if amount is None else format_amount(Decimal(str(amount)))


usd = register.filter("usd", _of_decimal(figures.format_usd))
signed_usd = register.filter("signed_usd", _of_decimal(figures.format_signed_usd))
whole_usd = register.filter("whole_usd", _of_decimal(figures.format_whole_usd))
pct = register.filter("pct", _of_decimal(figures.format_pct))
signed_pct = register.filter("signed_pct", _of_decimal(figures.format_signed_pct))
price = register.filter("price", _or_dash(figures.format_price))
quantity = register.filter("quantity", _or_dash(figures.format_quantity))
ratio = register.filter("ratio", _or_dash(figures.format_ratio))
grouped = register.filter("grouped", _or_dash(figures.format_count))
lasting = register.filter("lasting", _or_dash(figures.format_duration))
sparkline = register.filter("sparkline", lambda prices, of: draw_sparkline(prices, title=of, show=figures.format_price))
model_cost = register.filter("model_cost", figures.format_model_cost)


@register.filter
def pnl(amount: Decimal | float | None) -> SafeString:
    """Return money won or lost, with sign and arrow; neither without a cent of it."""
    text = signed_usd(amount)
    way, arrow = {"+": ("gain", "▲"), "-": ("loss", "▼")}.get(text[0], ("", ""))
    marked = format_html('<span class="pnl__arrow" aria-hidden="true">{}</span>', arrow) if arrow else ""
    return format_html('<span class="pnl {}">{}{}</span>', way, marked, text)


@register.filter
def age(since: datetime, now: datetime) -> str:
    """Return how long ago an instant was: `3 d 4 h`."""
    return figures.format_duration(now - since)


@register.filter
def until(at: datetime, now: datetime) -> str:
    """Return how far off an instant is: `in 3 d 4 h`, or `now`."""
    left = at - now
    return f"in {figures.format_duration(left)}" if left > timedelta(0) else "now"


@register.filter
def last_day(ends_at: datetime) -> date:
    """Return a range's last day in UTC; its end is exclusive."""
    return (ends_at - timedelta(microseconds=1)).astimezone(UTC).date()
