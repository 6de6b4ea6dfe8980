"""Messages as values for the templates, and as HTML for the frames of a socket."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from chat.markdown import render
from chat.models import Message, MessageStatus
from chat.parts import Part
from memory.models import EventKind
from memory.queries import undone_events

_TOOL_LABELS: Final = {
    "remember": "Remember",
    "forget": "Forget",
    "save_preference": "Save a fact",
    "update_preference": "Update a fact",
    "forget_preference": "Forget a fact",
    "confirm_preference": "Confirm a fact",
    "link_preferences": "Link two facts",
    "list_preferences": "Look through what Keel knows",
    "recall_preferences": "Search what Keel knows",
    "manage_user_memory": "Memory",
}
# Keel looks things up in sight, and remembers silently.
_MEMORY_TOOLS: Final = frozenset(_TOOL_LABELS) - {"list_preferences", "recall_preferences"}
MAX_DETAIL: Final = 4_000


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text of a reply."""

    html: SafeString
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class ToolPart:
    """A tool call, as a one-line card with details."""

    call_id: str
    name: str
    label: str
    status: str  # running | done | error
    summary: str
    detail: str
    kind: str = "tool"


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """A memory line with its Undo."""

    event_id: UUID
    kind_label: str
    text: str
    fact_id: str | None
    undone: bool
    kind: str = "memory"


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message as `templates/chat/_message.html` takes it."""

    pk: int
    role: str
    status: str
    created_at: datetime
    text: str
    error: str = ""
    can_retry: bool = False
    model_label: str = ""
    parts: list[TextPart | ToolPart | MemoryPart] = field(default_factory=list)


def view_messages(messages: Sequence[Message]) -> list[MessageView]:
    """Return messages as values; one query tells which of their memory lines were undone."""
    event_ids = [UUID(part["event_id"]) for message in messages for part in message.parts if part["kind"] == "memory"]
    undone = undone_events(event_ids) if event_ids else set()
    last = messages[-1].pk if messages else None
    return [_view(message, undone=undone, is_last=message.pk == last) for message in messages]


def _view(message: Message, *, undone: set[UUID], is_last: bool) -> MessageView:
    return MessageView(
        pk=message.pk,
        role=message.role,
        status=message.status,
        created_at=message.created_at,
        text=message.content,
        error=message.error,
        can_retry=message.reply_to_id is not None and is_last and message.status != MessageStatus.STREAMING,
        model_label=message.model,
        parts=[view_part(part, undone=undone) for part in message.parts if not is_quiet(part)],
    )


def view_part(part: Part, *, undone: Iterable[UUID] = ()) -> TextPart | ToolPart | MemoryPart:
    """Return one part of a reply as the value its template takes."""
    if part["kind"] == "text":
        return TextPart(render(part["text"]))
    if part["kind"] == "tool":
        return _tool(part)
    event_id = UUID(part["event_id"])
    return MemoryPart(
        event_id=event_id,
        kind_label=EventKind(part["event_kind"]).label,
        text=part["text"],
        fact_id=part["fact_id"],
        undone=event_id in set(undone),
    )


def is_quiet(part: Part) -> bool:
    """Tell whether a part is not shown: Keel remembers silently, and the memory line says all there is to say."""
    if part["kind"] != "tool" or part["name"] not in _MEMORY_TOOLS or part["status"] == "error":
        return False
    # What was held back shows in no memory line.
    return "held_for_review" not in (part["result"] or {})


def _tool(part: Part) -> ToolPart:
    return ToolPart(
        call_id=part["call_id"],
        name=part["name"],
        label=_TOOL_LABELS.get(part["name"]) or str(part["name"]),
        status=part["status"],
        summary=_summary(part),
        detail=part["arguments"][:MAX_DETAIL],
    )


def _summary(part: Part) -> str:
    result: dict[str, Any] = part["result"] or {}
    error = result.get("error")
    if isinstance(error, str):
        return error
    if error:
        return "The model gave arguments that do not fit."
    if "total" in result:
        return f"{result['total']} found"
    return str(result.get("saved") or result.get("forgotten") or result.get("message") or result.get("note") or "")


def message_html(view: MessageView) -> str:
    """Return the article of one message."""
    return render_to_string("chat/_message.html", {"message": view})


def tool_html(part: Part) -> str:
    """Return the card of a tool call."""
    return render_to_string("chat/_tool.html", {"part": view_part(part)})


def memory_html(part: Part) -> str:
    """Return a memory line."""
    return render_to_string("chat/_memory_line.html", {"part": view_part(part)})


def part_html(part: Part) -> str:
    """Return any part of a reply as it stands in its article."""
    if part["kind"] == "text":
        return render(part["text"])
    if part["kind"] == "memory":
        return memory_html(part)
    return "" if is_quiet(part) else tool_html(part)
