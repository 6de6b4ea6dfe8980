"""Find forms in free text: rows of terms over words and what they mean. Pure.

Where all words of a text have to be taken, `forms.Grammar` matches them.

A term stands for one word or phrase: `i|my` is one of these words, `DAY|MONTH` a phrase of these concepts, `-ing` a
word of no concept with this ending, NUMBER a figure or a word for one, CLOCK a time, `hold_on` the phrase of a concept,
`!my` any other and `.` any. `?`, `*` and `+` repeat a term, `...` is any words, `^` and `$` are the ends, `!!now` says
that "now" does not follow and `&&now` that it does; `what( ... )` gives words a name. Slashes part the forms of a row.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Final

from config.lib.words.lexer import Found, Token, find_meanings, read_tokens, take_number
from config.lib.words.vocabulary import find_meaning

_TAG, _END = "\x01", "\x02"  # before each tag of a piece, and behind the piece
_ANY: Final = f"(?:[^{_END}]*{_END})"
_SIGNS: Final = {"^": r"\A", "$": r"\Z", "...": f"{_ANY}*?", ")": ")"}
_CONCEPT: Final = re.compile(r"\b[A-Z]{2,}\b")
_ENDINGS: Final = ("ing", "ed", "s")


class Forms:
    """The forms of a table, a row each: `name: form / form`."""

    def __init__(self, table: str) -> None:
        self.rows: Final = read_rows(table)
        self._concepts: Final = frozenset(_CONCEPT.findall(" ".join(self.rows.values())))

    def read(self, text: str) -> "TaggedText":
        """Cut a text into its words and phrases."""
        return TaggedText(text, self._compiled, _cut_pieces(text, self._concepts))

    @cached_property
    def _compiled(self) -> dict[str, list[re.Pattern[str]]]:
        return {name: [_compile_form(form) for form in row.split(" / ")] for name, row in self.rows.items()}


@cache
def load_forms(path: Path) -> dict[str, Forms]:
    """Return the tables of a file by their names."""
    return {name: Forms(rows) for name, rows in read_sections(path).items()}


def read_sections(path: Path) -> dict[str, str]:
    """Return the parts of a text file: `[name]` begins one, `//` a comment."""
    text = re.sub(r"^//.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    _, *parts = re.split(r"^\[(.*)\]\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def read_rows(table: str) -> dict[str, str]:
    """Return the rows of a table, `name: text`, by their names; an indented line goes on with the one before."""
    return dict(line.split(": ", 1) for line in re.sub(r"\n +", " ", table.strip()).split("\n"))


class TaggedText:
    """A text by the forms of a table."""

    def __init__(
        self, text: str, forms: dict[str, list[re.Pattern[str]]], pieces: Sequence[tuple[int, int, str]]
    ) -> None:
        self._text, self._forms, self._pieces = text, forms, pieces
        self._tags = "".join(tags for _, _, tags in pieces)

    def __contains__(self, name: object) -> bool:
        return self._search(str(name)) is not None

    def find(self, name: str) -> dict[str, str] | None:
        """Return the texts of the named terms of a row, empty where they are missing; None where it does not fit."""
        match = self._search(name)
        return match and {part: self._slice(*match.span(part)) for part in match.re.groupindex}

    def cut(self, name: str) -> str:
        """Return the text without what a row takes."""
        match = self._search(name)
        return self._text.replace(self._slice(*match.span()), "", 1) if match else self._text

    def _search(self, name: str) -> re.Match[str] | None:
        return next(filter(None, (form.search(self._tags) for form in self._forms[name])), None)

    def _slice(self, start: int, end: int) -> str:
        first, after = self._tags.count(_END, 0, start), self._tags.count(_END, 0, end)
        return self._text[self._pieces[first][0] : self._pieces[after - 1][1]] if after > first else ""


@lru_cache(1_000)
def _compile_form(form: str) -> re.Pattern[str]:
    return re.compile(rf"(?:\A|(?<={_END}))" + "".join(map(_translate, form.split())))


def _translate(term: str) -> str:
    """Return the expression of a term over the tags of pieces."""
    if term in _SIGNS:
        return _SIGNS[term]
    if term.endswith("("):
        return f"(?P<{term[:-1]}>"
    body = term.rstrip("?*+")
    words = "|".join(map(re.escape, body.lstrip("!&").split("|")))
    tag = f"{_TAG}(?:{words})(?=[{_TAG}{_END}])"
    if body.startswith(("!!", "&&")):
        return f"(?{body[0].replace('&', '=')}.*{tag})"
    piece = f"(?:[^{_END}]*?{tag}{_ANY})" if body != "." else _ANY
    if body.startswith("!"):
        piece = f"(?:(?![^{_END}]*{tag}){_ANY})"
    return piece + term[len(body) :]


@lru_cache(1_000)  # a message is read by several tables and rules
def _cut_pieces(text: str, concepts: frozenset[str]) -> list[tuple[int, int, str]]:
    """Return the words and phrases of a text: where they begin and end, and their tags."""
    tokens = [part for token in read_tokens(text) for part in _spell_out(token)]
    found = dict[int, list[Found]]()
    for one in find_meanings(tokens, concepts):
        found.setdefault(one.at, []).append(one)
    pieces, at = [], 0
    while at < len(tokens):
        length, tags = _read_piece(tokens, at, found.get(at, []))
        said = "".join(f"{_TAG}{tag}" for tag in tags)
        pieces.append((tokens[at].start, tokens[at + length - 1].end, said + _END))
        at += length
    return pieces


def _spell_out(token: Token) -> Iterator[Token]:
    """Yield the words of "I'm" and "don't"."""
    spoken = find_meaning(token.written.lower().replace("’", "'"), "SPOKEN") if token.kind == "word" else None
    if spoken is None:
        yield token
    else:
        yield from (replace(token, text=word) for word in spoken.split("_"))


def _read_piece(tokens: Sequence[Token], at: int, found: Sequence[Found]) -> tuple[int, list[str]]:
    """Return how many tokens go together, and their tags: concepts, the unit of a number, an ending, the words."""
    token, length = tokens[at], max((one.length for one in found), default=1)
    tags = [one.concept for one in found if one.length == length]
    if token.kind == "digits" and (number := take_number(tokens, at)):
        length, tags = number.length, ["NUMBER", number.unit]
    elif token.kind == "clock":
        tags = ["CLOCK"]
    elif token.kind == "word" and not tags and token.text[-2:] != "ss":
        tags = [f"-{ending}" for ending in _ENDINGS if token.text.endswith(ending)]
    words = "_".join(one.text.removesuffix("'s") for one in tokens[at : at + length])
    return length, [*tags, words] if words.isprintable() else tags
