"""Figures that no source states: computed from two that do, or from those that the reply lists."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from chat.grounding.figures import COUNTED, FITTING, TELLING_DIGITS, Figure
from chat.grounding.sources import Source, Sources, Value, find_measures
from chat.parts import Json
from config.lib.words.lexer import find_phrases

_LINE: Final = re.compile(r"[^\n]*\n?")
_LISTED: Final = re.compile(r"[ \t]*(?:[-*•] |\d+[.)] |\|)")
_ALL: Final = frozenset({"sum", "difference", "ratio"})
_COUNTS_LINES: Final = re.compile(r"\**:?\s*\Z|[ \w]*[a-z]")
_RUN: Final = re.compile(r"[ \w]*")
_REST: Final = re.compile(r" (?:older|more|others?|further)\b")
_NEAR: Final = 240  # characters on either side of a figure that name an operation
_MOST_COMPUTED: Final = 40  # figures of a reply that are looked for among sums
_MOST_STATED: Final = 40  # figures that others are computed from
_MOST_OPERANDS: Final = 60  # of one key in one result


@dataclass(frozen=True, slots=True)
class Sentence:
    words: str
    start: int  # in the reply
    figures: list[Figure]


Chosen = tuple[Sentence, Figure, Source | None]


def complete_sources(text: str, found: Sequence[Chosen], sources: Sources) -> Iterator[Json]:
    """Yield each figure with its source; those without one may be computed."""
    lists, computations = None, _MOST_COMPUTED
    for sentence, figure, known in found:
        source = known.source if known else None
        if source is None and not figure.moment and (computations := computations - 1) >= 0:
            lists = lists or _Lists(text, found, sources)
            source = lists.find_source(sentence, figure) or _find_computed(figure, sentence, found, sources)
        yield figure.to_json(source)


class _Lists:
    """The figures of a reply that stand in the lines of its lists."""

    def __init__(self, text: str, found: Sequence[Chosen], sources: Sources) -> None:
        self._lines = [(match.start(), match[0]) for match in _LINE.finditer(text) if match[0].strip()]
        self._starts = [start for start, _ in self._lines]
        self._is_listed = [bool(_LISTED.match(line)) for _, line in self._lines]
        self._found = found
        self._lengths = {known.value for known in sources.numbers if known.unit == "length"}

    def find_source(self, sentence: Sentence, figure: Figure) -> Json | None:
        """Return the source of a sum over a list beside the figure, or of a count of its lines."""
        line = bisect_right(self._starts, figure.start) - 1
        before, after, source = line, line + 1, None
        while before and self._is_listed[before - 1]:
            before -= 1
        while after < len(self._lines) and self._is_listed[after]:
            after += 1
        for first, last in ((before, line), (line + 1, after)):
            if first < last:  # the lines above and below
                start = self._starts[first]
                end = self._starts[last] if last < len(self._starts) else start + 10**9
                inside = [known for _, one, known in self._found if start <= one.start < end]
                if not self._is_listed[line] and figure.is_small_count:
                    source = self._count_lines(figure, sentence, last - first, inside, is_above=first < line)
                if source := source or _add_up(figure, sentence, inside):
                    return source
        return _add_up(
            figure,
            sentence,
            [one for said, other, one in self._found if said is sentence and other.start < figure.start],
        )

    def _count_lines(
        self, figure: Figure, sentence: Sentence, lines: int, inside: Sequence[Source | None], *, is_above: bool
    ) -> Json | None:
        after = sentence.words[figure.end - sentence.start :]
        run = match[0] if (match := _RUN.match(after)) else ""
        nets = [one.value for one in inside if isinstance(one, Value) and "net" in one.measures and one.unit == "usd"]
        counts = (
            (lines, (not is_above or any(find_phrases(sentence.words, "THESE"))) and _COUNTS_LINES.match(after)),
            (sum(net > 0 for net in nets), "wins" in find_measures(run)),
            (sum(net < 0 for net in nets), any(find_phrases(run, "LOSE"))),
        )
        is_rest = is_above and _REST.match(after) and float(figure.value) + lines in self._lengths
        return {"kind": "list"} if is_rest or any(count == figure.value and fits for count, fits in counts) else None


def _add_up(figure: Figure, sentence: Sentence, inside: Sequence[Source | None]) -> Json | None:
    """Return the source of a sum of all values of one key, each of another row of one result."""
    if figure.digits < (2 if "sum" in _find_operations(sentence.words) else TELLING_DIGITS):
        return None
    values: dict[tuple[int, str], dict[tuple[int, ...], Value]] = {}
    for one in inside:
        if isinstance(one, Value) and one.key and one.unit in FITTING[figure.unit]:
            values.setdefault((one.path[0], one.key), {})[one.path] = one
    for rows in values.values():
        if len(rows) <= _MOST_OPERANDS and figure.is_close(sum(one.value for one in rows.values())):
            return {"kind": "computed", "of": [one.source for one in rows.values()]}
    return None


def _find_computed(figure: Figure, sentence: Sentence, found: Sequence[Chosen], sources: Sources) -> Json | None:
    """Return the source of a sum, difference or ratio of two figures of one result."""
    at = figure.start - sentence.start
    named = _find_operations(sentence.words[max(at - _NEAR, 0) : at + _NEAR])
    is_telling = figure.digits >= TELLING_DIGITS
    if not named and not is_telling:
        return None
    stated = [one for said, _, one in found if isinstance(one, Value) and (said is sentence or (named and is_telling))]
    pairs = list(combinations(stated[:_MOST_STATED], 2))
    like = sum(other.unit == figure.unit and not other.moment for other in sentence.figures)
    if named and like < 3 and is_telling:  # else the sentence states what it computes with
        pairs += _pair_rows(figure, sources)
    for one, other in pairs:
        if (one.path[0], one.unit) == (other.path[0], other.unit) and any(
            map(figure.is_close, _compute(figure, one, other, named or _ALL))
        ):
            return {"kind": "computed", "of": [one.source, other.source]}
    return None


def _find_operations(text: str) -> frozenset[str]:
    return frozenset(meaning.value for *_, meaning in find_phrases(text, "OPERATION"))


def _pair_rows(figure: Figure, sources: Sources) -> Iterator[tuple[Value, Value]]:
    """Yield the pairs of values under one key of a result."""
    rows: dict[tuple[int, str], list[Value]] = {}
    for known in sources.numbers:
        if known.key and known.unit in FITTING[figure.unit]:
            rows.setdefault((known.path[0], known.key), []).append(known)
    for group in rows.values():
        if len(group) <= _MOST_OPERANDS:
            yield from combinations(group, 2)


def _compute(figure: Figure, one: Value, other: Value, operations: Set[str]) -> Iterator[float]:
    is_count = not figure.unit and figure.grain >= 1
    if is_count and one.unit not in COUNTED:
        return
    if figure.unit in ("", one.unit):
        if "sum" in operations:
            yield one.value + other.value
        if "difference" in operations:
            yield one.value - other.value
    if "ratio" in operations and figure.unit in ("", "x", "pct", "r") and not is_count:
        scale = 100 if figure.unit == "pct" else 1
        yield from (scale * top.value / low.value for top, low in ((one, other), (other, one)) if low.value)
