"""Cut a text into tokens, and read numbers with their units. Every reader of English begins here. Pure."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal

from config.lib.words.quantities import parse_digits, spell_digits
from config.lib.words.vocabulary import Meaning, find_meaning, get_vocabulary, list_first_words

Kind = Literal["word", "digits", "clock", "unspaced", "mark", "end", "blank"]

MASK: Final = "\x00"  # stands in the place of words that are not to be read; it occurs in no message


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text; `start` and `end` are offsets in it.

    A `word` is in lower case with straight apostrophes; of "don't" it is "not". `digits` may have a sign and a money
    sign. A `clock` is a time of day, `unspaced` a run of a script without spaces, `end` the end of a sentence, `blank`
    what is masked, a `mark` any other character; a spaced hyphen is a dash, one within a word is left out.
    """

    kind: Kind
    text: str
    start: int
    end: int
    written: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number with its unit, of so many tokens; a unit that no entry of the vocabulary names stands as written."""

    value: Fraction | str  # digits that are no number stand as written
    unit: str
    length: int
    scale: int = 1  # that is in the value: 1,000 in "5k"
    digits: str = ""  # as written, with a decimal point and no other separator


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day; `is_clear` unless it may be morning or evening."""

    minute: int
    is_clear: bool
    is_24h: bool

    def __str__(self) -> str:
        return f"{self.minute // 60:02}:{self.minute % 60:02}"


@dataclass(frozen=True, slots=True)
class Found:
    """A meaning of `length` tokens from the token `at` on."""

    concept: str
    value: str
    at: int
    length: int


_MARKS: Final = "".join(chr(code) for code in range(0x300, 0x10000) if unicodedata.category(chr(code))[0] == "M")
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
)
_LETTER: Final = rf"(?:(?![{_UNSPACED}])[^\W\d_])"
_INNER: Final = rf"(?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}])"
_HALF: Final = r"\s?[ap](?:m\b|\.m\b\.?)"
_SCAN: Final = re.compile(
    rf"(?P<clock>(?<![\d.,:])\d{{1,2}}(?::\d\d(?::\d\d)?(?!:?\d)(?:{_HALF})?|{_HALF}))"
    r"|(?P<digits>(?:(?<![\w)\]%])[-+\u2212](?=[$€£]?\d))?(?:[$€£] ?(?=\d))?(?:\d|(?<![\w.,:])\.\d)\d*(?:[.,:]\d+)*)"
    rf"|(?P<unspaced>[{_UNSPACED}]+)|(?P<word>{_LETTER}{_INNER}*(?:['’](?:(?![{_UNSPACED}])[^\W_])+)*)"
    rf"|(?P<blank>{MASK}+)|(?P<end>[.!?](?=\s|\Z)|[。\n])|(?P<dash>(?<=\s)-(?=\s))|(?P<hyphen>(?<=\w)-(?={_LETTER}))"
    r"|(?P<mark>\S)"
)
_CLOCK: Final = re.compile(r"(?P<hour>\d+)(?::(?P<minute>\d\d))?(?::\d\d)?\s?(?P<half>[ap])?")
_DIGITS: Final = re.compile(r"(?P<sign>[-+\u2212])?(?P<money>[$€£])? ?(?P<digits>.*)", re.DOTALL)


def read_tokens(text: str) -> list[Token]:
    """Return the tokens of a text."""
    return list(_scan_once(text) if len(text) <= _USUAL else _scan_long(text))


def _scan(text: str) -> tuple[Token, ...]:
    folded, offsets = _fold(text)
    return tuple(_make_token(match, text, offsets) for match in _SCAN.finditer(folded) if match.lastgroup != "hyphen")


_USUAL: Final = 500  # characters; a sentence is read by several readers, a longer text by one
_scan_once: Final = lru_cache(maxsize=2048)(_scan)
_scan_long: Final = lru_cache(maxsize=8)(_scan)


def _make_token(match: re.Match[str], text: str, offsets: Sequence[int]) -> Token:
    kind, word = str(match.lastgroup), match[0].replace("’", "'")
    start, end = offsets[match.start()], offsets[match.end() - 1] + 1
    if kind == "word" and word.endswith("n't"):
        word = "not"
    elif kind == "dash":
        kind, word = "mark", "–"
    return Token(kind, word, start, end, text[start:end])  # type: ignore[arg-type]


