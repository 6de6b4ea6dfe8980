"""Titles and summaries made of the chat's own words."""

import re
from collections.abc import Iterator
from typing import Final

from config.lib.text import one_line
from config.offline.facts import key_words
from config.offline.reading.sentences import Pattern, sentences, strip_lead_in

LEAST_WORDS: Final = 3
MOST_WORDS: Final = 5
MAX_SUMMARY: Final = 1_200  # characters

_MAX_WORD: Final = 24  # characters; longer ones are no words
_MAX_LINE: Final = 200
_FOR_PERSON: Final = 0.65  # of a summary
# What is asked for stands behind these words; the title begins there.
_ASKING: Final = Pattern(
    r"^(?:(?:please|can you|could you|would you|help me(?: to)?|tell me|show me|give me|i want to|i'd like to"
    r"|what(?:'s| is| are| was| were| did| do| does)?|which of|which|who|how(?:'s| is| are| did| do| does| much did"
    r"| much| many)?|why (?:did|do|does|is|are)|when(?:'s| is)?|is|are|am|did|do|does|should|could|will|any"
    r"|remember that|build|write|create|draft|make|you|an?|the|of)\s+)+"
)
_SIZE: Final = Pattern(r"^(?:how (?:large|big)|what size) (?:should|can|could|may) ")
_IDLE_END: Final = Pattern(r"(?:the|an?|and|or|of|to|how|is|are|be|go|do|it|for|with|in|on|at|my|i|than|from|about)$")
_SPEAKER = re.compile(r"^(?:- )?(?P<who>Person|Keel): (?P<text>.+)$")


def title_answer(exchange: str) -> str:
    """Return a title of three to five words: the subject of what was asked first."""
    asked = next((text for who, text in _iter_said(exchange) if who == "Person"), one_line(exchange))
    for sentence in sentences(asked):
        words = [word for part in strip_lead_in(sentence).split() if (word := part.strip(".,;:!?\"“”'()[]{}<>*_#`"))]
        if len(words) >= LEAST_WORDS and key_words(" ".join(words)):
            return _pick_title([word[:_MAX_WORD] for word in words])
    return "A few first words"


def _pick_title(words: list[str]) -> str:
    text = _SIZE.compiled.sub("Size of ", " ".join(words))
    asking = _ASKING.match(f"{text} ")
    meant = text[asking.end() if asking else 0 :].split()
    if len(meant) < LEAST_WORDS:
        meant = text.split() if len(text.split()) <= MOST_WORDS else text.split()[-LEAST_WORDS:]
    meant = meant[:MOST_WORDS]
    while len(meant) > LEAST_WORDS and _IDLE_END.match(meant[-1]):
        meant = meant[:-1]
    title = " ".join(meant).rstrip(".!?,;: ")
    return title[:1].upper() + title[1:]


def summary_answer(request: str) -> str:
    """Summarise the user's statements and the newest numbers told."""
    lines = list(dict.fromkeys(_iter_kept(request)))
    kept: set[str] = set()
    room = int(MAX_SUMMARY * _FOR_PERSON)
    for is_person, more in ((True, 0), (False, MAX_SUMMARY - room)):
        room += more
        for line in reversed([one for one in lines if one.startswith("Person:") == is_person]):
            if room < len(line) + 1:
                break
            kept.add(line)
            room -= len(line) + 1
    return "\n".join(line for line in lines if line in kept) or "Nothing was said yet."


def _iter_said(text: str) -> Iterator[tuple[str, str]]:
    for line in text.replace("Summary so far:", "").split("\n"):
        if match := _SPEAKER.match(line.strip()):
            yield match["who"], one_line(match["text"])


def _iter_kept(text: str) -> Iterator[str]:
    """Yield the user's statements, and replies' sentences with numbers."""
    for who, said in _iter_said(text):
        for sentence in sentences(said):
            if len(sentence.split()) > 1 and (who == "Person" or re.search(r"\d", sentence)):
                short = sentence if len(sentence) <= _MAX_LINE else f"{sentence[: _MAX_LINE - 1].rstrip()}…"
                yield f"{who}: {short}"
