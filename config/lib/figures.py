"""The only formats of numbers, money and instants."""

from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final

_WIDE: Final = Context(prec=60)
_CENT: Final = Decimal("0.01")
DAY_MINUTES: Final = 24 * 60
_MINUTE: Final = timedelta(minutes=1)


def format_usd(amount: Decimal) -> str:
    """Return `$1,234.50`, or `-$3.00`."""
    rounded = _quantize(amount, _CENT)
    return f"{'-' if rounded < 0 else ''}${rounded.copy_abs():,.2f}"


def format_signed_usd(amount: Decimal) -> str:
    """Return `+$28.40`, `-$9.70`, or `$0.00`."""
    text = format_usd(amount)
    return f"+{text}" if _quantize(amount, _CENT) > 0 else text


def format_whole_usd(amount: Decimal) -> str:
    """Return a size without cents: `$250`; below a dollar `$0.40`."""
    return format_usd(amount) if abs(amount) < 1 else format_usd(_quantize(amount, Decimal(1)))[:-3]


def format_signed_whole_usd(amount: Decimal) -> str:
    """Return `+$22`, `-$8`, or `$0.00`."""
    text = format_whole_usd(amount)
    return f"+{text}" if _quantize(amount, _CENT) > 0 else text


def format_price(amount: Decimal) -> str:
    """Return a price to six digits: `65,200`, `3,410.5`, `0.0000123`."""
    exponent = min(amount.adjusted() - 5, 0) if amount else 0
    return _drop_zeros(f"{_quantize(amount, Decimal(1).scaleb(exponent)):,f}")


def format_quantity(amount: Decimal) -> str:
    """Return a quantity to eight places, without trailing zeros and exponent."""
    return format_exact(_quantize(amount, Decimal("1e-8")))


def format_exact(amount: Decimal) -> str:
    """Return all digits of an amount, without trailing zeros and exponent."""
    return _drop_zeros(f"{amount:f}")


def format_pct(fraction: Decimal | float, places: int = 1) -> str:
    """Return a share of one as `1.1%`."""
    rounded = _quantize(Decimal(str(fraction)) * 100, Decimal(1).scaleb(-places))
    return f"{rounded:.{places}f}%"


def format_signed_pct(fraction: Decimal | float, places: int = 1) -> str:
    """Return a share of one as `+1.1%` or `-0.5%`."""
    text = format_pct(fraction, places)
    return text if text.startswith("-") or not any(digit in text for digit in "123456789") else f"+{text}"


def format_minute(at: datetime) -> str:
    """Return an instant as `2026-06-04T10:00`, in UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M")


def format_end_minute(at: datetime, since: datetime) -> str:
    """Return an instant as `12:30` in UTC, dated unless on `since`'s day."""
    text = format_minute(at)
    return text.partition("T")[2] if text[:10] == format_minute(since)[:10] else text


def format_minutes(length: timedelta) -> str:
    """Return a duration in whole minutes: `120m`."""
    return f"{length // _MINUTE}m"


def format_duration(length: timedelta) -> str:
    """Return a duration in two units: `3 d 4 h`, `45 min`."""
    if length < _MINUTE:
        return "under 1 min"
    minutes = length // _MINUTE
    parts = ((minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "min"))
    largest = next(place for place, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count} {unit}" for count, unit in parts[largest : largest + 2] if count)


def format_count(count: int, noun: str = "", *, zero: str = "0") -> str:
    """Return a count as `12,345`, with a noun `1 trade` or `5 trades`."""
    number = f"{count:,}" if count else zero
    return f"{number} {noun}{'' if count == 1 else 's'}" if noun else number


def format_ratio(number: float) -> str:
    """Return a number without a unit to two places."""
    return f"{number:.2f}"


def format_signed_ratio(number: float) -> str:
    """Return a plain number to two places, signed."""
    return f"{number:+.2f}"


def format_model_cost(amount: Decimal | None) -> str:
    """Return a model's cost: `$1.23`, `under $0.01`, or `price not known`."""
    if amount is None:
        return "price not known"
    return "under $0.01" if 0 < amount < _CENT else format_usd(amount)


def _drop_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _quantize(amount: Decimal, grain: Decimal) -> Decimal:
    rounded = amount.quantize(grain, rounding=ROUND_HALF_EVEN, context=_WIDE)
    return rounded or rounded.copy_abs()  # no minus zero


def format_instant(at: datetime | None) -> str | None:
    """Return an instant as `2026-06-04T10:00:00Z`."""
    return None if at is None else at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_time(minute: int) -> str:
    """Return a minute of the day as `17:00`."""
    return f"{minute // 60:02}:{minute % 60:02}"


def format_span(minutes: int) -> str:
    """Return a span in its largest whole unit: `2 hours`, `45 minutes`."""
    for size, noun in ((DAY_MINUTES, "day"), (60, "hour")):
        if minutes and minutes % size == 0:
            return format_count(minutes // size, noun)
    return format_count(minutes, "minute")


def round_usd(amount: Decimal | float | None) -> float | None:
    """Return money, rounded to cents."""
    return round_number(amount, 2)


def round_pct(fraction: Decimal | float | None, places: int = 2) -> float | None:
    """Return a share of one as percent."""
    return None if fraction is None else round_number(fraction * 100, places)


def round_number(number: Decimal | float | None, places: int) -> float | None:
    """Return a number rounded, never minus zero."""
    return None if number is None else round(float(number), places) or 0.0


def round_price(amount: Decimal | None) -> float | None:
    """Return a price to eight significant digits."""
    return None if amount is None else float(f"{amount:.8g}")
