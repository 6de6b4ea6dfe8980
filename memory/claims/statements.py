"""The parts of a message that its person states, and why the others state nothing (settled 13).

A sentence that is asked, supposed, denied or taken back is the person's own, and states nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from config.lib.words.lexer import MASK, Token, find_phrase, has_phrase, read_tokens
from memory.claims.voices import SENTENCE, mask_others

Reason = Literal["", "others", "asked", "supposed", "unmeant"]


@dataclass(frozen=True, slots=True)
class Part:
    """A sentence or a part of one; without a `reason` the person states it."""

    start: int
    end: int
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class Voices:
    """The parts of a message; `typed` is its text with the words of others masked."""

    parts: tuple[Part, ...]
    typed: str
    opens_next: bool = False  # it announces that the next message has words of others


_QUESTION_MARKS: Final = frozenset("?？")
_ASKING: Final = (
    r"(?:what|which|who|whom|whose|where|when|why|how|do|does|did|is|are|am|was|were|can|could|should|shall|would|will"
    r"|may|might|have|has)"
)
TURNS_TO_ASK: Final = re.compile(rf"[,;:—–]\s*(?:(?:so|but|and|then)\s+)?{_ASKING}\b", re.IGNORECASE)
_LEAD_IN: Final = r"^\W*(?:(?:hi|hello|hey|so|well|ok|okay|and|but|also|keel|please|btw)\b[\s,.!:-]*)*"
_ASKS: Final = re.compile(_LEAD_IN + _ASKING + r"\b", re.IGNORECASE)
_SUPPOSES: Final = re.compile(_LEAD_IN, re.IGNORECASE)
_REQUEST: Final = re.compile(
    _LEAD_IN + r"(?:(?:can|could|would|will) you\s+)?(?:please\s+)?(?:also\s+)?"
    r"(?:remember|note|save|store|write down|(?:keep|bear) in mind|make a note)\b(?!\s+(?:wh|how|if)\w*\b)",
    re.IGNORECASE,
)
_TAG: Final = re.compile(r",\s*(?:ok|okay|all ?right|got it|please|thanks|understood|yes|clear)\W*\Z", re.IGNORECASE)


def read_voices(text: str, *, is_opened: bool = False, following: str = "") -> Voices:
    """Read a message; the one before may announce words of others, the `following` one take back what it ends with."""
    if is_opened:
        return Voices((Part(0, len(text), "others"),), MASK * len(text))
    typed, opens_next = mask_others(text)
    return Voices(tuple(_read_parts(typed, following)), typed, opens_next)


def keep_statements(text: str) -> str:
    """Mask all but the person's own statements, keeping the length."""
    voices = read_voices(text)
    return mask_parts(voices)


def mask_parts(voices: Voices) -> str:
    """Return a message with everything masked that the person does not state."""
    pieces, done = [], 0
    for part in voices.parts:
        if part.reason:
            pieces += [voices.typed[done : part.start], MASK * (part.end - part.start)]
            done = part.end
    return "".join(pieces) + voices.typed[done:]


def keep_typed_words(text: str) -> str:
    """Mask the words of others, keeping the length."""
    return read_voices(text).typed


def has_foreign_words(text: str) -> bool:
    """Tell whether a message has or announces words of others."""
    voices = read_voices(text)
    return voices.opens_next or MASK in voices.typed


def _read_parts(typed: str, following: str) -> Iterator[Part]:
    spans = [match.span() for match in SENTENCE.finditer(typed) if match[0].strip()]
    for (start, end), (begin, close) in pairwise([*spans, (len(typed), len(typed))]):
        text = typed[start:end]
        if not text.replace(MASK, "").strip():
            yield Part(start, end, "others")
            continue
        reason = _find_reason(text, typed[begin:close] or following[:_BACK_REACH])
        turn = TURNS_TO_ASK.search(text) if reason == "asked" and not _ASKS.match(text) else None
        if turn is not None:
            yield Part(start, start + turn.start())
            yield Part(start + turn.start(), end, "asked")
        else:
            yield Part(start, end, reason)


def _find_reason(text: str, following: str) -> Reason:
    """Return why a sentence states nothing; empty if it does."""
    lead = _SUPPOSES.match(text)
    tokens = read_tokens(text[lead.end() :] if lead else text)
    words = [token.text for token in tokens if token.kind == "word"]
    if tokens and (find_phrase(tokens, 0, {"SUPPOSE"}) or (words[:2] == ["if", "i"] and _is_past(words[2:3]))):
        return "supposed"
    ending = re.search(r"[.!?。！？]*\Z", text)
    if ending is not None and _QUESTION_MARKS & set(ending[0]):
        body = text[: ending.start()]
        if not (_REQUEST.match(body) or _TAG.search(body)):
            return "asked"
    after = read_tokens(following)
    if has_phrase(tokens, "UNSAID") or (tokens and _takes_back(after)) or _ends_denied(tokens):
        return "unmeant"
    return ""


def _is_past(words: Sequence[str]) -> bool:
    return bool(words) and words[0].endswith("ed") and words[0] not in {"need", "exceed"}


def _takes_back(tokens: Sequence[Token]) -> bool:
    """Tell whether a sentence takes the one before it back, and says no more."""
    while tokens and tokens[0].kind in ("mark", "end"):
        tokens = tokens[1:]
    if tokens and tokens[0].text in {"just", "but", "and", "well", "ok", "ah", "oh"}:
        tokens = tokens[1:]
    found = find_phrase(tokens, 0, {"BACK"}) if tokens else None
    return found is not None and (found[0] > 1 or len(tokens) <= 4 or tokens[1].kind in ("mark", "end"))


def _ends_denied(tokens: Sequence[Token]) -> bool:
    """Tell whether the tail of a sentence, behind a mark, takes it back."""
    words = [token for token in tokens if token.kind != "end"]
    tails = (words[at + 1 :] for at, token in enumerate(words) if at > 1 and token.text in _TAILING)
    found = ((tail, find_phrase(tail, 0, {"BACK"})) for tail in tails if tail)
    return any(back and (back[0] == len(tail) or back[1].value == "open") for tail, back in found)


_TAILING: Final = frozenset({",", "…", ".", "–", "—", ";", "(", "*"})
_BACK_REACH: Final = 80  # characters of the next message, which may take the last sentence back
