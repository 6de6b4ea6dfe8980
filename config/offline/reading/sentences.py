"""Split a message into sentences; strip greetings and prefaces."""

from collections.abc import Iterator
from typing import Final

from config.offline.reading.patterns import ABBREVIATION, BREAK, CORRECTION, EXPLICIT, LEAD_IN, QUESTION

LONGEST_REQUEST: Final = 300  # characters of a sentence that says what to do with one fact or place


def sentences(message: str) -> Iterator[str]:
    """Yield the sentences and lines of a message with their punctuation."""
    waiting = ""
    for piece in BREAK.split(message):
        whole = f"{waiting} {piece}".strip()
        if ABBREVIATION.search(piece):
            waiting = whole
            continue
        waiting = ""
        if whole:
            yield whole
    if waiting:
        yield waiting


def is_question(sentence: str) -> bool:
    """Tell whether a sentence is a question."""
    plain = strip_lead_in(sentence)
    return sentence.rstrip().endswith("?") or bool(QUESTION.match(plain))


def strip_lead_in(sentence: str) -> str:
    """Return a sentence without "Hi Keel,", "by the way", "just so you know" and the like."""
    for _ in range(4):
        match = LEAD_IN.match(straight(sentence))
        if match is None or match.end() == len(sentence):
            break
        sentence = sentence[match.end() :]
    return sentence


def strip_preface(sentence: str) -> str:
    """Return a sentence without "remember that", "actually" and the like."""
    plain = straight(strip_lead_in(sentence))
    for pattern in (CORRECTION, EXPLICIT):
        if match := pattern.match(plain):
            plain = strip_lead_in(plain[match.end() :])
    return plain


def straight(text: str) -> str:
    """Straighten apostrophes; the length stays the same."""
    return text.replace("’", "'").replace("\u2018", "'")