def _fold(text: str) -> tuple[str, Sequence[int]]:
    """Return the NFKC lower-case text and the source offset of each character."""
    if text.isascii():
        return text.lower(), range(len(text) + 1)
    pieces, offsets = [], []
    for at, char in enumerate(text):
        piece = unicodedata.normalize("NFKC", char).casefold() if char > "\x7f" else char.lower()
        pieces.append(piece)
        offsets += [at] * len(piece)
    return "".join(pieces), [*offsets, len(text)]


def find_phrase(tokens: Sequence[Token], at: int, concepts: Collection[str]) -> tuple[int, Meaning] | None:
    """Return how many tokens the longest phrase has that begins here and means one of the concepts, and its meaning."""
    length, meanings = take_phrase(tokens, at, concepts)
    return (length, meanings[0]) if meanings else None


def take_phrase(tokens: Sequence[Token], at: int, concepts: Collection[str]) -> tuple[int, list[Meaning]]:
    """Return how many tokens the longest phrase has that begins here, and all that it means among the concepts."""
    for length, meanings in _iter_phrases(tokens, at):
        if found := [meaning for meaning in meanings if meaning.concept in concepts]:
            return length, found
    return 0, []


def has_phrase(tokens: Sequence[Token], *concepts: str) -> bool:
    """Tell whether some tokens have a word or phrase of the concepts."""
    first = list_first_words(*concepts)
    return any(_may_begin(token, first) and find_phrase(tokens, at, concepts) for at, token in enumerate(tokens))


def _may_begin(token: Token, first: frozenset[str]) -> bool:
    return (
        token.text in first or token.written in first or ("'" in token.text and token.text.partition("'")[0] in first)
    )


def find_meanings(tokens: Sequence[Token], concepts: Collection[str]) -> list[Found]:
    """Return all that the words and phrases of a text mean among concepts, by place, the longest first."""
    return [
        Found(meaning.concept, meaning.value, at, length)
        for at in range(len(tokens))
        for length, meanings in _iter_phrases(tokens, at)
        for meaning in meanings
        if meaning.concept in concepts
    ]


def _iter_phrases(tokens: Sequence[Token], at: int) -> Iterator[tuple[int, Sequence[Meaning]]]:
    """Yield the phrases that begin here, the longest first; "friday's" is read as "friday"."""
    if at >= len(tokens):
        return
    vocabulary, first = get_vocabulary(), tokens[at]
    if first.written.isupper() and (meant := vocabulary.meanings.get(first.written)):
        yield 1, meant
    longest = vocabulary.longest.get(first.text, 0)
    if "'" in first.text:
        longest = max(longest, vocabulary.longest.get(first.text.partition("'")[0], 0))
    words: list[str] = []
    for token in tokens[at : at + longest]:
        if token.kind not in ("word", "mark") or token.text in _ENDING:
            break
        words.append(token.text)
    for length in range(len(words), 0, -1):
        phrase = " ".join(words[:length])
        meant = vocabulary.meanings.get(phrase, ())
        if "'" in phrase:
            meant += vocabulary.meanings.get(" ".join(word.partition("'")[0] for word in phrase.split()), ())
        if meant:
            yield length, meant


_ENDING: Final = frozenset(",;:()–—")


def find_phrases(text: str, *concepts: str) -> Iterator[tuple[int, int, Meaning]]:
    """Yield the offsets at which each phrase of the concepts begins and ends, and its meaning."""
    tokens, at, first = read_tokens(text), 0, list_first_words(*concepts)
    while at < len(tokens):
        found = find_phrase(tokens, at, concepts) if _may_begin(tokens[at], first) else None
        length, meaning = found or (1, None)
        if meaning is not None:
            yield tokens[at].start, tokens[at + length - 1].end, meaning
        at += length


def skip_phrases(text: str, *concepts: str) -> str:
    """Return a text without the phrases of the concepts that it begins with; all of it where nothing is left."""
    tokens = read_tokens(text[:_USUAL])
    at = skip_tokens(tokens, 0, *concepts)
    return text[tokens[at].start :] if at < len(tokens) else text


def skip_tokens(tokens: Sequence[Token], at: int, *concepts: str) -> int:
    """Return the place behind the phrases of the concepts that begin at a place, and behind the marks between them.

    A phrase with the value `mark` needs a mark behind it, one with `then` another phrase before it.
    """
    begin = at
    while at < len(tokens):
        length, meaning = find_phrase(tokens, at, concepts) or (0, None)
        if meaning is None and (not at or tokens[at].text not in _BEHIND):
            break
        if meaning is not None and meaning.value == "mark" and text_at(tokens, at + length) not in _BEHIND:
            break
        if meaning is not None and meaning.value == "then" and at == begin:
            break
        at += length or 1
    return at


