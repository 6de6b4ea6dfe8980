"""What a line claims: words, numbers, bounds and negations.

There is no grammar. Each word belongs to a clause, and a negation denies every word of its clause. A clause with
unclear polarity denies nothing and supports nothing.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Final, Literal

from config.lib.search.terms import STOP_WORDS, SYNONYMS, porter_stem
from config.lib.words.lexer import Token, find_phrase, parse_clock, read_tokens, take_number
from config.lib.words.quantities import word_set
from config.lib.words.vocabulary import find_meaning, get_vocabulary, list_words

_KINDS_OF_TERMS: Final = word_set("word number bound only not condition")
Polarity = Literal["+", "-", "~", "?"]  # said, denied, denied in part ("not always"), unclear


@dataclass(frozen=True, slots=True)
class ClaimTerm:
    """One element of a claim; `start` and `end` are text offsets."""

    kind: str  # of _KINDS_OF_TERMS
    key: str | Fraction  # the stem; the value of a number; min, max, before or after
    unit: str  # of a number; empty without one
    polarity: Polarity
    clause: int
    sentence: int
    place: int  # index among the terms and filler words of the text
    start: int
    end: int
    is_name: bool = False  # its capitals suggest a ticker or a name


@dataclass(frozen=True, slots=True)
class Claims:
    """The terms of a text, in text order."""

    terms: tuple[ClaimTerm, ...]
    length: int  # in words

    def of_kind(self, *kinds: str) -> list[ClaimTerm]:
        """Return the terms of these kinds."""
        return [term for term in self.terms if term.kind in kinds]


REACH: Final = 8  # maximum words between a negation and the comparison it reverses
BARRIER: Final = 100  # a masked part counts as so many sentences, so no span crosses it

_CONCEPTS: Final = word_set("NOT OPENS PARTLY ONLY MAX MIN OVER UNDER BEFORE AFTER IF BREAK")
_KINDS: Final = {"NOT": "not", "OPENS": "opens", "PARTLY": "partly", "ONLY": "only", "BREAK": "hard"}
_COMPARING: Final = word_set("OVER UNDER BEFORE AFTER")  # only before a number: "over 5x", not "over the weekend"
_TURNED: Final = {"over": ("min", "max"), "under": ("max", "min")}  # without and with a negation
# Stop words of the search that matter in a claim: they restrict, deny or give a time.
_CLAIMING: Final = word_set(
    "after arent because before cant couldnt didnt doesnt dont further hadnt hasnt havent herself himself id ill im"
    " isnt ive no nor not only ourselves shouldnt thats theres theyre through wasnt werent whats wont wouldnt youre"
    " yourselves"
)
_MARKS: Final = {**dict.fromkeys(";:()[]—–", "hard"), **dict.fromkeys(",、&+", "soft")}
_LONGEST_UNSPACED: Final = 3  # characters of a denial, restriction or joint in a script without spaces


@dataclass(slots=True)
class _Item:
    """A piece of the text during scanning."""

    kind: str  # a kind of ClaimTerm, or stop, opens, partly, hard, soft, sentence, blank
    text: str
    start: int
    end: int
    key: str | Fraction = ""
    unit: str = ""
    clause: int = 0
    sentence: int = 0
    is_used: bool = False  # a negation that reversed a comparison


_ADDED: Final = frozenset({"x", "$"})  # units that go without saying
_IN_MINUTES: Final = {"min": 1, "h": 60, "d": 1_440, "w": 10_080}


def is_same_number(given: ClaimTerm, wanted: ClaimTerm) -> bool:
    """Tell whether two numbers are equal by value and unit; a text may omit the unit, or add that of a plain number."""
    (value, unit), (other, wanted_unit) = _convert(given), _convert(wanted)
    if value == other:
        return wanted_unit in {unit, ""} or (wanted_unit in _ADDED and unit == "")
    if (unit, wanted_unit) == ("", "%") and isinstance(value, Fraction) and isinstance(other, Fraction):
        return value < 1 and value * 100 == other  # "a quarter of my account"
    clock, hour = (other, value) if wanted_unit == "time" else (value, other)
    if {unit, wanted_unit} != {"time", ""} or not isinstance(hour, Fraction) or hour.denominator != 1:
        return False
    return clock in {f"{int(hour):02}:00", f"{int(hour) + 12:02}:00"}  # "six in the evening"


def _convert(term: ClaimTerm) -> tuple[object, str]:
    if isinstance(term.key, str):
        return term.key, term.unit
    if term.unit == "bp":
        return term.key / 100, "%"
    if term.unit in _IN_MINUTES:
        return term.key * _IN_MINUTES[term.unit], "min"
    return (f"{int(term.key):02}:00" if term.unit == "time" else term.key), term.unit


@lru_cache(maxsize=2048)  # a write reads its text for the gate, for its subject and beside known facts
def read_claims(text: str) -> Claims:
    """Read a text's terms; `MASK` yields none and separates clauses."""
    items = list(_read_items(text))
    _set_clauses(items)
    _turn_comparisons(items)
    polarities = _find_polarities(items)
    begun, place, terms = -1, 0, []
    for item in items:
        place += item.kind not in _MARKS_ONLY
        kind = "not" if item.kind == "partly" else item.kind
        if kind in _KINDS_OF_TERMS and not item.is_used:
            written = text[item.start : item.end]
            # Every sentence begins with a capital, so that one tells nothing.
            is_large = written[:1].isupper() and item.sentence == begun
            is_name = kind == "word" and (is_large or any(map(str.isupper, written[1:])))
            meaning = (kind, item.key, item.unit, polarities[item.clause])
            terms.append(ClaimTerm(*meaning, item.clause, item.sentence, place, item.start, item.end, is_name))
        begun = item.sentence if item.kind not in _MARKS_ONLY else begun
    return Claims(tuple(terms), place)


