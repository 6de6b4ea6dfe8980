"""Read from a fact's words when it holds: "until March", "for two weeks", "from Monday".

A cue of the vocabulary (TILL, SINCE, LASTING) stands before a date. Habits have no dates: "I trade from Monday to
Friday", "I hold for two days" and "I trade until 17:00" set none. When in doubt, no date is set, because a wrong end
would silently drop a rule from the prompts.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal

from config.lib.words.lexer import (
    Token,
    find_phrase,
    has_phrase,
    is_joined,
    parse_clock,
    read_tokens,
    take_number,
    text_at,
)
from config.lib.words.moments import read_year, take_date, take_day
from config.lib.words.vocabulary import find_meaning

_HOURS: Final = {"h": 1, "d": 24, "w": 168, "fortnight": 336}  # by unit
_MONTHS: Final = {"mo": 1, "quarter": 3, "y": 12, "month": 1, "year": 12}  # by unit and by size
_SPANS: Final = ("for", "next")  # cues
_MOST: Final = 999  # units of a span
_IN_WORD: Final = re.compile(r"[\w%-]")  # behind digits that are no date
_CENTURY: Final = range(2000, 2100)
_LEAP: Final = 12 * 9  # months within which there is a leap day


@dataclass(frozen=True, slots=True)
class Validity:
    """When a fact holds (aware UTC; the end is exclusive). None: from now on, or without an end."""

    begins: datetime | None = None
    ends: datetime | None = None

    @property
    def is_bounded(self) -> bool:
        return self.begins is not None or self.ends is not None


ALWAYS: Final = Validity()


@dataclass(frozen=True, slots=True)
class _Date:
    """A date up to the token `end`; `find` returns its first moment for one who speaks at a local time."""

    end: int
    find: Callable[[datetime], datetime | None]
    size: str | None = "day"  # None: an instant
    has_year: bool = False
    is_repeating: bool = False  # a weekday, or a day of any month
    is_through: bool = False  # as an end it is included


@dataclass(frozen=True, slots=True)
class _Cue:
    """Words, from the token `start` up to `end`, that say when a statement holds."""

    kind: Literal["span", "begins", "ends", "for", "next", "this"]
    start: int
    end: int
    date: _Date
    until: _Date | None = None  # of a span
    is_sure: bool = True  # dates the statement and not one of its nouns

    @property
    def is_beginning(self) -> bool:
        return self.kind in ("span", "begins")


def may_have_dates(text: str) -> bool:
    """Tell whether a text may say when it holds: most texts need no zone."""
    return bool(_find_cues(text)[1])


def read_validity(text: str, *, now: datetime, zone: tzinfo) -> Validity:
    """Return when a fact holds by its words, said at `now` by a user in `zone`; dates of the past count as none."""
    here = now.astimezone(zone).replace(tzinfo=None)
    begins = ends = None
    for cue in _find_cues(text)[1]:
        if cue.is_beginning and begins is None:
            begins = cue.date.find(here)
        until = cue.until if cue.is_beginning else cue.date
        if until is not None and ends is None:
            ends = until.find(begins if begins and (cue.kind in _SPANS or begins > here) else here)
            ends = _step(ends, until.size) if ends and until.is_through and until.size else ends
    begins, ends = (at and at.replace(tzinfo=zone).astimezone(UTC) for at in (begins, ends))
    begins = begins if begins is not None and begins > now else None
    return Validity(begins, ends if ends is not None and ends > (begins or now) else None)


def has_beginning(text: str) -> bool:
    """Tell whether a text says from when it holds."""
    return any(cue.is_beginning for cue in _find_cues(text)[1])


@lru_cache(maxsize=2048)
def strip_dates(text: str) -> str:
    """Return a text without the words that say when it holds."""
    tokens, cues = _find_cues(text)
    for cue in sorted(cues, key=lambda cue: -cue.start):
        text = f"{text[: tokens[cue.start].start]} {text[tokens[cue.end - 1].end :]}"
    return " ".join(text.split()).strip(" ,;.")


@lru_cache(maxsize=2048)  # a save asks several times
def _find_cues(text: str) -> tuple[Sequence[Token], Sequence[_Cue]]:
    """Return the tokens of a text and its cues that are no habits, beginnings first."""
    tokens = read_tokens(text)
    cues = list(_iter_cues(tokens))
    cues = [cue for cue in cues if cue.kind == "span"][:1] or cues  # "from March to May" says all
    return tokens, sorted((cue for cue in cues if _is_dated(text, tokens, cue)), key=lambda cue: not cue.is_beginning)


def _is_dated(text: str, tokens: Sequence[Token], cue: _Cue) -> bool:
    """Tell whether a cue dates the statement: no habit, which repeats, and nothing of the past."""
    is_past = has_phrase(tokens if cue.kind in ("for", "this") else tokens[: cue.start], "PAST")
    if cue.kind == "for" and "-" in text[tokens[cue.start].start : tokens[cue.end - 1].end]:
        return False  # "for two-week trials"
    if (cue.kind == "for" or cue.date.is_repeating) and (cue.kind == "span" or _is_habit(tokens)):
        return False  # "for two days after a loss", "from Monday to Friday"
    return cue.is_sure and (cue.date.has_year or not is_past)


def _is_habit(tokens: Sequence[Token]) -> bool:
    keeps = (at for at, token in enumerate(tokens) if token.text == "keep")
    is_held = any(has_phrase(tokens[at + 1 : at + 3], "HELD") for at in keeps)
    return is_held or has_phrase(tokens, "WHEN", "HABIT", "HOLDING")


def _iter_cues(tokens: Sequence[Token]) -> Iterator[_Cue]:
    at = 0
    while at < len(tokens):
        cue = _take_cue(tokens, at)
        at = cue.end if cue else at + 1
        if cue is not None:
            yield cue


def _take_cue(tokens: Sequence[Token], at: int) -> _Cue | None:
    """Return the cue that begins at a token."""
    found = find_phrase(tokens, at, ("TILL", "SINCE", "LASTING"))
    if found is None:
        period = _take_period(tokens, at) if at == 0 and tokens[at].text == "this" else None
        return _Cue("this", at, period.end, period) if period else None
    length, (concept, value) = found
    if concept == "SINCE":
        return _take_beginning(tokens, at, at + length, is_sure=not value)
    if concept == "TILL":
        ends = _take_end(tokens, at + length, is_through=value == "through")
        return _Cue("ends", at, ends.end, ends) if ends else None
    if ends := _take_span(tokens, at + length, is_counted=value == "for") if value != "during" else None:
        is_vague = find_phrase(tokens, ends.end, ("VAGUE",))
        return None if is_vague else _Cue("for" if value == "for" else "next", at, ends.end, ends)
    period = _take_period(tokens, at + length)
    return _Cue("this", at, period.end, period) if period and period.is_through else None


def _take_beginning(tokens: Sequence[Token], at: int, after: int, *, is_sure: bool) -> _Cue | None:
    """Return the cue with the date behind "from", and with the end that follows: "from March to May"."""
    is_in = text_at(tokens, after) == "in"
    begins = _take_date(tokens, after)
    if begins is None and (is_in or tokens[after - 1].text == "in"):
        begins = _take_span(tokens, after + is_in)
    if begins is None:
        return None
    joint = begins.end + (text_at(tokens, begins.end) == ",")
    is_to = text_at(tokens, joint) in ("to", "-", "–")
    length, value = (1, "through") if is_to else (0, "")
    if till := find_phrase(tokens, joint, ("TILL",)):
        length, (_, value) = till
    if length and (ends := _take_end(tokens, joint + length, is_through=value == "through")):
        return _Cue("span", at, ends.end, begins, ends)
    is_on = text_at(tokens, begins.end) in ("on", "onward", "onwards", "forward")
    end = begins.end + is_on
    is_first = at == 0 or tokens[at - 1].text in tuple(".;:,!?\n")
    is_last = all(token.text in tuple(".,;!") for token in tokens[end:])
    is_sure = is_sure or is_first or is_on or (is_last and has_phrase(tokens[:at], "PLANNED"))
    return _Cue("begins", at, end, begins, is_sure=is_sure)


def _take_end(tokens: Sequence[Token], at: int, *, is_through: bool) -> _Date | None:
    date = _take_date(tokens, at)
    if date is None:
        return None
    is_bracket = text_at(tokens, date.end) == "("
    if text_at(tokens, date.end + is_bracket) in ("inclusive", "included"):
        date, is_through = replace(date, end=date.end + 1 + 2 * is_bracket), True
    return replace(date, is_through=is_through or date.is_through)


def _take_date(tokens: Sequence[Token], at: int) -> _Date | None:
    """Return the date that begins at a token, with its time of day."""
    date = _read_date(tokens, at) if at < len(tokens) else None
    if date is None or (is_joined(tokens, date.end - 1) and _IN_WORD.match(tokens[date.end].text)):
        return None
    after = date.end + (text_at(tokens, date.end) == ",")
    after += text_at(tokens, after) == "at"
    if after == len(tokens) or tokens[after].kind != "clock" or (clock := parse_clock(tokens[after].text)) is None:
        return date
    find, minutes = date.find, timedelta(minutes=clock.minute)
    return replace(date, end=after + 1, size=None, find=lambda here: (day := find(here)) and day + minutes)


def _read_date(tokens: Sequence[Token], at: int) -> _Date | None:
    is_the = text_at(tokens, at) == "the"
    at += is_the
    if at == len(tokens):
        return None
    if found := _take_period(tokens, at) or _read_weekday(tokens, at):
        return found
    if text_at(tokens, at) == "end" and (inner := _read_date(tokens, at + 2)) and inner.size in ("month", "year"):
        # From the month before, because the end of this month is meant too.
        find, size = inner.find, inner.size
        return replace(
            inner, size=None, find=lambda here: (start := find(here - timedelta(days=here.day))) and _step(start, size)
        )
    if date := take_date(tokens, at, is_cued=True):
        return _Date(
            at + date.length,
            lambda here: _find_day(here, date.day or 1, date.month, date.year),
            "day" if date.day else "month",
            has_year=date.year is not None,
        )
    if (year := read_year(tokens, at) or 0) in _CENTURY:
        return _Date(at + 1, lambda here: _find_day(here, 1, 1, year), "year", has_year=True)
    day, end = take_day(tokens, at)
    if not is_the or day is None or end == at + 1:
        return None
    return _Date(end, lambda here: _find_day(here, day), is_repeating=True)


def _take_period(tokens: Sequence[Token], at: int) -> _Date | None:
    """Return "today", "next week" or "the end of the month"."""
    found = find_phrase(tokens, at, ("PERIOD", "PERIODEND"))
    if found is None:
        return None
    length, (concept, value) = found
    size, steps = value.split(",")
    return _Date(
        at + length,
        lambda here: _step(_floor(here, size), size, int(steps)),
        size if concept == "PERIOD" else None,
        is_through=steps == "0",
    )


def _read_weekday(tokens: Sequence[Token], at: int) -> _Date | None:
    has_lead = text_at(tokens, at) in ("next", "this", "coming")
    name = text_at(tokens, at + has_lead)
    day = find_meaning(name, "DAY") or ""
    if not day.isdecimal() or name.endswith("days"):
        return None  # "Fridays" and weekends are habits
    return _Date(
        at + has_lead + 1,
        lambda here: _floor(here, "day") + timedelta(days=(int(day) - here.weekday() - 1) % 7 + 1),
        is_repeating=not has_lead,
    )


def _take_span(tokens: Sequence[Token], at: int, *, is_counted: bool = True) -> _Date | None:
    """Return the end of a span such as "two full weeks" or "half a year" that begins when it is said."""
    at += text_at(tokens, at) == "another" and at + 1 < len(tokens) and take_number(tokens, at + 1) is not None
    number = take_number(tokens, at) if at < len(tokens) else None
    found = find_phrase(tokens, at, ("COUNT",))
    if not (number or found) and is_counted:
        return None
    count, unit = (number.value, number.unit) if number else (Fraction(found[1].value if found else 1), "")
    end = at + (number.length if number else found[0] if found else 0)
    while not unit and text_at(tokens, end) in ("a", "an", "more", "full", "whole"):
        end += 1
    if not unit:
        unit, end = find_meaning(text_at(tokens, end), "UNIT") or "", end + 1
    if not isinstance(count, Fraction) or not 0 < count <= _MOST:
        return None
    if hours := _HOURS.get(unit):
        return _Date(end, lambda here: here + timedelta(hours=float(count * hours)))
    months = int(count * _MONTHS.get(unit, 0))
    return _Date(end, lambda here: _step(here, "month", months)) if months else None


def _floor(moment: datetime, size: str) -> datetime:
    """Return when the period began that a moment is in."""
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if size in _MONTHS:
        return day.replace(month=day.month - (day.month - 1) % _MONTHS[size], day=1)
    return day - timedelta(days=day.weekday() if size == "week" else 0)


def _step(moment: datetime, size: str, steps: int = 1) -> datetime:
    """Return the same time so many periods later, on the last day of a month that is too short."""
    if size not in _MONTHS:
        return moment + timedelta(days=steps * (7 if size == "week" else 1))
    years, month = divmod(moment.month - 1 + steps * _MONTHS[size], 12)
    year = moment.year + years
    return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))


def _find_day(here: datetime, day: int, month: int | None = None, year: int | None = None) -> datetime | None:
    """Return the first such day from today on, in a given year that day; None if there is none."""
    today = _floor(here, "day")
    start = today.replace(day=1) if year is None else today.replace(year=year, month=1, day=1)
    for first in (_step(start, "month", months) for months in range(_LEAP if year is None else 12)):
        if month in (None, first.month) and 1 <= day <= monthrange(first.year, first.month)[1]:
            found = first.replace(day=day)
            if year is not None or found >= today:
                return found
    return None
