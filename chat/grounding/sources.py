"""What the figures of a reply may come from: tool results, facts and the user's words."""

import json
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import cache, cached_property
from itertools import chain, count
from typing import Any, Final

from chat.grounding.figures import find_figures
from chat.parts import Json, split_preamble
from config.lib.words.lexer import find_phrases

Path = tuple[int, ...]
MAX_TEXT: Final = 40_000  # characters of text that are searched for figures

_KINDS: Final = {  # of the rows that have a page, by the name of their id; the first that a row has names it
    "trade_id": "trade",
    "fact_id": "fact",
    "run_id": "backtest",
    "note_id": "note",
    "draft_id": "draft",
    "deployment_id": "deployment",
    "skill_id": "skill",
}
_UNITS: Final = (  # of a value, by a word in its key
    ("usd", "usd"),
    ("pct", "pct"),
    ("bps", "bps"),
    ("minutes", "minutes"),
    ("hours", "hours"),
    ("days", "days"),
    ("seconds", "seconds"),
    ("leverage", "x"),
    ("fraction", "fraction"),
    ("price", "price"),
)
_IN_MINUTES: Final = {"hours": 60.0, "days": 1440.0, "seconds": 1 / 60}
_NAMES: Final = ("group", "name", "skill_name")  # keys of what a row is called
_COUNT: Final = re.compile(r"^n$|(?:^|_)(?:count|sample_size|not_known|left_out)(?:_|$)")
_LEVEL: Final = re.compile(r"(\d+)(pct|h)(?=_|$)")  # of an interval, or a span of hours, in a key
_NAMED_UNITS: Final = frozenset({"usd", "pct", "minutes", "r"})  # by a row's `unit`; its other values have none
SENTENCE_END: Final = re.compile(r"[.!?](?=\s|$)|\n")
SIDES: Final = frozenset({"entry", "exit"})  # of a trade, that a date may be of
_WORDS: Final = re.compile(r"[ \w-]*")
_SYNONYMS: Final = {"won": "win", "winners": "win"}
_OF_TRADES: Final = re.compile(r"\bn ?= ?\Z")
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?\Z")


@dataclass(frozen=True, slots=True)
class Value:
    """A number that a reply may state, and the row that it stands in."""

    value: float
    unit: str  # as `Figure.unit`, or `price`, `fraction`, `count` or `length` of a list
    key: str
    measures: frozenset[str]  # values of MEASURE
    symbol: str
    source: Json
    path: Path  # the result that it stands in, and its rows
    after: frozenset[str] = frozenset()  # words behind it in a text, in the singular

    @property
    def is_interval(self) -> bool:
        return "interval" in self.key

    @property
    def nouns(self) -> frozenset[str]:
        return self.after or split_nouns(self.key)


