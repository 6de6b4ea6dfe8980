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
# What is asked for stands behind these words; the title begins there.
_ASKING: Final = Pattern(
    r"^(?:(?:please|can you|could you|would you|help me(?: to)?|tell me|show me|give me|i want to|i'd like to"
    r"|what(?:'s| is| are| was| were| did| do| does)?|which of|which|who|how(?:'s| is| are| did| do| does| much did"
    r"| much| many| large| big)?|why (?:did|do|does|is|are)|when(?:'s| is)?|is|are|am|did|do|does|should|could|will|any"
    r"|remember that|build|write|create|draft|make|you|an?|the|of)\s+)+"
)
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
    asking = _ASKING.match(f"{' '.join(words)} ")
    meant = words[len(asking[0].split()) if asking else 0 :]
    meant = meant[:MOST_WORDS] if len(meant) >= LEAST_WORDS else words[-LEAST_WORDS:]
    while len(meant) > LEAST_WORDS and _IDLE_END.match(meant[-1]):
        meant = meant[:-1]
    title = " ".join(meant).rstrip(".!?,;: ")
    return title[:1].upper() + title[1:]


def summary_answer(request: str) -> str:
    """Summarise the user's statements and the newest numbers told."""
    kept: list[str] = []
    for who, said in reversed(list(dict.fromkeys(_iter_said(request)))):
        for sentence in reversed(list(sentences(said))):
            line = f"{who}: {sentence[:_MAX_LINE]}"
            is_telling = len(sentence.split()) > 1 and (who == "Person" or re.search(r"\d", sentence))
            if is_telling and len("\n".join([line, *kept])) <= MAX_SUMMARY:
                kept.insert(0, line)
    return "\n".join(kept) or "Nothing was said yet."


def _iter_said(text: str) -> Iterator[tuple[str, str]]:
    for line in text.replace("Summary so far:", "").split("\n"):
        if match := _SPEAKER.match(line.strip()):
            yield match["who"], one_line(match["text"])
