"""The sentence that a person typed for what a model words otherwise, and the numbers that they typed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from config.lib.search.terms import STOP_WORDS
from config.lib.words.lexer import MASK, find_phrases, has_phrase, read_tokens
from config.lib.words.quantities import word_set
from config.lib.words.sentences import find_clauses, parse_request, strip_lead_in, strip_preface
from config.lib.words.vocabulary import find_meaning
from memory.claims.claims import Claims, ClaimTerm, is_same_number, list_stems, read_claims
from memory.claims.statements import find_tag, keep_typed_words
from memory.claims.support import Quote, TypedMessage, locate_quotes, verify_quotes

_MARKER: Final = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)]|[a-z]\))\s+")  # of an item in a list
_OTHERS: Final = word_set("you your you're he his she her they them their")


@dataclass(frozen=True, slots=True)
class Wording:
    """A text to store, and the typed sentence that it has its words from."""

    text: str
    quote: Quote


@dataclass(frozen=True, slots=True)
class _Sentence:
    quote: Quote
    text: str
    reading: Claims
    is_asked_for: bool  # "remember that ..."

    def contains(self, other: "_Sentence") -> bool:
        """Tell whether another one is a clause of this one."""
        return self is not other and self.quote.start <= other.quote.start and other.quote.end <= self.quote.end


def word_content(content: str, messages: Sequence[TypedMessage], *, quotes: Sequence[Quote] = ()) -> Wording | None:
    """Return what may be stored of a content beside words of others, with its source; None where a click is needed.

    It is the content itself where that repeats a typed statement in its order and leaves nothing out, else the
    statement. With quotes only the statements in which one lies count.
    """
    sentence = _find_sentence(content, messages, quotes)
    if sentence is None:
        return None
    is_repeated = _repeats(read_claims(content), sentence.reading)
    return Wording(content if is_repeated else sentence.text, sentence.quote)


def word_quoted(
    content: str, quotes: Sequence[object], messages: Sequence[TypedMessage]
) -> tuple[Wording | None, tuple[Quote, ...]]:
    """Return what may be stored of a content that quotes the person, and the quotes that they typed as statements.

    Without such a quote the words that support the content stand for it.
    """
    said = locate_quotes(quotes, messages)
    found = said or verify_quotes(content, (), messages)
    return (word_content(content, messages, quotes=found) if found else None), said


def find_untyped(content: str, messages: Sequence[TypedMessage], *known: str) -> list[str]:
    """Return the numbers of a text that stand neither in what the person typed nor in a known line, as written."""
    texts = [*(message.text for message in messages), *known]
    typed = [term for text in texts for term in _read_numbers(text)]
    for start, end, meaning in (phrase for text in texts for phrase in find_phrases(text, "TIME")):  # noon
        hour, minute = divmod(int(meaning.value) % (24 * 60), 60)
        typed.append(ClaimTerm("number", f"{hour:02}:{minute:02}", "time", "+", 0, 0, 0, start, end))
    wanted = [term for term in _read_numbers(content) if content[term.start : term.end].casefold() != "one"]
    return [content[term.start : term.end] for term in wanted if not any(is_same_number(one, term) for one in typed)]


def swap_value(line: str, text: str) -> str | None:
    """Return a known line with the one number that an answer gives ("change that to 2x"); None where unclear."""
    given, old = _read_numbers(text), _read_numbers(line)
    words = [token.text for token in read_tokens(text) if token.kind == "word"]
    names = [word for word in words if word.replace("'", "") not in STOP_WORDS]  # with one it is no mere value
    idle = ("OWN", "UNIT", "NUMBER", "HEDGE", "CHANGES")
    if len(given) != 1 or len(old) != 1 or any(find_meaning(word, *idle) is None for word in names):
        return None
    if given[0].unit not in {old[0].unit, ""}:
        return None
    unit = "" if given[0].unit else line[old[0].end - len(old[0].unit) : old[0].end] if old[0].unit else ""
    new = text[given[0].start : given[0].end]
    return f"{line[: old[0].start]}{new}{unit}{line[old[0].end :]}"


def _read_numbers(text: str) -> list[ClaimTerm]:
    return read_claims(text).of_kind("number")


def _find_sentence(content: str, messages: Sequence[TypedMessage], quotes: Sequence[Quote] = ()) -> _Sentence | None:
    """Return the typed statement with the most terms of a content, the newest of equal ones.

    It has each number of the content. Of two in one message that are equally near there is none. What the newest
    message asks outright to remember counts, whatever words the content has.
    """
    claim, best = read_claims(content), -1 if quotes else 0
    found: _Sentence | None = None
    for message in reversed(messages):
        own = [(_count_shared(claim, one.reading), one) for one in _list_statements(message) if _lies(one, quotes)]
        top = max((shared for shared, _ in own), default=-1)
        nearest = [one for shared, one in own if shared == top]
        nearest = [one for one in nearest if not any(one.contains(other) for other in nearest)]
        if top > best and len(nearest) == 1:
            best, found = top, nearest[0]
    if found is None and messages and not quotes:
        asked = [one for one in _list_statements(messages[-1]) if one.is_asked_for]
        found = asked[0] if len(asked) == 1 else None
    return found


def _lies(sentence: _Sentence, quotes: Sequence[Quote]) -> bool:
    return not quotes or any(
        quote.message_id == sentence.quote.message_id
        and quote.start < sentence.quote.end
        and sentence.quote.start < quote.end
        for quote in quotes
    )


def _count_shared(claim: Claims, sentence: Claims) -> int:
    """Return how many terms of a claim a sentence has, whatever it says of them; -1 if it lacks a number."""
    figures = sentence.of_kind("number")
    wanted = claim.of_kind("number")
    if not all(any(is_same_number(given, one) for given in figures) for one in wanted):
        return -1
    given = {term.key for term in sentence.of_kind("word", "bound")} - list_stems("LIGHT")
    return len({term.key for term in claim.of_kind("word", "bound")} & given) + len(wanted)


def _repeats(claim: Claims, sentence: Claims) -> bool:
    """Tell whether a claim has the terms of a sentence in its order and leaves none out that tells something.

    Each word of the claim that tells little stands in the sentence, too.
    """
    idle = list_stems("LIGHT", "FREE", "HEDGE", "CHANGES")
    given, wanted = (
        [term for term in reading.terms if term.kind != "word" or term.key not in idle] for reading in (sentence, claim)
    )
    known = {term.key for term in sentence.of_kind("word")} | list_stems("FREE")
    is_known = all(term.key in known for term in claim.of_kind("word"))
    return len(given) == len(wanted) and all(map(_is_equal, given, wanted)) and is_known


def _is_equal(given: ClaimTerm, wanted: ClaimTerm) -> bool:
    if given.kind == wanted.kind == "number":
        return is_same_number(given, wanted)
    return (given.kind, given.key, given.polarity) == (wanted.kind, wanted.key, wanted.polarity)


def read_request(text: str) -> str:
    """Return what a message asks outright to remember, as it would be stored; else all that its person typed."""
    asked = [one.text for one in _list_statements(TypedMessage(0, text)) if one.is_asked_for]
    return min(asked, key=len) if asked else keep_typed_words(text).replace(MASK, "").strip()


# --- The statements of a message ---


def _list_statements(message: TypedMessage) -> Iterator[_Sentence]:
    """Yield the whole statements of a message and their clauses, without those in doubt."""
    for part in message.voices.parts:
        text = message.voices.typed[part.start : part.end]
        if part.reason or MASK in text:
            continue
        reading = read_claims(text)
        is_bound_up = reading.of_kind("condition") or any(term.key in list_stems("DOUBT") for term in reading.terms)
        clauses = [] if is_bound_up else find_clauses(text)
        for start, end in dict.fromkeys([(0, len(text)), *clauses]):
            piece = text[start:end]
            words = _trim(piece)
            if _is_stated(words):
                begin = part.start + start + len(piece) - len(piece.lstrip())
                quote = Quote(message.id, begin, begin + len(piece.strip()))
                is_asked_for = parse_request(strip_lead_in(piece.strip())) is not None
                yield _Sentence(quote, words, read_claims(words), is_asked_for)


def _trim(sentence: str) -> str:
    """Return a sentence without what goes before and behind a statement ("remember that", "please")."""
    text = strip_preface(_MARKER.sub("", sentence).strip()).strip(" .!,;")
    tokens = read_tokens(text)
    tail = find_tag(tokens, "tail")
    return text[: tokens[tail].start].strip(" .!,;:–—-") if tail else text


def _is_stated(text: str) -> bool:
    """Tell whether a text states something of the person or asks Keel for a manner, without a doubt.

    A command ("show me my trades"), a word to somebody and one about somebody else's doings is no statement.
    """
    tokens = read_tokens(text)
    words = [token for token in tokens if token.kind in ("word", "digits")]
    if len(words) < 2 or has_phrase(tokens, "UNSURE"):
        return False
    return words[0].text not in _OTHERS and find_meaning(words[0].text, "COMMAND") is None