@dataclass(frozen=True, slots=True)
class _Row:
    """What the values of a row of a result share."""

    source: Json
    path: Path
    symbol: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant that a reply may state in part, and the row that it stands in."""

    symbol: str
    source: Json
    path: Path = ()
    measures: frozenset[str] = frozenset()


Source = Value | Moment


class Sources:
    """Collects the sources of one reply, newest first; searches them by value."""

    def __init__(self, zone: tzinfo, now: datetime) -> None:
        self.numbers: list[Value] = []
        self.symbols: set[str] = set()
        self.names: set[str] = set()  # of skills
        self._instants = [(now, Moment("", {"kind": "clock"}))]
        self._written: list[tuple[str, Moment]] = []  # dates in texts
        self._zone = zone
        self._rows = count()
        self._text_left = MAX_TEXT
        self._keys: dict[str, tuple[str, frozenset[str]]] = {}
        self.names_of: dict[Path, str] = {}
        self.keys_of: defaultdict[Path, set[str]] = defaultdict(set)

    def add_result(self, call_id: str, result: Any) -> None:
        """Add the result of a tool call."""
        self._walk(result, "", _Row({"kind": "tool", "call_id": call_id}, ()))

    def add_text(self, text: str, source: Json) -> None:
        """Add the figures of a text, such as a fact or the user's words."""
        self._read_text(text, "", _Row(source, (next(self._rows),)))

    def _read_text(self, text: str, key: str, row: _Row) -> None:
        """Add the figures of a text; each sentence is a row."""
        for sentence in SENTENCE_END.split(text[: self._text_left]):
            inner, measures = replace(row, path=(*row.path, next(self._rows))), find_measures(sentence)
            for figure in find_figures(sentence):
                if figure.moment:
                    self._written.append((figure.moment, Moment(inner.symbol, inner.source, inner.path)))
                    continue
                value = float(-figure.value if figure.sign == "-" else figure.value)
                after = read_nouns(sentence, figure.start, figure.end) | {"text"}
                self.numbers.append(
                    Value(value, figure.unit, key, measures, inner.symbol, inner.source, inner.path, after)
                )
        self._text_left = max(self._text_left - len(text), 0)

    def add_message(self, message: Mapping[str, Any]) -> None:
        """Add a message that a model was sent, the words before their preamble; those of a model are no source."""
        if message["role"] == "tool":
            self.add_result(message["tool_call_id"], json.loads(message["content"]))
        elif message["role"] == "user":
            preamble, words = split_preamble(str(message["content"]))
            self.add_text(words, {"kind": "chat"})
            self.add_text(preamble, {"kind": "context"})

    def find_between(self, low: float, high: float) -> Iterator[Value]:
        """Yield the known numbers whose absolute value is in a range."""
        values, order = self._by_value
        return (self.numbers[at] for at in order[bisect_left(values, low) : bisect_right(values, high)])

    @cached_property
    def _by_value(self) -> tuple[list[float], list[int]]:
        order = sorted(range(len(self.numbers)), key=lambda at: abs(self.numbers[at].value))
        return [abs(self.numbers[at].value) for at in order], order

    @cached_property
    def moments(self) -> Mapping[str, list[Moment]]:
        """Return the known dates and times, as `Figure.moment` writes them."""
        found: dict[str, list[Moment]] = {}
        for at, moment in self._instants:
            for text in {at.astimezone(zone).isoformat(" ")[:16] for zone in (UTC, self._zone)}:
                for form in (text, text[:10], text[:7], text[5:10], text[11:]):
                    found.setdefault(form, []).append(moment)
        for text, moment in self._written:
            for form in (text, text[5:]) if len(text) == len("2026-03-12") else (text,):
                found.setdefault(form, []).append(moment)
        return found

    def _walk(self, value: Any, key: str, row: "_Row") -> None:
        match value:
            case dict():
                self._walk_row(value, row)
            case list():
                if not value or isinstance(value[0], dict):
                    self._add_number(len(value), "length", key, row)
                for inner in value:
                    self._walk(inner, key, row)
            case bool() | None:
                return
            case int() | float():
                unit = "count" if _COUNT.search(key) or key.endswith("_back") else self._read_key(key)[0] or row.unit
                length = _IN_MINUTES.get(unit)
                self._add_number(value * (length or 1), "minutes" if length else unit, key, row)
            case str() if _ISO.match(value):
                at = datetime.fromisoformat(value)
                moment = Moment(row.symbol, row.source, row.path, self._read_key(key)[1] & SIDES)
                self._instants.append((at if at.tzinfo else at.replace(tzinfo=UTC), moment))
            case str():
                self.names |= {value} if value and key in _NAMES else set()
                self._read_text(value, key or "text", row)

    def _walk_row(self, values: Mapping[str, Any], outer: "_Row") -> None:
        symbol, unit = values.get("symbol"), values.get("unit")
        row = _Row(
            next(
                ({"kind": kind, "id": values[key]} for key, kind in _KINDS.items() if isinstance(values.get(key), str)),
                outer.source,
            ),
            (*outer.path, next(self._rows)),
            symbol if isinstance(symbol, str) else outer.symbol,
            unit if unit in _NAMED_UNITS else outer.unit,
        )
        if name := next((values[key] for key in _NAMES if values.get(key) and isinstance(values[key], str)), ""):
            self.names_of[row.path] = name
        for name, inner in values.items():
            if level := _LEVEL.search(name):
                is_span = level[2] == "h"
                self._add_number(float(level[1]) * (60 if is_span else 1), "minutes" if is_span else "pct", "", row)
            if not name.endswith(("_id", "_ids")) and name != "id":
                self._walk(inner, name, row)

    def _add_number(self, value: float, unit: str, key: str, row: _Row) -> None:
        if row.symbol:
            self.symbols.add(row.symbol)
        measures = self._read_key(key)[1]
        self.keys_of[row.path].add(key)
        self.numbers.append(Value(value, unit, key, measures, row.symbol, row.source, row.path))

    def _read_key(self, key: str) -> tuple[str, frozenset[str]]:
        """Return the unit and the measures that a key names."""
        if key not in self._keys:
            unit = next((unit for word, unit in _UNITS if word in _LEVEL.sub("", key)), "")
            self._keys[key] = (unit, find_measures(key.replace("_", " "), concept="KEYED"))
        return self._keys[key]

    @cached_property
    def nouns(self) -> frozenset[str]:
        return frozenset().union(*map(split_nouns, self._keys))

    def blank_names(self, text: str) -> str:
        """Return a text with names of skills blanked: their words measure nothing."""
        return re.sub("|".join(map(re.escape, self.names)) or r"\Z", lambda match: " " * len(match[0]), text)


@cache
def split_nouns(key: str) -> frozenset[str]:
    """Return the nouns of a key in the singular; `n` counts trades."""
    return frozenset({"trade"}) if _COUNT.search(key) else frozenset(word.rstrip("s") for word in key.split("_"))


def read_nouns(text: str, start: int, end: int) -> frozenset[str]:
    """Return the three words behind a figure, in the singular; "n = 7" is of trades."""
    found = _WORDS.match(text, end)
    nouns = {_SYNONYMS.get(word, word.rstrip("s")) for word in (found[0] if found else "").lower().split()[:3]}
    return frozenset(nouns | ({"trade"} if _OF_TRADES.search(text, max(start - 4, 0), start) else set()))


def find_measures(text: str, *, concept: str = "MEASURE") -> frozenset[str]:
    """Return the measures that a text names."""
    found = (meaning.value.split(",") for *_, meaning in find_phrases(text, concept))
    return frozenset(chain.from_iterable(found)) - {""}


def find_symbols(text: str, symbols: Iterable[str]) -> set[str]:
    """Return the symbols that a text names, also by their first part."""
    words = set(re.findall(r"[A-Z][A-Z0-9]+", text))
    return {symbol for symbol in symbols if symbol in text or re.split(r"[^A-Z0-9]", symbol)[0] in words}
