"""Stems, stop words and scoring.

`build_word_filter` filters a list by substrings. The rest is full-text search, equal on every database: texts are cut
into terms here, the database looks up the rows that contain a term (`index.py`), and the ranking is ours.
"""

import importlib.util
import math
import re
import sys
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, reduce
from hashlib import blake2b
from operator import and_, or_
from typing import Any, Final, NamedTuple, TypeVar

from django.db.models import Q

from config.lib.text import normal_form

MAX_WORDS = 16  # more words than anyone types to find a line; bounds the SQL
MAX_TERMS: Final = 32  # of a query, which may be a pasted sentence


class Weights(NamedTuple):
    """The constants of a ranking; each pool of texts has its own (benchmarks/bench_evidence.py)."""

    k1: float = 1.2  # how soon repeats of a word stop counting; the usual values (Robertson and Zaragoza, 2009)
    b: float = 0.75  # how much the length of a text lowers its score
    meaning: float = 0.5  # the weight of a similar meaning beside a matching word


USUAL: Final = Weights()

Key = TypeVar("Key")

# Words that are as frequent in questions as in texts, and so do not narrow a search. Folded like terms.
STOP_WORDS: Final = frozenset(
    """
    a about after again all also am an and any are arent as at be because been before being but by can cant could
    couldnt did didnt do does doesnt doing dont for from further had hadnt has hasnt have havent having he her here
    hers herself him himself his how i id if ill im in into is isnt it its itself ive just let lets me my myself no
    nor not of off on once only or other our ours ourselves out over own please same she should shouldnt so some
    such than that thats the their theirs them themselves then there theres these they theyre this those through to
    too under until us very was wasnt we were werent what whats when where which while who whom why will with wont
    would wouldnt you your youre yours yourself yourselves
    """.split()  # noqa: SIM905 - a paragraph reads better than a column
)
SYNONYMS: Final = {
    "added": "add",
    "adding": "add",
    "altcoin": "alt",
    "bitcoin": "btc",
    "ethereum": "eth",
    "ether": "eth",
    "solana": "sol",
    "dogecoin": "doge",
    "memecoin": "meme",
    "trader": "trade",
}

# Scripts that put no space between words: Thai, Lao, Myanmar, Khmer, kana, ideographs. Korean joins its particles.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7a3\U00020000-\U0003ffff"
)
_SYMBOL: Final = "\x01"
_MARK: Final = "\x02"  # not in a word
_LETTER: Final = rf"[^ .,'{_SYMBOL}{_UNSPACED}]"
_TOKEN: Final = re.compile(
    rf"(?P<symbol>{_SYMBOL})|(?P<run>[{_UNSPACED}]+)"
    # An apostrophe within a word, a point or comma within a number.
    rf"|(?P<word>{_LETTER}+(?:(?:'|(?<=\d)[.,](?=\d)){_LETTER}+)*)"
)
# Accents, the points of Hebrew and Arabic, the Arabic stretch: written or left out as one likes.
_OPTIONAL_MARKS: Final = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
_GROUPED_DIGITS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")  # 65,200
_ENGLISH: Final = re.compile(r"[a-z]{3,}")
_DIGEST_SIZE: Final = 6  # bytes: two of a person's words in a billion are taken for each other
TOKEN_LENGTH: Final = 2 * _DIGEST_SIZE
_TO_LETTERS: Final = str.maketrans("0123456789", "ghijklmnop")  # a token of letters only is one word to every database


class SearchTerm(NamedTuple):
    start: int
    end: int  # exclusive
    text: str
    is_stop_word: bool = False
    is_part: bool = False  # one character of a pair that is a term, too


