"""Instants in the reader's zone, as filters that every template has: `{{ trade.entry_at|moment }}`."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


def _read_local(write: Callable[[datetime], str]) -> Callable[[datetime | None], str]:
    """Register a filter of instants in the reader's zone; without an instant it writes nothing."""

    @register.filter(write.__name__, expects_localtime=True)
    @wraps(write)
    def read(at: datetime | None) -> str:
        return write(at) if at else ""

    return read


@_read_local
def moment(at: datetime) -> str:
    """Return `4 Jun 2026, 10:00`."""
    return _mark(at, f"{_write_day(at)}, {at:%H:%M}")


@_read_local
def zoned_moment(at: datetime) -> str:
    """Return `4 Jun 2026, 10:00 CEST`."""
    return _mark(at, f"{_write_day(at)}, {at:%H:%M %Z}")


@_read_local
def day(at: datetime) -> str:
    """Return `4 Jun 2026`."""
    return _mark(at, _write_day(at))


@_read_local
def when(at: datetime) -> str:
    """Return an instant as short as it can be understood: `10:00` today, `4 Jun` this year, else `4 Jun 2026`."""
    now = timezone.localtime()
    if at.date() == now.date():
        return f"{at:%H:%M}"
    return f"{at.day} {at:%b}" if at.year == now.year else _write_day(at)


def _write_day(at: datetime) -> str:
    return f"{at.day} {at:%b %Y}"


def _mark(at: datetime, text: str) -> SafeString:
    """Return the element of an instant, which has it in UTC for who points at it."""
    utc = f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), utc, text)
