"""Extract durable facts from a closed chat by the statement rules, as JSON with the user's exact words."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from chat.prompt.by_rules import summarise_by_rules
from config.lib.text import normal_form, one_line
from memory.wording import find_category
from offline.messages import Known
from offline.requests import Request, memory_requests
from offline.telling import Row, exact

Fact = dict[str, Any]  # of the answer

_CONFIDENCE: Final = {"asserted": 0.9, "inferred": 0.5}
_LONGEST_SUMMARY: Final = 600  # characters


def extraction_answer(request: str) -> str:
    """Return the extraction's JSON: facts of the user's turns."""
    known = {str(row.get("id")): row for row in _iter_rows(request, "known_facts")}
    turns = [turn for turn in _iter_rows(request, "transcript") if exact(turn, "text")]
    typed = [(turns[at - 1 : at], turn) for at, turn in enumerate(turns) if turn.get("role") == "user"]
    facts: dict[str, Fact] = {}  # by their words: later ones win
    for before, turn in typed:
        replaced = {fact["target_id"] for fact in facts.values()}
        rows = [{**row, "id": key} for key, row in known.items() if key not in replaced]
        standing = [Known(exact(row, "content"), exact(row, "topic"), id=row["id"]) for row in rows]
        standing += [Known(fact["content"], fact["topic"]) for fact in facts.values()]
        for asked in memory_requests(turn["text"], standing, "\n".join(exact(one, "text") for one in before)):
            # What was known is forgotten by the chat's tools alone.
            old = facts.pop(normal_form(exact(asked.arguments, "fact_id")), {})
            if "fact" in asked.arguments:
                facts[normal_form(asked.arguments["fact"])] = _build_fact(asked, turn, known, old)
    earlier = [line for line in _iter_lines(request, "earlier_summary") if isinstance(line, str)]
    told = [f"Person: {one_line(turn['text'])}" for _, turn in typed]
    summary = "\n".join([*earlier, *([summarise_by_rules("\n".join(told))] if told else [])])[-_LONGEST_SUMMARY:]
    return json.dumps({"summary": summary, "facts": [*facts.values()]}, ensure_ascii=False)


def _iter_rows(request: str, tag: str) -> Iterator[Row]:
    return (row for row in _iter_lines(request, tag) if isinstance(row, dict))


def _iter_lines(request: str, tag: str) -> Iterator[Any]:
    match = re.search(rf"^<{tag}>\n(.*?)^</{tag}>", request, re.MULTILINE | re.DOTALL)
    # Not by splitlines: a line of JSON may hold other characters that end lines.
    for line in match[1].split("\n") if match else ():
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue


def _build_fact(asked: Request, turn: Row, known: Mapping[str, Row], before: Fact) -> Fact:
    text, topic = str(asked.arguments["fact"]), str(asked.arguments.get("topic", ""))
    same = next((key for key, row in known.items() if normal_form(exact(row, "content")) == normal_form(text)), None)
    meant = asked.arguments.get("fact_id")
    target = same or (meant if meant in known else before.get("target_id"))
    op = "skip" if same else "update" if target else "add"
    at = turn["text"].lower().find(text.lower())
    return {
        "op": op,
        "target_id": target,
        "category": find_category(topic, text),
        "topic": topic,
        "content": text,
        "confidence": _CONFIDENCE[str(asked.arguments.get("confidence", "inferred"))],
        "conflicts_with": target if op == "update" and known.get(str(target), {}).get("explicit") is True else None,
        "quotes": [{"message_id": turn.get("id"), "text": turn["text"][at : at + len(text)]}] if at >= 0 else [],
    }
