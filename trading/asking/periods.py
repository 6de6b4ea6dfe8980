"""Periods in words, in a reader's time zone. Pure."""

import re
from calendar import month_name, monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from config.lib.errors import DomainError

DAY: Final = timedelta(days=1)
_MOST_LETTERS: Final = 60
_YEARS: Final = range(2000, 2101)
_MONTHS_OF: Final = {"month": 1, "quarter": 3, "year": 12}
_MONTHS: Final = {name.lower(): number for number, name in enumerate(month_name) if name}
Days = tuple[date, date]  # the first one, and the one after the last


class PeriodRefused(DomainError):
    """The words name no period."""


@dataclass(frozen=True, slots=True)
class Period:
    """A range of instants; None: not bounded."""

    words: str
    starts_at: datetime | None
    ends_at: datetime | None  # exclusive

    @property
    def bounds(self) -> tuple[str | None, str | None]:
        """The first and the last day, or minute, in the reader's zone."""
        last = self.ends_at and self.ends_at - timedelta(microseconds=1)
        return _format_bound(self.starts_at, time()), _format_bound(last, time(23, 59))


def _format_bound(at: datetime | None, edge: time) -> str | None:
    if at is None:
        return None
    minute = at.time().replace(second=0, microsecond=0)
    return f"{at:%Y-%m-%d}" if minute == edge else f"{at:%Y-%m-%d %H:%M}"


def parse_period(text: str, *, zone: ZoneInfo, now: datetime) -> Period | None:
    """Return the period that words name, None for no words. Raises PeriodRefused.

    Weeks begin on Monday; a month without a year is the last one that has begun.
    """
    words = " ".join(text.lower().split())
    if words in ("", "all", "all time", "ever"):
        return None
    if len(words) > _MOST_LETTERS:
        raise _refuse(text)
    if hours := re.fullmatch(r"(?:last|past)? ?(\d{1,4}) ?(?:h|hours?)", words, re.ASCII):
        here = now.astimezone(zone)
        return Period(words, here - timedelta(hours=int(hours[1])), here)
    try:
        first, end = _find_range(words, now.astimezone(zone).date())
    except (ValueError, OverflowError) as error:  # such as 2026-02-30
        raise _refuse(text) from error
    if first and end and first >= end:
        raise PeriodRefused(f'"{text[:60]}" ends before it begins.')
    starts_at, ends_at = (datetime.combine(day, time(), zone) if day else None for day in (first, end))
    return Period(words, starts_at, ends_at)


def _refuse(text: str) -> PeriodRefused:
    return PeriodRefused(
        f'"{text[:60]}" is no period that Keel knows. Write it as: today, this week, last month, last 30 days, march, '
        "2026, 2026-q1, 2026-03, 2026-03-05 or 2026-03-01..2026-03-15."
    )


def _find_range(words: str, today: date) -> tuple[date | None, date | None]:
    if match := re.fullmatch(r"(?:from |between )?(.*?) ?(?:\.\.| to | until | and ) ?(.*)", words):
        first, last = match.groups()
    elif match := re.fullmatch(r"(since|from|after|until|before) (.+)", words):
        begin, end = _find_days(match[2], today)
        return {"after": (end, None), "until": (None, end), "before": (None, begin)}.get(match[1], (begin, None))
    else:
        return _find_days(words, today)
    if not first and not last:
        raise ValueError(words)
    return (_find_days(first, today)[0] if first else None), (_find_days(last, today)[1] if last else None)


def _find_days(words: str, today: date) -> Days:
    for form, read in _FORMS:
        if match := form.fullmatch(words):
            days = read(today, *match.groups())
            if days[0].year not in _YEARS:
                raise ValueError(words)
            return days
    raise ValueError(words)


def _add_months(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _read_day(today: date, word: str) -> Days:
    first = today - DAY if word == "yesterday" else today
    return first, first + DAY


def _read_named(today: date, which: str, unit: str) -> Days:
    back = which in ("last", "previous")
    if unit == "week":
        first = today - timedelta(days=today.weekday() + 7 * back)
        return first, first + 7 * DAY
    months = _MONTHS_OF[unit]
    first = _add_months(today.replace(day=1), -((today.month - 1) % months) - months * back)
    return first, _add_months(first, months)


def _read_last(today: date, count: str | None, unit: str) -> Days:
    number, tomorrow = int(count or 1), today + DAY
    if unit[0] in "dw":
        return tomorrow - timedelta(days=number * (7 if unit[0] == "w" else 1)), tomorrow
    return _add_months(tomorrow, -number * (12 if unit[0] == "y" else 1)), tomorrow


def _read_iso(_: date, year: str, month: str | None, day: str | None) -> Days:
    first = date(int(year), int(month or 1), int(day or 1))
    return first, first + DAY if day else _add_months(first, 1 if month else 12)


def _read_quarter(today: date, before: str | None, quarter: str, after: str | None) -> Days:
    return _read_begun(today, before or after, int(quarter) * 3 - 2, 3)


def _read_month(today: date, name: str, year: str | None) -> Days:
    found = [number for month, number in _MONTHS.items() if month.startswith(name)]
    if len(found) != 1:
        raise ValueError(name)
    return _read_begun(today, year, found[0], 1)


def _read_begun(today: date, year: str | None, month: int, months: int) -> Days:
    first = date(int(year or today.year), month, 1)
    first = first if year or first <= today else _add_months(first, -12)
    return first, _add_months(first, months)


_FORMS: Final[tuple[tuple[re.Pattern[str], Callable[..., Days]], ...]] = tuple(
    (re.compile(form, re.ASCII), read)
    for form, read in (
        (r"(today|yesterday)", _read_day),
        (r"(this|current|last|previous) (week|month|quarter|year)", _read_named),
        (r"(?:last |past |previous )?(?:(\d{1,4}) ?)?(d|w|m|y|days?|weeks?|months?|years?)", _read_last),
        (r"(\d{4})(?:-(\d\d?)(?:-(\d\d?))?)?", _read_iso),
        (r"(?:(\d{4})[- ]?)?q([1-4])(?:[ -]?(\d{4}))?", _read_quarter),
        (r"([a-z]{3,9})(?: (\d{4}))?", _read_month),
    )
)
