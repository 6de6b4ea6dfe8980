"""Cut a message into sentences and clauses; take off greetings and prefaces.

Patterns stand in tables: a line is an alternative, an indented line goes on with the one before it. They match straight
apostrophes, without regard to case, and are compiled at their first use.
"""

import re
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Final

LONGEST_REQUEST: Final = 300  # characters of a sentence that says what to do with one fact or place
QUOTED: Final = re.compile("^[>\"“”'`«]")


class Pattern:
    """Alternatives of a table, compiled at the first use."""

    def __init__(self, table: str, **parts: str) -> None:
        self._table, self._parts = table, parts

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The alternatives as one pattern."""
        lines = re.sub(r"\n    +", "", self._table).strip().split("\n")
        text = "|".join(f"(?:{line})" for line in lines)
        for name, part in self._parts.items():
            text = text.replace(f"<{name}>", part)
        return re.compile(text, re.IGNORECASE)

    def match(self, text: str) -> re.Match[str] | None:
        """Match at the beginning."""
        return self.compiled.match(text)

    def search(self, text: str) -> re.Match[str] | None:
        """Match anywhere."""
        return self.compiled.search(text)


@cache
def parse_table(table: str, **parts: str) -> dict[str, Pattern]:
    """Return the patterns of a table by their names: a line is `name: pattern`."""
    lines = (line.partition(": ") for line in re.sub(r"\n    +", "", table).strip().split("\n"))
    return {name: Pattern(words, **parts) for name, _, words in lines}


_BREAK: Final = Pattern(
    r"(?<=[.!?;])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bmax\.)(?<!\bmin\.)(?<!\bno\.)(?<!\bapprox\.)\s+|\s*\n+\s*"
    r"|,\s+(?:(?:and|so|but)\s+)?(?=(?:please\s+)?remember that\b)"
)
CLAUSE: Final = Pattern(
    r"""
,?\s+(?:and|but|also|plus|while)\s+(?=(?:I|I'm|im|ive|my)\b)
,\s+(?=(?:I|I'm|im|ive|my)\b)
\s+and\s+(?=now\s+(?:risk|trade|use|hold|live|work)\b)
"""
)
_LEAD_IN: Final = Pattern(
    r"""
^(?:hi|hello|hey)(?: there| keel)?[,.!:]*\s+
^(?:well|so|ok|okay|also|and|but|plus|btw|fyi|by the way|for the record|in general|again|one more thing|anyway
    |things(?: have)? changed)\b[,:;-]*\s+
^(?:just so you know|please note|note|you should know|as i said|i should (?:say|mention|add)
    |i want you to know)(?: that)?[,:]*\s+
"""
)
CORRECTION: Final = Pattern(
    r"""
^(?:no[,:;.-]+|(?:(?:no,? )?wait|nope|actually|correction|sorry|rather|instead|i mean|i meant|scratch that|update(?=:)
    |not quite|(?:i|i've) changed my mind(?: about (?:it|that))?|wrong)\b[,:;.-]*)\s+(?:(?:sorry|actually|i mean
    |i meant|it's|its|that's)\b[,:;.-]*\s+)?
^(?:no,? )?(?:that|this|it)(?:'?s| is) (?:wrong|not (?:right|true|correct)|incorrect)\b[,:;.-]*\s+
"""
)
EXPLICIT: Final = Pattern(
    r"""
^(?:(?:please|can you|could you|would you|will you|i(?:'d| would) like you to|i want you to|you (?:should|must
    |can))\s+){0,3}(?:remember|memori[sz]e|keep in mind|bear in mind|make a note|take note|(?:do not|don't|never) forget
    |(?:note(?: down)?|write down|save|store)(?= that\b| this:|:))\b(?!\s+(?:me|when|what|how|who|why|where|which
    |whether|if|the time|anything|everything|it|us)\b)(?:\s+(?:that|this|these|the following|of|for me
    |for (?:the )?(?:future|later)|facts?|things?|rules?)\b)*[\s:,-]*
"""
)
_SPELLINGS: Final = {
    r"\bim\b": "I'm",
    r"\b(do|ca|wo|does|is|did|are|was|have|has|should|would|could)nt\b": r"\1n't",
    r"\b(that|what|how|where|who|when)s\b": r"\1's",
    r"\bpls\b": "please",
    r"^(?:have|has) been\b": "I have been",
}
_QUESTION: Final = Pattern(
    r"^(?:what|which|who|whom|whose|where|why|how|do(?! not)|does|did|is|are|am|was|were|can|could|should|shall|would"
    r"|will|may|might|have|has|had|tell me|show me|give me|list)(?:'s|'re)?\b"
)


def sentences(message: str) -> Iterator[str]:
    """Yield the sentences and lines of a message with their punctuation."""
    yield from filter(None, map(str.strip, _BREAK.compiled.split(message)))


def is_question(sentence: str) -> bool:
    """Tell whether a sentence is a question."""
    return sentence.rstrip().endswith("?") or bool(_QUESTION.match(spell_out(straight(strip_lead_in(sentence)))))


def strip_lead_in(sentence: str) -> str:
    """Return a sentence without "Hi Keel,", "by the way", "just so you know" and the like."""
    for _ in range(4):
        match = _LEAD_IN.match(straight(sentence))
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


def spell_out(text: str) -> str:
    """Return a text with the apostrophes that people leave out, and without what goes before a sentence."""
    for said, meant in _SPELLINGS.items():
        text = re.sub(said, meant, text, flags=re.IGNORECASE)
    return text


def straight(text: str) -> str:
    """Straighten apostrophes; the length stays the same."""
    return text.replace("’", "'").replace("\u2018", "'")
