"""Periods in words, in a reader's time zone. Pure."""

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from config.lib.errors import DomainError
from config.lib.words.lexer import Token, read_tokens, take_number
from config.lib.words.quantities import word_set
from config.lib.words.vocabulary import find_meaning

DAY: Final = timedelta(days=1)
_MOST_LETTERS: Final = 60
_MOST_TOKENS: Final = 12
_YEARS: Final = range(2000, 2101)
_SPANS: Final = {"h": "hours", "d": "days", "w": "weeks"}
_DAYS_OF: Final = {"d": 1, "w": 7}
_MONTHS_OF: Final = {"mo": 1, "min": 1, "quarter": 3, "y": 12}  # "3m" are months here
_BY_PARTS: Final = ("y", "mo", "d")  # the unit that a year, with its month, with its day names
_JOINTS: Final = ("..", " to ", " until ", " and ")
_BEGIN: Final = word_set(
    "today yesterday tomorrow this current my last past previous next since from between after before until"
)
_SHIFTS: Final = {"yesterday": -1, "last": -1, "previous": -1, "tomorrow": 1, "next": 1}
AHEAD: Final = ("tomorrow", "next ")
Days = tuple[date, date]  # the first one, and the one after the last


class PeriodRefused(DomainError):
    """The words name no period."""


@dataclass(frozen=True, slots=True)
class NamedPeriod:
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


def parse_period(text: str, *, zone: ZoneInfo, now: datetime, is_ahead: bool = False) -> NamedPeriod | None:
    """Return the period that words name, None for no words. Raises PeriodRefused, unless `is_ahead` for "next week".

    Weeks begin on Monday; a month without a year is the last one that has begun.
    """
    words = " ".join(text.lower().split())
    if words in ("", "all", "all time", "ever"):
        return None
    here = now.astimezone(zone)
    try:
        if len(words) > _MOST_LETTERS or (words.startswith(AHEAD) and not is_ahead):
            raise ValueError(words)
        match _read_parts(words):
            case [(int(count), "h")] | ["last" | "past", (int(count), "h")]:
                return NamedPeriod(words, here - timedelta(hours=count), here)
            case ["next", (int(count), ("h" | "d" | "w") as unit)]:
                return NamedPeriod(words, here, here + timedelta(**{_SPANS[unit]: count}))
        first, end = _find_range(words, here.date())
    except (ValueError, OverflowError) as error:  # such as 2026-02-30
        raise PeriodRefused(
            f'"{text[:60]}" is no period that Keel knows. Write it as: today, this week, last month, last 30 days,'
            " march, 2026, 2026-q1, 2026-03, 2026-03-05 or 2026-03-01..2026-03-15."
        ) from error
    if first and end and first >= end:
        raise PeriodRefused(f'"{text[:60]}" ends before it begins.')
    starts_at, ends_at = (datetime.combine(day, time(), zone) if day else None for day in (first, end))
    return NamedPeriod(words, starts_at, ends_at)


def take_period(text: str, tokens: Sequence[Token], at: int) -> tuple[int, str] | None:
    """Return how many of a text's tokens, from one on, name a period, as many as do; and its words."""
    first, number, zone = tokens[at], take_number(tokens, at), ZoneInfo("UTC")
    is_verb = first.text == "may" and (first.written == "may" or not first.start)  # unless a year follows
    is_year = number is not None and len(first.text) == len("2026") and (not number.unit or _read_name(number.unit))
    if not (is_year or first.text in _BEGIN or _read_name(first.text)):
        return None
    for length in range(min(_MOST_TOKENS, len(tokens) - at), is_verb, -1):
        words = text[first.start : tokens[at + length - 1].end].lower().removesuffix("'s").replace("my ", "this ")
        try:
            if parse_period(words, zone=zone, now=datetime(2050, 1, 1, tzinfo=zone), is_ahead=True):
                return length, words
        except PeriodRefused:
            continue
    return None


