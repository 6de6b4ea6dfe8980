"""A turn as server-sent events: the events of the socket, as values.

The turn runs on its own (`chat.live`); a stream only reads along. Of a turn that runs in this process it reads the
log; of one that runs elsewhere, or has ended, the rows. No database connection is held between two readings.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import asdict
from typing import Final, TypeVar
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from django.utils import timezone
from rest_framework.utils.encoders import JSONEncoder

from chat.api.values import ending_of, events_between, shown_part
from chat.grounding.checks import list_figures
from chat.models import Message, Role
from chat.parts import Json, Part
from chat.turns import events
from chat.turns.live import LiveTurn
from chat.turns.replies import HEARTBEAT_LEASE, interrupt_dead_turns
from config.lib.owned import owned, owned_tx
from config.lib.threads import run_in_thread

logger = logging.getLogger(__name__)

T = TypeVar("T")

KEEP_ALIVE: Final = ": keep-alive\n\n"
KEEP_ALIVE_SECONDS: Final = 15.0
POLL_SECONDS: Final = 1.0  # as often as a turn saves
GONE: Final = "This answer was deleted."

EVENTS: Final = """The events, each with `data` in JSON and a number in `id`:

- `accepted` `{conversation_id, message_id, reply_id, client_id}`: the message is stored.
- `title` `{title}`: the conversation got one.
- `text` `{text}`: what the reply says more, in Markdown.
- `tool_started`, `tool_finished` `{call_id, name, status, summary, arguments}`: `status` running, done or error.
- `memory` `{kind, text, event_id, fact_id, is_undone}`: what Keel wrote down, or forgot.
- `card` `{card_id, type, lines, status, expires_at, url}`: an action that was prepared. Nothing has happened: only its
  owner's click on that page does it, and no call of this API.
- `notice` `{level, text}`: something to know that is no part of the reply; `level` info or warn.
- `done` `{status, usage, content, figures}`, last: `status` complete, or interrupted when its user stopped it;
  `content` is the whole reply, null if it could not be read again; `figures` are the `{text, source}` of its figures,
  with the row that states each, or null for what is not from the user's record.
- `failed` `{text, may_retry}`, last: it ended early; what it said is kept.

Lines that begin with a colon only keep the connection open. Whoever goes away stops nothing."""


def release_connection() -> None:
    """Release this thread's database connection, unless it is inside a transaction."""
    if not connection.in_atomic_block:
        close_old_connections()


async def stream_lines(reply: Message, turn: LiveTurn | None, *, client_id: UUID) -> AsyncGenerator[str, None]:
    """Yield all events of a turn as lines of the protocol; `turn` writes the reply, if it runs in this process."""
    await sync_to_async(release_connection)()  # that of the request, on its own thread
    ids = {"conversation_id": reply.conversation_id, "message_id": reply.reply_to_id, "reply_id": reply.pk}
    yield _format_line(1, "accepted", {**ids, "client_id": client_id})
    number = 1
    async with aclosing(_read_events(reply, turn)) as source:
        async for event in source:
            if event is None:
                yield KEEP_ALIVE
            elif (content := await _describe_event(reply, event)) is not None:
                number += 1
                yield _format_line(number, event.name, content)


async def wait_for_end(reply: Message, turn: LiveTurn | None) -> None:
    """Wait until a turn has ended."""
    async with aclosing(_read_events(reply, turn)) as source:
        async for _ in source:
            pass


def _format_line(number: int, name: str, content: Json) -> str:
    return f"id: {number}\nevent: {name}\ndata: {json.dumps(content, ensure_ascii=False, cls=JSONEncoder)}\n\n"


async def _read_events(reply: Message, turn: LiveTurn | None) -> AsyncGenerator[events.TurnEvent | None, None]:
    log = turn.log.read(patience=KEEP_ALIVE_SECONDS) if turn is not None else _read_along(reply)
    async with aclosing(log) as source:
        async for event in source:
            yield event
            if isinstance(event, events.TurnDone | events.TurnFailed):
                return


async def _read_along(begun: Message) -> AsyncGenerator[events.TurnEvent | None, None]:
    """Yield the events of a reply that another process writes or wrote."""
    known: list[Part] = []
    silent = 0.0
    while True:
        try:
            reply = await run_in_thread(_read_reply, begun)
        except (DatabaseError, InterfaceError):
            logger.warning("Reply %s could not be read", begun.pk, exc_info=True)
        else:
            if reply is None:
                yield events.TurnFailed(GONE, may_retry=False)
                return
            for event in events_between(known, reply.parts):
                silent = 0.0
                yield event
            known = reply.parts
            if not reply.is_streaming:
                yield ending_of(reply)
                return
        await asyncio.sleep(POLL_SECONDS)
        silent += POLL_SECONDS
        if silent >= KEEP_ALIVE_SECONDS:
            silent = 0.0
            yield None


def _read_reply(begun: Message) -> Message | None:
    """Read the reply; interrupt it first if its process died."""
    now = timezone.now()
    with owned(begun.user_id):
        reply = find_reply(begun.pk)
    is_dead = reply is not None and reply.is_streaming and (reply.heartbeat_at or now) < now - HEARTBEAT_LEASE
    if not is_dead:
        return reply
    with owned_tx(begun.user_id):
        interrupt_dead_turns(now=now)
        return find_reply(begun.pk)


async def _describe_event(begun: Message, event: events.TurnEvent) -> Json | None:
    match event:
        case events.TextAdded() | events.Titled() | events.Noticed() | events.TurnFailed():
            return asdict(event)
        case events.CallStarted(part) | events.CallFinished(part) | events.MemoryWritten(part):
            return await _read_rows(begun, lambda: shown_part(part), None)
        case events.CardDrawn(part):
            return await _read_rows(begun, lambda: shown_part(part), {"card_id": part["card_id"]})
        case events.TurnDone(status, usage):
            reply = await _read_rows(begun, lambda: find_reply(begun.pk), None)
            return {
                "status": status,
                "usage": usage,
                "content": reply.content if reply else None,
                "figures": [
                    {"text": figure["text"], "source": figure["source"]}
                    for figure in (list_figures(reply.parts) if reply else ())
                ],
            }
    return None  # each stream begins with its own `accepted`


async def _read_rows(begun: Message, look: Callable[[], T], otherwise: T) -> T:
    """Return the rows' values; the stream continues without them."""

    def work() -> T:
        with owned(begun.user_id):
            return look()

    try:
        return await run_in_thread(work)
    except (DatabaseError, InterfaceError):
        logger.warning("Reply %s: an event could not be filled from its rows", begun.pk, exc_info=True)
        return otherwise


def find_reply(reply_id: int) -> Message | None:
    """Return a reply, also one that a retry has replaced."""
    return Message.objects.filter(pk=reply_id, role=Role.ASSISTANT).defer("search_terms").first()
