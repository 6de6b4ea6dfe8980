"""Match replies to the model's own questions about a draft."""

import re
from typing import Final

from config.offline.drafting.pitch import read_pitch
from config.offline.drafting.templates import AREAS, HORIZON, QUESTIONS, RISK, SIZING
from config.offline.reading.statements import read_statements

_ASKED = re.compile(rf"^- \*\*({'|'.join(AREAS)})\*\*: ", re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:\(?(\d)[.):]|[-*•])\s+(.+)$")
_MAX_ITEMS: Final = 7
_SHORT: Final = 6  # words
# By its form alone a few words answer these.
_SHAPES: Final = (
    (RISK, re.compile(r"\d\s?[x×]|\bhalt\b|\bleverage\b", re.IGNORECASE)),
    (SIZING, re.compile(r"^\W*\d+(?:\.\d+)?\s?%")),
    (HORIZON, re.compile(r"\b\d+ ?[mhd]\b|\b(?:day|days|weeks|months|intraday|swing)\b", re.IGNORECASE)),
)


def answers_given(before: str, text: str | None = None) -> dict[str, str]:
    """Return the questions asked before a message, with their answers.

    Without a message: all that were asked, with no words. A numbered list answers them in order, a few words by their
    form; one line that could not be placed answers the first.
    """
    if QUESTIONS not in before:
        return {}
    asked = list(dict.fromkeys(_ASKED.findall(before.partition(QUESTIONS)[2])))
    if text is None:
        return dict.fromkeys(asked, "")
    lines = [line for line in text.split("\n") if line.strip()][:_MAX_ITEMS]
    items = [match[2] for line in lines if (match := _ITEM.match(line))]
    if len(items) == len(lines) and len(items) > 1:
        return dict(zip(asked, items, strict=False))
    if len(lines) == 1 and len(lines[0].split()) <= _SHORT:
        for area, shape in _SHAPES:
            if area in asked and shape.search(text):
                return {area: text}
    is_lone = len(asked) == 1 or (len(lines) == 1 and read_pitch(text).is_silent)
    return {asked[0]: text} if asked and is_lone and not read_statements(text) else {}
