"""What a prompt and the tools' results say: facts, outcomes of acts, and how words match facts.

The rules speak of acts: remember, forget, change and confirm write; list and recall look something up; the coach's
tools are acts by their own names. Here an act becomes a call of a tool that the chat has, a tool's result becomes the
outcome of an act, and the memory blocks of the prompts become facts.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from chat.tools import TOOLS
from chat.tools import facts as fact_tools
from chat.tools.base import Tool
from chat.tools.facts import forget, manage_user_memory, remember
from config.lib.search.terms import SYNONYMS, iter_terms, list_terms, porter_stem
from config.lib.text import normal_form, parse_uuid
from config.lib.words.vocabulary import find_meaning, list_words
from memory.claims.subjects import read_subject
from memory.claims.topics import guess_topic
from memory.recall.blocks import ADVISOR_HEADING, COACH_HEADING, COMPANION_FACTS_HEADING, COMPANION_PLACES_HEADING
from memory.wording import find_category
from offline.telling import Row, block, exact, rows

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
class FactLine:
    """One line about the user: a fact that the model can see, or a statement in the user's own words."""

    text: str
    topic: str = ""  # risk, symbols, session, goal, style, account, tax or empty
    inferred: bool = False
    id: str = ""  # known only for facts of tool results
    is_correction: bool = False  # of an earlier statement


@dataclass(frozen=True, slots=True)
class CallResult:
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


def best_matches(words: str, facts: Sequence[FactLine], *, topic: str = "", least: float = 0.0) -> list[FactLine]:
    """Return the best matching facts, several when they tie.

    A word that many facts have counts less; `least` is the share (0..1) of the words that must be met.
    """
    wanted = content_words(words)
    if not wanted or not facts:
        return []
    subjects = [read_subject(fact.text) for fact in facts]
    said = zip(facts, subjects, strict=True)
    bags = [content_words(f"{fact.text} {fact.topic} {one.key if one.is_single else ''}") for fact, one in said]
    frequency = Counter(word for bag in bags for word in bag)
    scores = []
    for fact, bag in zip(facts, bags, strict=True):
        shared = wanted & bag
        score = sum(1 / frequency[word] for word in shared) if len(shared) >= least * len(wanted) else 0.0
        scores.append(score + (0.5 if score and topic and fact.topic == topic else 0.0))
    best = max(scores)
    return [fact for fact, score in zip(facts, scores, strict=True) if best and score > best - 1e-9]


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


LOOKUPS: Final = frozenset({"list", "recall"})
# Tools that are acts of their own, under their own names; the advisor has some of them.
COACH_TOOLS: Final = frozenset(tool.name for tool in TOOLS["coach"]) - {remember.name, forget.name}
# An act, its tool with an operation, and the act's argument behind each argument of the tool.
_ACTS: Final[tuple[tuple[str, Tool[Any], str, dict[str, str]], ...]] = (
    ("remember", remember, "", {"fact": "fact", "topic": "topic", "confidence": "confidence"}),
    ("forget", forget, "", {"fact_id": "fact_id", "reason": "reason"}),
    ("remember", fact_tools.save_preference, "", {"category": "topic", "content": "fact"}),
    ("change", fact_tools.update_preference, "", {"id_or_substring": "fact_id", "new_content": "fact"}),
    ("forget", fact_tools.forget_preference, "", {"id_or_substring": "fact_id"}),
    ("confirm", fact_tools.confirm_preference, "", {"id_or_substring": "fact_id"}),
    ("list", fact_tools.list_preferences, "", {"category": "category"}),
    ("recall", fact_tools.recall_preferences, "", {"query": "query"}),
    ("remember", manage_user_memory, "add_fact", {"content": "fact"}),
    ("forget", manage_user_memory, "deactivate_fact", {"fact_id": "fact_id"}),
    ("place", manage_user_memory, "add_poi", {name: name for name in ("place_id", "place_name", "notes")}),
)
_LINE = re.compile(r"^(?:\[(?P<tag>[^\]]*)\] )?(?P<text>.+?)(?P<inferred> \(inferred\))?$")
_HEADINGS: Final = (COACH_HEADING, ADVISOR_HEADING, COMPANION_FACTS_HEADING, COMPANION_PLACES_HEADING)
_OPENING = re.compile(
    r"\[Not typed by the person: .*\n- id: (?P<id>.*)\n- fact: (?P<fact>.*?)(?:\n- in full: .*)?\](?:\n\n|\Z)"
)


def acts_of(tools: Sequence[str]) -> frozenset[str]:
    """Return the acts that a chat with these tools can do."""
    return frozenset(act for act, tool, _, _ in _ACTS if tool.name in tools) | COACH_TOOLS.intersection(tools)