_BEHIND: Final = frozenset(",.:;!-–—")  # marks behind what goes before a sentence


def take_number(tokens: Sequence[Token], at: int) -> Number | None:
    """Return the number that begins at a token, in digits or in words, with its scale and unit; None without one."""
    token = tokens[at]
    if token.kind == "digits":
        return _take_digits(tokens, at)
    found = _take_words(tokens, at) if token.kind == "word" else None
    if found is None:
        return None
    value, length = found
    unit, more = _take_unit(tokens, at + length, "")
    return Number(value, unit, length + more)


def _take_digits(tokens: Sequence[Token], at: int) -> Number:
    match = _DIGITS.fullmatch(tokens[at].text)
    assert match is not None, "the scanner lets nothing else through"
    digits = spell_digits(match["digits"])
    value = parse_digits(digits or match["digits"])
    unit, length, scale = find_meaning(match["money"] or "", "UNIT") or "", 1, 1
    if at + 1 < len(tokens) and (name := _read_scale(tokens[at + 1], unit)):
        scale, length = name, 2
    more_unit, more = _take_unit(tokens, at + length, unit)
    if unit == "" and more_unit == "" and length == 1 and is_joined(tokens, at) and tokens[at + 1].kind == "word":
        more_unit, more = tokens[at + 1].text, 1  # "3abc" is no three
    elif more_unit == "min" and (money := _take_unit(tokens, at + length + more, ""))[0] in _MONEY:
        scale, more_unit, more = 1_000_000, money[0], more + money[1]  # "1.5m usd"
    if isinstance(value, Fraction) and (scale > 1 or match["sign"]):
        value *= -scale if match["sign"] in _MINUS else scale
    return Number(value, more_unit or unit, length + more, scale, digits)


_MONEY: Final = frozenset("$€£")
_MINUS: Final = ("-", "\u2212")


def _read_scale(token: Token, unit: str) -> int:
    if token.text == "m" and unit:
        return 1_000_000
    return int(find_meaning(token.text, "SCALE") or 0) if token.kind == "word" else 0


def _take_unit(tokens: Sequence[Token], at: int, unit: str) -> tuple[str, int]:
    """Return the unit at a place and its tokens; a currency before the number is a unit already."""
    length, found = find_phrase(tokens, at, ("UNIT",)) or (0, None)
    if found is None or (unit and found.value != unit):
        return "", 0
    return found.value, length


def _take_words(tokens: Sequence[Token], at: int) -> tuple[Fraction, int] | None:
    """Return the value and the count of number words: "twenty five", "two hundred thousand"."""
    total, current, length = Fraction(0), Fraction(0), 0
    for token in tokens[at:]:
        word = token.text if token.kind == "word" else ""
        if (number := find_meaning(word, "NUMBER")) is not None:
            current += Fraction(number)
        elif (times := find_meaning(word, "TIMES")) is not None:
            current = (current or Fraction(1)) * int(times)
            if int(times) >= 1_000:
                total, current = total + current, Fraction(0)
        elif not (word == "and" and length and _continues(tokens, at + length)):
            break
        length += 1
    return (total + current, length) if length else None


def _continues(tokens: Sequence[Token], at: int) -> bool:
    """Tell whether "and" joins two parts of one number."""
    is_hundred = find_meaning(tokens[at - 1].text, "TIMES") is not None
    return is_hundred and find_meaning(text_at(tokens, at + 1), "NUMBER") is not None


def text_at(tokens: Sequence[Token], at: int) -> str:
    """Return the text of a token, empty behind the last one."""
    return tokens[at].text if at < len(tokens) else ""


def is_joined(tokens: Sequence[Token], at: int) -> bool:
    """Tell whether nothing stands between a token and the next one."""
    return at + 1 < len(tokens) and tokens[at + 1].start == tokens[at].end


def parse_clock(text: str) -> Clock | None:
    """Return the time of day, or None for one that does not exist."""
    match = _CLOCK.match(text)
    assert match is not None, "the scanner lets nothing else through"
    hour, minute, half = int(match["hour"]), int(match["minute"] or 0), match["half"]
    if minute > 59 or hour > 24 or (hour == 24 and minute) or (half and not 1 <= hour <= 12):
        return None
    if half:
        return Clock((hour % 12 + 12 * (half == "p")) * 60 + minute, is_clear=True, is_24h=False)
    is_24h = hour > 12 or hour == 0 or text.startswith("0")
    return Clock(hour * 60 + minute, is_clear=is_24h, is_24h=is_24h)
