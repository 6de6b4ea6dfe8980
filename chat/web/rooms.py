"""Socket rooms of this process: each frame is rendered once."""

import asyncio
from typing import Final
from uuid import UUID
from weakref import WeakKeyDictionary

from chat.parts import Json
from chat.turns.live import LiveTurn, find_turn, set_viewer
from chat.web.frames_html import TurnScreen

QUEUE_SIZE: Final = 256  # frames a socket may lag behind: eight seconds of text


class Subscription:
    """A socket's bounded frame queue; a slow socket is closed."""

    def __init__(self) -> None:
        self.frames: asyncio.Queue[Json] = asyncio.Queue(QUEUE_SIZE)
        self.is_overrun = asyncio.Event()

    def put(self, frame: Json) -> None:
        """Hand over a frame without waiting for the socket."""
        try:
            self.frames.put_nowait(frame)
        except asyncio.QueueFull:
            self.is_overrun.set()


class Room:
    """A conversation's sockets in this process."""

    def __init__(self, conversation_id: UUID) -> None:
        self.conversation_id = conversation_id
        self.members: set[Subscription] = set()  # all sockets, those that wait for their snapshot included
        self.subscriptions: set[Subscription] = set()  # those that get frames
        # A turn that has ended may still write a title while the next one runs: each has a screen of its own.
        self._screens: WeakKeyDictionary[LiveTurn, TurnScreen] = WeakKeyDictionary()

    def publish(self, frame: Json) -> None:
        for subscription in self.subscriptions:
            subscription.put(frame)

    async def show_news(self, turn: LiveTurn) -> None:
        await self.screen_of(turn).show_news()

    @property
    def seq(self) -> int:
        """The last frame's number in the running turn, else 0."""
        turn = find_turn(self.conversation_id)
        return self.screen_of(turn).seq if turn is not None else 0

    def screen_of(self, turn: LiveTurn) -> TurnScreen:
        """Return the screen of a turn; the first one to ask makes it."""
        if turn not in self._screens:
            has_ended = turn is not find_turn(self.conversation_id)
            self._screens[turn] = TurnScreen(turn, self.publish, has_ended=has_ended)
        return self._screens[turn]


_rooms: dict[UUID, Room] = {}


def enter_room(conversation_id: UUID, subscription: Subscription) -> Room:
    """Add a socket to its room; frames start with its subscription."""
    room = _rooms.get(conversation_id)
    if room is None:
        room = _rooms[conversation_id] = Room(conversation_id)
        set_viewer(conversation_id, room.show_news)
    room.members.add(subscription)
    return room


def leave_room(room: Room, subscription: Subscription) -> None:
    """Take a socket out of its room; idempotent."""
    room.members.discard(subscription)
    room.subscriptions.discard(subscription)
    if not room.members and _rooms.get(room.conversation_id) is room:
        del _rooms[room.conversation_id]
        set_viewer(room.conversation_id, None)
