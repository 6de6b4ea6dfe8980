"""What a line claims: words, numbers, bounds and negations.

There is no grammar. Each word belongs to a clause, and a negation denies every word of its clause. A clause with
unclear polarity denies nothing and supports nothing.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal

from config.lib.search.terms import SYNONYMS, porter_stem
from config.lib.words import quantities
from config.lib.words.quantities import parse_digits
from memory.claims import vocabulary
from memory.claims.statements import MASK

Kind = Literal["word", "number", "bound", "only", "not", "condition"]
Polarity = Literal["+", "-", "~", "?"]  # said, denied, denied in part ("not always"), unclear


@dataclass(frozen=True, slots=True)
class Term:
    """One element of a claim; `start` and `end` are text offsets."""

    kind: Kind
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
class Reading:
    """The terms of a text, in text order."""

    terms: tuple[Term, ...]
    length: int  # in words

    def of_kind(self, *kinds: Kind) -> list[Term]:
        """Return the terms of these kinds."""
        return [term for term in self.terms if term.kind in kinds]


REACH: Final = 8  # maximum words between a negation and the comparison it reverses
BARRIER: Final = 100  # a masked part counts as so many sentences, so no span crosses it

_MARKS: Final = "".join(chr(code) for code in range(0x300, 0x10000) if unicodedata.category(chr(code))[0] == "M")
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
)
_LETTER: Final = rf"(?:(?![{_UNSPACED}])[^\W\d_])"
_SCAN: Final = re.compile(
    r"(?P<number>(?:(?<![\w)\]%])[-\u2212](?=[$€£]?\d))?[$€£]?\d+(?:[.,:]\d+)*"
    rf"(?:\s?%|\s?-?per\s?cents?\b|\s?×|[ -]?{_LETTER}+(?!['’\w]))?)"
    rf"|(?P<unspaced>[{_UNSPACED}]+)"
    rf"|(?P<word>{_LETTER}(?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}])*(?:['’](?:(?![{_UNSPACED}])[^\W_])+)*)"
    rf"|(?P<blank>{MASK}+)"
    r"|(?P<sentence>[.!?](?=\s|\Z)|[。\n])"
    r"|(?P<hard>[;:()\[\]—–]|(?<=\s)-(?=\s))"
    r"|(?P<soft>[,、&+])"
)
_UNSPACED_PARTS: Final = re.compile(
    "(?P<hard>但是|但し|但|可是|不过|因为)"
    "|(?P<only>只|仅|僅|だけ|のみ)"
    "|(?P<not>不|没|沒|无|無|勿|莫|别(?!的)|非(?!常)|ない|ません|なし|않|없|못|ไม่)"
    "|(?P<plain>.)",
    re.DOTALL,
)


@dataclass(slots=True)
class _Item:
    """A piece of the text during scanning."""

    kind: str  # a kind of Term, or stop, opens, partly, hard, soft, sentence, blank
    text: str
    start: int
    end: int
    key: str | Fraction = ""
    unit: str = ""
    clause: int = 0
    sentence: int = 0
    is_used: bool = False  # a negation that reversed a comparison


def read_claims(text: str) -> Reading:
    """Read a text's terms; `MASK` yields none and separates clauses."""
    items = _classify_items(list(_scan_items(text)))
    _set_clauses(items)
    _turn_comparisons(items)
    polarities = _find_polarities(items)
    begun, place, terms = -1, 0, []
    for item in items:
        place += item.kind not in _MARKS_ONLY
        kind = _TERM_KINDS.get(item.kind)
        if kind is not None and not item.is_used:
            written = text[item.start : item.end]
            # Every sentence begins with a capital, so that one tells nothing.
            is_large = written[:1].isupper() and item.sentence == begun
            is_name = kind == "word" and (is_large or any(map(str.isupper, written[1:])))
            meaning = (kind, item.key, item.unit, polarities[item.clause])
            terms.append(Term(*meaning, item.clause, item.sentence, place, item.start, item.end, is_name))
        begun = item.sentence if item.kind not in _MARKS_ONLY else begun
    return Reading(tuple(terms), place)


_MARKS_ONLY: Final = frozenset({"hard", "soft", "sentence", "blank"})
_TERM_KINDS: Final[dict[str, Kind]] = {
    "word": "word",
    "number": "number",
    "bound": "bound",
    "only": "only",
    "not": "not",
    "partly": "not",
    "condition": "condition",
}


