"""Check that the user's own typed text supports a claim (settled 13).

This gate keeps out facts that other people's text suggests. Support is a span of one typed message with 60 % of the
claim's content words and all of its numbers, bounds, names and negations, each in the same polarity. Only rules decide;
no model is called.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any, Final

from config.lib.words.lexer import MASK
from config.lib.words.sentences import straight
from memory.claims.claims import Claims, ClaimTerm, is_same_number, list_stems, read_claims
from memory.claims.statements import Voices, mask_parts, read_voices

MIN_SHARE: Final = 0.6  # of the content words; settled 13
MAX_FOREIGN: Final = 3  # content words of a claim that its support may lack
MAX_SENTENCES: Final = 3  # maximum in a span: words scattered over a long message support nothing
SPARE_WORDS: Final = 10  # maximum length of a span: three times the claim plus this
LONGEST_QUOTE: Final = 300  # characters; a longer quote is cut to its tightest span

_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+|\n")
Content = tuple[str, Any, str, str]
Held = tuple[ClaimTerm, frozenset[Content]]  # a term of a message with the claim's terms it meets


@dataclass(frozen=True)
class TypedMessage:
    """What a person typed; `is_opened`: the message before announced words of others, `following`: the one after."""

    id: int
    text: str
    is_opened: bool = False
    following: str = ""

    @cached_property
    def voices(self) -> Voices:
        """Whose words stand in it."""
        return read_voices(self.text, is_opened=self.is_opened, following=self.following)

    @cached_property
    def reading(self) -> Claims:
        """The claims of the user's own statements."""
        return read_claims(mask_parts(self.voices))


def list_messages(typed: Iterable[tuple[int, str]]) -> list[TypedMessage]:
    """Return the messages of one chat, oldest first, each with what the one before announced and the one after says."""
    rows = [*typed]
    messages: list[TypedMessage] = []
    for (pk, text), (_, following) in zip(rows, [*rows[1:], (0, "")], strict=False):
        is_opened = bool(messages) and messages[-1].voices.opens_next
        messages.append(TypedMessage(pk, text, is_opened, following))
    return messages


@dataclass(frozen=True, slots=True, order=True)
class Quote:
    """A span of a typed message; `end` is exclusive."""

    message_id: int
    start: int
    end: int


def find_support(content: str, messages: Sequence[TypedMessage], *, is_exact: bool = False) -> Quote | None:
    """Return the tightest, earliest supporting span of the user's statements.

    With `is_exact`, for chats with untrusted text in view, the content may add no word that carries meaning, and leave
    out no condition or doubt.
    """
    claim = _Requirement(read_claims(content), is_exact=is_exact)
    spans = [(span[1] - span[0], at, span) for at, m in enumerate(messages) if (span := claim.find_span(m.reading))]
    if not spans:
        return None
    _, at, (start, end) = min(spans)
    return Quote(messages[at].id, start, end)


def supports_all(text: str, messages: Sequence[TypedMessage]) -> bool:
    """Tell whether the user's own words exactly support each sentence of a text."""
    sentences = [part for part in _SENTENCES.split(text) if part.strip()]
    return all(find_support(part, messages, is_exact=True) for part in sentences)


def verify_quotes(content: str, quotes: Sequence[object], messages: Sequence[TypedMessage]) -> tuple[Quote, ...]:
    """Return the quotes that support the content, or else any support.

    A quote is literal text, or a mapping `{message_id, text}`, whose message id is optional. Other values are ignored.
    Without a valid quote the result is that of `find_support`.
    """
    claim = _Requirement(read_claims(content))

    def verify(message: TypedMessage, start: int, end: int) -> Quote | None:
        span = claim.find_span(message.reading, start, end)
        return span and Quote(message.id, *((start, end) if end - start <= LONGEST_QUOTE else span))

    verified = _list_first(verify, quotes, messages)
    found = None if verified else find_support(content, messages)
    return (found,) if found else verified


def locate_quotes(quotes: Sequence[object], messages: Sequence[TypedMessage]) -> tuple[Quote, ...]:
    """Return the quotes that the user typed as statements of their own, whatever they support."""

    def locate(message: TypedMessage, start: int, end: int) -> Quote | None:
        is_stated = mask_parts(message.voices)[start:end].replace(MASK, " ").strip(" .!?,;:")
        return Quote(message.id, start, end) if is_stated else None

    return _list_first(locate, quotes, messages)


def _list_first(
    read: Callable[[TypedMessage, int, int], Quote | None], quotes: Sequence[object], messages: Sequence[TypedMessage]
) -> tuple[Quote, ...]:
    """Return what is read of the first place of each quote of which something is read, each once."""
    found = (next(filter(None, (read(*place) for place in _iter_places(quote, messages))), None) for quote in quotes)
    return tuple(dict.fromkeys(filter(None, found)))


def _iter_places(quote: object, messages: Sequence[TypedMessage]) -> Iterator[tuple[TypedMessage, int, int]]:
    """Yield the places of a quote in typed messages, those in the message that it names first."""
    named = quote if isinstance(quote, Mapping) else {"text": quote}
    text = named.get("text")
    literal = straight(text.strip()).lower() if isinstance(text, str) else ""
    # The model may give a wrong id with the right text, so search the other messages too.
    for message in sorted(messages, key=lambda message: message.id != named.get("message_id")):
        typed = straight(message.text).lower()
        if literal and len(typed) == len(message.text) and (at := typed.find(literal)) >= 0:
            yield message, at, at + len(literal)


