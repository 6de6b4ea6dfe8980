"""The ordered parts of a reply, stored as JSON.

A reply is one row; its parts are a JSON list of objects of four kinds:

- `{"kind": "text", "step": 0, "text": "..."}`
- `{"kind": "tool", "step": 0, "call_id": "...", "name": "...", "arguments": "<the model's JSON text>",
  "status": "running | done | error", "result": {...} or null}`
- `{"kind": "memory", "step": 0, "event_id": "<uuid>", "event_kind": "save", "text": "...",
  "fact_id": "<uuid>" or null}`
- `{"kind": "card", "step": 0, "card_id": "<uuid>"}`

`step` counts the model's calls within the turn: the parts of one step were one message of the model.
"""

import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any, Final

from config.lib.llm.answer import clean
from config.lib.llm.door import ToolCall
from config.lib.llm.tokens import estimate_tokens

Json = dict[str, Any]  # an object
Part = Json

INTERRUPTED: Final = "This call was interrupted."


class Reply:
    """A reply while it is written."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.step = 0

    @property
    def text(self) -> str:
        """The text so far, with steps apart."""
        return "\n\n".join(part["text"].strip() for part in self.parts if part["kind"] == "text")

    @property
    def length(self) -> int:
        """The number of characters so far."""
        return sum(len(part["text"]) for part in self.parts if part["kind"] == "text")

    def add_text(self, text: str) -> None:
        """Append text to the open text part."""
        last = self.parts[-1] if self.parts else None
        if last is not None and last["kind"] == "text" and last["step"] == self.step:
            last["text"] += text
        else:
            self.parts.append({"kind": "text", "step": self.step, "text": text})

    def start_tool(self, call: ToolCall) -> Part:
        """Add a running tool call."""
        part = {
            "kind": "tool",
            "step": self.step,
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "status": "running",
            "result": None,
        }
        self.parts.append(part)
        return part

    def finish_tool(self, part: Part, result: Json) -> None:
        """Finish a running tool call with its result."""
        part["status"] = "error" if "error" in result else "done"
        part["result"] = _clean_json(result)

    def add_memory(self, event: Json) -> Part:
        """Add the memory line of a `memoryEvent`."""
        shown = event["after"] or event["before"]
        part = {
            "kind": "memory",
            "step": self.step,
            "event_id": event["id"],
            "event_kind": event["kind"],
            "text": shown["text"] if "text" in shown else shown["fact"],
            "fact_id": shown.get("fact_id"),
        }
        self.parts.append(part)
        return part

    def add_card(self, card_id: str) -> Part:
        """Add the card that a tool drew."""
        part = {"kind": "card", "step": self.step, "card_id": card_id}
        self.parts.append(part)
        return part


def _clean_json(value: Any) -> Any:
    """Return JSON without NUL and lone surrogates, also in keys."""
    if isinstance(value, dict):
        return {_clean_json(key): _clean_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_json(inner) for inner in value]
    return clean(value) if isinstance(value, str) else value


def close_running_tools(parts: Iterable[Part]) -> list[Part]:
    """Mark unfinished calls as failed."""
    return [
        {**part, "status": "error", "result": {"error": INTERRUPTED}}
        if part["kind"] == "tool" and part["status"] == "running"
        else part
        for part in parts
    ]


def as_said(*, is_user: bool, content: str, parts: list[Part]) -> list[Json]:
    """Return one stored message as messages for a model."""
    return [{"role": "user", "content": content}] if is_user else model_messages(parts)


def said_tokens(messages: Iterable[Json]) -> int:
    """Estimate the prompt tokens of messages."""
    return sum(estimate_tokens(str(message)) for message in messages)


def model_messages(parts: list[Part]) -> list[Json]:
    """Return a reply as model messages: per step text, calls, results."""
    messages: list[Json] = []
    for _, group in groupby(parts, key=lambda part: part["step"]):
        step = list(group)
        text = "\n\n".join(part["text"] for part in step if part["kind"] == "text").strip()
        calls = [part for part in step if part["kind"] == "tool"]
        if text or calls:
            messages.append(_assistant_message(text, calls))
        messages.extend(
            {
                "role": "tool",
                "tool_call_id": part["call_id"],
                "content": json.dumps(part["result"] or {"error": INTERRUPTED}, ensure_ascii=False),
            }
            for part in calls
        )
    return messages


def _assistant_message(text: str, calls: list[Part]) -> Json:
    message: Json = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": part["call_id"],
                "type": "function",
                "function": {"name": part["name"], "arguments": _format_arguments(part)},
            }
            for part in calls
        ]
    return message


def _format_arguments(part: Part) -> str:
    # Providers refuse a history whose arguments are no JSON object, even if the model itself wrote them so.
    try:
        arguments = json.loads(part["arguments"])
    except (ValueError, RecursionError):
        return "{}"
    return part["arguments"] if isinstance(arguments, dict) else "{}"
