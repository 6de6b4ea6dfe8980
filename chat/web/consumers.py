"""The socket of one chat: frames in, frames out."""

import asyncio
import json
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar, cast
from uuid import UUID

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth import SESSION_KEY, get_user
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest
from django.urls import path
from django.utils import timezone

from chat.conversations.lifecycle import is_here_known, note_here, note_left
from chat.conversations.queries import find_streaming_reply, get_conversation, last_message_id
from chat.parts import Json
from chat.turns import frames, live
from chat.turns.accept import accept_message, continue_reply, edit_message, retry_reply
from chat.turns.replies import interrupt_dead_turns, request_stop
from chat.turns.start import Exchange
from chat.web.frames_html import accepted_frame
from chat.web.relays import follow_elsewhere
from chat.web.rendering import part_html
from chat.web.rooms import Room, Subscription, enter_room, leave_room
from config.lib.errors import DomainError
from config.lib.owned import owned, owned_tx
from config.lib.threads import run_in_accept_thread, run_in_thread
from config.lib.web import find_time_zone, find_user, is_same_origin

T = TypeVar("T")

logger = logging.getLogger(__name__)

MAX_FRAME: Final = 52 * 1024  # characters; a message of 16 KiB fits also where JSON escapes its every letter
RECHECK_SECONDS: Final = 30.0
RELAY_SECONDS: Final = 3.0  # a process whose turn is silent for longer may have died
UNREADABLE: Final = "That message cannot be read."
BROKE: Final = "Something went wrong on our side. Your text is kept; send it again."

# Close codes.
SIGNED_OUT: Final = 4401
NOT_FOUND: Final = 4404
TOO_MANY: Final = 4409
TOO_LARGE: Final = 4400
TOO_SLOW: Final = 1013
BROKEN: Final = 1011

_ENDS: Final = frozenset({"done", "failed"})

_open_sockets: defaultdict[int, list["ChatConsumer"]] = defaultdict(list)


def count_sockets() -> int:
    """Return the number of open sockets of this process."""
    return sum(map(len, _open_sockets.values()))


