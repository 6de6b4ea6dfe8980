"""Database work from async code."""

import asyncio
import contextvars
import ctypes
import functools
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, ParamSpec, TypeVar

from django.db import close_old_connections, connection

P = ParamSpec("P")
T = TypeVar("T")

# Channels' `database_sync_to_async` shares one thread: 100 calls of 10 ms took 1.09 s there, 0.10 s here.
POOL = ThreadPoolExecutor(max_workers=12, thread_name_prefix="keel")
# Apart from the others: tools that hang must not take the threads that save replies.
TOOLS = ThreadPoolExecutor(max_workers=6, thread_name_prefix="keel-tool")
# Apart too: a user waits to see a message stored. SQLite writes one at a time, so that more threads only wait.
ACCEPTS = ThreadPoolExecutor(4 if connection.vendor == "postgresql" else 1, thread_name_prefix="keel-accept")
FEW_ACCEPTS: Final = 4  # so many delay no turn
MAX_PAUSE_SECONDS: Final = 10.0
_M_ARENA_MAX: Final = -8  # malloc.h
_accepting: list[None] = []  # one for each acceptance that waits or runs
_giving_way: set[asyncio.Future[None]] = set()  # one for each turn that waits for them


async def run_in_accept_thread(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run the acceptance of a message, or its showing, on a thread of its own pool."""
    _accepting.append(None)
    try:
        return await _run_in(ACCEPTS, functools.partial(work, *args, **kwargs))
    finally:
        _accepting.pop()
        if len(_accepting) <= FEW_ACCEPTS:
            for waiter in _giving_way:
                waiter.cancel()  # more than once does nothing


async def give_way_to_accepts() -> None:
    """Wait for ten seconds at most while more than a few messages are to be accepted."""
    if len(_accepting) > FEW_ACCEPTS:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        _giving_way.add(waiter)
        try:
            await asyncio.wait({waiter}, timeout=MAX_PAUSE_SECONDS)
        finally:
            _giving_way.discard(waiter)


async def run_in_thread(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run synchronous work on a thread, in a scope that `work` opens; return the connection to its pool."""
    return await _run_in(POOL, functools.partial(work, *args, **kwargs))


async def run_in_tool_thread(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a tool on a thread of its own pool."""
    return await _run_in(TOOLS, functools.partial(work, *args, **kwargs))


async def _run_in(executor: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    # The thread sees the caller's context, as the scope of an owner. asgiref does more than that, for more CPU.
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(executor, context.run, _with_fresh_connection, work)


def _with_fresh_connection(work: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()


def share_arenas() -> None:
    """Let the threads that start from now on take their memory from two arenas, where glibc gives it.

    By default each thread gets one of its own, up to eight for each core, and each keeps what its thread once used.
    """
    with suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def join_threads(threads: Iterable[threading.Thread], seconds: float) -> None:
    """Wait until threads end, at most some seconds for all of them."""
    ends_at = time.monotonic() + seconds
    for thread in threads:
        thread.join(timeout=max(0.0, ends_at - time.monotonic()))
