"""Messages and events as plain values; `rendering` has the HTML.

`PartsField` of the serializers describes the parts of a reply. Call these functions inside `owned(user)` where they
read rows.
"""

from collections.abc import Iterator, Sequence
from typing import Final
from uuid import UUID

from django.urls import reverse

from chat.models import Message, MessageStatus
from chat.parts import Json, Part
from chat.tools.calls import PartRows, is_hidden, read_part_rows, view_call
from chat.turns import events

_OWN_COLUMNS: Final = (
    *("id", "role", "status", "content", "error", "model", "usage", "client_id", "is_continuation"),
    *("created_at", "finished_at"),
)


def message_values(messages: Sequence[Message]) -> list[Json]:
    """Return messages with their shown parts, in two queries."""
    parts = [part for message in messages for part in message.parts]
    known = read_part_rows(parts)
    return [
        {
            **{name: getattr(message, name) for name in _OWN_COLUMNS},
            "reply_to": message.reply_to_id,
            "parts": [part_values(part, known) for part in message.parts if not is_hidden(part)],
        }
        for message in messages
    ]


def part_values(part: Part, known: PartRows) -> Json:
    """Return one part of a reply; a deleted card has only its id."""
    match part["kind"]:
        case "text":
            return {"part": "text", "text": part["text"], "figures": part.get("figures", [])}
        case "memory":
            return {
                "part": "memory",
                "kind": part["event_kind"],
                "text": part["text"],
                "event_id": part["event_id"],
                "fact_id": part["fact_id"],
                "is_undone": UUID(part["event_id"]) in known.undone,
            }
        case "card":
            card, named = known.cards.get(UUID(part["card_id"])), {"part": "card", "card_id": part["card_id"]}
            if card is None:
                return named
            columns = {name: getattr(card, name) for name in ("type", "lines", "status", "expires_at")}
            return {**named, **columns, "url": reverse("chat:conversation", args=[card.conversation_id])}
    call = view_call(part)
    columns = {name: getattr(call, name) for name in ("call_id", "name", "status", "summary")}
    return {"part": "tool", **columns, "arguments": call.detail}


def shown_part(part: Part) -> Json | None:
    """Return a part's event; None for a hidden tool."""
    if is_hidden(part):
        return None
    values = part_values(part, read_part_rows([part]))
    del values["part"]
    return values


def events_between(before: Sequence[Part], after: Sequence[Part]) -> Iterator[events.TurnEvent]:
    """Yield the events between two readings of a reply's parts."""
    for number, part in enumerate(after):
        was = before[number] if number < len(before) else None
        match part["kind"]:
            case "text":
                if came := part["text"][len(was["text"]) if was else 0 :]:
                    yield events.TextAdded(came)
            case "tool":
                if was is None:
                    yield events.CallStarted({**part, "status": "running", "result": None})
                if part["status"] != "running" and (was is None or was["status"] == "running"):
                    yield events.CallFinished(part)
            case "memory" if was is None:
                yield events.MemoryWritten(part)
            case "card" if was is None:
                yield events.CardDrawn(part)


def ending_of(reply: Message) -> events.TurnDone | events.TurnFailed:
    """Return how the turn of a finished reply ended."""
    if reply.status == MessageStatus.FAILED or reply.error:
        return events.TurnFailed(reply.error)
    return events.TurnDone(reply.status, reply.usage)
