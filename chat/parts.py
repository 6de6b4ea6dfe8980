"""The ordered parts of a reply, stored as JSON.

A reply is one row; its parts are a JSON list of objects of four kinds:

- `{"kind": "text", "step": 0, "text": "...", "figures": [...]}`; `figures` once the reply has ended: its figures with
  their sources (`chat.grounding`)
- `{"kind": "tool", "step": 0, "call_id": "...", "name": "...", "arguments": "<the model's JSON text>",
  "status": "running | done | error", "result": {...} or null,
  "provider": {"model": "...", "message": {...}, "call": {...}}}`; `provider` is optional: the provider state
  (`config.lib.llm.state`), for that model alone and never shown
- `{"kind": "memory", "step": 0, "event_id": "<uuid>", "event_kind": "save", "text": "...",
  "fact_id": "<uuid>" or null}`
- `{"kind": "card", "step": 0, "card_id": "<uuid>"}`

`step` counts the model's calls within the turn: the parts of one step were one message of the model.

A preamble is what Keel writes before the user's words in a message for a model: a JSON list of objects
`{"name": "clock | focus | fact | recall", "text": "..."}`. A part that repeats facts has them apart, so that an erased
fact can be removed: `"facts": [{"id": "<uuid>", "text": "- ..."}]`.
"""

import json
import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from config.lib.llm.door import ToolCall
from config.lib.llm.text import clean, content_beside_calls
from config.lib.llm.tokens import estimate_tokens

Json = dict[str, Any]  # an object
Part = Json
Preamble = Sequence[Json]

INTERRUPTED: Final = "This call was interrupted."
_OPEN: Final = "<context>\n"
_CLOSE: Final = "\n</context>\n\n"
_MAX_EXACT: Final = 1e16  # from here on Python writes floats with an exponent


class Reply:
    """A reply while it is written."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.step = 0

    @property
    def text(self) -> str:
        return "\n\n".join(part["text"].strip() for part in self.parts if part["kind"] == "text")

    @property
    def length(self) -> int:
        return sum(len(part["text"]) for part in self.parts if part["kind"] == "text")

    def add_text(self, text: str) -> None:
        """Append text to the open text part."""
        last = self.parts[-1] if self.parts else None
        if last is not None and last["kind"] == "text" and last["step"] == self.step:
            last["text"] += text
        else:
            self._add("text", text=text)

    def _add(self, kind: str, **values: Any) -> Part:
        self.parts.append({"kind": kind, "step": self.step, **values})
        return self.parts[-1]

    def start_tool(self, call: ToolCall) -> Part:
        """Add a running tool call."""
        state = {"provider": call.state} if call.state else {}
        values = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
        return self._add("tool", **values, status="running", result=None, **state)

    def finish_tool(self, part: Part, result: Json) -> None:
        """Finish a running tool call with its result."""
        part["status"] = "error" if "error" in result else "done"
        part["result"] = _clean_json(result)

    def add_memory(self, event: Json) -> Part:
        """Add the memory line of a `memoryEvent`."""
        shown = event["after"] or event["before"]
        text = shown["text"] if "text" in shown else shown["fact"]
        ids = {"event_id": event["id"], "fact_id": shown.get("fact_id")}
        return self._add("memory", event_kind=event["kind"], text=text, **ids)

    def add_card(self, card_id: str) -> Part:
        """Add the card that a tool drew."""
        return self._add("card", card_id=card_id)


def _clean_json(value: Any) -> Any:
    """Return a JSON value as PostgreSQL stores it.

    NUL and lone surrogates go: a model can write both as escapes, also in keys. `jsonb` sorts keys and rewrites some
    numbers: without the same form here, the next turn would send other bytes, and the provider would read them again.
    """
    if isinstance(value, dict):
        cleaned = {_clean_json(key): _clean_json(inner) for key, inner in value.items()}
        return {key: cleaned[key] for key in sorted(cleaned, key=lambda key: (len(key.encode()), key.encode()))}
    if isinstance(value, list | tuple):
        return [_clean_json(inner) for inner in value]
    if isinstance(value, float):
        return int(value) if _MAX_EXACT <= abs(value) < math.inf else value + 0.0  # the sum turns -0.0 into 0.0
    return clean(value) if isinstance(value, str) else value


def close_running_tools(parts: Iterable[Part]) -> list[Part]:
    """Mark unfinished calls as failed."""
    return [
        {**part, "status": "error", "result": {"error": INTERRUPTED}}
        if part["kind"] == "tool" and part["status"] == "running"
        else part
        for part in parts
    ]


def as_said(*, is_user: bool, content: str, parts: list[Part], preamble: Preamble = ()) -> list[Json]:
    """Return one stored message as messages for a model."""
    return [{"role": "user", "content": add_preamble(preamble, content)}] if is_user else model_messages(parts)


def add_preamble(preamble: Preamble, content: str) -> str:
    """Return a user's message as a model reads it."""
    return f"{_OPEN}{format_preamble(preamble)}{_CLOSE}{content}" if preamble else content


def split_preamble(content: str) -> tuple[str, str]:
    """Split the text of `add_preamble` into preamble and message."""
    if not content.startswith(_OPEN) or _CLOSE not in content:
        return "", content
    preamble, _, words = content.removeprefix(_OPEN).partition(_CLOSE)
    return preamble, words


def format_preamble(preamble: Preamble) -> str:
    """Return a preamble as text."""
    return "\n\n".join(map(format_preamble_part, preamble))


def format_preamble_part(part: Json) -> str:
    """Return one part of a preamble as text."""
    return "\n".join([part["text"], *(fact["text"] for fact in part.get("facts", ()))])


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
            message: Json = {"role": "assistant", "content": content_beside_calls(text) if calls else text}
            if calls:
                message["tool_calls"] = list(map(_format_call, calls))
            messages.append(message)
        messages.extend(
            {
                "role": "tool",
                "tool_call_id": part["call_id"],
                "content": json.dumps(part["result"] or {"error": INTERRUPTED}, ensure_ascii=False),
            }
            for part in calls
        )
    return messages


def _format_call(part: Part) -> Json:
    # Providers refuse a history whose arguments are no JSON object, even if the model itself wrote them so.
    try:
        is_object = isinstance(json.loads(part["arguments"]), dict)
    except (ValueError, RecursionError):
        is_object = False
    function = {"name": part["name"], "arguments": part["arguments"] if is_object else "{}"}
    provider = {"provider": part["provider"]} if "provider" in part else {}
    return {"id": part["call_id"], "type": "function", "function": function, **provider}
