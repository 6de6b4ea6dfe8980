"""What happens when the server starts and stops."""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db import DatabaseError, InterfaceError
from django.urls import get_resolver
from django.utils import timezone

from chat.parts import Json
from chat.turns import live
from chat.turns.replies import interrupt_dead_turns
from chat.web.relays import answer_followers
from config.lib.llm import door
from config.lib.llm.door import LLMUnavailable
from config.lib.llm.tokens import count_tokens
from config.lib.operations.health import OldDatabase, require_current_database
from config.lib.owned import system_tx
from config.lib.threads import run_in_thread
from memory.recall.search import warm_recall

logger = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 10


class Lifespan:
    """The ASGI lifespan.

    At start: refuse an old database, warm the model client, import the pages, sweep dead turns.
    At stop: end running turns.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(
        self, scope: Json, receive: Callable[[], Awaitable[Json]], send: Callable[[Json], Awaitable[None]]
    ) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await run_in_thread(require_current_database)
                except OldDatabase as error:
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                self._start_task(_warm_client())
                self._start_task(_sweep_repeatedly())
                answer_followers()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                for task in self._tasks:
                    task.cancel()
                await live.stop_all()
                await send({"type": "lifespan.shutdown.complete"})
                return

    def _start_task(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _warm_client() -> None:
    # Seconds of CPU: better now, on a thread, than in front of the first question.
    with suppress(DatabaseError, InterfaceError):  # the first query loads what is missing
        await run_in_thread(partial(warm_recall, now=timezone.now()))
    await asyncio.to_thread(count_tokens, "")  # reads the vocabulary
    with suppress(LLMUnavailable):  # it is logged, and tried again with the first question
        await asyncio.to_thread(door.warm)
    await asyncio.to_thread(freeze_modules)


def freeze_modules() -> None:
    """Import the pages and keep the garbage collector off all modules.

    A full collection visits half a million objects of modules, which never go: 0.1 s in the middle of a request. The
    usual thresholds run several while a page reads ten thousand trades: a quarter of its time.
    """
    _ = get_resolver().url_patterns
    gc.collect()
    gc.freeze()
    gc.collect()  # of nothing: a full collection waits until a quarter of what the last one kept is new
    gc.set_threshold(20_000, 5, 2)


async def _sweep_repeatedly() -> None:
    """Interrupt the replies of killed processes, again and again."""
    while True:
        try:
            for conversation_id in await run_in_thread(_sweep_once):
                await live.tell_news(conversation_id)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("The sweep of dead turns waits for the database (%s)", type(error).__name__)
        except Exception:
            logger.exception("Sweep of dead turns failed; it is tried again")
        await asyncio.sleep(SWEEP_SECONDS)


def _sweep_once() -> list[UUID]:
    with system_tx("sweep of dead turns"):
        return interrupt_dead_turns(now=timezone.now())