def _scan_items(text: str) -> Iterator[_Item]:
    folded, offsets = _fold_text(text)
    for match in _SCAN.finditer(folded):
        kind = str(match.lastgroup)
        start, end = match.span()
        if kind == "unspaced":
            yield from _scan_unspaced(match[0], [offsets[at] for at in range(start, end + 1)])
        elif kind == "number":
            yield from _scan_number(match[0], offsets, start)
        elif kind == "word" and match[0].endswith(("n't", "n’t")):
            # The verb of a contraction carries no content.
            yield _Item("word", "n't", offsets[start], offsets[end - 1] + 1)
        else:
            yield _Item(kind, match[0].replace("’", "'"), offsets[start], offsets[end - 1] + 1)


def _fold_text(text: str) -> tuple[str, list[int]]:
    """Return the NFKC lower-case text and the source offset of each character."""
    if text.isascii():
        return text.lower(), [*range(len(text) + 1)]
    pieces, offsets = [], []
    for at, char in enumerate(text):
        piece = unicodedata.normalize("NFKC", char).casefold() if char > "\x7f" else char.lower()
        pieces.append(piece)
        offsets += [at] * len(piece)
    return "".join(pieces), [*offsets, len(text)]


def _scan_unspaced(run: str, offsets: Sequence[int]) -> Iterator[_Item]:
    """Yield character pairs of an unspaced script, split at negations and restrictions."""
    plain: list[int] = []
    for match in _UNSPACED_PARTS.finditer(run):
        if match.lastgroup == "plain":
            plain.append(match.start())
            continue
        yield from _pair_neighbours(run, plain, offsets)
        plain = []
        yield _Item(str(match.lastgroup), match[0], offsets[match.start()], offsets[match.end() - 1] + 1)
    yield from _pair_neighbours(run, plain, offsets)


def _pair_neighbours(run: str, places: Sequence[int], offsets: Sequence[int]) -> Iterator[_Item]:
    for first in places[:-1] or places:
        last = min(first + 1, places[-1])
        yield _Item("unspaced", run[first : last + 1], offsets[first], offsets[last] + 1)


_NUMBER_PARTS: Final = re.compile(
    r"(?P<sign>[-\u2212])?(?P<money>[$€£])?(?P<digits>[\d.,:]+)[ -]?(?P<unit>.*)", re.DOTALL
)


def _scan_number(written: str, offsets: Sequence[int], at: int) -> Iterator[_Item]:
    """Yield a number with its unit, a following other word separately."""
    match = _NUMBER_PARTS.fullmatch(written)
    assert match is not None, "the scanner lets nothing else through"
    value = parse_digits(match["digits"])
    tail = match["unit"].strip().replace("×", "x").replace("per cent", "percent")
    unit, end, scale = quantities.UNITS.get(match["money"] or "", ""), len(written), 1
    is_attached = match.end("digits") == match.start("unit")
    if tail in {"am", "pm"} and isinstance(value, Fraction) and value.denominator == 1:
        value, unit = f"{int(value) % 12 + (12 if tail == 'pm' else 0):02}:00", "time"
    elif tail in quantities.SCALES or (tail == "m" and unit):
        scale = quantities.SCALES.get(tail, 1_000_000)
    elif tail in quantities.UNITS:
        unit = quantities.UNITS[tail]
    elif is_attached and tail:
        unit = tail
    else:
        end = match.end("digits")
    if isinstance(value, Fraction):
        value *= -scale if match["sign"] else scale
    elif ":" in value:
        unit = "time"
    yield _Item("number", written[:end], offsets[at], offsets[at + end - 1] + 1, value, unit)
    if end < len(written) and tail:
        start = at + match.start("unit")
        yield _Item("word", tail, offsets[start], offsets[at + len(written) - 1] + 1)


def _classify_items(items: list[_Item]) -> list[_Item]:
    """Set the kind of each word and join phrases and units."""
    done: list[_Item] = []
    at = 0
    while at < len(items):
        item = items[at]
        length = 1
        if item.kind == "word":
            length = _classify_word(items, at, done)
        elif item.kind == "unspaced":
            item.kind, item.key = "word", item.text
        elif item.kind == "number":
            length = _join_unit(items, at)
        if length:
            done.append(item)
        at += max(1, length)
    return done


def _read_number_words(items: Sequence[_Item], at: int) -> tuple[Fraction, int] | None:
    """Return value and count of the number words at an index."""
    total, current, length = Fraction(0), Fraction(0), 0
    for item in items[at:]:
        word = item.text if item.kind == "word" else ""
        if word in quantities.NUMBER_WORDS:
            current += quantities.NUMBER_WORDS[word]
        elif word in quantities.MULTIPLIERS and quantities.MULTIPLIERS[word] < 1_000:
            current = (current or Fraction(1)) * quantities.MULTIPLIERS[word]
        elif word in quantities.MULTIPLIERS:
            total, current = total + (current or Fraction(1)) * quantities.MULTIPLIERS[word], Fraction(0)
        elif not (word == "and" and length and _continues_number(items, at + length)):
            break
        length += 1
    return (total + current, length) if length else None


