"""The events of a turn."""

from dataclasses import dataclass
from typing import ClassVar

from chat.models import Message
from chat.parts import Json, Part


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """Something that happened in a turn."""

    name: ClassVar[str]  # as the frame of a socket is called, so that a stream of events reads alike everywhere


@dataclass(frozen=True, slots=True)
class MessageAccepted(TurnEvent):
    """The messages of the turn are stored."""

    name = "accepted"

    messages: tuple[Message, ...]
    client_id: str | None = None
    replaces: int | None = None  # the reply that a retry replaces
    removes: tuple[int, ...] = ()  # the messages that an edit removes


@dataclass(frozen=True, slots=True)
class TextAdded(TurnEvent):
    name = "text"

    text: str


@dataclass(frozen=True, slots=True)
class PartEvent(TurnEvent):
    """A part of the reply has begun, or changed."""

    part: Part


class CallStarted(PartEvent):
    name = "tool_started"


class CallFinished(PartEvent):
    """A tool answered, or failed."""

    name = "tool_finished"


class MemoryWritten(PartEvent):
    """A tool wrote to memory; its line offers Undo."""

    name = "memory"


class CardDrawn(PartEvent):
    name = "card"


@dataclass(frozen=True, slots=True)
class Noticed(TurnEvent):
    """A notice for the user, outside the reply."""

    name = "notice"

    text: str
    level: str = "info"  # info | warn
    fact: str = ""  # what the user may save themselves


@dataclass(frozen=True, slots=True)
class TurnDone(TurnEvent):
    """The reply is complete or stopped, and saved."""

    name = "done"

    status: str
    usage: Json | None


@dataclass(frozen=True, slots=True)
class TurnFailed(TurnEvent):
    """The reply ended early; `text` gives the reason and a remedy."""

    name = "failed"

    text: str
    may_retry: bool = True


@dataclass(frozen=True, slots=True)
class Titled(TurnEvent):
    name = "title"

    title: str