class _Name(NamedTuple):
    month: int  # the first one
    unit: str


_QUARTERS: Final = {f"q{number}": _Name(number * 3 - 2, "quarter") for number in range(1, 5)}


def _find_range(words: str, today: date) -> tuple[date | None, date | None]:
    if joint := next((one for one in _JOINTS if one in words), ""):
        first, last = (part.strip() for part in words.split(joint, 1))
        first = first.removeprefix("from ").removeprefix("between ")
        if not first and not last:
            raise ValueError(words)
        return (_find_days(first, today)[0] if first else None), (_find_days(last, today)[1] if last else None)
    side, _, rest = words.partition(" ")
    if side not in ("since", "from", "after", "until", "before"):
        return _find_days(words, today)
    begin, end = _find_days(rest, today)
    return {"after": (end, None), "until": (None, end), "before": (None, begin)}.get(side, (begin, None))


def _read_parts(words: str) -> list[Any]:
    """Return months and quarters as `_Name`, counts as (number, unit), other numbers as `int`, else text."""
    tokens, parts, at = read_tokens(words), list[Any](), 0
    while at < len(tokens):
        number, word = take_number(tokens, at), tokens[at].text
        at += number.length if number else 1
        if number is None:
            parts += [_read_name(word) or find_meaning(word, "UNIT") or word] if word != "-" else []
        elif not isinstance(number.value, Fraction) or number.value.denominator > 1:
            raise ValueError(words)
        elif named := _read_name(number.unit):
            parts += [int(number.value), named]
        else:
            parts.append((int(number.value), number.unit) if number.unit else int(number.value))
    return parts


def _read_name(word: str) -> _Name | None:
    month = find_meaning(word, "MONTH") or find_meaning(word.capitalize(), "MONTH")
    return _Name(int(month), "mo") if month else _QUARTERS.get(word)


def _find_days(words: str, today: date) -> Days:
    first, end = _match_days(_read_parts(words), today)
    if first.year not in _YEARS:
        raise ValueError(words)
    return first, end


def _match_days(parts: list[Any], today: date) -> Days:
    match parts:
        case [("today" | "yesterday" | "tomorrow") as word]:
            first, unit = today + DAY * _SHIFTS.get(word, 0), "d"
        case [("this" | "current" | "last" | "previous" | "next") as word, ("w" | "mo" | "quarter" | "y") as unit]:
            first = _add(_begin(today, unit), _SHIFTS.get(word, 0), unit)
        case [_Name(month, unit), *year] | [*year, _Name(month, unit)] if all(isinstance(one, int) for one in year):
            first = date((*year, today.year)[0], month, 1)
            first = first if year or first <= today else _add(first, -1, "y")
        case [*which, (int(count), str(unit))] if which in ([], ["last"], ["past"], ["previous"]):
            return _add(today + DAY, -count, unit), today + DAY
        case ["last" | "past" | "previous", str(unit)] | [str(unit)]:
            return _add(today + DAY, -1, unit), today + DAY
        case [int(), *_] if len(parts) <= len(_BY_PARTS) and all(isinstance(one, int) for one in parts):
            first, unit = date(*[*parts, 1, 1][:3]), _BY_PARTS[len(parts) - 1]
        case _:
            raise ValueError(parts)
    return first, _add(first, 1, unit)


def _begin(day: date, unit: str) -> date:
    """Return the first day of the week, month, quarter or year of a day."""
    if unit == "w":
        return day - day.weekday() * DAY
    return day.replace(month=day.month - (day.month - 1) % _MONTHS_OF[unit], day=1)


def _add(day: date, count: int, unit: str) -> date:
    if unit in _DAYS_OF:
        return day + count * _DAYS_OF[unit] * DAY
    if unit not in _MONTHS_OF:
        raise ValueError(unit)
    year, month = divmod(day.year * 12 + day.month - 1 + count * _MONTHS_OF[unit], 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
