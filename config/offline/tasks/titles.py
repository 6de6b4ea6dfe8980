"""Titles and summaries made of the chat's own words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from config.lib.text import one_line
from config.offline.facts import key_words
from config.offline.reading.sentences import sentences, strip_lead_in

LEAST_WORDS: Final = 3
MOST_WORDS: Final = 5
MAX_SUMMARY: Final = 1_200  # characters

_NO_TITLE: Final = "A few first words"
_MAX_WORD: Final = 24  # characters; longer ones are no words
_MAX_LINE: Final = 200
_FOR_PERSON: Final = 0.65  # of a summary
_EARLIER: Final = "Summary so far:"
_FILLER: Final = frozenset(
    """
    help build write create draft make show tell give please hi hello hey keel thanks thank want would like need
    let lets let's can could explain get think going remember forget
    """.split()  # noqa: SIM905 - a paragraph reads better than a column
)
_SPEAKER = re.compile(r"^(?:- )?(?P<who>Person|Keel): (?P<text>.+)$")


def title_answer(exchange: str) -> str:
    """Return a title of three to five words."""
    asked = next((said.text for said in _iter_said(exchange) if said.is_person), one_line(exchange))
    for sentence in sentences(asked):
        words = [word for part in strip_lead_in(sentence).split() if (word := part.strip(".,;:!?\"“”'()[]{}<>*_#`"))]
        if len(words) >= LEAST_WORDS and (title := _pick_title(words)):
            return title
    return _NO_TITLE


def _pick_title(words: list[str]) -> str:
    short = [word[:_MAX_WORD] for word in words]
    if len(short) <= MOST_WORDS:
        return _capitalise_words(short)
    meant = [at for at, word in enumerate(short) if key_words(word) and word.casefold() not in _FILLER]
    if not meant:
        return _capitalise_words(short[:MOST_WORDS])
    start = meant[0]
    end = max(at for at in meant if at < start + MOST_WORDS) + 1
    start = max(0, min(start, end - LEAST_WORDS))
    return _capitalise_words(short[start : max(end, start + LEAST_WORDS)])


def _capitalise_words(words: list[str]) -> str:
    title = " ".join(words).rstrip(".!?,;: ")
    return title[:1].upper() + title[1:]


def summary_answer(request: str) -> str:
    """Summarise the user's statements and the newest numbers told."""
    lines = list(dict.fromkeys(said.line for said in _iter_kept(request)))
    kept: set[str] = set()
    room = int(MAX_SUMMARY * _FOR_PERSON)
    for mine, more in ((True, 0), (False, MAX_SUMMARY - room)):
        room += more
        for line in reversed([one for one in lines if one.startswith("Person:") == mine]):
            if room < len(line) + 1:
                break
            kept.add(line)
            room -= len(line) + 1
    return "\n".join(line for line in lines if line in kept) or "Nothing was said yet."


@dataclass(frozen=True, slots=True)
class _Said:
    is_person: bool
    text: str

    @property
    def line(self) -> str:
        short = self.text if len(self.text) <= _MAX_LINE else f"{self.text[: _MAX_LINE - 1].rstrip()}…"
        return f"{'Person' if self.is_person else 'Keel'}: {short}"


def _iter_said(text: str) -> Iterator[_Said]:
    for line in text.replace(_EARLIER, "").split("\n"):
        match = _SPEAKER.match(line.strip())
        if match:
            yield _Said(match["who"] == "Person", one_line(match["text"]))


def _iter_kept(text: str) -> Iterator[_Said]:
    """Yield the user's statements, and replies' sentences with numbers."""
    for said in _iter_said(text):
        for sentence in sentences(said.text):
            if len(sentence.split()) > 1 and (said.is_person or re.search(r"\d", sentence)):
                yield _Said(said.is_person, sentence)
