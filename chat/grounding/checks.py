"""Compare the figures of a reply with what was known to its turn.

A figure is grounded if a tool result, a fact or the user's words state it, in a fitting unit and to its last digit,
or if it is computed from such figures (`computed.py`). Figures of one sentence come from the same row, unless the
sentence names what it takes from another. A figure of few digits agrees with many values by chance: it also needs the
row that its sentence names.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, tzinfo
from decimal import Decimal
from itertools import groupby, islice
from typing import Any, Final

from chat.grounding.computed import Chosen, Sentence, complete_sources
from chat.grounding.figures import COUNTED, FITTING, TELLING_DIGITS, Figure, find_figures
from chat.grounding.sources import (
    SENTENCE_END,
    SIDES,
    Moment,
    Path,
    Source,
    Sources,
    Value,
    find_measures,
    find_symbols,
    read_nouns,
)
from chat.parts import Json, Part
from config.lib.words.lexer import find_phrases
from config.lib.words.vocabulary import find_meaning

_PHRASE_END: Final = re.compile(r"[,;|()\n]\s|[.!?](?=\s|$)|\s(?:and|but|while|with)\s")
_WORD: Final = re.compile(r"[A-Za-z]{2}")
_COSTS: Final = re.compile(r"fee|cost|loss|drawdown|mae|worst")
_NOT_OF_SIDES: Final = ("pct", "minutes", "r")  # units of no price and no date
_WORDS: Final = 20  # characters before a figure that have a word
_ABOUT_FRACTION: Final = Decimal("0.05")  # "about 50" is 49 to 51, whatever its zeros
MAX_FIGURES: Final = 300  # of a reply; further ones are not checked
_PHRASE: Final = 120  # characters on either side of a figure that say what it measures
_ALWAYS_NEAR: Final = frozenset({"chat", "context", "fact", "clock"})  # what the user said belongs to every sentence
_SCALES: Final = {("pct", "fraction"): 100, ("bps", "pct"): 100}
_SOURCES: Final = {
    "trade": "a trade",
    "fact": "what Keel knows about you",
    "backtest": "a backtest",
    "skill": "a skill",
    "deployment": "a deployment",
    "note": "a lesson",
    "draft": "a draft",
    "tool": "a look-up",
    "chat": "your words",
    "context": "the time and what was in focus",
    "clock": "the clock",
    "computed": "figures of one look-up",
    "list": "the list below it",
}


@dataclass(frozen=True, slots=True)
class _Stated:
    """A figure, what the words beside it measure, and its possible sources."""

    figure: Figure
    measures: Set[str]
    candidates: list[Source]

    @property
    def is_exact(self) -> bool:
        return self.figure.digits >= TELLING_DIGITS - 1

    def takes(self, known: Source) -> bool:
        """Tell whether a source measures what the words beside the figure name."""
        measures = self.measures & SIDES if isinstance(known, Moment) else self.measures
        return not measures or not known.measures or bool(measures & known.measures)


def ground_parts(
    parts: Iterable[Part], *, messages: Iterable[Mapping[str, Any]], memory: str, zone: tzinfo, now: datetime
) -> None:
    """Add to each text of a reply its figures with their sources, as `figures`.

    `messages`: what the model was sent before, oldest first. `memory`: the prompt's memory block. `zone`: a reply
    may state times in it. `now`: when the turn began.
    """
    parts = list(parts)
    texts = [part for part in parts if part["kind"] == "text" and any(find_figures(part["text"]))]
    if not texts:
        return
    sources = Sources(zone, now)
    for part in reversed(parts):
        if part["kind"] == "tool":
            sources.add_result(part["call_id"], part["result"])
    for message in reversed(list(messages)):
        sources.add_message(message)
    sources.add_text(memory, {"kind": "fact"})
    for part in texts:
        part["figures"] = check_figures(part["text"], sources)


def list_figures(parts: Iterable[Part]) -> list[Json]:
    """Return the figures of a reply that were checked, in order."""
    return [figure for part in parts for figure in part.get("figures", ())]


def name_source(source: Json | None) -> str:
    """Return in words where a figure comes from."""
    return "not from your record" if source is None else _SOURCES[source["kind"]]


def check_figures(text: str, sources: Sources) -> list[Json]:
    """Return the figures of a text with their sources (`Figure.to_json`)."""
    found = [chosen for sentence in _split_sentences(text) for chosen in _choose(sentence, sources)]
    return list(complete_sources(text, found, sources))


def _split_sentences(text: str) -> Iterator[Sentence]:
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    figures = islice(find_figures(text), MAX_FIGURES)
    for place, inside in groupby(figures, key=lambda figure: bisect_right(ends, figure.start)):
        start, end = _bounds_of(place, ends, len(text))
        yield Sentence(text[start:end], start, list(inside))


def _bounds_of(place: int, ends: Sequence[int], length: int) -> tuple[int, int]:
    """Return where a piece of a text begins and ends, of those that `ends` cuts it into."""
    return ends[place - 1] if place else 0, ends[place] if place < len(ends) else length


def _find_candidates(figure: Figure, before: str, sources: Sources) -> list[Source]:
    if figure.moment:
        return list(sources.moments.get(figure.moment, ()))
    grain, is_about = figure.grain, find_meaning((before[-_WORDS:].lower().split() or [""])[-1], "ROUNDED") is not None
    if is_about:
        exponent = figure.value.normalize().as_tuple().exponent
        assert isinstance(exponent, int), "a figure is a number"
        grain = max(min(Decimal(1).scaleb(exponent), figure.value * _ABOUT_FRACTION), grain)
    wanted, room = float(figure.value), float(grain)
    return [
        known
        for scale in ((1, 100) if figure.unit in ("pct", "bps") else (1,))
        for known in sources.find_between((wanted - room) / scale, (wanted + room) / scale + room)
        if _SCALES.get((figure.unit, known.unit), 1) == scale
        and figure.is_close(known.value * scale, grain)
        and _fits(figure, known, is_about=is_about)
    ]


def _fits(figure: Figure, known: Value, *, is_about: bool) -> bool:
    if known.unit not in FITTING[figure.unit] or (
        figure.unit and not known.unit and known.key and "interval" not in known.key
    ):
        return False
    digits = figure.digits
    is_equal = abs(abs(known.value) * _SCALES.get((figure.unit, known.unit), 1) - float(figure.value)) < 1e-9
    # A figure of one digit, or a count, would round from too many numbers.
    if not is_equal and not is_about and figure.grain >= 1 and digits < (2 if figure.unit else 3):
        return False
    if not figure.unit and figure.grain >= 1 and digits < 3 and known.unit not in COUNTED:
        return known.unit == "x"
    if figure.sign == "+":
        return known.value >= 0
    return figure.sign != "-" or known.value <= 0 or bool(_COSTS.search(known.key))


def _choose(sentence: Sentence, sources: Sources) -> Iterator[Chosen]:
    stated = list(_read_sentence(sentence, sources))
    choice = _Choice(sentence, sources, stated)
    for said in stated:
        bound = [known for known in said.candidates if choice.is_bound(known, said)]
        yield sentence, said.figure, max(bound, key=lambda known: choice.rank(known, said), default=None)


def _read_sentence(sentence: Sentence, sources: Sources) -> Iterator[_Stated]:
    words = sentence.words
    symbols = find_symbols(words, sources.symbols)
    ends = [match.end() for match in _PHRASE_END.finditer(words)]
    plain = sources.blank_names(words)
    for figure in sentence.figures:
        at = figure.start - sentence.start
        measures = find_measures(_read_phrase(plain, at, ends)) - (
            SIDES if figure.sign or figure.unit in _NOT_OF_SIDES else set()
        )
        candidates = _find_candidates(figure, words[:at], sources)
        near = [known for known in candidates if not symbols or not known.symbol or known.symbol in symbols]
        if figure.is_small_count:
            nouns = read_nouns(words, at, figure.end - sentence.start)
            is_length = bool(nouns) or words[:at].endswith("of ")
            counts = [one for one in near if isinstance(one, Value) and (one.unit != "x" or "leverage" in measures)]
            # They count what the words beside the figure name, if these name anything.
            named, other = nouns & sources.nouns, nouns - {"of", "least", "most"}
            fitting = [one for one in counts if one.nouns & nouns or not (other if one.after else named)]
            near = [one for one in fitting if is_length or one.unit != "length"]
        yield _Stated(figure, measures, near)


class _Choice:
    """Which rows the figures of a sentence come from."""

    def __init__(self, sentence: Sentence, sources: Sources, stated: Sequence[_Stated]) -> None:
        self._sentence, self._sources = sentence, sources
        self._covers = _count_covers(stated)
        self._symbols = find_symbols(sentence.words, sources.symbols)
        paths = {known.path for said in stated if not said.figure.is_small_count for known in said.candidates}
        self._anchors = {path for path in paths if len(path) > 1} or paths
        # Rows that the sentence names, or states a figure of that hardly agrees by chance.
        self._told = {path for path, name in sources.names_of.items() if name in sentence.words} | {
            known.path
            for said in stated
            for known in said.candidates
            if isinstance(known, Value) and known.key and said.is_exact and said.takes(known)
        }

    def rank(self, known: Source, said: _Stated) -> tuple[bool, int]:
        """Order the sources of a figure: those measure what its words name come first."""
        return bool(known.measures & said.measures), self._covers[known.path]

    def is_bound(self, known: Source, said: _Stated) -> bool:
        """Tell whether a source is of a row that the sentence is about."""
        if known.source["kind"] in _ALWAYS_NEAR:
            return said.is_exact or said.takes(known)
        if isinstance(known, Value) and said.figure.digits < TELLING_DIGITS and self._is_elsewhere(known, said):
            return False
        if known.symbol and said.is_exact and self._covers[known.path] > 1:
            return True  # several figures of a sentence are of this trade: no word needs to say what each measures
        if not said.takes(known) or not said.figure.is_small_count:
            return said.takes(known)
        # A count is of the whole result, or of a row that the sentence states another figure of.
        anchors = self._anchors
        return len(known.path) == 1 or not anchors or any(_is_same_line(known.path, one) for one in anchors)

    def _is_elsewhere(self, known: Value, said: _Stated) -> bool:
        """Tell whether a figure of few digits agrees with a row that the sentence is not about."""
        words = self._sentence.words
        if known.is_interval and not any(find_phrases(words, "SPREAD")):
            return True
        if not known.key or known.path in self._told or known.symbol in self._symbols:
            return False
        if not said.is_exact and not said.figure.is_small_count and known.path in self._sources.names_of:
            return True
        is_whole = words[: said.figure.start - self._sentence.start].endswith("of ")
        return not is_whole and any(known.key in self._sources.keys_of[path] for path in self._told)


def _is_same_line(one: Path, other: Path, *, is_traded: bool = False) -> bool:
    """Tell whether a row is the other one, in it or around it; a result is not around its trades."""
    length = min(len(one), len(other))
    return one == other or ((length > 1 or not is_traded) and one[:length] == other[:length])


def _read_phrase(words: str, at: int, ends: Sequence[int]) -> str:
    place = bisect_right(ends, at)
    start, end = _bounds_of(place, ends, len(words))
    if place and not _WORD.search(words, start, end):
        start, _ = _bounds_of(place - 1, ends, len(words))  # "The drawdown, 1.5%, is ..."
    return words[max(start, at - _PHRASE) : min(end, at + _PHRASE)]


def _count_covers(stated: Sequence[_Stated]) -> Mapping[Path, int]:
    """Return how many figures of a sentence each row states, with the rows in it and around it."""
    found = [{known.path: bool(known.symbol) for known in said.candidates} for said in stated]
    return {
        path: sum(any(_is_same_line(path, other, is_traded=traded) for other, traded in rows.items()) for rows in found)
        for path in set().union(*found)
    }
