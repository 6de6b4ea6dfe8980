"""What words and phrases mean to all readers: the entries of `vocabulary.txt`. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from config.lib.search.terms import list_terms

_FILE: Final = Path(__file__).with_suffix(".txt")


class Meaning(NamedTuple):
    """A concept and its value, empty where the concept has none: `DAY` and `0` of "monday"."""

    concept: str
    value: str


class Vocabulary:
    """The meanings of words and phrases; `longest` has the words of the longest phrase by its first word."""

    def __init__(self, text: str) -> None:
        self.meanings: dict[str, tuple[Meaning, ...]] = {}
        self.longest: dict[str, int] = {}
        self.words: defaultdict[str, set[str]] = defaultdict(set)  # and phrases, by concept
        for line in text.splitlines():
            phrase, _, listed = line.partition(": ")
            if not listed or line.startswith("#"):
                continue
            found = tuple(Meaning(*one.partition("=")[::2]) for one in listed.split())
            self.meanings[phrase] = self.meanings.get(phrase, ()) + found
            first, length = phrase.split()[0], phrase.count(" ") + 1
            self.longest[first] = max(length, self.longest.get(first, 0))
            for meaning in found:
                self.words[meaning.concept].add(phrase)

    def find(self, phrase: str, concepts: Collection[str]) -> Meaning | None:
        """Return what a phrase means among some concepts, or None."""
        for one in self.meanings.get(phrase, ()):
            if one.concept in concepts:
                return one
        return None


@cache
def get_vocabulary() -> Vocabulary:
    """Return the vocabulary, read at its first use."""
    return Vocabulary(_FILE.read_text(encoding="utf-8"))


def find_meaning(word: str, *concepts: str) -> str | None:
    """Return the value of a word's meaning among some concepts, empty without a value; None: it means none of them."""
    found = get_vocabulary().find(word, concepts)
    return None if found is None else found.value


@cache
def list_words(*concepts: str) -> frozenset[str]:
    """Return the words and phrases of concepts."""
    words = get_vocabulary().words
    return frozenset[str]().union(*(words.get(concept, ()) for concept in concepts))


@cache
def list_first_words(*concepts: str) -> frozenset[str]:
    """Return the words with which the phrases of concepts begin."""
    return frozenset(phrase.split()[0] for phrase in list_words(*concepts))


@cache
def map_stems(concept: str) -> dict[str, str]:
    """Return the values of a concept by the stems of its phrases, which match in any ending; the shortest counts."""
    phrases = sorted(list_words(concept), key=lambda phrase: (-len(phrase), phrase))
    return {" ".join(list_terms(phrase)): str(find_meaning(phrase, concept)) for phrase in phrases}


def find_stems(terms: Sequence[str], concept: str) -> Iterator[str]:
    """Yield the values of a concept's phrases in the terms of a text (`list_terms`), of the longest at each place."""
    values, at = map_stems(concept), 0
    longest = max(stems.count(" ") + 1 for stems in values)
    while at < len(terms):
        sizes = range(min(longest, len(terms) - at), 0, -1)
        size = next((size for size in sizes if " ".join(terms[at : at + size]) in values), 0)
        if size:
            yield values[" ".join(terms[at : at + size])]
        at += size or 1
