"""Compare the figures of a reply with what was known to its turn.

A figure is grounded if a tool result, a fact or the user's words state it, in a fitting unit and to its last digit; or
if it is the sum, difference or ratio of two figures of one result and the reply states both or names the operation.
Figures of one sentence come from the same row, unless the sentence names what it takes from another.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, groupby, islice, takewhile
from typing import Final

from chat.grounding.figures import Figure, find_figures
from chat.grounding.sources import Known, Moment, Path, Sources, find_measures, find_symbols, read_nouns
from chat.parts import Json

_ABOUT: Final = re.compile(r"(?:about|around|roughly|approximately|nearly|almost|~|≈)\s*$", re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|$)|\n")
_PHRASE_END: Final = re.compile(r"[,;|()\n]\s|[.!?](?=\s|$)|\s(?:and|but|while|with)\s")
_WORD: Final = re.compile(r"[A-Za-z]{2}")
_LISTED: Final = re.compile(r"[ \t]*(?:[-*•]|\d+[.)]) ")
_OPERATIONS: Final = {
    "sum": re.compile(r"\b(?:sum|total|together|combined|altogether|in all|plus)\b", re.IGNORECASE),
    "difference": re.compile(
        r"\b(?:minus|difference|differs?|gap|more|less|better|worse|higher|lower)\b", re.IGNORECASE
    ),
    "ratio": re.compile(r"\b(?:ratio|times|share|half|twice|double)\b", re.IGNORECASE),
}
_ALL: Final = frozenset(_OPERATIONS)
_COSTS: Final = re.compile(r"fee|cost|loss|drawdown|mae|worst")
_ABOUT_FRACTION: Final = Decimal("0.05")  # "about 50" is 49 to 51, whatever its zeros
_TELLING_DIGITS: Final = 4  # so many do not agree by chance with a sum of all rows
MAX_FIGURES: Final = 300  # of a reply; further ones are not checked
_PHRASE: Final = 120  # characters on either side of a figure that say what it measures
_MOST_COMPUTED: Final = 40  # figures of a reply that are looked for among sums
_MOST_STATED: Final = 40  # figures that others are computed from
_MOST_OPERANDS: Final = 60  # of one key in one result
_ALWAYS_NEAR: Final = frozenset({"chat", "context", "fact", "clock"})  # what the user said belongs to every sentence
_FITTING: Final = {
    "": {"", "count", "usd", "price", "x", "r", "fraction"},
    "usd": {"usd", "price", ""},
    "pct": {"pct", "fraction", ""},
    "bps": {"bps", "pct", ""},
    "x": {"x", ""},
    "r": {"r", ""},
    "minutes": {"minutes"},
}
_COUNTED: Final = frozenset({"", "count"})
_SCALES: Final = {("pct", "fraction"): 100, ("bps", "pct"): 100}


@dataclass(frozen=True, slots=True)
class _Stated:
    """A figure, what the words beside it measure, and its possible sources."""

    figure: Figure
    measures: Set[str]
    is_whole: bool  # some value measures all of them: a mean holding time is no holding time
    candidates: list[Known | Moment]

    def takes(self, known: Known | Moment) -> bool:
        """Tell whether a source measures what the words beside the figure name."""
        if not self.measures or not known.measures:
            return True
        return self.measures <= known.measures if self.is_whole else bool(self.measures & known.measures)


@dataclass(frozen=True, slots=True)
class _Sentence:
    words: str
    start: int  # in the reply
    figures: list[Figure]


Chosen = tuple[_Sentence, Figure, Known | Moment | None]


def check_figures(text: str, sources: Sources) -> list[Json]:
    """Return the figures of a text with their sources (`Figure.to_json`)."""
    found = [chosen for sentence in _split_sentences(text) for chosen in _choose(sentence, sources)]
    checked, computations = [], _MOST_COMPUTED
    for sentence, figure, known in found:
        source = known.source if known else None
        if source is None and not figure.moment and (computations := computations - 1) >= 0:
            # A count of a few comes from many pairs: both must stand beside it.
            stated = [
                one for said, _, one in found if isinstance(one, Known) and (said is sentence or figure.grain < 1)
            ]
            source = _find_computed(figure, sentence, stated[:_MOST_STATED], sources)
            source = source or _find_listed(figure, text)
        checked.append(figure.to_json(source))
    return checked


def _split_sentences(text: str) -> Iterator[_Sentence]:
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    figures = islice(find_figures(text), MAX_FIGURES)
    for place, inside in groupby(figures, key=lambda figure: bisect_right(ends, figure.start)):
        start, end = _bounds_of(place, ends, len(text))
        yield _Sentence(text[start:end], start, list(inside))


def _bounds_of(place: int, ends: Sequence[int], length: int) -> tuple[int, int]:
    """Return where a piece of a text begins and ends, of those that `ends` cuts it into."""
    return ends[place - 1] if place else 0, ends[place] if place < len(ends) else length


def _find_listed(figure: Figure, text: str) -> Json | None:
    """Return the source of a count of the lines that the reply lists below a colon behind it."""
    rest, *lines = text[figure.end :].split("\n")
    listed = [line for line in takewhile(lambda line: _LISTED.match(line) or not line, lines) if line]
    is_head = rest.rstrip(" *").endswith(":") and _is_small_count(figure)
    return {"kind": "list"} if is_head and len(listed) == figure.value else None


def _is_small_count(figure: Figure) -> bool:
    return not (figure.unit or figure.sign or figure.moment) and figure.grain >= 1 and figure.value < 100


def _find_candidates(figure: Figure, before: str, sources: Sources) -> list[Known | Moment]:
    if figure.moment:
        return list(sources.moments.get(figure.moment, ()))
    about = _ABOUT.search(before[-16:])
    grain = _trailing_grain(figure) if about else figure.grain
    return [known for known in _find_near(figure, grain, sources) if _fits(figure, known, is_about=bool(about))]


def _trailing_grain(figure: Figure) -> Decimal:
    exponent = figure.value.normalize().as_tuple().exponent
    coarse = min(Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0), figure.value * _ABOUT_FRACTION)
    return max(coarse, figure.grain)


def _find_near(figure: Figure, grain: Decimal, sources: Sources) -> Iterator[Known]:
    wanted, room = float(figure.value), float(grain)
    for scale in (1, 100) if figure.unit in ("pct", "bps") else (1,):
        for known in sources.find_between((wanted - room) / scale, (wanted + room) / scale + room):
            if _SCALES.get((figure.unit, known.unit), 1) == scale and _is_close(known.value * scale, figure, grain):
                yield known


def _is_close(value: float, figure: Figure, grain: Decimal) -> bool:
    """Tell whether a value rounds to a figure; the rest of a span may be cut off."""
    apart = abs(value) - float(figure.value)
    slack = abs(value) * 1e-12 + 1e-12
    if figure.unit == "minutes" and slack < apart < float(grain):
        return True
    return abs(apart) <= float(grain) / 2 + slack


def _fits(figure: Figure, known: Known, *, is_about: bool) -> bool:
    if known.unit not in _FITTING[figure.unit] or (
        figure.unit and not known.unit and known.key and "interval" not in known.key
    ):
        return False
    digits = len(figure.value.as_tuple().digits)
    is_equal = abs(abs(known.value) * _SCALES.get((figure.unit, known.unit), 1) - float(figure.value)) < 1e-9
    # A figure of one digit, or a count, would round from too many numbers.
    if not is_equal and not is_about and figure.grain >= 1 and digits < (2 if figure.unit else 3):
        return False
    if not figure.unit and figure.grain >= 1 and digits < 3 and known.unit not in _COUNTED:
        return known.unit == "x"
    if figure.sign == "+":
        return known.value >= 0
    return figure.sign != "-" or known.value <= 0 or bool(_COSTS.search(known.key))


def _choose(sentence: _Sentence, sources: Sources) -> Iterator[Chosen]:
    words = sentence.words
    symbols = find_symbols(words, sources.symbols)
    ends = [match.end() for match in _PHRASE_END.finditer(words)]
    plain = sources.blank_names(words)
    stated = []
    for figure in sentence.figures:
        at = figure.start - sentence.start
        measures = find_measures(_read_phrase(plain, at, ends))
        candidates = _find_candidates(figure, words[:at], sources)
        near = [known for known in candidates if not symbols or not known.symbol or known.symbol in symbols]
        if _is_small_count(figure):
            nouns = read_nouns(words, at, figure.end - sentence.start)
            counts = [one for one in near if isinstance(one, Known)]
            near = [one for one in counts if one.nouns & nouns or not (nouns if one.after else nouns & sources.nouns)]
        stated.append(_Stated(figure, measures, len(measures) > 1 and sources.has_measured(measures), near))
    covers = _count_covers(stated)
    most = max(covers.values(), default=0)
    paths = {known.path for said in stated if not _is_small_count(said.figure) for known in said.candidates}
    anchors = {path for path in paths if len(path) > 1} or paths
    of_rows = [said.figure for said in stated if said.candidates and all(known.symbol for known in said.candidates)]
    is_mixed = len({str(len(one.moment)) if one.moment else one.unit for one in of_rows}) > 1

    def is_bound(known: Known | Moment, said: _Stated) -> bool:
        cover = covers[known.path]
        if known.source["kind"] in _ALWAYS_NEAR or (known.symbol and cover > 1):
            return True  # several figures of a sentence are of this trade: no word needs to say what each measures
        if not said.takes(known) or (_is_small_count(said.figure) and not _is_related(known.path, anchors)):
            return False
        if cover > 1 or (len(symbols) > 1 and known.symbol in symbols):
            return True
        if not known.symbol and len(said.figure.value.as_tuple().digits) >= _TELLING_DIGITS:
            return True
        if is_mixed and known.symbol:
            return False  # the price, the date and the result of one trade are of one row
        return cover == most or (not known.symbol and bool(known.measures & said.measures))

    for said in stated:
        bound = [known for known in said.candidates if is_bound(known, said)]
        yield (
            sentence,
            said.figure,
            max(bound, key=lambda known: (bool(known.measures & said.measures), covers[known.path]), default=None),
        )


def _is_same_line(one: Path, other: Path, *, is_traded: bool) -> bool:
    """Tell whether a row is the other one, in it or around it; a result is not around its trades."""
    length = min(len(one), len(other))
    return one == other or ((length > 1 or not is_traded) and one[:length] == other[:length])


def _is_related(path: Path, anchors: Set[Path]) -> bool:
    """Tell whether a count is of the whole result, or of a row that a sentence states another figure of."""
    return len(path) == 1 or not anchors or any(_is_same_line(path, one, is_traded=False) for one in anchors)


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


def _find_computed(figure: Figure, sentence: _Sentence, stated: Sequence[Known], sources: Sources) -> Json | None:
    """Return the source of a sum, difference or ratio of two figures of one result."""
    if figure.grain >= 1 and len(figure.value.as_tuple().digits) < 2 and figure.unit:
        return None  # too many pairs come to it
    pairs = [(one, other, _ALL) for one, other in combinations(stated, 2)]
    at = figure.start - sentence.start
    near = sentence.words[max(at - 2 * _PHRASE, 0) : at + 2 * _PHRASE]
    named = frozenset(name for name, words in _OPERATIONS.items() if words.search(near))
    like = sum(other.unit == figure.unit and not other.moment for other in sentence.figures)
    if named and like < 3:  # else the sentence states what it computes with
        pairs += [(one, other, named) for one, other in _pair_rows(figure, sentence.words, sources)]
    for one, other, operations in pairs:
        if (one.path[0], one.unit) == (other.path[0], other.unit) and any(
            _is_close(value, figure, figure.grain) for value in _compute(figure, one, other, operations)
        ):
            return {"kind": "computed", "of": [one.source, other.source]}
    return None


def _pair_rows(figure: Figure, sentence: str, sources: Sources) -> Iterator[tuple[Known, Known]]:
    """Yield the pairs of values under one key of a result."""
    symbols = find_symbols(sentence, sources.symbols)
    rows: dict[tuple[int, str], list[Known]] = {}
    for known in sources.numbers:
        if known.key and known.unit in _FITTING[figure.unit] and (not symbols or known.symbol in symbols):
            rows.setdefault((known.path[0], known.key), []).append(known)
    for group in rows.values():
        if len(group) <= _MOST_OPERANDS:
            yield from combinations(group, 2)


def _compute(figure: Figure, one: Known, other: Known, operations: Set[str]) -> Iterator[float]:
    is_count = not figure.unit and figure.grain >= 1
    if is_count and one.unit not in _COUNTED:
        return
    if figure.unit in ("", one.unit):
        if "sum" in operations:
            yield one.value + other.value
        if "difference" in operations:
            yield one.value - other.value
    if "ratio" in operations and figure.unit in ("", "x", "pct", "r") and not is_count:
        scale = 100 if figure.unit == "pct" else 1
        yield from (scale * top.value / low.value for top, low in ((one, other), (other, one)) if low.value)
