"""The turns that run in this process: they outlive sockets, are joined by any number of them, and stopped from each.

A room holds one conversation's sockets and its running turn. Frames go straight from the turn to the sockets of this
process; the channel layer only tells other processes that there is news, about once a second, and they read the rows.
Beside the frames, which are HTML for browsers, a turn keeps a log of its events, which are values for other clients.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from channels.layers import get_channel_layer
from django.utils import timezone

from chat.conversations.queries import list_messages
from chat.models import MessageStatus
from chat.parts import Part
from chat.tools.calls import is_quiet
from chat.turns.events import (
    CardDrawn,
    MemoryWritten,
    Noticed,
    TextAdded,
    Titled,
    ToolFinished,
    ToolStarted,
    TurnDone,
    TurnEvent,
    TurnFailed,
)
from chat.turns.replies import RESTARTED
from chat.turns.start import TurnStart
from chat.turns.turn import BROKE, Control, run_turn, tidy_up
from chat.web.markdown import close_blocks, render
from chat.web.rendering import card_html, memory_html, message_html, tool_html, view_messages
from config.lib.llm import door
from config.lib.owned import owned
from config.lib.threads import in_thread
from config.lib.web import zone_named

logger = logging.getLogger(__name__)

Frame = dict[str, Any]

QUEUE_SIZE: Final = 256  # frames a socket may lag behind: eight seconds of text
NEWS_SECONDS: Final = 1.0
LAYER_SECONDS: Final = 5.0  # a channel layer that takes longer does without the news
SHUTDOWN_SECONDS: Final = 8.0
SUMMARISED: Final = "This chat has grown long: Keel now reads a summary of its older part. Nothing was deleted."


class Subscription:
    """One socket's place in a room: a bounded queue; whoever falls behind is dropped and resumes from the rows."""

    def __init__(self) -> None:
        self.frames: asyncio.Queue[Frame] = asyncio.Queue(QUEUE_SIZE)
        self.is_overrun = asyncio.Event()

    def put(self, frame: Frame) -> None:
        """Hand over a frame without waiting for the socket."""
        try:
            self.frames.put_nowait(frame)
        except asyncio.QueueFull:
            self.is_overrun.set()


@dataclass(eq=False)
class Room:
    """A conversation's sockets in this process, and its running turn if it runs here."""

    conversation_id: UUID
    subscriptions: set[Subscription] = field(default_factory=set)
    turn: "LiveTurn | None" = None

    def publish(self, frame: Frame) -> None:
        """Hand a frame to every socket of the room."""
        for subscription in self.subscriptions:
            subscription.put(frame)


_rooms: dict[UUID, Room] = {}


def room_of(conversation_id: UUID) -> Room:
    """Return the conversation's room, made if need be."""
    return _rooms.setdefault(conversation_id, Room(conversation_id))


def join(conversation_id: UUID, subscription: Subscription) -> Room:
    """Let a socket hear of a conversation."""
    room = room_of(conversation_id)
    room.subscriptions.add(subscription)
    return room


def leave(room: Room, subscription: Subscription) -> None:
    """Let a socket go; the turn goes on without it."""
    room.subscriptions.discard(subscription)
    _drop_if_empty(room)


def _drop_if_empty(room: Room) -> None:
    if not room.subscriptions and room.turn is None and _rooms.get(room.conversation_id) is room:
        del _rooms[room.conversation_id]


def find_turn(conversation_id: UUID) -> "LiveTurn | None":
    """Return the turn of a conversation that runs in this process."""
    room = _rooms.get(conversation_id)
    return room.turn if room is not None else None


def running() -> list["LiveTurn"]:
    """Return the turns that run in this process."""
    return [room.turn for room in _rooms.values() if room.turn is not None]


class TurnLog:
    """What has happened in a turn, in order: whoever reads it gets all of it, at their own pace."""

    def __init__(self) -> None:
        self._events: list[TurnEvent] = []
        self._is_closed = False
        self._news = asyncio.Event()

    def add(self, event: TurnEvent) -> None:
        """Note what happened, as it is now: the part of a tool that has started changes when it ends."""
        self._events.append(replace(event, part=dict(event.part)) if isinstance(event, ToolStarted) else event)
        self._wake()

    def close(self) -> None:
        """Note that nothing more will happen."""
        self._is_closed = True
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def read(self, *, patience: float) -> AsyncGenerator[TurnEvent | None, None]:
        """Yield the events from the first to the last; None whenever nothing has happened for `patience` seconds."""
        read = 0
        while True:
            news = self._news  # what comes from here on is in it
            while read < len(self._events):
                read += 1
                yield self._events[read - 1]
            if self._is_closed:
                return
            try:
                await asyncio.wait_for(news.wait(), patience)
            except TimeoutError:
                yield None


