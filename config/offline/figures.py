"""Numbers, times and texts of tool results; a value of another kind is `?`.

Texts that the user did not type (headlines, reasons, names, titles) are quoted, on one line, as Markdown that draws
nothing.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from config.lib.text import prompt_line

UNKNOWN: Final = "?"
MAX_QUOTED: Final = 300  # characters

_MARKS = re.compile(r"([\\`*_\[\]<>~|])")

Row = Mapping[str, Any]
Field = tuple[str, str, Callable[[Decimal], str]]  # label, key and format of a number


def number(row: Row, key: str) -> Decimal | None:
    """Return a number of a result, None when there is none."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return Decimal(str(value))


def sum_numbers(values: Iterable[Decimal | None]) -> Decimal:
    """Return the sum of the numbers that are there."""
    return sum((value for value in values if value is not None), Decimal(0))


def count(row: Row, key: str) -> int:
    """Return a count of a result, 0 when there is none."""
    return int(number(row, key) or 0)


def rows(row: Row, key: str) -> list[Row]:
    """Return the objects of a list in a result."""
    listed = row.get(key)
    return [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []


def block(row: Row, key: str) -> Row:
    """Return an object of a result, empty if missing."""
    value = row.get(key)
    return value if isinstance(value, Mapping) else {}


def plain(row: Row, key: str) -> str:
    """Return an untrusted text on one line, with Markdown escaped."""
    value = row.get(key)
    text = prompt_line(value) if isinstance(value, str) else ""
    short = text if len(text) <= MAX_QUOTED else f"{text[: MAX_QUOTED - 1].rstrip()}…"
    return _MARKS.sub(r"\\\1", short)


def exact(row: Row, key: str) -> str:
    """Return a result's raw text to compare, or ""."""
    value = row.get(key)
    return value if isinstance(value, str) else ""


def spell(row: Row, key: str, format_value: Callable[[Decimal], str]) -> str:
    """Return a number of a result in a format, `?` when there is none.

    A key that ends in `_pct` has a percentage, 0..100; its format takes a share of one.
    """
    value = number(row, key)
    if value is None:
        return UNKNOWN
    return format_value(value / 100 if key.endswith("_pct") else value)


def labelled(row: Row, fields: Iterable[Field]) -> list[str]:
    """Return the numbers that a result has, each after its label."""
    return [f"{label} {spell(row, key, show)}" for label, key, show in fields if number(row, key) is not None]


def moment(text: object) -> datetime | None:
    """Parse an ISO instant in UTC; None if invalid."""
    if not isinstance(text, str):
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def utc(text: object) -> str:
    """Return an ISO instant as "2026-11-22 09:30 UTC"."""
    at = moment(text)
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else UNKNOWN


def day(text: object) -> str:
    """Return the day of an ISO instant or day, in UTC."""
    at = moment(text)
    return f"{at:%Y-%m-%d}" if at else UNKNOWN


def listing(lines: Sequence[str]) -> str:
    """Return a Markdown list."""
    return "\n".join(f"- {line}" for line in lines)


def paragraphs(*parts: str) -> str:
    """Return the parts that say something, a blank line between them."""
    return "\n\n".join(part for part in parts if part)
