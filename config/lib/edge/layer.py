"""The channel layer between processes: news once a second, and none while nobody else listens."""

import asyncio
import json
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final
from uuid import uuid4

from channels.layers import InMemoryChannelLayer, get_channel_layer
from redis import Redis
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

SEND_SECONDS: Final = 1.0
WARN_SECONDS: Final = 60.0
RECONNECT_SECONDS: Final = 1.0
IDLE_SECONDS: Final = 30.0  # the longest wait for a message before the connection is checked

Json = dict[str, Any]


class SharedLayer(InMemoryChannelLayer):
    """Groups of sockets in all processes.

    The sockets of this process get a message at once and never depend on Redis. Other processes get it within a second,
    together with all others of that second, each once: a message says only that there is news. While Redis is away they
    get nothing, and their sockets work on without news.
    """

    def __init__(self, url: str, prefix: str = "keel", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._link = _Link(url, f"{prefix}:news", self._deliver)
        self._answers: dict[str, Callable[[Json], Awaitable[None]]] = {}

    async def group_add(self, group: str, channel: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._link.start()
        await super().group_add(group, channel)

    async def group_send(self, group: str, message: Json) -> None:
        self._loop = asyncio.get_running_loop()
        self._link.put(group, message)
        await super().group_send(group, message)

    def send_to_others(self, group: str, message: Json, *, is_urgent: bool = True) -> None:
        """Send a message to a group in the other processes: at once, or with the next news."""
        self._link.put(group, message, is_urgent=is_urgent)

    def answer(self, message_type: str, answer: Callable[[Json], Awaitable[None]]) -> None:
        """Call a function for each message of a type that another process sends, whatever its group."""
        self._loop = asyncio.get_running_loop()
        self._link.start()
        self._answers[message_type] = answer

    def _deliver(self, group: str, message: Json) -> None:
        # In the thread of the link; the sockets wait in the loop of the server.
        if self._loop is None or self._loop.is_closed():
            return
        if answer := self._answers.get(message["type"]):
            asyncio.run_coroutine_threadsafe(_call(answer, message), self._loop)
        elif group in self.groups:
            asyncio.run_coroutine_threadsafe(super().group_send(group, message), self._loop)


def tell_other_processes(group: str, message: Json, *, is_urgent: bool = True) -> None:
    """Send a message to a group in the other processes, if there can be any."""
    layer: Any = get_channel_layer()
    if isinstance(layer, SharedLayer):
        layer.send_to_others(group, message, is_urgent=is_urgent)


async def _call(answer: Callable[[Json], Awaitable[None]], message: Json) -> None:
    try:
        await answer(message)
    except Exception:
        logger.exception("A message of another process was not answered: %s", message["type"])


class _Link:
    """Two threads: one sends what is new each second, or at once what is urgent; one receives. Both connect again."""

    def __init__(self, url: str, channel: str, deliver: Callable[[str, Json], None]) -> None:
        self._url = url
        self._channel = channel
        self._deliver = deliver
        self._name = uuid4().hex
        self._changed = threading.Condition()
        self._pending: dict[str, tuple[str, Json]] = {}
        self._is_urgent = False
        self._has_started = False
        self._is_subscribed = False
        self._has_others = True
        self._warned_at = -WARN_SECONDS

    def start(self) -> None:
        """Start the threads; idempotent."""
        with self._changed:
            if self._has_started:
                return
            self._has_started = True
        for target in (self._receive_for_ever, self._send_for_ever):
            threading.Thread(target=target, name=target.__name__, daemon=True).start()

    def put(self, group: str, message: Json, *, is_urgent: bool = False) -> None:
        """Note a message for the next sending; the same message twice is sent once."""
        self.start()
        with self._changed:
            if self._has_others:
                self._pending[json.dumps([group, message], sort_keys=True)] = (group, message)
                self._is_urgent |= is_urgent
                if is_urgent or len(self._pending) == 1:
                    self._changed.notify()

    def _send_for_ever(self) -> None:
        client = self._connect()
        while True:
            with self._changed:
                while not self._pending:
                    self._changed.wait()
                messages, self._pending, self._is_urgent = list(self._pending.values()), {}, False
            try:
                self._publish(client, messages)
            except (RedisError, OSError) as error:
                self._warn(error)
            with self._changed:
                self._changed.wait_for(lambda: self._is_urgent, SEND_SECONDS)

    def _publish(self, client: Redis, messages: list[tuple[str, Json]]) -> None:
        heard = client.publish(self._channel, json.dumps({"from": self._name, "messages": messages}))
        with self._changed:
            # Redis counts who heard it. Alone, this process is silent until another one says hello.
            self._has_others = int(heard) > int(self._is_subscribed)

    def _receive_for_ever(self) -> None:
        while True:
            try:
                self._receive()
            except (RedisError, OSError) as error:
                self._is_subscribed = False
                self._warn(error)
                time.sleep(RECONNECT_SECONDS)

    def _receive(self) -> None:
        client = self._connect()
        with client.pubsub(ignore_subscribe_messages=True) as subscription:  # type: ignore[no-untyped-call]
            subscription.subscribe(self._channel)
            with self._changed:
                self._is_subscribed = self._has_others = True  # others may have come while the connection was away
            client.publish(self._channel, json.dumps({"from": self._name, "messages": []}))
            while True:
                received = subscription.get_message(timeout=IDLE_SECONDS)
                if received is None:
                    subscription.ping()
                elif received["type"] == "message":
                    self._take(received["data"])

    def _take(self, data: bytes) -> None:
        news = json.loads(data)
        if news["from"] == self._name:
            return
        with self._changed:
            self._has_others = True
        for group, message in news["messages"]:
            self._deliver(group, message)

    def _connect(self) -> Redis:
        # A listener waits longer than any command may take.
        return Redis.from_url(self._url, socket_timeout=2 * IDLE_SECONDS, socket_connect_timeout=5)

    def _warn(self, error: Exception) -> None:
        if time.monotonic() - self._warned_at >= WARN_SECONDS:
            self._warned_at = time.monotonic()
            logger.warning("Other processes get no news: Redis does not answer (%s)", type(error).__name__)