class LiveTurn:
    """A turn on its way: its task, and what it has shown so far, for those who join late."""

    def __init__(self, room: Room, start: TurnStart) -> None:
        self.room = room
        self.start = start
        self.control = Control()
        self.log = TurnLog()
        self.seq = 0
        self._closed: dict[str, str] = {}  # element key -> safe HTML, in the order of the reply
        self._open = ""  # plain text of the block that still grows
        self._news_at = 0.0
        self._news: asyncio.Task[None] | None = None
        self.task: asyncio.Task[None] | None = None

    def begin(self, opening: Frame) -> None:
        """Show the room what was accepted, and run the turn in a task of its own."""
        self.room.turn = self
        self.publish("accepted", **opening)
        self.task = asyncio.create_task(self._run(), name=f"turn {self.start.reply_id}")

    def snapshot(self) -> Frame:
        """Return the reply so far: what a socket that joins needs."""
        html = "".join(self._closed.values())
        return {"message_id": str(self.start.reply_id), "html": html, "tail": self._open, "status": "streaming"}

    def publish(self, frame_type: str, **content: Any) -> None:
        """Send a frame of this turn to the room."""
        self.seq += 1
        self.room.publish({"type": frame_type, "seq": self.seq, **content})

    def show_title(self, title: str) -> None:
        """Let everybody know the title that the conversation got."""
        self.log.add(Titled(title))
        self.publish("title", title=title)

    async def _run(self) -> None:
        try:
            async with aclosing(run_turn(self.start, self.control)) as events:
                async for event in events:
                    self.log.add(event)
                    await self._show_or_log(event)
                    self._tell_others()
        except Exception:
            # run_turn() does not raise; should it ever, a sweep closes the reply.
            logger.exception("Turn %s broke", self.start.reply_id)
            reply_id = str(self.start.reply_id)
            self.log.add(TurnFailed(BROKE))
            self.publish("failed", reply_id=reply_id, client_id=None, text=BROKE, retry=True, html=None)
        finally:
            self.log.close()
            # The next turn may have begun: it can as soon as the row of this one is closed.
            if self.room.turn is self:
                self.room.turn = None
            _drop_if_empty(self.room)
            await tell_news(self.room.conversation_id)
        await self._tidy()

    async def _tidy(self) -> None:
        try:
            title, is_summarised = await tidy_up(self.start, self.control)
        except Exception:
            logger.exception("Conversation %s: neither title nor summary", self.room.conversation_id)
            return
        if title:
            self.room.publish({"type": "title", "seq": 0, "title": title})
        if is_summarised:
            self.room.publish({"type": "notice", "seq": 0, "reply_id": None, "level": "info", "text": SUMMARISED})

    async def _show_or_log(self, event: TurnEvent) -> None:
        try:
            await self._show(event)
        except Exception:
            # The turn goes on: what could not be shown is saved, and the end brings the whole reply.
            logger.exception("Showing %s of reply %s failed", type(event).__name__, self.start.reply_id)

    async def _show(self, event: TurnEvent) -> None:
        reply_id = str(self.start.reply_id)
        match event:
            case TextAdded(text):
                await self._show_text(text, reply_id)
            case ToolStarted(part) | ToolFinished(part):
                await self._close_text(reply_id)
                if is_quiet(part):
                    return
                kind = "tool_started" if isinstance(event, ToolStarted) else "tool_finished"
                self._add(kind, f"tool-{part['call_id']}", tool_html(part), reply_id, call_id=part["call_id"])
            case MemoryWritten(part):
                self._add(
                    "memory", f"memory-{part['event_id']}", memory_html(part), reply_id, event_id=part["event_id"]
                )
            case CardDrawn(part):
                drawn = await in_thread(_card_html, self.start, part)
                self._add("card", f"card-{part['card_id']}", drawn, reply_id, card_id=part["card_id"])
            case Noticed(text, level):
                self.publish("notice", reply_id=reply_id, level=level, text=text)
            case TurnDone(status, _):
                html = await self._final_html()
                if html is None:
                    # Whoever sees that nothing runs any more fetches the messages.
                    self.room.publish({"type": "snapshot", "seq": 0, "last_message_id": reply_id, "reply": None})
                else:
                    self.publish("done", reply_id=reply_id, status=status, html=html)
            case TurnFailed(text, may_retry):
                html = await self._final_html()
                self.publish("failed", reply_id=reply_id, client_id=None, text=text, retry=may_retry, html=html)

    async def _show_text(self, text: str, reply_id: str) -> None:
        # Changed only when it is published, or a socket that joins meanwhile would be shown it twice.
        grown = self._open + text
        # A block ends where the next one begins, in a new line; elsewhere there is nothing to look for.
        is_new_line = "\n" in text or self._open.endswith("\n")
        html, rest = await asyncio.to_thread(close_blocks, grown) if is_new_line else ("", grown)
        self._open = rest
        if html:
            self._closed[f"text-{len(self._closed)}"] = html
            self.publish("text", reply_id=reply_id, html=html, tail=rest)
        else:
            self.publish("text", reply_id=reply_id, text=text)

    async def _close_text(self, reply_id: str) -> None:
        if self._open:
            html = await asyncio.to_thread(render, self._open)
            self._closed[f"text-{len(self._closed)}"] = html
            self._open = ""
            self.publish("text", reply_id=reply_id, html=html, tail="")

    def _add(self, frame_type: str, key: str, html: str, reply_id: str, **content: Any) -> None:
        self._closed[key] = html
        self.publish(frame_type, reply_id=reply_id, html=html, **content)

    async def _final_html(self) -> str | None:
        """Return the article of the closed reply; None if it is not closed, or cannot be read now."""
        try:
            return await in_thread(_reply_html, self.start) or None
        except Exception:
            logger.exception("Reply %s could not be read to be shown", self.start.reply_id)
            return None

    def _tell_others(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._news_at >= NEWS_SECONDS and (self._news is None or self._news.done()):
            self._news_at = now
            # Beside the stream: a layer that hangs must not hold up a word.
            self._news = asyncio.create_task(tell_news(self.room.conversation_id))


def _card_html(start: TurnStart, part: Part) -> str:
    with owned(start.user_id), timezone.override(zone_named(start.time_zone)):
        return card_html(part)


def _reply_html(start: TurnStart) -> str:
    with owned(start.user_id), timezone.override(zone_named(start.time_zone)):
        views = view_messages(list_messages(start.conversation_id, after=start.reply_id - 1))
        closed = [view for view in views if view.pk == start.reply_id and view.status != MessageStatus.STREAMING]
        return "".join(map(message_html, closed))


def group_of(conversation_id: UUID) -> str:
    """Return the channel layer's group of a conversation."""
    return f"conversation.{conversation_id}"


def user_group(user_id: int) -> str:
    """Return the channel layer's group of a user's sockets."""
    return f"user.{user_id}"


async def tell_news(conversation_id: UUID) -> None:
    """Tell the sockets of other processes that the rows of a conversation have changed."""
    await _tell(group_of(conversation_id), "conversation.news")


async def tell_recheck(user_id: int) -> None:
    """Tell every socket of a user, in every process, to look whether its session still lives."""
    await _tell(user_group(user_id), "session.recheck")


async def _tell(group: str, message_type: str) -> None:
    layer = get_channel_layer()
    assert layer is not None, "the settings name a channel layer"
    try:
        async with asyncio.timeout(LAYER_SECONDS):
            await layer.group_send(group, {"type": message_type})
    except Exception:
        # The layer is a convenience: this process's sockets have their frames, and each looks at its session anyway.
        logger.warning("Channel layer: %s not sent", message_type, exc_info=True)


def start_turn(start: TurnStart, opening: Frame, title: str | None) -> LiveTurn:
    """Run a stored turn in this process; `opening` is what its `accepted` frame says."""
    turn = LiveTurn(room_of(start.conversation_id), start)
    turn.begin(opening)
    if title is not None:
        turn.show_title(title)
    return turn


async def stop_all() -> None:
    """End every turn of this process, keeping what was said; called when the server shuts down."""
    turns = running()
    for turn in turns:
        turn.control.stop(RESTARTED)
    tasks = [turn.task for turn in turns if turn.task is not None]
    if tasks:
        await asyncio.wait(tasks, timeout=SHUTDOWN_SECONDS)
    await door.close()
