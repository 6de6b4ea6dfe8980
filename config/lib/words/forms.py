"""Match typed words with the forms of a grammar. Pure.

A grammar has a rule a line, `name: forms`; an indented line goes on with the one before, `//` begins a comment. A form
is a row of word types in capitals and of rules, with `( | )`, `?`, `*` and `+`; `-> name` names what one form becomes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from config.lib.words.typed import Word

_PIECE: Final = re.compile(r"->|[A-Za-z_]+|[()|?*+]")


class Misfit(Exception):
    """No form takes the words; `at` is the place of the first one that none can take, or behind the last."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


@dataclass(frozen=True, slots=True, eq=False)
class _Form:
    """A part of a grammar: a word type, a rule by name, a row or choice of parts, or a part any number of times."""

    kind: Literal["word", "rule", "row", "choice", "repeat"]
    name: str = ""
    parts: tuple["_Form", ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """What a rule took: words, and the matches of its rules."""

    name: str
    parts: tuple["Word | Match", ...]


_Ends = dict[int, tuple[Any, ...]]  # what was taken, by the place behind it


class Grammar:
    """The rules of a grammar; the first form that fits wins."""

    def __init__(self, text: str) -> None:
        self._text = re.sub(r"//.*", "", text)

    @cached_property
    def types(self) -> frozenset[str]:
        """The types of words that its rules name."""
        return frozenset(re.findall(r"\b[A-Z]+\b", self._text))

    @cached_property
    def _rules(self) -> dict[str, _Form]:
        lines = re.sub(r"\n +", " ", self._text).split("\n")
        pairs = (line.partition(":")[::2] for line in lines if ":" in line)
        return {name: _read_forms(iter(_PIECE.findall(forms))) for name, forms in pairs}

    def match(self, words: Sequence[Mapping[str, Word]], rule: str) -> Match:
        """Return how a rule takes all of the words, each of which may have several types. Raises Misfit."""
        matcher = _Matcher(self._rules, words)
        ends = matcher.list_ends(self._rules[rule], 0)
        if len(words) not in ends:
            raise Misfit(max([matcher.furthest, *ends]))
        return Match(rule, ends[len(words)])


def _read_forms(pieces: Iterator[str]) -> _Form:
    """Read alternatives up to a closing bracket or the end."""
    rows: list[list[_Form]] = [[]]
    for piece in pieces:
        if piece == ")":
            break
        if piece == "|":
            rows.append([])
        elif piece == "->":
            rows[-1] = [_Form("rule", next(pieces), tuple(rows[-1]))]
        elif piece == "?":
            rows[-1][-1] = _Form("choice", parts=(rows[-1][-1], _Form("row")))
        elif piece in "*+":
            repeated = _Form("repeat", parts=(rows[-1][-1],))
            rows[-1] = [*rows[-1][:-1], repeated] if piece == "*" else [*rows[-1], repeated]
        elif piece == "(":
            rows[-1].append(_read_forms(pieces))
        else:
            rows[-1].append(_Form("word" if piece.isupper() else "rule", piece))
    forms = [_Form("row", parts=tuple(row)) for row in rows]
    return forms[0] if len(forms) == 1 else _Form("choice", parts=tuple(forms))


class _Matcher:
    """Finds the places where forms end; looks for each form at each place once."""

    def __init__(self, rules: dict[str, _Form], words: Sequence[Mapping[str, Word]]) -> None:
        self._rules, self._words = rules, words
        self._known: dict[tuple[_Form, int], _Ends] = {}
        self.furthest = 0

    def list_ends(self, form: _Form, at: int) -> _Ends:
        """Return where a form can end that begins at a place, the preferred end first."""
        if form.kind == "word":
            self.furthest = max(self.furthest, at)
            word = self._words[at].get(form.name) if at < len(self._words) else None
            return {at + 1: (word,)} if word else {}
        if (form, at) not in self._known:
            self._known[form, at] = self._find_ends(form, at)
        return self._known[form, at]

    def _find_ends(self, form: _Form, at: int) -> _Ends:
        match form.kind:
            case "rule":
                body = _Form("row", parts=form.parts) if form.parts else self._rules[form.name]
                return {end: (Match(form.name, taken),) for end, taken in self.list_ends(body, at).items()}
            case "row":
                ends: _Ends = {at: ()}
                for part in form.parts:
                    ends = self._go_on(ends, part)
                return ends
            case "choice":
                return {end: taken for part in reversed(form.parts) for end, taken in self.list_ends(part, at).items()}
        found, ends = {at: ()}, {at: ()}
        while ends := {end: taken for end, taken in self._go_on(ends, form.parts[0]).items() if end not in found}:
            found |= ends
        return found

    def _go_on(self, ends: _Ends, part: _Form) -> _Ends:
        """Return the ends of a form that follows, by the first way to each."""
        found: _Ends = {}
        for middle, taken in ends.items():
            for end, more in self.list_ends(part, middle).items():
                found.setdefault(end, taken + more)
        return found
