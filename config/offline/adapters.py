"""Translate between rules and the tools and prompts of assistants.

The rules speak of acts: remember, forget, change, confirm, link and place write; list, recall and read look something
up; the coach's tools are acts by their own names. Here an act becomes a call of a tool that the chat has, a tool's
result becomes the outcome of an act, and the memory blocks of the prompts become facts.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from chat.tools import TOOLS
from chat.tools.document import MANAGE_USER_MEMORY
from chat.tools.facts import FORGET, REMEMBER
from chat.tools.preferences import (
    CONFIRM_PREFERENCE,
    FORGET_PREFERENCE,
    LINK_PREFERENCES,
    LIST_PREFERENCES,
    RECALL_PREFERENCES,
    SAVE_PREFERENCE,
    UPDATE_PREFERENCE,
)
from chat.tools.questions import QUERY_TRADES
from config.lib.text import normal_form
from config.offline.facts import Known, Outcome, content_text, list_outcomes
from config.offline.figures import Row
from config.offline.reading.statements import topic_of
from memory.recall.blocks import ADVISOR_HEADING, COACH_HEADING, COMPANION_FACTS_HEADING, COMPANION_PLACES_HEADING
from memory.wording import find_category

LOOKUPS: Final = frozenset({"list", "recall", "read"})
_MEMORY_TOOLS: Final = frozenset({REMEMBER.name, FORGET.name})
# Tools that are acts of their own, under their own names; the advisor has some of them.
QUERY: Final = QUERY_TRADES.name
COACH_TOOLS: Final = frozenset(tool.name for tool in TOOLS["coach"]) - _MEMORY_TOOLS

_COACH_LINE = re.compile(r"^(?:\[(?P<tag>[^\]]*)\] )?(?P<text>.+?)(?P<inferred> \(inferred\))?$")
_DATED_LINE = re.compile(r"^(?:\[(?P<tag>\d{4}-\d\d-\d\d)\] )?(?P<text>.+)$")
_MENTIONED = re.compile(r" \(mentioned in \d+ conversations?\)$")
_OPENING = re.compile(
    r"\[Not typed by the person: [^\n]*\n- id: (?P<id>[^\n]*)\n- fact: (?P<fact>[^\n]*?)(?:\n- in full: [^\n]*)?\]"
    r"(?:\n\n|\Z)"
)


@dataclass(frozen=True, slots=True)
class Call:
    """A requested tool call; among the rules, `name` is an act."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Memory:
    """What the model can see of the user's memory."""

    facts: list[Known]
    places: list[Known]  # their texts are "Name: notes"


def acts_of(tools: Iterable[str]) -> frozenset[str]:
    """Return the acts that a chat with these tools can do."""
    return frozenset(act for tool in tools for act in _SPOKEN.get(tool, ()))


def translate_act(call: Call, tools: Iterable[str]) -> Call:
    """Return an act as the call of one of the tools; one of `acts_of(tools)`."""
    tool = next(tool for tool in tools if call.name in _SPOKEN.get(tool, ()))
    return Call(tool, _SPOKEN[tool][call.name](call.arguments))


def read_acts(messages: Iterable[Row]) -> list[Outcome]:
    """Return the finished tool calls as outcomes of acts."""
    return [_as_act(outcome) for outcome in list_outcomes(messages)]


def read_memory(messages: Sequence[Row]) -> Memory:
    """Return the known facts and places: the prompt's, as changed since."""
    prompts = [content_text(message) for message in messages if message.get("role") == "system"]
    memory = Memory(
        [fact for prompt in prompts for fact in _facts_of(prompt)],
        [place for prompt in prompts for place in _places_of(prompt)],
    )
    for outcome in read_acts(messages):
        if not outcome.error and not outcome.held and (effect := _EFFECTS.get(outcome.name)):
            memory = effect(memory, outcome)
    return memory


def read_opening(preamble: str) -> Known | None:
    """Return the fact to change from the first message's preamble."""
    match = _OPENING.search(preamble)
    return Known(match["fact"], topic_of(match["fact"]), id=match["id"].strip()) if match else None


_SPOKEN: Final[dict[str, dict[str, Callable[[Row], dict[str, Any]]]]] = {
    REMEMBER.name: {"remember": dict},
    FORGET.name: {"forget": dict},
    SAVE_PREFERENCE.name: {
        "remember": lambda given: {"category": find_category(given.get("topic", "")), "content": given["fact"]}
    },
    UPDATE_PREFERENCE.name: {
        "change": lambda given: {"id_or_substring": given["fact_id"], "new_content": given["fact"]}
    },
    FORGET_PREFERENCE.name: {"forget": lambda given: {"id_or_substring": given["fact_id"]}},
    CONFIRM_PREFERENCE.name: {"confirm": lambda given: {"id_or_substring": given["fact_id"]}},
    LINK_PREFERENCES.name: {
        "link": lambda given: {"from_id": given["fact_id"], "to_id": given["other_id"], "relation": given["relation"]}
    },
    LIST_PREFERENCES.name: {"list": lambda given: {}},
    RECALL_PREFERENCES.name: {"recall": dict},
    MANAGE_USER_MEMORY.name: {
        "remember": lambda given: {"operation": "add_fact", "content": given["fact"]},
        "forget": lambda given: {"operation": "deactivate_fact", "fact_id": given["fact_id"]},
        "place": lambda given: {"operation": "add_poi", **given},
        "read": lambda given: {"operation": "get_memory"},
    },
    **{name: {name: dict} for name in COACH_TOOLS},
}


def _as_act(outcome: Outcome) -> Outcome:
    name = outcome.name
    if name == MANAGE_USER_MEMORY.name:
        name = f"{name}.{outcome.arguments.get('operation')}"
    if name not in _ACTS:
        return outcome
    act, read = _ACTS[name]
    return replace(outcome, name=act, arguments=read(outcome.arguments))


