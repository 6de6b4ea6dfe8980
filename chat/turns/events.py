"""The events of a turn."""

from dataclasses import dataclass
from typing import Any, Final

from chat.models import Message
from chat.parts import Json, Part


@dataclass(frozen=True, slots=True)
class MessageAccepted:
    """The messages of the turn are stored."""

    messages: tuple[Message, ...]
    client_id: str | None = None
    replaces: int | None = None  # the reply that a retry replaces
    removes: tuple[int, ...] = ()  # the messages that an edit removes


@dataclass(frozen=True, slots=True)
class TextAdded:
    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    part: Part


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool answered, or failed."""

    part: Part


@dataclass(frozen=True, slots=True)
class MemoryWritten:
    """A tool wrote to memory; its line offers Undo."""

    part: Part


@dataclass(frozen=True, slots=True)
class CardDrawn:
    part: Part


@dataclass(frozen=True, slots=True)
class Noticed:
    """A notice for the user, outside the reply."""

    text: str
    level: str = "info"  # info | warn


@dataclass(frozen=True, slots=True)
class TurnDone:
    """The reply is complete or stopped, and saved."""

    status: str
    usage: Json | None


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The reply ended early; `text` gives the reason and a remedy."""

    text: str
    may_retry: bool = True


@dataclass(frozen=True, slots=True)
class Titled:
    title: str


TurnEvent = (
    MessageAccepted
    | TextAdded
    | ToolStarted
    | ToolFinished
    | MemoryWritten
    | CardDrawn
    | Noticed
    | Titled
    | TurnDone
    | TurnFailed
)

# As the frames of a socket are called, so that a stream of events reads alike everywhere.
EVENT_NAMES: Final[dict[type[Any], str]] = {
    TextAdded: "text",
    ToolStarted: "tool_started",
    ToolFinished: "tool_finished",
    MemoryWritten: "memory",
    CardDrawn: "card",
    Noticed: "notice",
    Titled: "title",
    TurnDone: "done",
    TurnFailed: "failed",
}
