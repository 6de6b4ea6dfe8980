"""What the offline model knows of the user: the block in its prompt, and what this conversation changed since."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from config.lib.text import normal_form

HEADING = "## What I know about you"

_LINE = re.compile(r"^- (?:\[(?P<topic>[^\]]*)\] )?(?P<text>.+?)(?P<inferred> \(inferred\))?$")
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
_CHANGED_KEYS = ("fact", "content", "text", "forgotten", "saved", "archived")


@dataclass(frozen=True, slots=True)
class Known:
    """One fact the model can see."""

    text: str
    topic: str = ""
    inferred: bool = False
    id: str = ""  # known only for facts of this conversation

    @property
    def line(self) -> str:
        """Return the line of the block."""
        return f"- {f'[{self.topic}] ' if self.topic else ''}{self.text}{' (inferred)' if self.inferred else ''}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A tool call of this conversation with what came back."""

    name: str
    arguments: Mapping[str, Any]
    result: Any  # parsed JSON, or the text as it was

    @property
    def error(self) -> str:
        """Return the error in the result as one line, "" when there is none."""
        error = self.result.get("error") if isinstance(self.result, dict) else None
        if isinstance(error, list):
            return "; ".join(str(item.get("msg", item)) if isinstance(item, dict) else str(item) for item in error)
        return str(error) if error else ""

    @property
    def fact_id(self) -> str:
        """Return the id of the fact in the result, "" when there is none."""
        value = self.result.get("fact_id") if isinstance(self.result, dict) else None
        return value if isinstance(value, str) and is_uuid(value) else ""

    def changed_text(self) -> str:
        """Return the text of the fact that was saved or forgotten, as far as the result or the call tells it."""
        event = self.result.get("memoryEvent") if isinstance(self.result, dict) else None
        state = (event.get("after") or event.get("before")) if isinstance(event, dict) else None
        for source in (self.result, state, self.arguments):
            if isinstance(source, str) and source is state:
                return source
            if isinstance(source, Mapping):
                texts = (source.get(key) for key in _CHANGED_KEYS)
                if text := next((text for text in texts if isinstance(text, str) and text), ""):
                    return text
        asked = str(self.arguments.get("fact_id") or "")
        return "" if is_uuid(asked) else asked


def content_text(message: Mapping[str, Any]) -> str:
    """Return the text of a message, whose content is a string or a list of blocks."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def known_facts(messages: Sequence[Mapping[str, Any]]) -> list[Known]:
    """Return the facts of the prompt's block, with what was saved and forgotten since it was rendered."""
    facts = [fact for message in messages if message.get("role") == "system" for fact in _block(content_text(message))]
    for outcome in outcomes(messages):
        if outcome.error or outcome.name not in {"remember", "forget"}:
            continue
        text = outcome.changed_text()
        gone = normal_form(text)
        facts = [
            fact for fact in facts if normal_form(fact.text) != gone and (not fact.id or fact.id != outcome.fact_id)
        ]
        if outcome.name == "remember" and text:
            given = outcome.arguments
            facts.insert(
                0, Known(text, str(given.get("topic") or ""), given.get("confidence") != "asserted", outcome.fact_id)
            )
    return facts


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
            found.append(Outcome(*made, _parsed(content_text(message))))
    return found


def best_matches(words: str, facts: Sequence[Known], *, topic: str = "", least: float = 0.0) -> list[Known]:
    """Return the facts that share most with the words, several when they tie, none when none shares enough.

    A word that many facts have counts less; `least` is the share (0..1) of the words that must be met.
    """
    wanted = content_words(words)
    if not wanted or not facts:
        return []
    bags = [content_words(f"{fact.text} {fact.topic}") for fact in facts]
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
    words = (_stem(word.casefold()) for word in _WORD.findall(text.replace("’", "'")))
    return {_SAME.get(word, word) for word in words if word not in _STOP_WORDS}


def is_uuid(text: str) -> bool:
    """Tell whether a text is a uuid."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _stem(word: str) -> str:
    if word in _STOP_WORDS:
        return word
    for ending, least in (("'s", 1), ("ing", 4), ("ers", 4), ("er", 5), ("ed", 4), ("es", 4), ("s", 2)):
        if word.endswith(ending) and len(word) - len(ending) >= least and not word.endswith("ss"):
            return word[: -len(ending)].removesuffix("e")
    return word.removesuffix("e") if len(word) > 4 else word


def _block(system: str) -> list[Known]:
    _, heading, rest = f"\n{system}".partition(f"\n{HEADING}")
    facts = []
    for line in rest.lstrip("\n").splitlines() if heading else ():
        match = _LINE.match(line.rstrip())
        if match is None:
            break
        if match["text"] != "...":
            facts.append(Known(match["text"], match["topic"] or "", match["inferred"] is not None))
    return facts


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
