"""Titles and summaries made of the chat's own words."""

import re
from collections.abc import Iterator
from typing import Final

from config.lib.text import one_line
from config.offline.facts import key_words
from config.offline.reading.sentences import Pattern, sentences, straight, strip_lead_in

MAX_WORDS: Final = 10  # of a title, as chats take them
MAX_SUMMARY: Final = 1_200  # characters

_MAX_WORD: Final = 24  # characters; longer ones are no words
_MAX_TITLE: Final = 56  # characters
_MAX_LINE: Final = 200
# Courtesy before what is asked for; a question word stays, for without it the title loses its sense.
_POLITE: Final = Pattern(
    r"^(?:(?:please|basically|can you|could you|would you|i want(?: you)? to|i'd like(?: you)? to|i would like to|know"
    r"|let me|tell me|show me|give me|remind me|help me(?: to)?|i have a question about|remember that|thank(?:s| you)"
    r"|and)[,.!]?\s+)+"
)
# A long sentence is cut before one of these words.
_JOINT: Final = Pattern(
    r"(?:and|or|but|so|because|when|while|if|which|that|than|as|since|in|on|at|of|for|from|to|with|without|by|over|after|before)$"
)
_SPEAKER = re.compile(r"^(?:- )?(?P<who>Person|Keel): (?P<text>.+)$")


def title_answer(exchange: str) -> str:
    """Return the first sentence that says something, whole if short."""
    asked = next((text for who, text in _iter_said(exchange) if who == "Person"), one_line(exchange))
    for sentence in sentences(asked):
        told = straight(strip_lead_in(sentence)).strip(" \"'“”`*#_<>()[]{}")
        polite = _POLITE.match(told)
        rest = told[polite.end() :] if polite else told
        words = [word[:_MAX_WORD] for word in rest.split()]
        if len(words) > 2 and key_words(rest):
            return _finish(_cut(words), "?" if polite else "")
    return (_finish(asked, "") if len(asked) <= _MAX_TITLE else "") or "A few first words"


def _finish(text: str, mark: str) -> str:
    title = text.rstrip(f" .,;:!{mark}")
    return title[:1].upper() + title[1:]


def _cut(words: list[str]) -> str:
    """Return the words up to a comma or a joint, as many as a title holds."""
    fitting = (at for at in range(min(len(words), MAX_WORDS), 0, -1) if len(" ".join(words[:at])) <= _MAX_TITLE)
    most = next(fitting)
    if most == len(words):
        return " ".join(words)
    comma = next((at for at in range(3, most) if words[at - 1].endswith((",", ";", ":"))), 0)
    joints = [at for at in range(4, most + 1) if _JOINT.match(words[at]) and not _JOINT.match(words[at - 1])]
    return " ".join(words[: comma or max(joints, default=most)])


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