class _Mask(dict[int, str]):
    """Each character's search class: word, symbol or gap."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = masked = _SYMBOL if unicodedata.category(char) == "So" else char if _is_in_words(char) else " "
        return masked


def _is_in_words(char: str) -> bool:
    # Cf: joiners and soft hyphens occur within words; terms drop them.
    return char.isalnum() or unicodedata.category(char) in {"Mn", "Mc", "Cf"}


_MASK: Final = _Mask(
    {ord(char): char for char in ".,'"} | dict.fromkeys((0x2019, 0x2BC, 0xFF07), "'") | {0: " ", 1: " "}
)


def build_word_filter(query: str, *columns: str) -> Q:
    """Return the condition that columns in normal form contain each word; a blank query is met by every row."""
    words = normal_form(query).split()[:MAX_WORDS]
    found = (reduce(or_, (Q(**{f"{column}__contains": word}) for column in columns)) for word in words)
    return reduce(and_, found, Q())


def iter_terms(text: str) -> Iterator[SearchTerm]:
    """Yield the terms of a text, repeats included.

    A word in its folded form, an English one as its stem; of scripts without spaces each character and each pair; a
    symbol such as an emoji. Nothing in a text can be an operator.
    """
    for token in _TOKEN.finditer(text.translate(_MASK)):
        start, end = token.span()
        if token.lastgroup == "run":
            yield from _iter_pairs(text[start:end], start)
        elif token.lastgroup == "symbol":
            yield SearchTerm(start, end, text[start])
        else:
            for term, is_stop_word in _list_forms(text[start:end]):
                yield SearchTerm(start, end, term, is_stop_word)


def _iter_pairs(run: str, start: int) -> Iterator[SearchTerm]:
    """Yield an unspaced run's characters, with marks, and pairs."""
    folded = unicodedata.normalize("NFKC", run).casefold()
    # Folding joins some half-width letters. The places of single characters are then unknown, so use the whole run.
    places = range(len(folded)) if len(folded) == len(run) else None
    begins = [at for at, char in enumerate(folded) if at == 0 or char.isalnum()]
    for at, begin in enumerate(begins):
        for size in (1, 2):
            if at + size <= len(begins):
                end = begins[at + size] if at + size < len(begins) else len(folded)
                span = (start + begin, start + end) if places else (start, start + len(run))
                yield SearchTerm(*span, folded[begin:end], is_part=size == 1 and len(begins) > 1)


@lru_cache(maxsize=20_000)
def _list_forms(word: str) -> tuple[tuple[str, bool], ...]:
    """Return the terms of a word; mark stop words."""
    forms = _fold_word(word)
    return tuple((porter_stem(form) if _ENGLISH.fullmatch(form) else form, form in STOP_WORDS) for form in forms)


def _fold_word(word: str) -> list[str]:
    """Return a word's folded forms, several only if folding splits it."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", word.translate(_MASK)).casefold())
    plain = unicodedata.normalize("NFKC", _OPTIONAL_MARKS.sub("", plain))
    plain = _GROUPED_DIGITS.sub("", plain).replace(",", ".").replace("'", "")
    kept = "".join(c if c == "." or c.isalnum() or _is_mark(c) else "" if _is_in_words(c) else " " for c in plain)
    return [part for part in (part.strip(".") for part in kept.split()) if any(map(str.isalnum, part))]


def _is_mark(char: str) -> bool:
    return unicodedata.category(char) in {"Mn", "Mc"}


def porter_stem(word: str) -> str:
    """Return the Porter stem of a lower-case English word."""
    # A stemmer keeps its state in itself, so threads cannot share one.
    return str(_load_stemmer()().stemWord(word))


@cache
def _load_stemmer() -> Any:
    """Import the English stemmer without the thirty other languages."""
    # The package imports them all, which takes 0.2 s, so an empty module takes its place for a moment.
    package = importlib.util.find_spec("snowballstemmer")
    assert package is not None, "snowballstemmer is one of our dependencies"
    sys.modules.setdefault("snowballstemmer", importlib.util.module_from_spec(package))
    try:
        from snowballstemmer.porter_stemmer import PorterStemmer  # noqa: PLC0415 - as above
    finally:
        sys.modules.pop("snowballstemmer", None)
    return PorterStemmer


def list_terms(text: str) -> list[str]:
    """Return the terms of a text, repeats included."""
    return [term.text for term in iter_terms(text)]


def list_query_terms(query: str) -> list[str]:
    """Return a query's distinct terms, at most MAX_TERMS; stop words only if there is nothing else."""
    asked = [term for term in iter_terms(query) if not term.is_part]
    wanted = [term for term in asked if not term.is_stop_word] or asked
    return list(dict.fromkeys(term.text for term in wanted))[:MAX_TERMS]


