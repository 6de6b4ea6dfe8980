"""Every frame of the socket, typed.

The page's type definitions in `static/chat/frames.js` name the same fields; a test compares them.
"""

import json
from dataclasses import MISSING, dataclass, fields
from typing import ClassVar, Final, TypedDict
from uuid import UUID

from chat.parts import Json
from config.lib.text import parse_uuid


@dataclass(frozen=True, slots=True)
class ServerFrame:
    """A frame of the server; each has a `seq`."""

    type: ClassVar[str]

    def to_json(self, seq: int) -> Json:
        """Return the frame as JSON, without fields that are None by default; `seq` is 0 outside of turns."""
        values = ((field, getattr(self, field.name)) for field in fields(self))
        sent = {field.name: value for field, value in values if value is not None or field.default is MISSING}
        return {"type": self.type, "seq": seq, **sent}


class ReplySoFar(TypedDict):
    """A snapshot's reply: closed blocks as HTML, the open one plain."""

    message_id: str
    html: str
    tail: str
    status: str


@dataclass(frozen=True, slots=True)
class Snapshot(ServerFrame):
    """The state that a joining socket needs."""

    type = "snapshot"

    last_message_id: str
    reply: ReplySoFar | None


@dataclass(frozen=True, slots=True)
class Accepted(ServerFrame):
    """A message is stored; `html` has the articles."""

    type = "accepted"

    client_id: str | None
    message_id: str | None
    reply_id: str | None
    html: str
    replaces: str | None = None  # the reply that a retry replaces
    removes: list[str] | None = None  # the messages that an edit removes


@dataclass(frozen=True, slots=True)
class Text(ServerFrame):
    """Plain text to append, or a closed block's HTML and the rest."""

    type = "text"

    reply_id: str
    text: str | None = None
    html: str | None = None
    tail: str | None = None


@dataclass(frozen=True, slots=True)
class _Part(ServerFrame):
    """A part of the reply, as HTML."""

    reply_id: str
    html: str


@dataclass(frozen=True, slots=True)
class ToolStarted(_Part):
    type = "tool_started"

    call_id: str


class ToolFinished(ToolStarted):
    type = "tool_finished"


@dataclass(frozen=True, slots=True)
class Memory(_Part):
    type = "memory"

    event_id: str


@dataclass(frozen=True, slots=True)
class Card(_Part):
    type = "card"

    card_id: str


@dataclass(frozen=True, slots=True)
class Title(ServerFrame):
    type = "title"

    title: str


@dataclass(frozen=True, slots=True)
class Notice(ServerFrame):
    """One sentence that is no part of the reply."""

    type = "notice"

    reply_id: str | None
    level: str  # info | warn
    text: str
    save_url: str | None  # of the form that saves what the notice is about


@dataclass(frozen=True, slots=True)
class Done(ServerFrame):
    """The reply is complete or stopped; `html` is its article."""

    type = "done"

    reply_id: str
    status: str
    html: str


@dataclass(frozen=True, slots=True)
class Failed(ServerFrame):
    """A failed reply or, without `reply_id`, a refused frame."""

    type = "failed"

    reply_id: str | None
    client_id: str | None
    text: str
    retry: bool
    html: str | None


@dataclass(frozen=True, slots=True)
class SendMessage:
    """Store and answer a message; idempotent by `client_id`."""

    client_id: UUID
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace an earlier message and all that follows it."""

    message_id: int
    text: str


PLAIN: Final = ("resume", "stop", "retry", "continue")  # frames of the browser without fields
ClientFrame = SendMessage | Edit | str


def parse_frame(text: str) -> ClientFrame | None:
    """Return the browser's frame, None if it is not valid."""
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match frame:
        case {"type": "message", "client_id": str(client_id), "text": str(content)}:
            known_id = parse_uuid(client_id)
            return None if known_id is None else SendMessage(known_id, content)
        case {"type": "edit", "message_id": str(message_id), "text": str(content)}:
            is_id = message_id.isascii() and message_id.isdecimal() and len(message_id) < 19
            return Edit(int(message_id), content) if is_id else None
        case {"type": name} if name in PLAIN:
            return str(name)
    return None