def _continues_number(items: Sequence[_Item], at: int) -> bool:
    """Tell whether "and" joins two parts of one number."""
    before, after = (items[place].text if 0 <= place < len(items) else "" for place in (at - 1, at + 1))
    return before in quantities.MULTIPLIERS and after in quantities.NUMBER_WORDS


def _join_unit(items: Sequence[_Item], at: int, after: int | None = None) -> int:
    """Attach the unit behind a number ("10k usd"); return the item count."""
    after = at + 1 if after is None else after
    number, following = items[at], items[after] if after < len(items) else None
    if not number.unit and [item.text for item in items[after : after + 2]] == ["per", "cent"]:
        number.unit, number.end = "%", items[after + 1].end
        return 3
    if following is not None and following.text == "a" and "percent" in [item.text for item in items[after + 1 :][:1]]:
        number.unit, number.end = "%", items[after + 1].end  # "half a percent"
        return 3
    if following is None or following.kind != "word" or following.text not in quantities.UNITS:
        return 1
    unit = quantities.UNITS[following.text]
    if number.unit == "min" and unit in quantities.MONEY and isinstance(number.key, Fraction):
        number.key *= 1_000_000  # "1.5m usd"
    elif number.unit:
        return 1
    number.unit, number.end = unit, following.end
    return 2


def _classify_word(items: Sequence[_Item], at: int, done: Sequence[_Item]) -> int:
    """Classify the word or phrase at an index; return the item count."""
    item = items[at]
    words = [other.text if other.kind == "word" else "" for other in items[at : at + 3]]
    for length in (3, 2):
        meaning = vocabulary.PHRASES.get(tuple(words[:length])) if length <= len(words) else None
        if meaning is not None and not (meaning in vocabulary.NEGATABLE and not _has_number(items, at + length)):
            _set_meaning(item, meaning)
            item.end = items[at + length - 1].end
            return length
    if words[:2] == ["used", "to"] and not (done and done[-1].text in vocabulary.USED_TO_PRECEDED):
        _set_meaning(item, vocabulary.NOT)
        return 2
    if words[0] in {"stop", "stops", "stopped", "quit", "quits"} and len(words) > 1 and words[1].endswith("ing"):
        _set_meaning(item, vocabulary.NOT)
        return 1
    if words[0] in vocabulary.BEFORE_NUMBERS and _has_number(items, at + 1):
        _set_meaning(item, vocabulary.BEFORE_NUMBERS[words[0]])
        return 1
    if not (done and done[-1].text in vocabulary.NO_NUMBER_AFTER) and (number := _read_number_words(items, at)):
        item.kind, (item.key, length) = "number", number
        item.end = items[at + length - 1].end
        return length - 1 + _join_unit(items, at, at + length)
    if words[0] in {"no", "nope"} and (at + 1 == len(items) or items[at + 1].kind in {"soft", "hard", "sentence"}):
        item.kind = "stop"  # an answer; it does not deny what follows
        return 1
    _set_meaning(item, vocabulary.WORDS.get(words[0], ""))
    return 1


def _has_number(items: Sequence[_Item], at: int) -> bool:
    near = items[at : at + 2]
    return any(item.kind == "number" or item.text in quantities.NUMBER_WORDS for item in near)


def _set_meaning(item: _Item, meaning: str) -> None:
    if meaning in {vocabulary.NOT, vocabulary.OPENS_NOT, vocabulary.PARTLY, vocabulary.ONLY}:
        item.kind = meaning
    elif meaning in vocabulary.CONDITIONS:
        item.kind, item.key = "condition", meaning
    elif meaning:
        item.kind, item.key = "bound", meaning
    elif item.text in vocabulary.CONDITIONS:
        item.kind, item.key = "condition", item.text
    elif item.text in vocabulary.BREAKS:
        item.kind = "hard"
    else:
        word = item.text.split("'")[0]
        is_stop = word in vocabulary.FILLER_WORDS or item.text in vocabulary.RESETS - {"always", "usually", "mostly"}
        item.kind, item.key = ("stop", "") if is_stop else ("word", stem_word(word))


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
        if item.kind != "bound" or item.key not in vocabulary.NEGATABLE:
            continue
        as_it_stands, turned = vocabulary.NEGATABLE[str(item.key)]
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
            polarity = "+" if held[0].text in vocabulary.RESETS or "only" in kinds else "?"
        if held[0].text in vocabulary.EXCEPTIONS and before and polarities[before[0].clause] != "+":
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
