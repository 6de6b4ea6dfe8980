"""Match a reply to lines of a list: "the first one", "both"."""

import re
from collections.abc import Sequence
from typing import Final

from config.offline.facts import Known, best_matches

_ORDINALS: Final = ("first|1|one", "second|2|two", "third|3|three", "fourth|4|four", "fifth|5|five")


def pointed_lines(text: str, shown: Sequence[str]) -> list[str]:
    """Return the lines that a text means; none if unclear."""
    if re.search(r"\b(?:both|all|everything|each|them)\b", text, re.IGNORECASE):
        return list(shown)
    if len(text.split()) <= 4:
        for line, words in zip(shown, _ORDINALS, strict=False):
            if re.fullmatch(rf"(?:(?:the|number|no\.?|#)\s*)*(?:{words})(?:\s+one)?[.!]*", text, re.IGNORECASE):
                return [line]
        if re.fullmatch(r"(?:the )?last(?: one)?[.!]*", text, re.IGNORECASE):
            return list(shown[-1:])
    matches = best_matches(text, [Known(line) for line in shown], least=0.5)
    return [matches[0].text] if len(matches) == 1 else []
