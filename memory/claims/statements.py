"""The parts of a message that its person states, and why the others state nothing.

A sentence that is asked, supposed, denied or taken back is the person's own, and states nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, pairwise
from typing import Final, Literal

from config.lib.words.lexer import MASK, Token, find_phrase, has_phrase, read_tokens, skip_tokens, text_at
from config.lib.words.quantities import word_set
from config.lib.words.sentences import find_sentences, starts_question
from memory.claims.voices import mask_others

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


def read_voices(text: str, *, is_opened: bool = False, following: str = "") -> Voices:
    """Read a message; the one before may announce words of others, the `following` one take back what it ends with."""
    if is_opened:
        return Voices((Part(0, len(text), "others"),), MASK * len(text))
    typed, opens_next = mask_others(text)
    return Voices(tuple(_read_parts(typed, following)), typed, opens_next)


def keep_statements(text: str) -> str:
    """Mask all but the person's own statements, keeping the length."""
    return mask_parts(read_voices(text))


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
    for (start, end), (begin, close) in pairwise([*find_sentences(typed), (len(typed), len(typed))]):
        text = typed[start:end]
        if not text.replace(MASK, "").strip():
            yield Part(start, end, "others")
            continue
        reason = _find_reason(text, typed[begin:close] or following[:_BACK_REACH])
        turn = find_turn(text) if reason == "asked" else None
        if turn is not None:
            yield Part(start, start + turn)
            yield Part(start + turn, end, "asked")
        else:
            yield Part(start, end, reason)


def find_turn(text: str) -> int | None:
    """Return where a sentence turns to a question: "I trade BTC, is it good?"; None if it does not, or is one."""
    tokens = read_tokens(text)
    if starts_question(tokens) is not None:
        return None
    for at, token in enumerate(tokens):
        after = at + 1 + (text_at(tokens, at + 1) in _JOINING)
        if token.text in _TURNING and starts_question(tokens[after:]) is not None:
            return token.start
    return None


_TURNING: Final = frozenset(",;:–—")
_JOINING: Final = word_set("so but and then")


def _find_reason(text: str, following: str) -> Reason:
    """Return why a sentence states nothing; empty if it does."""
    tokens = read_tokens(text)
    tokens = tokens[skip_tokens(tokens, 0, "LEADIN") :]
    words = [token.text for token in tokens if token.kind == "word"]
    if find_phrase(tokens, 0, {"SUPPOSE"}) or (words[:2] == ["if", "i"] and _is_past(words[2:3])):
        return "supposed"
    if "?" in text[len(text.rstrip(_CLOSING)) :].replace("？", "?") and not _asks_for_more(tokens):
        return "asked"
    after = read_tokens(following)
    if has_phrase(tokens, "UNSAID") or _takes_back(after) or _ends_denied(tokens):
        return "unmeant"
    return ""


_CLOSING: Final = ".!?。！？)\"'”’"


def _asks_for_more(tokens: Sequence[Token]) -> bool:
    """Tell whether a question is a request ("can you remember that ...?"), or only asks to agree (", ok?")."""
    begin = skip_tokens(tokens, 0, "ASKING", "LEADIN")
    asked = find_phrase(tokens, begin, {"REMEMBERING"})
    is_request = asked is not None and find_phrase(tokens, begin + asked[0], {"UNTOLD"}) is None
    tag = find_tag(tokens)
    return is_request or (tag > 0 and tokens[tag - 1].text == ",")


def find_tag(tokens: Sequence[Token], value: str = "") -> int:
    """Return where the last phrase of some tokens begins that adds nothing ("ok", "please"); 0 without one."""
    end = len(tokens)
    while end and tokens[end - 1].kind in ("mark", "end"):
        end -= 1
    found = ((at, find_phrase(tokens, at, {"TAG"})) for at in range(max(0, end - 3), end))
    return next((at for at, tag in found if tag and at + tag[0] == end and value in tag[1].value), 0)


def _is_past(words: Sequence[str]) -> bool:
    return bool(words) and words[0].endswith("ed") and words[0] not in {"need", "exceed"}


def _takes_back(tokens: Sequence[Token]) -> bool:
    """Tell whether a sentence takes the one before it back, and says no more."""
    said = _strip_marks(tokens)
    said = said[skip_tokens(said, 0, "LEADIN", "STARTS") :]
    found = find_phrase(said, 0, {"UNSAYS"})
    if found is None or found[0] == len(said):
        return found is not None
    is_longer = found[0] > 1 or len(said) <= 3
    return found[1].value != "alone" and (is_longer or said[1].kind in ("mark", "end"))


def _ends_denied(tokens: Sequence[Token]) -> bool:
    """Tell whether the tail of a sentence, behind a mark, takes it back."""
    words = _strip_marks(tokens)
    ends = range(max(2, len(words) - _LONGEST_TAIL), len(words))
    tails = (words[at + 1 :] for at in ends if words[at].text in _TAILING)
    tails = (tail[skip_tokens(tail, 0, "STARTS", "CORRECTS") :] or tail for tail in tails)
    found = ((tail, find_phrase(tail, 0, {"UNSAYS"})) for tail in tails if tail)
    return any(back and (back[0] == len(tail) or back[1].value == "open") for tail, back in found)


def _strip_marks(tokens: Sequence[Token]) -> list[Token]:
    """Return tokens without the marks and ends of sentences around them."""
    kept = list(dropwhile(_is_mark, reversed(list(dropwhile(_is_mark, tokens)))))
    return kept[::-1]


def _is_mark(token: Token) -> bool:
    return token.kind in ("mark", "end")


_TAILING: Final = frozenset({",", "…", ".", "–", "—", "-", ";", "(", "*", "but", "though"})
_LONGEST_TAIL: Final = 12  # tokens
_BACK_REACH: Final = 80  # characters of the next message, which may take the last sentence back