_MARKS_ONLY: Final = frozenset({"hard", "soft", "sentence", "blank"})


def _read_items(text: str) -> Iterator[_Item]:
    tokens, at, before = read_tokens(text), 0, ""
    while at < len(tokens):
        token, length = tokens[at], 1
        if token.kind == "unspaced":
            yield from _read_unspaced(token)
        elif token.kind in ("end", "blank"):
            yield _make_item("sentence" if token.kind == "end" else "blank", tokens, at)
        elif token.kind == "mark":
            if token.text in _MARKS:
                yield _make_item(_MARKS[token.text], tokens, at)
        elif token.kind == "clock":
            yield _make_item("number", tokens, at, key=str(parse_clock(token.text) or token.text), unit="time")
        else:
            item, length = _read_word(tokens, at, before)
            yield item
        before = tokens[at + length - 1].text
        at += length


def _make_item(
    kind: str, tokens: Sequence[Token], at: int, length: int = 1, *, key: str | Fraction = "", unit: str = ""
) -> _Item:
    return _Item(kind, tokens[at].text, tokens[at].start, tokens[at + length - 1].end, key, unit)


def _read_unspaced(token: Token) -> Iterator[_Item]:
    """Yield character pairs of an unspaced script, split at negations and restrictions."""
    plain, at = list[int](), 0
    while at < len(token.text):
        parts = [token.text[at : at + length] for length in range(_LONGEST_UNSPACED, 0, -1)]
        part = next((one for one in parts if find_meaning(one, *_KINDS, "IDLE") is not None), parts[-1])
        found = get_vocabulary().find(part, _KINDS)  # "非" denies, the idle "非常" does not
        if found is None:
            plain += range(at, at + len(part))
        else:
            yield from _pair_neighbours(token, plain)
            plain = []
            yield _Item(_KINDS[found.concept], part, token.start + at, token.start + at + len(part))
        at += len(part)
    yield from _pair_neighbours(token, plain)


def _pair_neighbours(token: Token, places: Sequence[int]) -> Iterator[_Item]:
    for first in places[:-1] or places:
        last = min(first + 1, places[-1])
        pair = token.text[first : last + 1]
        yield _Item("word", pair, token.start + first, token.start + last + 1, pair)


