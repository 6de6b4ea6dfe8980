"""Few threads that make pages, as ASGI middleware."""

import asyncio
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Final

from asgiref.sync import ThreadSensitiveContext

from config.lib.edge.requests import App, Message, Receive, Scope, Send

THREADS: Final = 4  # more make no page sooner: they share the interpreter
PATIENCE_SECONDS: Final = 1.0  # until a page gets a thread of its own, because those before it wait for something


class PageThreads:
    """Make pages on few threads, and keep these.

    Django starts a thread for each request: ten page loads would hold the memory of ten pages, and each would open a
    database connection. A page has its thread from its request to the beginning of its answer, so a slow reader holds
    none. What is no page has a thread of its own: what writes may wait for the database, and a reply of the API, whose
    address is in `apart`, for a model.
    """

    def __init__(self, app: App, *, apart: tuple[str, ...]) -> None:
        self.app = app
        self.apart = apart
        self._free: asyncio.LifoQueue[Executor] = asyncio.LifoQueue()
        for number in range(THREADS):
            self._free.put_nowait(ThreadPoolExecutor(1, f"keel-page-{number}"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_page = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        thread = await self._take() if is_page and not scope["path"].startswith(self.apart) else None
        if thread is None:
            await self.app(scope, receive, send)
            return
        with ExitStack() as lease:
            lease.callback(self._free.put_nowait, thread)

            async def send_and_free(message: Message) -> None:
                lease.close()
                await send(message)

            async with ThreadSensitiveContext(executor=thread):
                await self.app(scope, receive, send_and_free)

    async def _take(self) -> Executor | None:
        """Return a free thread, or None after a second without one."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self._free.get()
        except TimeoutError:
            return None