def _parse_statement(given: Row) -> dict[str, Any]:
    text = given.get("content") or given.get("new_content")
    fact = text if isinstance(text, str) else ""
    return {"fact": fact, "topic": topic_of(fact), "confidence": "asserted"}


def _read_texts(**keys: str) -> Callable[[Row], dict[str, Any]]:
    """Return a reader of text arguments, each from the key of the tool."""
    return lambda given: {name: str(given.get(key) or "") for name, key in keys.items()}


_parse_reference: Final = _read_texts(fact_id="id_or_substring")

_ACTS: Final[dict[str, tuple[str, Callable[[Row], Row]]]] = {
    SAVE_PREFERENCE.name: ("remember", _parse_statement),
    UPDATE_PREFERENCE.name: ("change", lambda given: {**_parse_statement(given), **_parse_reference(given)}),
    FORGET_PREFERENCE.name: ("forget", _parse_reference),
    CONFIRM_PREFERENCE.name: ("confirm", _parse_reference),
    LINK_PREFERENCES.name: ("link", _read_texts(fact_id="from_id", other_id="to_id", relation="relation")),
    LIST_PREFERENCES.name: ("list", dict),
    RECALL_PREFERENCES.name: ("recall", dict),
    f"{MANAGE_USER_MEMORY.name}.add_fact": ("remember", _parse_statement),
    f"{MANAGE_USER_MEMORY.name}.deactivate_fact": ("forget", _read_texts(fact_id="fact_id")),
    f"{MANAGE_USER_MEMORY.name}.add_poi": ("place", dict),
    f"{MANAGE_USER_MEMORY.name}.get_memory": ("read", dict),
}


def _facts_of(prompt: str) -> Iterator[Known]:
    for line in _lines_under(COACH_HEADING, prompt):
        if (match := _COACH_LINE.match(line)) and match["text"] != "...":
            yield Known(match["text"], match["tag"] or "", match["inferred"] is not None)
    for line in _lines_under(ADVISOR_HEADING, prompt):
        yield Known(line, topic_of(line))
    for line in _lines_under(COMPANION_FACTS_HEADING, prompt):
        if match := _DATED_LINE.match(line):
            yield Known(match["text"], topic_of(match["text"]), tag=match["tag"] or "")


def _places_of(prompt: str) -> Iterator[Known]:
    return (Known(_MENTIONED.sub("", line)) for line in _lines_under(COMPANION_PLACES_HEADING, prompt))


def _lines_under(heading: str, prompt: str) -> Iterator[str]:
    """Yield a list's items without dashes, across the advisor's headings."""
    _, _, rest = f"\n{prompt}\n".partition(f"\n{heading}\n")
    for line in rest.lstrip("\n").split("\n"):
        item = line.rstrip()
        if item.startswith("- ") and item[2:].strip():
            yield item[2:].strip()
        elif not item.startswith("### "):
            return


def _drop_facts(facts: Iterable[Known], outcome: Outcome, *texts: str) -> list[Known]:
    gone = {normal_form(text) for text in texts if text}
    ids = {fact_id for fact_id in (outcome.fact_id, outcome.old_id) if fact_id}
    return [fact for fact in facts if normal_form(fact.text) not in gone and fact.id not in ids]


def _after_remember(memory: Memory, outcome: Outcome) -> Memory:
    text = outcome.changed_text()
    facts = _drop_facts(memory.facts, outcome, text, outcome.old_text)
    if not text:
        return Memory(facts, memory.places)
    topic = str(outcome.arguments.get("topic") or "")
    new = Known(text, topic, outcome.arguments.get("confidence") != "asserted", outcome.fact_id)
    return Memory([new, *facts], memory.places)


def _after_forget(memory: Memory, outcome: Outcome) -> Memory:
    return Memory(_drop_facts(memory.facts, outcome, outcome.changed_text()), memory.places)


def _after_place(memory: Memory, outcome: Outcome) -> Memory:
    name, notes = (str(outcome.arguments.get(key) or "") for key in ("place_name", "notes"))
    others = [place for place in memory.places if place.text.partition(":")[0].casefold() != name.casefold()]
    return Memory(memory.facts, [*others, Known(": ".join(filter(None, [name, notes])))])


def _after_list(memory: Memory, outcome: Outcome) -> Memory:
    found = [
        Known(row["content"], topic_of(row["content"]), row.get("confidence") == "inferred", str(row.get("id") or ""))
        for row in outcome.rows
    ]
    is_all = outcome.name == "list" and not outcome.arguments.get("category") and not outcome.is_truncated
    seen = {normal_form(fact.text) for fact in found}
    rest = [] if is_all else [fact for fact in memory.facts if normal_form(fact.text) not in seen]
    return Memory([*found, *rest], memory.places)


def _after_read(memory: Memory, outcome: Outcome) -> Memory:
    # Without their ids: a fact that was imported has one there that no tool knows.
    facts = [
        Known(entry["content"], topic_of(entry["content"]), tag=str(entry.get("added_at") or "")[:10])
        for entry in outcome.entries("facts")
        if entry.get("is_active") and isinstance(entry.get("content"), str)
    ]
    places = [
        Known(": ".join(str(entry[key]) for key in ("place_name", "notes") if entry.get(key)))
        for entry in outcome.entries("placer_user_datapoints")
    ]
    return Memory(facts, places)


_EFFECTS: Final[dict[str, Callable[[Memory, Outcome], Memory]]] = {
    "remember": _after_remember,
    "change": _after_remember,
    "forget": _after_forget,
    "place": _after_place,
    "list": _after_list,
    "recall": _after_list,
    "read": _after_read,
}
