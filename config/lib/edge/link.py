"""The link to other processes: what is new goes through Redis."""

import json
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final
from uuid import uuid4

from redis import Redis
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

SEND_SECONDS: Final = 1.0
WARN_SECONDS: Final = 60.0
RECONNECT_SECONDS: Final = 1.0
IDLE_SECONDS: Final = 30.0  # the longest wait for a message before the connection is checked

Json = dict[str, Any]


class Link:
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
