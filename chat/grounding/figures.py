"""Find the figures in a text: numbers with units, spans of time, dates, times of day."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from chat.parts import Json
from config.lib.words.lexer import Number, Token, read_tokens, take_number, text_at
from config.lib.words.moments import take_moment


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

_UNITS: Final = {"$": "usd", "€": "usd", "£": "usd", "%": "pct", "x": "x", "bp": "bps", "r": "r"}
_MINUTES: Final = {"w": Decimal(10080), "d": Decimal(1440), "h": Decimal(60), "min": Decimal(1), "s": Decimal(1) / 60}
_AFTER_AND: Final = frozenset({"hour", "hours", "minute", "minutes", "second", "seconds"})  # "45 min and 2 h" are two
_COUNTED: Final = frozenset({"times", "fold"})  # units that a figure counts
_SIGNS: Final = {"+": "+", "-": "-", "\u2212": "-"}
_IS_APART: Final = re.compile(r"(?<![\w.#@/\\])(?<![A-Za-z]-)")  # of no name and no path
_IN_WORD: Final = re.compile(r"\w")
_SKIPPED: Final = (  # where no figure is looked for
    re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL),
    re.compile(r"\]\([^)\s]*\)|(?:https?://|www\.)\S+|(?<![\w-])[\w-]+\.[a-z]{2,}[/?]\S*"),
    re.compile(r"“[^”\n]*\?”|(?m:^[ \t>]*\d+[.)](?=\s))"),  # questions that the user may ask, numbers of a list
)


def find_figures(text: str) -> Iterator[Figure]:
    """Yield the figures of a text outside code, addresses and list numbers, in order."""
    if not any(map(str.isdecimal, text)):
        return
    seen = text
    for skipped in _SKIPPED:
        seen = skipped.sub(lambda match: " " * len(match[0]), seen)
    tokens, at = read_tokens(seen), 0
    while at < len(tokens):
        length, figure = _take_figure(seen, tokens, at) or (1, None)
        at += length
        if figure is not None:
            yield figure


def _take_figure(text: str, tokens: Sequence[Token], at: int) -> tuple[int, Figure | None] | None:
    """Return how many tokens are of the figure that begins at one, and the figure."""
    token = tokens[at]
    if token.kind not in ("digits", "clock", "word") or not _IS_APART.match(text, token.start):
        return None
    values: dict[str, Any]
    if moment := take_moment(text, tokens, at):
        length, values = moment[0], {"moment": moment[1]}
    elif number := _take_digits(tokens, at):
        length, values = _read_span(tokens, at) if number.unit in _MINUTES else _read_amount(tokens, at, number)
        values["sign"] = _SIGNS.get(token.text[0], "")
    else:
        return None
    end = tokens[at + length - 1].end
    return length, None if _IN_WORD.match(text, end) else Figure(text[token.start : end], token.start, end, **values)


def _take_digits(tokens: Sequence[Token], at: int) -> Number | None:
    number = take_number(tokens, at) if at < len(tokens) and tokens[at].kind == "digits" else None
    return number if number is not None and number.digits else None


def _read_amount(tokens: Sequence[Token], at: int, number: Number) -> tuple[int, dict[str, Any]]:
    unit, length = _UNITS.get(number.unit, ""), number.length
    if not unit or tokens[at + length - 1].text in _COUNTED:
        unit, length = "", 1 + (number.scale > 1)
    scale = Decimal(1).scaleb(len(str(number.scale)) - 1)
    return length, {"unit": unit, "value": Decimal(number.digits) * scale, "grain": _grain(number) * scale}


def _read_span(tokens: Sequence[Token], at: int) -> tuple[int, dict[str, Any]]:
    """Read a span of time: "3 hours and 5 minutes" is one."""
    value, grain, end, is_and = Decimal(0), Decimal(1), at, False
    while (number := _take_digits(tokens, end + is_and)) and (minutes := _MINUTES.get(number.unit)):
        if is_and and tokens[end + number.length].text not in _AFTER_AND:
            break
        value, grain = value + Decimal(number.digits) * minutes, _grain(number) * minutes
        end += number.length + is_and
        is_and = text_at(tokens, end) == "and"
    return end - at, {"unit": "minutes", "value": value, "grain": grain}


def _grain(number: Number) -> Decimal:
    return Decimal(1).scaleb(-len(number.digits.partition(".")[2]))
