"""The words of a rule: a sentence becomes typed words, and no word is left out silently. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from config.lib.figures import DAY_MINUTES
from config.lib.words.lexer import Clock, Token, find_phrase, parse_clock, read_tokens, take_number
from config.lib.words.vocabulary import Meaning


@dataclass(frozen=True, slots=True)
class Word:
    """A word or phrase with its type; the value of a number, time or name."""

    type: str
    value: Any
    text: str
    start: int = 0  # in the sentence


_MERGED: Final = {"BY": "BEFORE", "OR": "AND", "MOST": "MAX"}
_STOP_NOUNS: Final = {"without stop": "WITHOUT", "without stops": "WITHOUT", "no stop": "NOT"}
_UNIT_TYPES: Final = {"%": "PCT", "x": "MULT", "$": "USD", "€": "FOREIGN", "£": "FOREIGN"}
_SPAN_UNITS: Final = {"h": 60, "min": 1, "d": DAY_MINUTES}
_DROPPED: Final = frozenset(',.:()"“”\n')
_MARKS: Final = {**dict.fromkeys("-–—", "DASH"), **dict.fromkeys("&+/", "AND")}


def split_words(
    text: str, concepts: Collection[str], *, zone: str, symbols: frozenset[str] = frozenset()
) -> list[Word]:
    """Return the words of a sentence by their concepts, others as UNKNOWN; `symbols` are further coins."""
    tokens = [token for token in read_tokens(text) if token.text not in _DROPPED]
    words: list[Word] = []
    at = 0
    while at < len(tokens):
        length, found = _read_token(tokens, at, concepts, zone, symbols)
        words += found
        at += length
    return words


_Reading = tuple[int, tuple[Word, ...]]  # how many tokens were read, and their words; a filler has none


def _read_token(
    tokens: Sequence[Token], at: int, concepts: Collection[str], zone: str, symbols: frozenset[str]
) -> _Reading:
    token = tokens[at]
    if token.kind == "clock":
        clock = parse_clock(token.text)
        return 1, (Word("TIME" if clock else "UNKNOWN", clock, token.written),)
    if token.kind == "mark" and token.text in _MARKS:
        return 1, (Word(_MARKS[token.text], None, token.written),)
    if token.kind == "word":
        if named := _read_zone(tokens, at):
            return named
        if token.written.upper() in symbols:
            return 1, (Word("SYMBOL", (token.written.upper(),), token.written),)
        if (found := find_phrase(tokens, at, concepts)) is not None:
            length, meaning = found
            return length, _type_phrase([one.text for one in tokens[at : at + length + 1]], length, meaning, zone)
    return _read_number(tokens, at) or (1, (Word("UNKNOWN", None, token.written),))


def _read_zone(tokens: Sequence[Token], at: int) -> _Reading | None:
    """Read `Europe/Oslo` or `America/New_York`."""
    length = 1
    while at + length < len(tokens) and tokens[at + length].start == tokens[at + length - 1].end:
        length += 1
    name = "".join(token.written for token in tokens[at : at + length])
    if "/" not in name:
        return None
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None
    return length, (Word("ZONE", name, name),)


def _type_phrase(plain: Sequence[str], length: int, meaning: Meaning, zone: str) -> tuple[Word, ...]:
    """Return the typed words of a phrase; `plain` has the word behind it, too."""
    phrase, (concept, value) = " ".join(plain[:length]), meaning
    match concept:
        case "FILLER":
            return ()
        case "DAY":
            return (Word("DAY", tuple(map(int, value.split(","))), phrase),)
        case "ZONE":
            return (Word("ZONE", zone if value == "local" else value, phrase),)
        case "TIME":
            return (Word("TIME", Clock(int(value), is_clear=True, is_24h=True), phrase),)
        case "SPAN":
            return (Word("SPAN", int(value), phrase),)
        case "COIN":
            return (Word("SYMBOL", (value,), phrase),)
        case "EVENT":
            return (Word("EVENT", (value,), value),)
    stops = (Word(_STOP_NOUNS[phrase], None, plain[0]),) if phrase in _STOP_NOUNS else ()
    return (*stops, Word(_MERGED.get(concept, concept), None, phrase))


def _read_number(tokens: Sequence[Token], at: int) -> _Reading | None:
    """Read a number with its scale and unit."""
    number = take_number(tokens, at)
    if number is None or not isinstance(number.value, Fraction):
        return None
    text = " ".join(token.written for token in tokens[at : at + number.length]).replace(" %", "%").replace(" x", "x")
    if number.unit in _SPAN_UNITS:
        return number.length, (Word("SPAN", int(number.value * _SPAN_UNITS[number.unit]), text),)
    if number.unit == "x" and text.lower().endswith("times"):
        return number.length, (Word("TIMES", _to_decimal(number.value), text),)
    kind = _UNIT_TYPES.get(number.unit, "UNKNOWN") if number.unit else "NUMBER"
    return number.length, (Word(kind, _to_decimal(number.value), text),)


def _to_decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