class _Requirement:
    """The terms that a span must contain to support a content."""

    def __init__(self, reading: Claims, *, is_exact: bool = False) -> None:
        self.is_exact = is_exact
        self.words = _list_distinct(reading.of_kind("word", "bound"))
        self.figures = _list_distinct(reading.of_kind("number"))
        self.conditions = _list_distinct(reading.of_kind("condition"))
        names = (term for term in self.words if term.kind == "bound" or term.is_name)
        self.indispensable = [*self.figures, *names, *self.conditions]
        self.free = {_term_key(term) for term in self.words if term.kind == "word" and term.key in list_stems("FREE")}
        self.is_exclusive = bool(reading.of_kind("only"))
        self.is_denying = bool(reading.of_kind("not"))
        self.denied = self._denied_clauses(reading)
        # In a long claim, the share alone would allow a whole unsupported sentence.
        self.needed = max(ceil(MIN_SHARE * len(self.words) - 1e-9), len(self.words) - MAX_FOREIGN)
        self.longest = 3 * reading.length + SPARE_WORDS
        heavy = {term.clause for term in self.words if term.key not in list_stems("LIGHT")}
        self.relaxed = {
            i for i, term in enumerate(self.words) if term.clause in heavy and term.key in list_stems("LIGHT")
        }

    def _denied_clauses(self, reading: Claims) -> list[list[ClaimTerm]]:
        """Return per denying clause the terms of which a span needs one."""
        groups = []
        for clause in dict.fromkeys(term.clause for term in reading.of_kind("not")):
            terms = [term for term in reading.of_kind("word", "number", "bound") if term.clause == clause]
            groups.append([term for term in terms if term.key not in list_stems("LIGHT")] or terms)
        return [group for group in groups if group]

    def find_span(self, message: Claims, low: int = 0, high: int | None = None) -> tuple[int, int] | None:
        """Return the tightest sufficient span in the bounds, if any."""
        given = [
            (term, self._list_met(term))
            for term in message.terms
            if low <= term.start and (high is None or term.end <= high)
        ]
        useful = [(term, met) for term, met in given if met or term.kind in {"not", "only", "number"}]
        units = {term.unit for term in self.figures}
        spans, first = [], 0
        for last in range(len(useful) if self.words else 0):
            while self._is_too_long(useful[first][0], useful[last][0]) or self._is_enough(useful[first + 1 : last + 1]):
                first += 1
            held = useful[first : last + 1]
            # Each figure clearly belongs to the claim.
            is_clear = all(met or term.kind != "number" or term.unit not in units for term, met in held)
            if self._is_enough(held) and is_clear and (not self.is_exact or self._is_whole(held, given)):
                spans.append((held[0][0].start, held[-1][0].end))
        return min(spans, key=lambda span: span[1] - span[0], default=None)

    def _is_too_long(self, start: ClaimTerm, end: ClaimTerm) -> bool:
        return end.sentence - start.sentence >= MAX_SENTENCES or end.place - start.place >= self.longest

    def _is_whole(self, held: Sequence[Held], given: Sequence[Held]) -> bool:
        """Tell whether the claim keeps the meaning of the span's sentences."""
        sentences = {term.sentence for term, _ in held}
        around = [(term, met) for term, met in given if term.sentence in sentences]
        left_out = [term for term, met in around if not met]
        if any(
            term.kind == "condition" or (term.kind == "word" and term.key in list_stems("DOUBT")) for term in left_out
        ):
            return False
        met = frozenset().union(*(names for _, names in around))
        added = {_term_key(term) for term in self.words} - met
        is_complete = not any(term.kind == "word" and term.key not in list_stems("FREE", "LIGHT") for term in left_out)
        return not added or (added <= self.free and is_complete)

    def _is_enough(self, held: Sequence[Held]) -> bool:
        # A figure counts only beside a word of the claim: "I like leverage. 50x is mad." does not combine the two.
        told = {term.sentence for term, met in held if met and term.kind != "number"}
        met = frozenset().union(*(names for term, names in held if term.sentence in told))
        return (
            sum(_term_key(term) in met for term in self.words) >= self.needed
            and all(_term_key(term) in met for term in self.indispensable)
            and (not self.is_exclusive or any(term.kind == "only" for term, _ in held))
            and self._has_denials(held)
        )

    def _has_denials(self, held: Sequence[Held]) -> bool:
        denying = {term.clause for term, _ in held if term.kind == "not"}
        if self.is_denying and not denying:
            return False
        denied = frozenset().union(*(names for term, names in held if term.clause in denying))
        return all(any(_term_key(term) in denied for term in group) for group in self.denied)

    def _list_met(self, given: ClaimTerm) -> frozenset[Content]:
        """Return the claim's terms that a message's term meets."""
        met = [term for at, term in enumerate(self.words) if _is_match(given, term, is_relaxed=at in self.relaxed)]
        exact = (term for term in [*self.figures, *self.conditions] if _is_match(given, term))
        return frozenset(map(_term_key, [*met, *exact]))


def _is_match(given: ClaimTerm, wanted: ClaimTerm, *, is_relaxed: bool = False) -> bool:
    is_said = is_same_number(given, wanted) if wanted.kind == "number" else given.key == wanted.key
    if given.kind != wanted.kind or not is_said:
        return False
    # "I trade BTC and ETH, never alts": the denied clause reuses the verb of the first one.
    return given.polarity == wanted.polarity or (is_relaxed and (wanted.polarity, given.polarity) == ("-", "+"))


def _term_key(term: ClaimTerm) -> Content:
    return term.kind, term.key, term.unit, term.polarity


def _list_distinct(terms: Sequence[ClaimTerm]) -> list[ClaimTerm]:
    return list({_term_key(term): term for term in terms}.values())