def translate_act(call: Call, tools: Sequence[str]) -> Call:
    """Return an act as the call of one of the tools; one of `acts_of(tools)`."""
    if call.name in COACH_TOOLS:
        return call
    _, tool, operation, keys = next(row for row in _ACTS if row[0] == call.name and row[1].name in tools)
    given = {key: call.arguments[name] for key, name in keys.items() if name in call.arguments}
    if "category" in keys and call.name == "remember":
        given["category"] = find_category(call.arguments.get("topic", ""), call.arguments["fact"])
    return Call(tool.name, {"operation": operation, **given} if operation else given)


def read_acts(messages: Iterable[Row]) -> list[CallResult]:
    """Return the finished tool calls as outcomes of acts, in the order of their results."""
    calls: dict[str, tuple[str, Row]] = {}
    found = []
    for message in messages:
        for call in message.get("tool_calls") or ():
            function = call.get("function") or {}
            arguments = parse_json(function.get("arguments") or "{}")
            calls[call.get("id")] = (str(function.get("name")), arguments if isinstance(arguments, Mapping) else {})
        if message.get("role") == "tool" and (made := calls.get(str(message.get("tool_call_id")))):
            text = content_text(message)
            found.append(_as_act(*made, parse_json(text, other=text)))
    return found


def parse_json(text: str, other: Any = None) -> Any:
    """Return the value of JSON; `other` for another text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return other


def _as_act(tool: str, arguments: Row, result: Any) -> CallResult:
    operation = exact(arguments, "operation")
    for act, one, name, keys in _ACTS:
        if (one.name, name) == (tool, operation):
            given = {to: arguments[key] for key, to in keys.items() if key in arguments}
            if "fact" in given and one is not remember:
                given |= {"topic": guess_topic(str(given["fact"])), "confidence": "asserted"}
            return CallResult(act, given, result, tool)
    return CallResult(tool, arguments, result, tool)


def read_memory(messages: Sequence[Row]) -> list[FactLine]:
    """Return the known facts: the prompt's, as changed since."""
    prompts = [content_text(message) for message in messages if message.get("role") == "system"]
    facts = [fact for prompt in prompts for fact in _facts_of(prompt)]
    for outcome in read_acts(messages):
        if not outcome.error and not outcome.held and outcome.name in LOOKUPS | {"remember", "change", "forget"}:
            facts = _after(outcome, facts)
    return facts


def read_opening(preamble: str) -> FactLine | None:
    """Return the fact to change from the first message's preamble."""
    match = _OPENING.search(preamble)
    return FactLine(match["fact"], guess_topic(match["fact"]), id=match["id"].strip()) if match else None


def _facts_of(prompt: str) -> Iterator[FactLine]:
    """Yield the facts of the blocks; the coach's tags are topics, the companion's are dates."""
    for heading in _HEADINGS:
        for match in filter(None, map(_LINE.match, _lines_under(heading, prompt))):
            topic = (match["tag"] or "") if heading == COACH_HEADING else guess_topic(match["text"])
            if match["text"] != "...":
                yield FactLine(match["text"], topic, match["inferred"] is not None)


def _lines_under(heading: str, prompt: str) -> Iterator[str]:
    """Yield a list's items without dashes, across the advisor's headings."""
    _, _, rest = f"\n{prompt}\n".partition(f"\n{heading}\n")
    for line in rest.lstrip("\n").split("\n"):
        item = line.rstrip()
        if item.startswith("- ") and item[2:].strip():
            yield item[2:].strip()
        elif not item.startswith("### "):
            return


def _after(outcome: CallResult, facts: list[FactLine]) -> list[FactLine]:
    """Return the facts after a write, or with those of a lookup; a whole list replaces them."""
    if outcome.name in LOOKUPS:
        listed = [row for row in outcome.entries("preferences") if exact(row, "content") and row.get("id")]
        told = [(exact(row, "content"), row.get("confidence") == "inferred", str(row["id"])) for row in listed]
        new = [FactLine(text, guess_topic(text), inferred, id) for text, inferred, id in told]
        texts, ids = [one.text for one in new], [one.id for one in new]
        is_all = outcome.name == "list" and not outcome.arguments.get("category")
        facts = [] if is_all and not outcome.as_row.get("truncated") else facts
    else:
        text, given = outcome.changed_text(), outcome.arguments
        texts, ids = [text, exact(outcome.before, "fact")], [outcome.fact_id, exact(outcome.before, "fact_id")]
        inferred = given.get("confidence") != "asserted"
        is_known = text and outcome.name != "forget"
        new = [FactLine(text, str(given.get("topic") or ""), inferred, outcome.fact_id)] if is_known else []
    gone = set(map(normal_form, texts))
    return [*new, *(one for one in facts if normal_form(one.text) not in gone and (not one.id or one.id not in ids))]