class ChatConsumer(AsyncWebsocketConsumer):
    """Carry one conversation between a browser and its turns."""

    user_id = 0
    has_joined = False
    room: Room | None = None
    carrier: asyncio.Task[None] | None = None
    checker: asyncio.Task[None] | None = None
    wants_check = False
    closer: asyncio.Task[None] | None = None
    checked_at = 0.0
    relayed_at: float | None = None  # when the process that runs the turn sent its last frame; None: it sends none
    has_left = False

    async def __call__(self, *args: Any) -> None:
        """Serve the socket and always give back its place."""
        try:
            await super().__call__(*args)
        finally:
            # Also when a handler broke: a place that is never free again would count against its user for ever.
            self._leave_room()

    async def dispatch(self, message: Json) -> None:
        # Channels would first close old connections, on a thread: the threads that do this socket's work do so.
        await getattr(self, get_handler_name(message))(message)

    async def connect(self) -> None:
        if not is_same_origin(dict(self.scope["headers"])):
            await self.close()
            return
        await self.accept()
        user = find_user(self.scope)
        if user is None:
            await self.close(SIGNED_OUT)
            return
        self.user_id = user.pk
        self.zone = find_time_zone(getattr(user, "time_zone", ""))
        self.session_key: str | None = self.scope["session"].session_key
        self.conversation_id: UUID = self.scope["url_route"]["kwargs"]["conversation_id"]
        try:
            await run_in_thread(self._read, get_conversation)
        except DomainError:
            await self.close(NOT_FOUND)
            return
        await self._join_room()

    def _read(self, query: Callable[..., T], **values: Any) -> T:
        with owned(self.user_id):
            return query(conversation_id=self.conversation_id, **values)

    def _write(self, act: Callable[..., T]) -> T:
        with owned_tx(self.user_id):
            return act(conversation_id=self.conversation_id, now=timezone.now())

    async def _join_room(self) -> None:
        self.subscription = Subscription()
        self.room = room = enter_room(self.conversation_id, self.subscription)
        mine = _open_sockets[self.user_id]
        mine.append(self)
        while len(mine) > settings.SOCKETS_PER_USER:
            mine[0].end(TOO_MANY)
        await self._tell_layer(self.channel_layer.group_add)
        self.checked_at = time.monotonic()
        snapshot = await self._build_snapshot(room)
        if self.has_left:
            return
        # Without a wait in between: frames published from here on follow the snapshot, and nothing comes twice.
        room.subscriptions.add(self.subscription)
        self.has_joined = True
        self.subscription.put(snapshot)
        self.carrier = asyncio.create_task(self._carry_frames())

    async def disconnect(self, code: int) -> None:
        is_known = bool(self.user_id)
        self._leave_room()
        if is_known:
            await self._tell_layer(self.channel_layer.group_discard)
            await self._note_presence(note_left)

    def _leave_room(self) -> None:
        """Leave the room and the user's sockets; idempotent."""
        self.has_left = True
        for task in (self.carrier, self.checker):
            if task is not None and task is not asyncio.current_task():
                task.cancel()
        if self.room is not None:
            leave_room(self.room, self.subscription)
        mine = _open_sockets.get(self.user_id, [])
        if self in mine:
            mine.remove(self)
        if not mine:
            _open_sockets.pop(self.user_id, None)

    def end(self, code: int) -> None:
        """Close the socket and free its place at once."""
        if not self.has_left:
            self._leave_room()
            self.closer = asyncio.create_task(self._close_socket(code))

    async def _close_socket(self, code: int) -> None:
        try:
            await self.close(code)
        except Exception:
            logger.info("A socket that was to be closed had gone", exc_info=True)

    async def _tell_layer(self, act: Callable[[str, str], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(live.LAYER_SECONDS):
                await act(live.group_of(self.conversation_id), self.channel_name)
                await act(live.user_group(self.user_id), self.channel_name)
        except Exception:
            logger.warning("Channel layer: the groups of a socket were not changed", exc_info=True)

    async def _carry_frames(self) -> None:
        try:
            while not self.has_left:
                await self._carry_one()
        except OSError:
            return  # the browser has gone; disconnect() follows
        except Exception as error:
            if self.has_left or "websocket.close" in str(error):
                # The server refuses a frame that follows the end of the socket.
                logger.info("A frame of conversation %s came after its socket had closed", self.conversation_id)
                return
            logger.exception("A socket of conversation %s broke", self.conversation_id)
            self.end(BROKEN)

    async def _carry_one(self) -> None:
        try:
            left = self.checked_at + RECHECK_SECONDS - time.monotonic()
            async with asyncio.timeout(max(left, 0)):  # wait_for() makes a task for each frame
                frame = await self.subscription.frames.get()
        except TimeoutError:
            await self.session_recheck({})
            return
        if self.subscription.is_overrun.is_set():
            self.end(TOO_SLOW)
        else:
            await self.send(text_data=json.dumps(frame, ensure_ascii=False))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if not self.has_joined or self.has_left:
            return
        if text_data is None or len(text_data) > MAX_FRAME:
            self.end(TOO_LARGE)
            return
        match frames.parse_frame(text_data):
            case frames.SendMessage(client_id, text):
                await self._begin_turn(partial(accept_message, client_id=client_id, text=text), str(client_id))
            case frames.Edit(message_id, text):
                await self._begin_turn(partial(edit_message, message_id=message_id, text=text))
            case "retry":
                await self._begin_turn(retry_reply)
            case "continue":
                await self._begin_turn(continue_reply)
            case "resume":
                await self._put_snapshot()
            case "stop" if (turn := live.find_turn(self.conversation_id)) is not None:
                turn.control.stop()
            case "stop":
                # It may run in another process, which reads this at its next save.
                await self._run_guarded(None, self._write, request_stop)
            case _:
                self._refuse_frame(None, UNREADABLE)

    async def _begin_turn(self, act: Callable[..., Exchange], client_id: str | None = None) -> None:
        stored = await self._run_guarded(client_id, self._store_and_render, act)
        if stored is None:
            return
        accepted, frame = stored
        if accepted.turn is not None:
            turn = live.start_turn(accepted.turn, accepted.event, accepted.title)
            if frame is not None and self.room is not None:
                self.room.screen_of(turn).show_accepted(frame)
            return
        self._send_frame(frame)
        if accepted.reply is not None and accepted.reply.is_streaming:
            # The row is up to a second behind the frames that follow.
            await self._put_snapshot()

    def _store_and_render(self, act: Callable[..., Exchange]) -> tuple[Exchange, frames.Accepted | None]:
        """Store and render on one thread: on a second one, rendering would hold up the request to the model.

        The turn runs also if its message cannot be rendered; the frame is then None.
        """
        accepted = self._write(act)
        if accepted.turn is None:
            with owned(self.user_id), timezone.override(self.zone):
                return accepted, accepted_frame(accepted.event)
        try:
            return accepted, accepted_frame(accepted.event, accepted.turn)
        except Exception:
            logger.exception("The message of reply %s could not be rendered", accepted.turn.reply_id)
            return accepted, None

    async def _run_guarded(self, client_id: str | None, work: Any, *args: Any) -> Any:
        """Run one request on a thread; send errors as `failed`."""
        try:
            if time.monotonic() - self.checked_at > RECHECK_SECONDS and not await run_in_thread(self._has_session):
                self.end(SIGNED_OUT)
                return None
            return await run_in_accept_thread(work, *args)
        except DomainError as error:
            self._refuse_frame(client_id, str(error))
        except Exception:
            logger.exception("A frame of conversation %s failed", self.conversation_id)
            self._refuse_frame(client_id, BROKE)
        return None

    def _refuse_frame(self, client_id: str | None, text: str) -> None:
        self._send_frame(frames.Failed(None, client_id, text, retry=False, html=None))

    def _send_frame(self, frame: frames.ServerFrame) -> None:
        assert self.room is not None, "only a socket that joined is sent frames"
        self.subscription.put(frame.to_json(self.room.seq))

    async def _put_snapshot(self) -> None:
        assert self.room is not None, "only a socket that joined asks"
        try:
            snapshot = await self._build_snapshot(self.room)
        except Exception:
            # A browser that gets no answer asks again, or connects again.
            logger.exception("No snapshot of conversation %s", self.conversation_id)
            return
        self.subscription.put(snapshot)

    async def _build_snapshot(self, room: Room) -> Json:
        while True:
            turn = live.find_turn(self.conversation_id)
            stored = await run_in_thread(self._stored_snapshot)
            if turn is not None:
                await room.show_news(turn)
            if turn is live.find_turn(self.conversation_id):
                break  # else one began or ended while the rows were read
        if turn is None and stored["reply"] is not None:
            # Until the process that runs the turn sends its own snapshot, its frames do not fit this one.
            self.relayed_at = None
            follow_elsewhere(self.conversation_id)
        # What runs here knows more than the rows.
        reply = room.screen_of(turn).snapshot() if turn is not None else stored["reply"]
        last = max(stored["last_message_id"], turn.start.reply_id if turn is not None else 0)
        return frames.Snapshot(str(last or ""), reply).to_json(room.seq)

    def _stored_snapshot(self) -> Json:
        with owned_tx(self.user_id):
            note_here(conversation_id=self.conversation_id, now=timezone.now())
            reply = find_streaming_reply(self.conversation_id)
            if reply is not None and interrupt_dead_turns(now=timezone.now()):
                reply = find_streaming_reply(self.conversation_id)
            shown = None
            if reply is not None:
                # It runs in another process: whole, as it was last saved.
                html = "".join(map(part_html, reply.parts))
                shown = {"message_id": str(reply.pk), "html": html, "tail": "", "status": reply.status}
            return {"last_message_id": last_message_id(self.conversation_id), "reply": shown}

    async def conversation_news(self, event: Json) -> None:
        """Send a snapshot after another process wrote rows, unless it sends its frames."""
        is_relayed = self.relayed_at is not None and time.monotonic() - self.relayed_at < RELAY_SECONDS
        if self._is_elsewhere() and not is_relayed:
            await self._put_snapshot()

    async def conversation_frames(self, event: Json) -> None:
        """Send the frames of a turn that runs in another process, from its snapshot on."""
        for frame in event["frames"] if self._is_elsewhere() else ():
            if frame["type"] == "snapshot" or self.relayed_at is not None:
                self.relayed_at = None if frame["type"] in _ENDS else time.monotonic()
                self.subscription.put(frame)

    def _is_elsewhere(self) -> bool:
        return self.has_joined and not self.has_left and live.find_turn(self.conversation_id) is None

    async def session_recheck(self, event: Json) -> None:
        """Check the session in a task of its own: frames go on while the database stands still."""
        self.checked_at = time.monotonic()
        self.wants_check = True
        if self.checker is None or self.checker.done():
            self.checker = asyncio.create_task(self._check_session())

    async def _check_session(self) -> None:
        """Close the socket if its session has ended; look once more if somebody asked meanwhile."""
        while self.wants_check and not self.has_left:
            self.wants_check = False
            try:
                is_signed_in = await run_in_thread(self._has_session)
            except Exception:
                # The session is checked again later; the database refuses all access until then.
                logger.exception("The session of a socket could not be looked at")
                continue
            if not is_signed_in:
                self.end(SIGNED_OUT)
            else:
                await self._note_presence(note_here)

    async def _note_presence(self, note: Callable[..., None]) -> None:
        try:
            await run_in_thread(self._write_note, note)
        except Exception:
            logger.exception("Could not record presence for conversation %s", self.conversation_id)

    def _write_note(self, note: Callable[..., None]) -> None:
        if note is not note_here or not self._read(is_here_known, now=timezone.now()):
            self._write(note)

    def _has_session(self) -> bool:
        # The same check as for a page: the session is there, its user is active, its password has not changed since.
        request = HttpRequest()
        request.session = SessionStore(self.session_key)
        return SESSION_KEY in request.session and get_user(request).pk == self.user_id


# Channels takes Django's `path`, whose types know views only.
websocket_urlpatterns: list[Any] = [path("ws/chat/<uuid:conversation_id>/", cast(Any, ChatConsumer.as_asgi()))]
