"""Read a model's stream in a task of its own."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from config.lib.llm.door import Chunk

logger = logging.getLogger(__name__)

CLOSE_SECONDS: Final = 2.0  # a stream that cannot be cancelled by then is left behind


class Pump:
    """A stream's reader: saves and text do not delay each other."""

    def __init__(self, chunks: AsyncGenerator[Chunk, None], news: asyncio.Event) -> None:
        self._chunks = chunks
        self._news = news
        self._pending: list[str] = []
        self.last = Chunk()
        self.task = asyncio.create_task(self._read_chunks())

    async def _read_chunks(self) -> None:
        try:
            async with aclosing(self._chunks) as chunks:
                async for chunk in chunks:
                    if chunk.text:
                        self._pending.append(chunk.text)
                        self._news.set()
                    if chunk.finish_reason is not None:
                        self.last = chunk
        finally:
            self._news.set()

    def take_text(self) -> str:
        """Return the text since the last call."""
        text = "".join(self._pending)
        self._pending.clear()
        return text

    async def close(self) -> None:
        """Cancel the task and with it the provider's response."""
        self.task.cancel()
        await asyncio.wait({self.task}, timeout=CLOSE_SECONDS)
        if not self.task.done():
            logger.error("A model's stream would not be cancelled")
        elif not self.task.cancelled():
            self.task.exception()  # retrieve it, or asyncio logs the provider's text
