"""Frames of a turn for the sockets of another process, as soon as one of them follows it.

A socket whose turn runs elsewhere asks all processes to follow it. The one that runs it answers with a snapshot and,
until the turn ends, with all further frames. Without an answer the socket reads the rows.
"""

import asyncio
from typing import Any, Final
from uuid import UUID
from weakref import WeakKeyDictionary

from channels.layers import get_channel_layer

from chat.parts import Json
from chat.turns.frames import Snapshot
from chat.turns.live import LiveTurn, find_turn, group_of
from chat.web.rooms import Room, Subscription, enter_room, leave_room
from config.lib.edge.layer import SharedLayer, tell_other_processes

BATCH_SECONDS: Final = 0.02
FOLLOW: Final = "conversation.follow"


class Relay(Subscription):
    """A subscription that passes its frames on to other processes."""

    def __init__(self, group: str) -> None:
        super().__init__()
        self._group = group
        self._batch: list[Json] = []

    def put(self, frame: Json) -> None:
        """Add a frame to the batch that is sent next."""
        if not self._batch:
            asyncio.get_running_loop().call_later(BATCH_SECONDS, self._send)
        self._batch.append(frame)

    def _send(self) -> None:
        batch, self._batch = self._batch, []
        tell_other_processes(self._group, {"type": "conversation.frames", "frames": batch})


_relays: WeakKeyDictionary[LiveTurn, tuple[Room, Relay]] = WeakKeyDictionary()


def answer_followers() -> None:
    """Answer the sockets of other processes from now on."""
    layer: Any = get_channel_layer()
    if isinstance(layer, SharedLayer):
        layer.answer(FOLLOW, _begin_relay)


def follow_elsewhere(conversation_id: UUID) -> None:
    """Ask the other processes for the frames of a turn that one of them runs."""
    tell_other_processes(group_of(conversation_id), {"type": FOLLOW, "conversation_id": str(conversation_id)})


async def _begin_relay(message: Json) -> None:
    conversation_id = UUID(message["conversation_id"])
    turn = find_turn(conversation_id)
    if turn is None or turn.task is None:
        return
    if turn not in _relays:
        relay = Relay(group_of(conversation_id))
        room = enter_room(conversation_id, relay)
        _relays[turn] = room, relay
        turn.task.add_done_callback(lambda _: leave_room(room, relay))
    room, relay = _relays[turn]
    await room.show_news(turn)
    # Without a wait in between, as for a socket: what is published from here on follows the snapshot.
    relay.put(Snapshot(str(turn.start.reply_id), room.screen_of(turn).snapshot()).to_json(room.seq))
    room.subscriptions.add(relay)
