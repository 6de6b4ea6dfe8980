"""A conversation that a test drives without a socket: it sends, lets the turn answer, and reads the rows."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID, uuid4

from django.db import OperationalError
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from chat.models import Conversation, Message, MessageStatus
from chat.parts import split_preamble
from chat.turns.accept import accept_message, continue_reply, retry_reply
from chat.turns.events import CallFinished, CallStarted, Noticed, TextAdded, TurnEvent, TurnFailed
from chat.turns.replies import finish_reply, request_stop
from chat.turns.start import Exchange, TurnStart
from chat.turns.turn import Control, run_turn
from config.lib.owned import owned_tx
from config.lib.threads import run_in_thread
from tests.factories.memory import JUNE
from tests.owners import do_as

T = TypeVar("T")
PATIENCE = 10.0  # seconds until what a test waits for must have come


def as_typed(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages of a prompt, those of the user without their preambles."""
    return [
        {**message, "content": split_preamble(message["content"])[1]} if message["role"] == "user" else message
        for message in messages
    ]


@dataclass
class Answer:
    """The events of one turn, in their order."""

    events: list[TurnEvent]

    def all(self, kind: type) -> list[Any]:
        """Return the events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def text(self) -> str:
        """The text that went out."""
        return "".join(event.text for event in self.all(TextAdded))

    @property
    def tools(self) -> list[str]:
        """The names of the tools that were called, as they finished."""
        return [event.part["name"] for event in self.all(CallFinished)]

    @property
    def last(self) -> TurnEvent:
        """How the turn ended."""
        return self.events[-1]

    @property
    def failures(self) -> list[str]:
        """The messages that say what went wrong."""
        return [event.text for event in self.all(TurnFailed)]

    @property
    def notices(self) -> list[str]:
        """What the user was told beside the reply."""
        return [event.text for event in self.all(Noticed)]

    @property
    def tool_results(self) -> list[Any]:
        """What the tools answered, in the order they were called."""
        assert len(self.all(CallStarted)) == len(self.all(CallFinished))
        return [event.part["result"] for event in self.all(CallFinished)]


@dataclass
class Talk:
    """One user's conversation."""

    user_id: int
    conversation_id: UUID

    async def do(self, work: Callable[..., T], **given: Any) -> T:
        """Do something to the conversation, as its owner, now."""
        known = {"conversation_id": self.conversation_id, "now": timezone.now()}
        return await do_as(self.user_id, lambda: work(**known, **given))

    async def look(self, work: Callable[[], T]) -> T:
        """Read or write something else as the owner of the conversation."""
        return await do_as(self.user_id, work)

    async def say(self, text: str = "Hello", *, client_id: UUID | None = None) -> TurnStart:
        """Store a message and return the turn that answers it."""
        accepted = await self.do(accept_message, client_id=client_id or uuid4(), text=text)
        assert accepted.turn is not None
        return accepted.turn

    async def retry(self) -> TurnStart:
        """Replace the newest reply by a new turn."""
        return (await self.do(retry_reply)).turn

    async def go_on(self) -> TurnStart:
        """Let the newest reply, which broke off, go on."""
        return (await self.do(continue_reply)).turn

    async def stop_from_elsewhere(self) -> None:
        """Ask for a stop as another process does: in the row."""
        await self.do(request_stop)

    async def ask(self, text: str = "Hello", control: Control | None = None) -> Answer:
        """Send a message and run its turn to the end."""
        return await answer(await self.say(text), control)

    async def messages(self) -> list[Message]:
        """Return all rows of the conversation, oldest first."""
        return await run_in_thread(self.read_messages)

    def read_messages(self) -> list[Message]:
        """Return all rows of the conversation, oldest first."""
        with owned_tx(self.user_id):
            return list(Message.objects.filter(conversation_id=self.conversation_id).order_by("pk"))

    async def reply(self) -> Message:
        """Return the newest row."""
        return (await self.messages())[-1]


def send(
    conversation: Conversation, text: str = "Hello", *, client_id: UUID | None = None, now: datetime = JUNE
) -> Exchange:
    """Store a message as the owner in scope."""
    return accept_message(conversation_id=conversation.pk, client_id=client_id or uuid4(), text=text, now=now)


def finish(
    reply: Message,
    *,
    status: MessageStatus = MessageStatus.COMPLETE,
    text: str = "Done.",
    now: datetime = JUNE,
    **values: Any,
) -> bool:
    """Close a reply of one text part as the owner in scope; return whether it was open."""
    parts = values.pop("parts", [{"kind": "text", "step": 0, "text": text}])
    return finish_reply(reply_id=reply.pk, status=status, parts=parts, text=text, now=now, **values)


class Outage:
    """Statements that hold `words` fail in the cursor below Django, while it lasts."""

    def __init__(self, monkeypatch) -> None:
        self.words = ""
        self.error: type[Exception] = OperationalError
        self.hits = 0
        execute = CursorWrapper.execute

        def execute_or_fail(cursor: CursorWrapper, sql: Any, params: Any = None) -> Any:
            if self.words and self.words in str(sql):
                self.hits += 1
                raise self.error("the database is gone")
            return execute(cursor, sql, params)

        monkeypatch.setattr(CursorWrapper, "execute", execute_or_fail)

    def begin(self, words: str, error: type[Exception] = OperationalError) -> None:
        """Let statements fail from now on."""
        self.words, self.error = words, error

    def end(self) -> None:
        """Let all statements pass."""
        self.words = ""


async def answer(start: TurnStart, control: Control | None = None) -> Answer:
    """Run a turn to its end and return what happened."""
    async with aclosing(run_turn(start, control or Control())) as events, asyncio.timeout(PATIENCE * 3):
        return Answer([event async for event in events])


async def until(holds: Callable[[], Any], *, seconds: float = PATIENCE) -> Any:
    """Wait until something holds and return it; fail when it does not come."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, "what the test waits for did not come"
        await asyncio.sleep(0.005)
    return found


def leaves(value: Any) -> Iterator[Any]:
    """Yield every plain value inside of lists and dicts, keys included."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value