def iter_ranges(text: str, wanted: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the wanted terms' ranges (start, end), adjacent ones joined."""
    looked_for = set(wanted)
    open_range: tuple[int, int] | None = None
    for term in iter_terms(text):
        if term.text not in looked_for:
            continue
        if open_range and term.start <= open_range[1]:
            open_range = open_range[0], max(open_range[1], term.end)
            continue
        if open_range:
            yield open_range
        open_range = term.start, term.end
    if open_range:
        yield open_range


def build_tokens(found: Iterable[str], owner: int) -> list[str]:
    """Return the tokens of terms: 12-letter digests keyed by owner.

    So a query cannot meet a row of somebody else, no word outlives its row in the pages of an index, which databases
    clean late or never, and every script is the same plain letters to their parsers.
    """
    digests = (blake2b(f"{owner} {term}".encode(), digest_size=_DIGEST_SIZE) for term in found)
    return [digest.hexdigest().translate(_TO_LETTERS) for digest in digests]


def build_index_text(text: str, owner: int, *, marks: Collection[str] = ()) -> str:
    """Return a text's indexed form: its tokens and those of its marks, joined by spaces."""
    return " ".join([*build_tokens(list_terms(text), owner), *build_mark_tokens(marks, owner)])


def build_mark_tokens(marks: Collection[str], owner: int) -> list[str]:
    """Return the tokens of marks, which no word of a text has."""
    return build_tokens((f"{_MARK}{mark}" for mark in sorted(marks)), owner)


def score_bm25(
    indexed: Mapping[Key, str],
    wanted: Sequence[str],
    *,
    total: int,
    frequencies: Mapping[str, int] | None = None,
    weights: Weights = USUAL,
) -> dict[Key, float]:
    """Return matching texts' BM25 scores by key, higher is better.

    `wanted` tokens are distinct; `total` counts all rows; `frequencies`: the rows with each token, else counted in
    `indexed`.
    """
    counts = {token: {key: n for key, text in indexed.items() if (n := text.count(token))} for token in wanted}
    lengths = {key: (len(text) + 1) // (TOKEN_LENGTH + 1) for key, text in indexed.items()}
    average = sum(lengths.values()) / max(1, len(lengths)) or 1.0
    k1, b, _ = weights
    damping = {key: k1 * (1 - b + b * length / average) for key, length in lengths.items()}
    scores: dict[Key, float] = {}
    for token, holders in counts.items():
        frequency = max(len(holders), (frequencies or {}).get(token, 0))
        rarity = math.log(1 + max(0.0, total - frequency + 0.5) / (frequency + 0.5))
        for key, count in holders.items():
            scores[key] = scores.get(key, 0.0) + rarity * count * (k1 + 1) / (count + damping[key])
    return scores


def blend_scores(
    words: Mapping[Key, float],
    near: Mapping[Key, float],
    *,
    only: Iterable[Key] | None = None,
    weights: Weights = USUAL,
) -> dict[Key, float]:
    """Return the weighted sum of both lists' z-scores by key; a missing cosine tells neither for nor against."""
    keys = words.keys() | near.keys()
    word, meant = _Scale.of(words.values(), len(keys)), _Scale.of(near.values(), len(near))
    weight = weights.meaning * meant.unit
    return {
        # Rounded, so that the order of additions does not separate equal scores.
        key: round((words.get(key, 0.0) - word.mean) * word.unit + (near.get(key, meant.mean) - meant.mean) * weight, 6)
        for key in (keys if only is None else only)
    }


def z_scores(values: Mapping[Key, float]) -> dict[Key, float]:
    """Return each value's z-score, zeros if all are equal."""
    scale = _Scale.of(values.values(), len(values))
    return {key: (value - scale.mean) * scale.unit for key, value in values.items()}


class _Scale(NamedTuple):
    """A scale for standard scores: `(value - mean) * unit`."""

    mean: float
    unit: float  # one by their standard deviation; 0 where all are alike

    @classmethod
    def of(cls, values: Collection[float], count: int) -> "_Scale":
        """Return the scale of `count` values, absent ones 0."""
        if not count:
            return cls(0.0, 0.0)
        mean = math.fsum(values) / count
        squares = math.fsum([(value - mean) ** 2 for value in values]) + (count - len(values)) * mean * mean
        deviation = math.sqrt(squares / count)
        return cls(mean, 1 / deviation if deviation > 1e-9 else 0.0)
