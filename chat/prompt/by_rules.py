"""Titles and summaries made of the chat's own words."""

import re
from collections.abc import Iterator
from typing import Final

from chat.prompt.titles import title_from
from config.lib.text import one_line
from config.lib.words.sentences import sentences

MAX_SUMMARY: Final = 1_200  # characters

_MAX_LINE: Final = 200
_SPEAKER = re.compile(r"^(?:- )?(?P<who>Person|Keel): (?P<text>.+)$")


def title_by_rules(exchange: str) -> str:
    """Return the title that the person's first words make."""
    asked = next((text for who, text in _iter_said(exchange) if who == "Person"), exchange)
    return title_from(asked) or "A few first words"


def summarise_by_rules(request: str) -> str:
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
