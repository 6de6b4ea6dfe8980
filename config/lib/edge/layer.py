"""The channel layer between processes: news once a second, and none while nobody else listens."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from channels.layers import InMemoryChannelLayer, get_channel_layer

logger = logging.getLogger(__name__)

Json = dict[str, Any]


class SharedLayer(InMemoryChannelLayer):
    """Groups of sockets in all processes.

    The sockets of this process get a message at once and never depend on Redis. Other processes get it within a second,
    together with all others of that second, each once: a message says only that there is news. While Redis is away they
    get nothing, and their sockets work on without news.
    """

    def __init__(self, url: str, prefix: str = "keel", **kwargs: Any) -> None:
        from config.lib.edge.link import Link  # noqa: PLC0415 - a local site imports this module, and has no Redis

        super().__init__(**kwargs)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._link = Link(url, f"{prefix}:news", self._deliver)
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
