"""The running turns of this process, which outlive their sockets.

A turn writes its events to a log. The sockets of this process show them at once; streams of the API read the log. The
channel layer tells other processes about once a second that there is news, and they read the rows.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Final
from uuid import UUID

from channels.layers import get_channel_layer

from chat.parts import Json
from chat.turns.events import CallStarted, MessageAccepted, Noticed, TextAdded, Titled, TurnDone, TurnEvent, TurnFailed
from chat.turns.replies import RESTARTED
from chat.turns.start import TurnStart
from chat.turns.turn import BROKE, Control, run_turn, tidy_up
from config.lib.edge.layer import tell_other_processes
from config.lib.llm import door
from config.lib.observe.metrics import count_turn, observe_first_token
from config.lib.threads import give_way_to_accepts

logger = logging.getLogger(__name__)

NEWS: Final = {"type": "conversation.news"}
LAYER_SECONDS: Final = 5.0  # a channel layer that takes longer does without the news
SHUTDOWN_SECONDS: Final = 4.0  # for what still runs once the requests have ended
SUMMARISED: Final = "This chat has grown long: Keel now reads a summary of its older part. Nothing was deleted."


Viewer = Callable[["LiveTurn"], Awaitable[None]]  # shows the new events of a turn's log

_turns: dict[UUID, "LiveTurn"] = {}
_viewers: dict[UUID, Viewer] = {}


def set_viewer(conversation_id: UUID, viewer: Viewer | None) -> None:
    """Set the viewer of a conversation; None removes it."""
    if viewer is None:
        _viewers.pop(conversation_id, None)
    else:
        _viewers[conversation_id] = viewer


def find_turn(conversation_id: UUID) -> "LiveTurn | None":
    """Return the turn of a conversation that runs in this process."""
    return _turns.get(conversation_id)


def list_running() -> list["LiveTurn"]:
    """Return the turns that run in this process."""
    return list(_turns.values())


class TurnLog:
    """A turn's events, read by each reader at its own pace."""

    def __init__(self) -> None:
        self._events: list[TurnEvent] = []
        self._is_closed = False
        self._news = asyncio.Event()

    def add(self, event: TurnEvent) -> None:
        """Append an event, copying the part of a started tool."""
        self._events.append(replace(event, part=dict(event.part)) if isinstance(event, CallStarted) else event)
        self._wake_readers()

    def close(self) -> None:
        """End the log."""
        self._is_closed = True
        self._wake_readers()

    def list_after(self, count: int) -> list[TurnEvent]:
        """Return the events after the first `count`."""
        return self._events[count:]

    def _wake_readers(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def read(self, *, patience: float) -> AsyncGenerator[TurnEvent | None, None]:
        """Yield every event; None after each `patience` seconds without one."""
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
    """A running turn: its task and its log."""

    def __init__(self, start: TurnStart) -> None:
        self.start = start
        self.conversation_id = start.conversation_id
        self.control = Control()
        self.log = TurnLog()
        self.task: asyncio.Task[None] | None = None
        self._began_at = time.monotonic()
        self._has_words = False

    async def run(self) -> None:
        """Run the turn, show its events and tidy up behind it."""
        # A message of the API is not rendered yet. Beside the request: rendering takes longer than sending it.
        showing = asyncio.create_task(self._show_news())
        try:
            await give_way_to_accepts()
            async with aclosing(run_turn(self.start, self.control)) as events:
                async for event in events:
                    self._measure(event)
                    self.log.add(event)
                    await self._show_news()
                    # The sockets of this process have the frames themselves. The layer sends it on once a second.
                    tell_other_processes(group_of(self.conversation_id), NEWS, is_urgent=False)
        except Exception:
            # run_turn() does not raise; should it ever, a sweep closes the reply.
            logger.exception("Turn %s broke", self.start.reply_id)
            self.log.add(TurnFailed(BROKE))
            await self._show_news()
        finally:
            # The next turn may have begun: it can as soon as the row of this one is closed.
            if _turns.get(self.conversation_id) is self:
                del _turns[self.conversation_id]
            await showing
            tell_other_processes(group_of(self.conversation_id), NEWS, is_urgent=False)
        await self._tidy_up()
        self.log.close()

    def _measure(self, event: TurnEvent) -> None:
        if isinstance(event, TextAdded) and not self._has_words:
            self._has_words = True
            observe_first_token(time.monotonic() - self._began_at)
        elif isinstance(event, TurnDone | TurnFailed):
            count_turn(event.status if isinstance(event, TurnDone) else "failed")

    async def _tidy_up(self) -> None:
        try:
            title, is_summarised = await tidy_up(self.start, self.control)
        except Exception:
            logger.exception("Conversation %s: neither title nor summary", self.conversation_id)
            return
        if title:
            self.log.add(Titled(title))
        if is_summarised:
            self.log.add(Noticed(SUMMARISED))
        await self._show_news()

    async def _show_news(self) -> None:
        viewer = _viewers.get(self.conversation_id)
        if viewer is not None:
            await viewer(self)


def start_turn(start: TurnStart, accepted: MessageAccepted, title: str | None) -> LiveTurn:
    """Run a stored turn here; `title` is the conversation's first title."""
    turn = LiveTurn(start)
    turn.log.add(accepted)
    if title is not None:
        turn.log.add(Titled(title))
    _turns[start.conversation_id] = turn
    turn.task = asyncio.create_task(turn.run(), name=f"turn {start.reply_id}")
    return turn


def group_of(conversation_id: UUID) -> str:
    """Return the channel layer's group of a conversation."""
    return f"conversation.{conversation_id}"


def user_group(user_id: int) -> str:
    """Return the channel layer's group of a user's sockets."""
    return f"user.{user_id}"


async def tell_news(conversation_id: UUID) -> None:
    """Tell the sockets of all processes that the rows of a conversation changed."""
    await _send_to_group(group_of(conversation_id), NEWS)


async def tell_recheck(user_id: int) -> None:
    """Ask all sockets of a user to check their session."""
    await _send_to_group(user_group(user_id), {"type": "session.recheck"})


async def _send_to_group(group: str, message: Json) -> None:
    layer = get_channel_layer()
    assert layer is not None, "the settings name a channel layer"
    try:
        async with asyncio.timeout(LAYER_SECONDS):
            await layer.group_send(group, message)
    except Exception:
        # The layer is a convenience: this process's sockets have their frames, and each looks at its session anyway.
        logger.warning("Channel layer: %s not sent", message["type"], exc_info=True)


def stop_turns() -> None:
    """Tell all turns to save their text and end."""
    for turn in list_running():
        turn.control.stop(RESTARTED)


async def stop_all() -> None:
    """Stop all turns and save their text at shutdown."""
    stop_turns()
    tasks = [turn.task for turn in list_running() if turn.task is not None]
    if tasks:
        await asyncio.wait(tasks, timeout=SHUTDOWN_SECONDS)
    await door.close()
