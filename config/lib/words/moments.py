"""Read dates and times of day from tokens. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from config.lib.words.lexer import Token, is_joined, parse_clock, text_at
from config.lib.words.vocabulary import find_meaning

_ISO: Final = re.compile(r"\d{4}-\d\d(?:-\d\d(?:(?:[T ]| at )\d\d:\d\d(?::\d\d)?)?)?(?:Z|\b)", re.IGNORECASE)
_NUMERIC: Final = re.compile(r"(?:(\d{4})-(\d\d)-(\d\d)|(\d\d?)([./])(\d\d?)\5(\d{4}|\d\d))(?!\d)")
_MOST_TOKENS: Final = 10  # of an instant
_SHORT: Final = 4  # letters of a month before a full stop


@dataclass(frozen=True, slots=True)
class Date:
    """A date of so many tokens, in part: a month, a month of a year, a day of a month, or a day."""

    year: int | None
    month: int  # 0: not known, as in 1/3/2027
    day: int | None
    length: int

    def __str__(self) -> str:
        year, day = f"{self.year}-" if self.year else "", f"-{self.day:02}" if self.day else ""
        return f"{year}{self.month:02}{day}"


def take_moment(text: str, tokens: Sequence[Token], at: int) -> tuple[int, str] | None:
    """Return how many of a text's tokens, from one on, name a date or a time of day, and its short form; else None.

    That is `2026-03-12 14:30`, `2026-03-12`, `2026-03`, `03-12` or `14:30`. A month alone is no date.
    """
    token = tokens[at]
    if token.kind == "clock":
        return 1, str(parse_clock(token.text) or token.text.zfill(len("14:30")))
    if token.kind == "digits" and (iso := _ISO.match(text, token.start)):
        length = sum(one.start < iso.end() for one in tokens[at : at + _MOST_TOKENS])
        return length, iso[0].upper().replace(" AT ", " ").replace("T", " ").rstrip("Z")[:16]
    date = take_date(tokens, at)
    return (date.length, str(date)) if date and date.month and (date.year or date.day) else None


def take_date(tokens: Sequence[Token], at: int, *, is_cued: bool = False) -> Date | None:
    """Return the date or month that begins at a token; "may" is a month with a capital, or if `is_cued`."""
    if tokens[at].kind == "digits" and (date := _take_numeric(tokens, at)):
        return date
    day, after = take_day(tokens, at)
    after += day is not None and text_at(tokens, after) == "of"
    month = read_month(tokens[after].written, is_cued=is_cued) if after < len(tokens) else 0
    if not month:
        return None
    after += 1 + (len(tokens[after].text) <= _SHORT and text_at(tokens, after + 1) == "." and month not in (5, 6, 7))
    if day is None:
        day, after = take_day(tokens, after)
    comma = day is not None and text_at(tokens, after) == ","
    year = read_year(tokens, after + comma)
    return Date(year, month, day, after + (comma + 1 if year else 0) - at)


def _take_numeric(tokens: Sequence[Token], at: int) -> Date | None:
    """Return the date `2027-02-15`, `15.2.2027` or `15/2/27`."""
    match = _NUMERIC.match("".join(token.text for token in tokens[at : at + len(("15", "/", "2", "/", "27"))]))
    if match is None:
        return None
    year, month, day = map(int, match.group(1, 2, 3) if match[1] else match.group(7, 6, 4))
    if month > 12:
        month, day = day, month
    elif match[5] == "/" and day <= 12 and day != month:
        month = 0  # either may come first
    return Date(year if year > 99 else 2000 + year, month, day, 1 if match[5] == "." else 5)


def read_month(written: str, *, is_cued: bool = False) -> int:
    """Return the month of a name, 0 without one; "may" is a month with a capital, or if `is_cued`."""
    word = written.title() if is_cued else written
    return int(find_meaning(word.lower(), "MONTH") or find_meaning(word, "MONTH") or 0)


def take_day(tokens: Sequence[Token], at: int) -> tuple[int | None, int]:
    """Return the day of a month that stands at a place, such as "3" or "3rd", and the place behind it."""
    text = text_at(tokens, at)
    if len(text) > len("31") or not text.isdecimal():
        return None, at
    joined = text_at(tokens, at + 1) if is_joined(tokens, at) else ""
    is_ordinal = find_meaning(joined, "ORDINAL") is not None
    return (
        (None, at) if (joined[:1].isalnum() or joined == "%") and not is_ordinal else (int(text), at + 1 + is_ordinal)
    )


def read_year(tokens: Sequence[Token], at: int) -> int | None:
    """Return the year of four digits at a place."""
    text = text_at(tokens, at)
    is_part = is_joined(tokens, at) and text_at(tokens, at + 1) in ("%", "-")
    return int(text) if len(text) == len("2026") and text.isdecimal() and not is_part else None
