"""Stored parts of replies for display."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from chat.models import ActionCard
from chat.parts import Part
from chat.tools import find_tool
from chat.tools.base import Tool
from memory.facts.queries import find_undone_events

MAX_DETAIL: Final = 4_000


@dataclass(frozen=True, slots=True)
class ToolPart:
    """A tool call as a one-line card with details."""

    call_id: str
    name: str
    label: str
    status: str  # running | done | error
    summary: str
    detail: str
    kind: str = "tool"


@dataclass(frozen=True, slots=True)
class PartRows:
    """What the rows beside a message say of its parts."""

    undone: frozenset[UUID] = frozenset()  # memory events
    cards: Mapping[UUID, ActionCard] = field(default_factory=dict)


def read_part_rows(parts: Sequence[Part]) -> PartRows:
    """Return what rows say of memory lines and cards, in at most two queries."""
    written = [UUID(part["event_id"]) for part in parts if part["kind"] == "memory"]
    cards = [UUID(part["card_id"]) for part in parts if part["kind"] == "card"]
    # Without an event no row is read: parts of a new message are shown outside of any scope.
    undone = frozenset(find_undone_events(written)) if written else frozenset()
    return PartRows(undone, ActionCard.objects.in_bulk(cards))


def view_call(part: Part) -> ToolPart:
    """Return a stored call for display."""
    tool = find_tool(part["name"])
    return ToolPart(
        call_id=part["call_id"],
        name=part["name"],
        label=tool.label if tool else part["name"],
        status=part["status"],
        summary=_summarise_call(part, tool),
        detail=part["arguments"][:MAX_DETAIL],
    )


def is_hidden(part: Part) -> bool:
    """Tell whether a part is hidden, as memory tools are on success."""
    tool = find_tool(part["name"]) if part["kind"] == "tool" and part["status"] != "error" else None
    # A write that waits for review has no memory line.
    return tool is not None and bool(tool.acts) and "held_for_review" not in (part["result"] or {})


def _summarise_call(part: Part, tool: Tool[Any] | None) -> str:
    result = part["result"] or {}
    if error := result.get("error"):
        return error if isinstance(error, str) else "The model gave arguments that do not fit."
    if result and tool is not None and tool.summarise is not None:
        return tool.summarise(result)
    if "total" in result:
        return f"{result['total']} found"
    return str(result.get("saved") or result.get("forgotten") or result.get("message") or result.get("note") or "")
