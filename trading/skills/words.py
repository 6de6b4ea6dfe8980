"""The words of strategies: typed tokens for the grammar, lengths in bars, and distances. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from typing import Any, Final, NamedTuple

from config.lib.words.lexer import Token, parse_clock, read_tokens, take_number, take_phrase
from config.lib.words.typed import Word
from config.lib.words.vocabulary import find_meaning
from trading.models.choices import INTERVALS

MOST_BARS: Final = 500
MOST_SMOOTHED: Final = 50  # bars of RSI, ATR and ADX, which need several times as many to settle

_MARKS: Final = {",": "COMMA", ":": "COMMA", "/": "OR", "&": "AND", "-": "DASH", "–": "DASH", "—": "DASH"}
_DROPPED: Final = frozenset("'\"“”\u2018’*")
_ENDING: Final = frozenset(".,;:!-–")
_LISTED: Final = frozenset({"DAY", "EVENT", "REGIME"})
_NUMBERS: Final = {"": "NUM", "x": "FACTOR", "%": "PCT"}
_SPANS: Final = {"min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


class NotUnderstood(Exception):
    """A line says what no term can express; the text says why."""


class Length(NamedTuple):
    """A number of bars, or of a unit of time."""

    number: int
    unit: str  # of the vocabulary, or `bar`

    @property
    def span(self) -> timedelta:
        """The time, nothing for bars. Raises NotUnderstood for weeks."""
        if self.unit == "w":
            raise NotUnderstood("a time is in minutes, hours, days or bars")
        return self.number * _SPANS.get(self.unit, timedelta(0))

    @property
    def bars(self) -> int:
        """The number of bars, none for a time."""
        return self.number if self.unit == "bar" else 0


@dataclass(frozen=True, slots=True)
class Charts:
    own: str
    higher: tuple[str, ...] = ()

    def find_interval(self, chart: Length | str) -> str:
        """Return the interval of bars of this length; empty for the skill's own. Raises NotUnderstood."""
        name = chart if isinstance(chart, str) else f"{chart.number}{chart.unit.replace('min', 'm')}"
        interval = {"60m": "1h", "24h": "1d"}.get(name, name)
        if interval in ("", self.own):
            return ""
        if interval not in self.higher:
            raise NotUnderstood(f"the skill sees no {interval} bars; add them to its higher timeframes")
        return interval

    def count_bars(self, length: Length | float, chart: Length | str = "") -> tuple[int, str]:
        """Return how many bars of which interval a length such as 20 days is. Raises NotUnderstood."""
        number, unit = length if isinstance(length, Length) else (int(length), "bar")
        interval = self.find_interval(f"1{unit}" if unit in {"d", "w"} else chart)
        bars, left = number, timedelta(0)
        if unit in {"h", "min"}:
            bars, left = divmod(number * _SPANS[unit], INTERVALS[interval or self.own])
        if left or not 2 <= bars <= MOST_BARS:
            raise NotUnderstood(f"{number} {_UNIT_NAMES.get(unit, unit)}s are not 2 to {MOST_BARS} whole bars")
        return bars, interval


_UNIT_NAMES: Final = {"min": "minute", "h": "hour", "d": "day", "w": "week"}


def type_words(text: str, concepts: Collection[str]) -> list[dict[str, Word]]:
    """Return the words of a line for the grammar, by their types: concepts, numbers and marks; lists as one."""
    tokens = [token for token in read_tokens(text) if token.text not in _DROPPED]
    while tokens and tokens[-1].text in _ENDING:
        tokens.pop()
    words: list[dict[str, Word]] = []
    at = 0
    while at < len(tokens):
        length, found = _read_one(tokens, at, concepts)
        if found.keys() != {"EMPTY"}:
            token = tokens[at]
            words.append({kind: Word(kind, value, token.written, token.start) for kind, value in found.items()})
            _merge_list(words)
        at += length
    return words


def _read_one(tokens: Sequence[Token], at: int, concepts: Collection[str]) -> tuple[int, dict[str, Any]]:
    """Return how many tokens a word has, and its values by its types."""
    token = tokens[at]
    if token.kind == "clock":
        clock = parse_clock(token.text)
        return 1, {"TIME": clock.minute} if clock else {"UNKNOWN": None}
    if token.text == "(" and (found := _read_params(tokens, at)):
        return found
    if token.text in _MARKS:
        return 1, {_MARKS[token.text]: token.text}
    length, meanings = take_phrase(tokens, at, concepts) if token.kind in ("word", "mark") else (0, [])
    if not meanings:
        return _read_number(tokens, at) or (1, {"UNKNOWN": token.text})
    text = " ".join(one.text for one in tokens[at : at + length])
    values: dict[str, Any] = {}
    for concept, value in reversed(meanings):
        if concept == "SPAN":
            values["LEN"] = Length(int(value), "min")
        elif concept == "TIME":
            values["TIME"] = int(value)
        else:
            values[concept] = (value,) if concept in _LISTED else value or text
    return length, values


def _read_number(tokens: Sequence[Token], at: int) -> tuple[int, dict[str, Any]] | None:
    number = take_number(tokens, at)
    if number is None or not isinstance(number.value, Fraction):
        return None
    length, unit, value = number.length, number.unit, float(number.value)
    if not unit and at + length < len(tokens) and find_meaning(tokens[at + length].text, "BAR") is not None:
        length, unit = length + 1, "bar"
    if unit in _NUMBERS:
        return length, {_NUMBERS[unit]: value}
    unit = "bar" if find_meaning(unit, "BAR") is not None else unit
    if unit not in {*_UNIT_NAMES, "bar"} or number.value.denominator != 1:
        return length, {"UNKNOWN": value}
    return length, {"LEN": Length(int(value), unit)}


def _read_params(tokens: Sequence[Token], at: int) -> tuple[int, dict[str, Any]] | None:
    """Read `(14)` and `(20, 2.5)`."""
    closing = next((n for n in range(at + 1, min(at + 5, len(tokens))) if tokens[n].text == ")"), None)
    parts = [part for token in tokens[at + 1 : closing] for part in token.text.replace("/", ",").split(",") if part]
    if closing is None or not 1 <= len(parts) <= 2 or not all(part.replace(".", "", 1).isdecimal() for part in parts):
        return None
    return closing + 1 - at, {"PARAMS": tuple(map(float, parts))}


def _merge_list(words: list[dict[str, Word]]) -> None:
    """Merge "FOMC, CPI or NFP" into one word."""
    joints = {"COMMA", "OR", "AND"}
    first = next((n for n in range(len(words) - 2, -1, -1) if joints.isdisjoint(words[n])), 0)
    listed = _LISTED & words[-1].keys() & words[first].keys()
    if first < len(words) - 2 and listed:
        values = {kind: (*words[first][kind].value, *words[-1][kind].value) for kind in listed}
        words[first:] = [{kind: replace(words[first][kind], value=value) for kind, value in values.items()}]