def _read_word(tokens: Sequence[Token], at: int, before: str) -> tuple[_Item, int]:
    """Return the item of a word, a phrase or a number, and its tokens; `before` is the word before."""
    words = [token.text for token in tokens[at : at + 2]]
    if words == ["used", "to"] and find_meaning(before, "BE") is None:
        return _make_item("not", tokens, at, 2), 2
    if words[0] in _ENDING and words[1:] and words[1].endswith("ing"):
        return _make_item("not", tokens, at), 1
    length, meaning = find_phrase(tokens, at, _CONCEPTS) or (1, None)
    if meaning is not None and (meaning.concept not in _COMPARING or _has_number(tokens, at + length)):
        is_end = all(token.kind == "end" or token.text in _MARKS for token in tokens[at + 1 : at + 2])
        if words[0] in {"no", "nope"} and length == 1 and is_end:
            return _make_item("stop", tokens, at), 1  # an answer; it does not deny what follows
        if meaning.concept in _KINDS:
            return _make_item(_KINDS[meaning.concept], tokens, at, length), length
        kind, key = ("condition", meaning.value or words[0]) if meaning.concept == "IF" else ("bound", meaning.concept)
        return _make_item(kind, tokens, at, length, key=key.casefold()), length
    if find_meaning(before, "DETERMINER") is None and (number := take_number(tokens, at)):
        value = number.value
        unit = "time" if isinstance(value, str) and ":" in value else number.unit
        return _make_item("number", tokens, at, number.length, key=value, unit=unit), number.length
    if (condition := find_meaning(words[0], "IF")) is not None:
        return _make_item("condition", tokens, at, key=condition or words[0]), 1
    word = words[0].split("'")[0]
    is_stop = (word in STOP_WORDS and word not in _CLAIMING) or not list_words("IDLE").isdisjoint({word, words[0]})
    return _make_item("stop" if is_stop else "word", tokens, at, key="" if is_stop else stem_word(word)), 1


_ENDING: Final = word_set("stop stops stopped quit quits")


def _has_number(tokens: Sequence[Token], at: int) -> bool:
    near = tokens[at : at + 2]
    return any(token.kind in ("digits", "clock") or find_meaning(token.text, "NUMBER") is not None for token in near)


def _set_clauses(items: Sequence[_Item]) -> None:
    """Number the clauses and sentences."""
    clause = sentence = 0
    for at, item in enumerate(items):
        before = items[at - 1] if at else None
        if item.kind == "opens":
            item.kind = "not"
            clause += 1
        elif item.text == "unless" or (
            item.kind == "not" and before is not None and before.text in {"and", "or", "but"}
        ):
            clause += 1
        item.clause, item.sentence = clause, sentence
        if item.kind in _MARKS_ONLY or item.text in {"and", "plus"}:
            clause += 1
        sentence += {"sentence": 1, "blank": BARRIER}.get(item.kind, 0)


def _turn_comparisons(items: Sequence[_Item]) -> None:
    """Turn "never above 5x" into a maximum, which uses the negation up."""
    for at, item in enumerate(items):
        if item.kind != "bound" or item.key not in _TURNED:
            continue
        as_it_stands, turned = _TURNED[str(item.key)]
        item.key = as_it_stands
        for other in reversed(items[max(0, at - REACH) : at]):
            if other.kind in {"hard", "sentence", "blank", "bound"} or other.text == "unless":
                break
            if other.kind == "not" and not other.is_used:
                other.is_used, item.key, item.start = True, turned, item.start
                break


def _find_polarities(items: Sequence[_Item]) -> dict[int, Polarity]:
    """Return each clause's polarity, unclear when joined to a denying one."""
    clauses: dict[int, list[_Item]] = {}
    for item in items:
        clauses.setdefault(item.clause, []).append(item)
    polarities: dict[int, Polarity] = {}
    before: list[_Item] = []
    for clause, held in clauses.items():
        kinds = {item.kind for item in held if not item.is_used}
        polarity: Polarity = "~" if "partly" in kinds else "-" if "not" in kinds else "+"
        is_joined = bool(before) and (before[-1].kind == "soft" or before[-1].text in {"and", "plus"})
        if polarity == "+" and is_joined and polarities[before[0].clause] in {"-", "?"}:
            polarity = "+" if find_meaning(held[0].text, "RESET") is not None or "only" in kinds else "?"
        if find_meaning(held[0].text, "EXCEPTION") is not None and before and polarities[before[0].clause] != "+":
            polarity = "?"  # "never alts except SOL"
        polarities[clause] = polarity
        before = held
    return polarities


@lru_cache(maxsize=4096)
def stem_word(word: str) -> str:
    """Return an English word's stem, or another's NFKC form."""
    normal = unicodedata.normalize("NFKC", word)
    if not normal.isascii():
        return normal
    same = SYNONYMS.get(normal) or SYNONYMS.get(normal.removesuffix("s"))
    if same is not None:
        return same
    return porter_stem(normal)


@cache
def list_stems(*concepts: str) -> frozenset[str]:
    """Return the stems of the words of concepts."""
    return frozenset(map(stem_word, list_words(*concepts)))
