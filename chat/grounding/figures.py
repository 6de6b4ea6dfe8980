"""Find the figures in a text: numbers with units, spans of time, dates, times of day."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from chat.parts import Json
from config.lib.words.moments import MOMENT, spell_moment


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure where it stands in a text.

    A number has a value and a grain, both in its unit: `usd`, `pct`, `x`, `bps`, `r`, `minutes`, or none. A date or a
    time of day has a `moment` instead: `2026-03-12`, `03-12`, `2026-03`, `14:30`.
    """

    text: str
    start: int
    end: int
    unit: str = ""
    value: Decimal = Decimal(0)
    grain: Decimal = Decimal(1)  # what its last digit counts
    sign: str = ""  # as written: "+", "-" or none
    moment: str = ""

    @property
    def digits(self) -> int:
        return len(self.value.as_tuple().digits)

    @property
    def is_small_count(self) -> bool:
        return not (self.unit or self.sign or self.moment) and self.grain >= 1 and self.value < 100

    def is_close(self, value: float, grain: Decimal | None = None) -> bool:
        """Tell whether a value rounds to this figure; the rest of a span may be cut off."""
        room = float(grain or self.grain)
        apart = abs(value) - float(self.value)
        slack = abs(value) * 1e-12 + 1e-12
        if self.unit == "minutes" and slack < apart < room:
            return True
        return abs(apart) <= room / 2 + slack

    def to_json(self, source: Json | None) -> Json:
        """Return the figure with its source, null without one."""
        return {"start": self.start, "end": self.end, "text": self.text, "source": source}


FITTING: Final = {  # units of a source, by the unit of a figure
    "": {"", "count", "length", "usd", "price", "x", "r", "fraction"},
    "usd": {"usd", "price", ""},
    "pct": {"pct", "fraction", ""},
    "bps": {"bps", "pct", ""},
    "x": {"x", ""},
    "r": {"r", ""},
    "minutes": {"minutes"},
}
COUNTED: Final = frozenset({"", "count", "length"})
TELLING_DIGITS: Final = 4  # so many do not agree by chance with another value, or a sum of two

_NUMBER: Final = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\d]|[.,]\d)"
# "3 hours and 5 minutes" is one figure; "45 min and 2 h" are two.
_SMALL_UNIT: Final = r"(?:hours?|minutes?|seconds?)\b"
_TIME_UNIT: Final = r"(?:weeks?|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b"
_FIGURE: Final = re.compile(
    rf"""(?<![\w.\#@/\\])(?<![A-Za-z]-)(?:
    {MOMENT}
    | (?P<span>{_NUMBER}[ -]?{_TIME_UNIT}(?:\ {_NUMBER}\ ?{_TIME_UNIT}|\ and\ {_NUMBER}\ {_SMALL_UNIT})*)
    | (?P<sign>[+\-\u2212])?(?P<currency>[$\u20ac\u00a3]\ ?)?(?P<number>{_NUMBER})
      (?P<scale>\ ?(?:k|K|M|bn|B|thousand|million|billion)\b)?
      (?P<unit>\ ?(?:%|percent\b|per\ cent\b|pct\b|percentage\ points?\b|[x\u00d7](?!\w)|bps\b|basis\ points?\b
        |USD[TC]?\b|dollars?\b|R\b))?
      (?!\w)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
# Where no figure is looked for: code, addresses, the numbers of a list, questions that the user may ask.
_SKIPPED: Final = re.compile(
    r"“[^”\n]*\?”|```.*?(?:```|\Z)|`[^`\n]*`|\]\([^)\s]*\)"
    r"|(?:https?://|www\.)\S+|(?<![\w-])[\w-]+\.[a-z]{2,}[/?]\S*|(?m:^[ \t>]*\d+[.)](?=\s))",
    re.DOTALL,
)
_SCALES: Final = {"k": 3, "thousand": 3, "m": 6, "million": 6, "bn": 9, "b": 9, "billion": 9}
_UNITS: Final = {
    "%": "pct",
    "p": "pct",
    "x": "x",
    "\u00d7": "x",
    "b": "bps",
    "u": "usd",
    "d": "usd",
    "r": "r",
}  # by first letter
_MINUTES: Final = {"w": Decimal(10080), "d": Decimal(1440), "h": Decimal(60), "m": Decimal(1), "s": Decimal(1) / 60}
_SPAN_PART: Final = re.compile(rf"({_NUMBER})[ -]?([a-z])", re.IGNORECASE)


def find_figures(text: str) -> Iterator[Figure]:
    """Yield the figures of a text outside code, addresses and list numbers, in order."""
    if not any(map(str.isdecimal, text)):
        return
    seen = _SKIPPED.sub(lambda match: " " * len(match[0]), text)
    for match in _FIGURE.finditer(seen):
        yield _read_figure(match)


def _read_figure(match: re.Match[str]) -> Figure:
    text = match[0].rstrip()
    figure = Figure(text, match.start(), match.start() + len(text))
    if moment := spell_moment(match):
        return replace(figure, moment=moment)
    if match["span"]:
        parts = [(_decimal(number), _MINUTES[unit.lower()]) for number, unit in _SPAN_PART.findall(match["span"])]
        value = sum((number * minutes for number, minutes in parts), Decimal(0))
        number, minutes = parts[-1]
        return replace(figure, unit="minutes", value=value, grain=_grain(number) * minutes)
    number = _decimal(match["number"])
    scale = Decimal(1).scaleb(_SCALES[match["scale"].strip().lower()] if match["scale"] else 0)
    unit = "usd" if match["currency"] else _UNITS[match["unit"].strip()[0].lower()] if match["unit"] else ""
    sign = (match["sign"] or "").replace("\u2212", "-")
    return replace(figure, unit=unit, value=number * scale, grain=_grain(number) * scale, sign=sign)


def _decimal(number: str) -> Decimal:
    return Decimal(number.replace(",", ""))


def _grain(number: Decimal) -> Decimal:
    exponent = number.as_tuple().exponent
    return Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)
