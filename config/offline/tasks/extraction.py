"""Extract durable facts from a closed chat by the statement rules, as JSON with the user's exact words."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from config.lib.text import normal_form
from config.offline.facts import Known
from config.offline.figures import Row, exact
from config.offline.memory.requests import Request, memory_requests
from config.offline.reading.sentences import sentences
from memory.wording import find_category

Fact = dict[str, Any]  # of the answer

_CONFIDENCE: Final = {"asserted": 0.9, "inferred": 0.5}
_LONGEST_SUMMARY: Final = 600  # characters
_LONGEST_SENTENCE: Final = 160


def extraction_answer(request: str) -> str:
    """Return the extraction's JSON: facts of the user's turns."""
    rows = [row for row in _iter_lines(request, "known_facts") if isinstance(row, dict)]
    known = [Known(str(row.get("content") or ""), str(row.get("topic") or ""), id=str(row.get("id"))) for row in rows]
    explicit = {str(row.get("id")) for row in rows if row.get("explicit") is True}
    turns = [turn for turn in _iter_lines(request, "transcript") if isinstance(turn, dict)]
    typed = [turn for turn in turns if turn.get("role") == "user" and isinstance(turn.get("text"), str)]
    facts: list[Fact] = []
    for turn in typed:
        facts = _with_turn(facts, turn, known)
    for fact in facts:
        fact["conflicts_with"] = fact["target_id"] if fact["op"] == "update" and fact["target_id"] in explicit else None
    earlier = [line for line in _iter_lines(request, "earlier_summary") if isinstance(line, str)]
    answer = {"summary": _extend_summary(earlier, [turn["text"] for turn in typed]), "facts": facts}
    return json.dumps(answer, ensure_ascii=False)


def _iter_lines(request: str, tag: str) -> Iterator[Any]:
    match = re.search(rf"^<{tag}>\n(.*?)^</{tag}>", request, re.MULTILINE | re.DOTALL)
    # Not by splitlines: a line of JSON may hold other characters that end lines.
    for line in match[1].split("\n") if match else ():
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue


def _with_turn(facts: list[Fact], turn: Row, known: list[Known]) -> list[Fact]:
    """Return the facts with a turn's; later ones win, and what was known is forgotten by the chat's tools alone."""
    replaced = {fact["target_id"] for fact in facts}
    standing = [fact for fact in known if fact.id not in replaced]
    standing += [Known(fact["content"], fact["topic"]) for fact in facts]
    said_before = {fact["content"]: fact for fact in facts}
    for request in memory_requests(turn["text"], standing):
        meant = exact(request.arguments, "fact_id")
        before = said_before.get(meant)
        new = [_build_fact(request, turn, known, before)] if "fact" in request.arguments else []
        gone = {normal_form(fact["content"]) for fact in new} | ({normal_form(meant)} if before else set())
        facts = [*(fact for fact in facts if normal_form(fact["content"]) not in gone), *new]
    return facts


def _build_fact(request: Request, turn: Row, known: list[Known], before: Fact | None) -> Fact:
    text, topic = str(request.arguments["fact"]), str(request.arguments.get("topic", ""))
    same = next((fact.id for fact in known if normal_form(fact.text) == normal_form(text)), None)
    replaced = next((fact.id for fact in known if fact.id == request.arguments.get("fact_id")), None)
    target = same or replaced or (before["target_id"] if before else None)
    at = turn["text"].lower().find(text.lower())
    return {
        "op": "skip" if same else "update" if target else "add",
        "target_id": target,
        "category": find_category(topic),
        "topic": topic,
        "content": text,
        "confidence": _CONFIDENCE[str(request.arguments.get("confidence", "inferred"))],
        "conflicts_with": None,
        "quotes": [{"message_id": turn.get("id"), "text": turn["text"][at : at + len(text)]}] if at >= 0 else [],
    }


def _extend_summary(earlier: list[str], texts: list[str]) -> str:
    """Extend the summary by first sentences, the newest never cut."""
    firsts = [next((line for line in sentences(text) if len(line.split()) > 2), text.strip()) for text in texts]
    told = " / ".join(first[:_LONGEST_SENTENCE] for first in firsts if first)
    summary = " ".join([*earlier, *([f"The user wrote: {told}"] if told else [])])
    return summary if len(summary) <= _LONGEST_SUMMARY else f"…{summary[-_LONGEST_SUMMARY:]}"
