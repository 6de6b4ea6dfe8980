"""What the offline model's rules work with: facts, outcomes of tool calls, and which facts some words mean."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

_WORD = re.compile(r"[^\W_]+(?:['.:%/-][^\W_]+)*[%×]?", re.UNICODE)
_STOP_TEXT = """
a about above actually again all also always am an and any anymore are as ask at be been being but by can
could did do does doing don't each ever every everything fact for forget forgot from had has have having he
her here him his how i i'd i'll i'm i've if in into is isn't it it's its just know knew let like longer made
make many may me memory might more mine most much must my myself need never no nor not nothing now of off on
once one ones only or other our out over please prefer rather really remember remembered remove said say
saved set shall she should so some something still stop such than that that's the their them then there
these they thing things think this those to told too true under until up use used using usual usually very
want was we were what what's when where which while who whom whose why will with won't would wrong yes you
your yours
"""
_STOP_WORDS = frozenset(_STOP_TEXT.split())
_SAME = {
    "altcoin": "alt",
    "bitcoin": "btc",
    "ethereum": "eth",
    "solana": "sol",
    "maximum": "max",
    "minimum": "min",
    "hour": "session",
    "ticker": "symbol",
    "coin": "symbol",
    "instrument": "symbol",
    "target": "goal",
    "aim": "goal",
    "objective": "goal",
}
_WAS_SO = re.compile(r"\bknown already\b|\bnothing changed\b")
_CHANGED_KEYS = ("fact", "content", "text", "forgotten", "saved", "archived")


@dataclass(frozen=True, slots=True)
class Known:
    """One fact the model can see."""

    text: str
    topic: str = ""
    inferred: bool = False
    id: str = ""  # known only for facts that a tool told of
    tag: str = ""  # stands in brackets before it: the coach's topic, the companion's date

    @property
    def line(self) -> str:
        """Return the line of the block."""
        return f"- {f'[{self.tag}] ' if self.tag else ''}{self.text}{' (inferred)' if self.inferred else ''}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A tool call of this conversation with what came back."""

    name: str
    arguments: Mapping[str, Any]
    result: Any  # parsed JSON, or the text as it was
    tool: str = ""  # whose call it was, where `name` says something else

    @property
    def as_row(self) -> Mapping[str, Any]:
        """Return the result as an object, an empty one when it is none."""
        return self.result if isinstance(self.result, dict) else {}

    @property
    def error(self) -> str:
        """Return the error in the result as one line, "" when there is none."""
        error = self._get("error")
        if isinstance(error, list):
            return "; ".join(_problem(item) for item in error)
        return str(error) if error else ""

    @property
    def held(self) -> str:
        """Return the text that was not saved but waits for the user's review, "" when none does."""
        return str(self._get("held_for_review") or "")

    @property
    def was_so(self) -> bool:
        """Whether nothing changed because it was so already."""
        return bool(_WAS_SO.search(f"{self._get('note')} {self._get('message')}"))

    @property
    def candidates(self) -> dict[str, str]:
        """Return the facts between which the tool could not decide: their ids by their texts."""
        found = self.entries("candidates")
        return {str(entry.get("fact")): str(entry.get("fact_id") or entry.get("id") or "") for entry in found}

    @property
    def rows(self) -> list[Mapping[str, Any]]:
        """Return the facts that were looked up."""
        return [row for row in self.entries("preferences") if isinstance(row.get("content"), str)]

    @property
    def is_truncated(self) -> bool:
        """Whether there is more than was looked up."""
        return bool(self._get("truncated"))

    @property
    def fact_id(self) -> str:
        """Return the id of the fact in the result, "" when there is none."""
        value = self._get("fact_id") or self._get("id")
        return value if isinstance(value, str) and is_uuid(value) else ""

    @property
    def old_id(self) -> str:
        """Return the id of the fact as it was before, "" when there was none."""
        return str(self._state("before").get("fact_id") or "")

    @property
    def old_text(self) -> str:
        """Return the text of the fact as it was before, "" when there was none."""
        return str(self._state("before").get("fact") or "")

    def entries(self, key: str) -> list[Mapping[str, Any]]:
        """Return the objects of a list in the result."""
        listed = self._get(key)
        return [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []

    def changed_text(self) -> str:
        """Return the text of what was saved or forgotten, as far as the result or the call tells it."""
        for source in (self.result, self._state("after"), self._state("before"), self.arguments):
            if isinstance(source, Mapping):
                texts = (source.get(key) for key in _CHANGED_KEYS)
                if text := next((text for text in texts if isinstance(text, str) and text), ""):
                    return text
        asked = str(self.arguments.get("fact_id") or "")
        return "" if is_uuid(asked) else asked

    def _get(self, key: str) -> Any:
        return self.as_row.get(key)

    def _state(self, when: str) -> Mapping[str, Any]:
        event = self._get("memoryEvent")
        state = event.get(when) if isinstance(event, dict) else None
        return state if isinstance(state, dict) else {"fact": state} if isinstance(state, str) else {}


def content_text(message: Mapping[str, Any]) -> str:
    """Return the text of a message, whose content is a string or a list of blocks."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def outcomes(messages: Iterable[Mapping[str, Any]]) -> list[Outcome]:
    """Return all tool calls of the messages that have a result, in the order of the results."""
    calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
    found = []
    for message in messages:
        for call in message.get("tool_calls") or ():
            function = call.get("function") or {}
            arguments = _parsed(function.get("arguments") or "{}")
            calls[call.get("id")] = (str(function.get("name")), arguments if isinstance(arguments, dict) else {})
        if message.get("role") == "tool" and (made := calls.get(str(message.get("tool_call_id")))):
            found.append(Outcome(*made, _parsed(content_text(message)), made[0]))
    return found


def best_matches(words: str, facts: Sequence[Known], *, topic: str = "", least: float = 0.0) -> list[Known]:
    """Return the facts that share most with the words, several when they tie, none when none shares enough.

    A word that many facts have counts less; `least` is the share (0..1) of the words that must be met.
    """
    wanted = content_words(words)
    if not wanted or not facts:
        return []
    bags = [_bag(f"{fact.text} {fact.topic}") for fact in facts]
    frequency = Counter(word for bag in bags for word in bag)
    scores = []
    for fact, bag in zip(facts, bags, strict=True):
        shared = wanted & bag
        score = sum(1 / frequency[word] for word in shared) if len(shared) >= least * len(wanted) else 0.0
        scores.append(score + (0.5 if score and topic and fact.topic == topic else 0.0))
    best = max(scores)
    return [fact for fact, score in zip(facts, scores, strict=True) if best and score > best - 1e-9]


def content_words(text: str) -> set[str]:
    """Return the words that carry meaning, without endings, numbers included."""
    words = (_stem(word.casefold()) for word in _words(text))
    return {_SAME.get(word, word) for word in words if word not in _STOP_WORDS}


def key_words(text: str) -> list[str]:
    """Return the words that carry meaning as they were typed, each once, in order."""
    return list(dict.fromkeys(word for word in _words(text) if _stem(word.casefold()) not in _STOP_WORDS))


def is_uuid(text: str) -> bool:
    """Tell whether a text is a uuid."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=512)  # the same facts are compared with sentence after sentence
def _bag(text: str) -> frozenset[str]:
    return frozenset(content_words(text))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.replace("’", "'"))


def _stem(word: str) -> str:
    if word in _STOP_WORDS:
        return word
    for ending, least in (("'s", 1), ("ing", 4), ("ers", 4), ("er", 5), ("ed", 4), ("es", 4), ("s", 2)):
        if word.endswith(ending) and len(word) - len(ending) >= least and not word.endswith("ss"):
            return word[: -len(ending)].removesuffix("e")
    return word.removesuffix("e") if len(word) > 4 else word


def _problem(item: Any) -> str:
    return str(item.get("problem") or item.get("msg") or item) if isinstance(item, dict) else str(item)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
