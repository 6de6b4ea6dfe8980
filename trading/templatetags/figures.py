"""The numbers of the record as pages show them: `trading.wording` in templates. What is not known reads as a dash."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

from django import template

from config.lib import figures

register = template.Library()

DASH: Final = "–"
_CENT: Final = Decimal("0.01")
_MINUTE: Final = timedelta(minutes=1)


@register.filter
def usd(amount: Decimal | float | None) -> str:
    """Return `$1,234.50`, or `-$3.00`."""
    return DASH if amount is None else figures.format_usd(_decimal(amount))


@register.filter
def signed_usd(amount: Decimal | float | None) -> str:
    """Return `+$28.40`, `-$9.70`, or `$0.00`."""
    return DASH if amount is None else figures.format_signed_usd(_decimal(amount))


@register.filter
def model_cost(amount: Decimal | None) -> str:
    """Return what calls of a model cost: `$1.23`, `under $0.01`, or that the price is not known."""
    if amount is None:
        return "price not known"
    return "under $0.01" if 0 < amount < _CENT else figures.format_usd(amount)


@register.filter
def whole_usd(amount: Decimal | float | None) -> str:
    """Return a size, for which cents are noise: `$250`."""
    return DASH if amount is None else figures.format_whole_usd(_decimal(amount))


@register.filter
def ratio(number: float | None) -> str:
    """Return a number without a unit to two places."""
    return DASH if number is None else f"{number:.2f}"


@register.filter
def price(amount: Decimal | None) -> str:
    """Return a price to six significant digits."""
    return DASH if amount is None else figures.format_price(amount)


@register.filter
def quantity(amount: Decimal | None) -> str:
    """Return a quantity to eight places, without closing zeros."""
    return DASH if amount is None else figures.format_quantity(amount)


@register.filter
def pct(fraction: Decimal | float | None) -> str:
    """Return a share of one as `1.1%`."""
    return DASH if fraction is None else figures.format_pct(fraction)


@register.filter
def signed_pct(fraction: Decimal | float | None) -> str:
    """Return a share of one as `+1.1%` or `-0.5%`."""
    return DASH if fraction is None else figures.format_signed_pct(fraction)


@register.filter
def grouped(count: int | None) -> str:
    """Return a count as `12,345`."""
    return DASH if count is None else f"{count:,}"


@register.filter
def gain_or_loss(amount: Decimal | float | None) -> str:
    """Return `gain` or `loss` as the amount reads to the cent; empty for none and for nothing."""
    text = signed_usd(amount)
    return {"+": "gain", "-": "loss"}.get(text[0], "")


@register.filter
def lasting(length: timedelta | None) -> str:
    """Return a duration in its two largest units: `3 d 4 h`, `2 h 5 min`, `45 min`."""
    if length is None:
        return DASH
    if length < _MINUTE:
        return "under 1 min"
    minutes = length // _MINUTE
    parts = ((minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "min"))
    largest = next(place for place, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count} {unit}" for count, unit in parts[largest : largest + 2] if count)


@register.filter
def last_day(ends_at: datetime) -> date:
    """Return the last day in UTC that a range is over, up to an end that is no part of it."""
    return (ends_at - timedelta(microseconds=1)).astimezone(UTC).date()


def _decimal(amount: Decimal | float) -> Decimal:
    return amount if isinstance(amount, Decimal) else Decimal(str(amount))
