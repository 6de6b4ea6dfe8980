"""Facts, calls of tools with their outcomes, and how words match facts."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from config.lib.search.terms import SYNONYMS, iter_terms, list_terms, porter_stem
from config.lib.text import parse_uuid
from config.lib.words.vocabulary import find_meaning, list_words
from config.offline.figures import Row, block, exact, rows
from memory.claims.subjects import read_subject

_WORD = re.compile(r"[^\W_]+(?:['’.:%/-][^\W_]+)*[%×]?")
# Errors are written for a model; what they tell it to do is not for the user.
_TO_THE_MODEL = re.compile(
    r"\s*\b(?:Say so;\s*|(?:Ask|Tell) the user\b[^.]*\.|List the facts to find the right words\.)", re.IGNORECASE
)
_TEXT_KEYS: Final = ("fact", "content", "text", "forgotten", "saved", "archived")


@dataclass(frozen=True, slots=True)
class Call:
    """A requested tool call; among the rules, `name` is an act."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Known:
    """One fact the model can see."""

    text: str
    topic: str = ""
    inferred: bool = False
    id: str = ""  # known only for facts of tool results


@dataclass(frozen=True, slots=True)
class Outcome:
    """A tool call of this conversation with what came back."""

    name: str  # of the act, else of the tool
    arguments: Row
    result: Any  # parsed JSON, or the text as it was
    tool: str  # whose call it was

    @property
    def as_row(self) -> Row:
        """Return the result as an object, empty if another type."""
        return self.result if isinstance(self.result, dict) else {}

    @property
    def error(self) -> str:
        """Return the error in the result as one line, "" when there is none."""
        error = self.as_row.get("error")
        listed = error if isinstance(error, list) else [error] if error else []
        told = (one.get("problem") or one.get("msg") or one if isinstance(one, dict) else one for one in listed)
        return "; ".join(map(str, told))

    @property
    def told_error(self) -> str:
        """Return the error in words for the user."""
        told = re.sub(r"\bthe user's\b", "your", _TO_THE_MODEL.sub(" ", self.error).strip() or self.error)
        return re.sub(r"(?<=\. )[a-z]", lambda match: match[0].upper(), told)

    @property
    def held(self) -> str:
        """Return the text that waits for review, or ""."""
        return str(self.as_row.get("held_for_review") or "")

    @property
    def conflicts_with(self) -> str:
        """Return the known fact that a held text may contradict, "" when there is none."""
        return exact(block(self.as_row, "conflicts_with"), "fact")

    @property
    def was_so(self) -> bool:
        """Whether nothing changed because it was so already."""
        told = f"{self.as_row.get('note')} {self.as_row.get('message')}"
        is_repeated = self.name == "remember" and exact(self.before, "fact") == self.changed_text() != ""
        return is_repeated or "known already" in told or "nothing changed" in told

    @property
    def fact_id(self) -> str:
        """Return the id of the fact in the result, "" when there is none."""
        value = exact(self.as_row, "fact_id") or exact(self.as_row, "id")
        return value if parse_uuid(value) else ""

    @property
    def before(self) -> Row:
        """Return the fact before the change, empty without one."""
        return block(block(self.as_row, "memoryEvent"), "before")

    def entries(self, key: str) -> list[Row]:
        """Return the objects of a list in the result."""
        return rows(self.as_row, key)

    def changed_text(self) -> str:
        """Return the saved or forgotten text, if known."""
        after = block(block(self.as_row, "memoryEvent"), "after")
        sources = (self.as_row, after, self.before, self.arguments)
        texts = (exact(source, key) for source in sources for key in _TEXT_KEYS)
        asked = str(self.arguments.get("fact_id") or "")
        return next(filter(None, texts), "" if parse_uuid(asked) else asked)


def content_text(message: Row) -> str:
    """Return the text of a message's string or blocks."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def best_matches(words: str, facts: Sequence[Known], *, topic: str = "", least: float = 0.0) -> list[Known]:
    """Return the best matching facts, several when they tie.

    A word that many facts have counts less; `least` is the share (0..1) of the words that must be met.
    """
    wanted = content_words(words)
    if not wanted or not facts:
        return []
    bags = [content_words(f"{fact.text} {fact.topic} {_name_subject(fact.text)}") for fact in facts]
    frequency = Counter(word for bag in bags for word in bag)
    scores = []
    for fact, bag in zip(facts, bags, strict=True):
        shared = wanted & bag
        score = sum(1 / frequency[word] for word in shared) if len(shared) >= least * len(wanted) else 0.0
        scores.append(score + (0.5 if score and topic and fact.topic == topic else 0.0))
    best = max(scores)
    return [fact for fact, score in zip(facts, scores, strict=True) if best and score > best - 1e-9]


def _name_subject(text: str) -> str:
    subject = read_subject(text)
    return subject.key if subject.is_single else ""


@lru_cache(maxsize=512)  # the same facts are compared with sentence after sentence
def content_words(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning, numbers included."""
    idle, same = _stem_tables()
    words = (term.text for term in iter_terms(text) if not term.is_stop_word)
    return frozenset(same.get(word, word) for word in words if word not in idle)


def key_words(text: str) -> list[str]:
    """Return the distinct significant words as typed, in order."""
    return list(dict.fromkeys(word for word in _WORD.findall(text) if content_words(word)))


@cache  # at the first use: the stemmer takes a while to load
def _stem_tables() -> tuple[frozenset[str], dict[str, str]]:
    same = {**SYNONYMS, **{word: str(find_meaning(word, "SAME")) for word in list_words("SAME")}}
    idle = frozenset(list_terms(" ".join(list_words("TALK"))))
    return idle, {porter_stem(word): porter_stem(other) for word, other in same.items()}
