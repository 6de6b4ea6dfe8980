"""A listener in the room of a conversation, without a socket."""

from chat.turns import live
from chat.turns.events import MessageAccepted
from chat.web.rooms import Subscription, enter_room, leave_room


class Listener:
    """A place in a room without a socket."""

    def __init__(self, conversation_id) -> None:
        self.subscription = Subscription()
        self.room = enter_room(conversation_id, self.subscription)
        self.room.subscriptions.add(self.subscription)
        self.frames = []

    def hear(self):
        """Take in what has come, and return all of it."""
        while not self.subscription.frames.empty():
            self.frames.append(self.subscription.frames.get_nowait())
        return self.frames

    def leave(self) -> None:
        leave_room(self.room, self.subscription)

    @property
    def types(self):
        return [frame["type"] for frame in self.hear()]


async def begin_turn(talk, text="Hello"):
    """Store a message and run its turn in this process."""
    start = await talk.say(text)
    return live.start_turn(start, MessageAccepted(()), None)
