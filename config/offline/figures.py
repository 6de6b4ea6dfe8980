"""How the offline model writes the numbers, times and texts of tool results. Whatever is not what it should be is `?`.

Texts that the user did not type (headlines, reasons, names, titles) are quoted, on one line, as Markdown that draws
nothing.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Final

from config.lib.text import prompt_line

UNKNOWN: Final = "?"
MAX_QUOTED: Final = 300  # characters

_MARKS = re.compile(r"([\\`*_\[\]<>~|])")

Row = Mapping[str, Any]


def number(row: Row, key: str) -> float | None:
    """Return a number of a result, None when there is none."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return float(value)


def count(row: Row, key: str) -> int:
    """Return a count of a result, 0 when there is none."""
    return int(number(row, key) or 0)


def rows(row: Row, key: str) -> list[Row]:
    """Return the objects of a list in a result."""
    listed = row.get(key)
    return [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []


def block(row: Row, key: str) -> Row:
    """Return an object of a result, an empty one when there is none."""
    value = row.get(key)
    return value if isinstance(value, Mapping) else {}


def plain(row: Row, key: str) -> str:
    """Return a text of a result that the user did not type, on one line, as Markdown that draws nothing."""
    value = row.get(key)
    text = prompt_line(value) if isinstance(value, str) else ""
    short = text if len(text) <= MAX_QUOTED else f"{text[: MAX_QUOTED - 1].rstrip()}…"
    return _MARKS.sub(r"\\\1", short)


def exact(row: Row, key: str) -> str:
    """Return a text of a result as it is, "" when there is none: to compare, not to show."""
    value = row.get(key)
    return value if isinstance(value, str) else ""


def usd(value: float | None) -> str:
    """Return money such as $1,234.50."""
    if value is None:
        return UNKNOWN
    rounded = round(value, 2) + 0.0  # no minus before a zero
    return f"{'-' if rounded < 0 else ''}${abs(rounded):,.2f}"


def gain(value: float | None) -> str:
    """Return money with its sign, such as +$12.00."""
    text = usd(value)
    return f"+{text}" if value is not None and round(value, 2) > 0 else text


def price(value: float | None) -> str:
    """Return a price, with the digits that a small one needs."""
    if value is None:
        return UNKNOWN
    return f"{value:,.2f}" if abs(value) >= 10 else f"{value:.6g}"


def pct(value: float | None, *, signed: bool = False) -> str:
    """Return a percentage that is given as 0..100."""
    if value is None:
        return UNKNOWN
    text = f"{round(value, 4) + 0.0:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{'+' if signed and value > 0 else ''}{text}%"


def bare(value: float | None) -> str:
    """Return a number without a unit."""
    return UNKNOWN if value is None else f"{value:,.6g}"


def moment(text: Any) -> datetime | None:
    """Return the instant of an ISO text, in UTC; None if it is none."""
    if not isinstance(text, str):
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def utc(text: Any) -> str:
    """Return an ISO instant as "2026-11-22 09:30 UTC"."""
    at = moment(text)
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else UNKNOWN


def day(text: Any) -> str:
    """Return the day of an ISO instant or day, in UTC."""
    at = moment(text)
    return f"{at:%Y-%m-%d}" if at else UNKNOWN


def counted(amount: int, noun: str) -> str:
    """Return "1 trade", "5 trades"."""
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"


def listing(lines: Sequence[str]) -> str:
    """Return a Markdown list."""
    return "\n".join(f"- {line}" for line in lines)


def paragraphs(*parts: str) -> str:
    """Return the parts that say something, a blank line between them."""
    return "\n\n".join(part for part in parts if part)
