"""The embedded engine: tasks wait in the memory of the process that runs them.

Without a worker in this process a task is dropped, and a worker elsewhere finds the row within seconds.
"""

import heapq
import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import count
from typing import Final

from django.db import close_old_connections, connections, transaction
from django.utils import timezone

from config.lib.threads import join_threads
from config.lib.work.jobs import LANES, Key, count_threads, get_task

logger = logging.getLogger(__name__)

GRACE_SECONDS: Final = 5.0  # for what runs when it is stopped; leases let others go on with it
IDLE_SECONDS: Final = 5.0

Item = tuple[str, Key]


class FairQueue:
    """The waiting tasks of a lane: users take turns, and a row's task runs once at a time."""

    def __init__(self) -> None:
        self._users: dict[int, dict[Item, None]] = {}  # the first in turn first; dicts keep the order and find fast
        self._running: set[Item] = set()
        self._later: list[tuple[datetime, int, Item]] = []
        self._numbers = count()
        self._changed = threading.Condition()

    def put(self, item: Item, at: datetime | None = None) -> None:
        """Add a task unless it waits already."""
        with self._changed:
            if at is not None:
                heapq.heappush(self._later, (at, next(self._numbers), item))
            else:
                self._users.setdefault(item[1].user_id, {})[item] = None
            self._changed.notify()

    def take(self, read_clock: Callable[[], datetime], patience: float) -> Item | None:
        """Return the next task, None after `patience` seconds without one."""
        with self._changed:
            item = self._find(read_clock())
            if item is None:
                until = (self._later[0][0] - read_clock()).total_seconds() if self._later else patience
                self._changed.wait(max(0, min(until, patience)))
                item = self._find(read_clock())
            if item is not None:
                self._running.add(item)
            return item

    def wake(self) -> None:
        """Let those who wait in `take` return."""
        with self._changed:
            self._changed.notify_all()

    def finish(self, item: Item) -> None:
        """Let the row's next task run."""
        with self._changed:
            self._running.discard(item)
            self._changed.notify()

    def _find(self, now: datetime) -> Item | None:
        while self._later and self._later[0][0] <= now:
            _, _, later = heapq.heappop(self._later)
            self._users.setdefault(later[1].user_id, {})[later] = None
        for user_id, waiting in self._users.items():
            item = next((one for one in waiting if one not in self._running), None)
            if item is not None:
                del waiting[item], self._users[user_id]
                if waiting:
                    self._users[user_id] = waiting  # behind the other users
                return item
        return None


_queues: dict[str, FairQueue] = {}  # by lane; empty: no worker in this process


def put(name: str, keys: Sequence[Key], *, at: datetime | None, is_found: bool) -> None:
    """Let tasks wait once the transaction commits."""
    if not _queues:
        return
    queue = _queues[get_task(name).lane]

    def add() -> None:
        for key in keys:
            queue.put((name, key), at)

    transaction.on_commit(add)


def work(stopped: threading.Event, run: Callable[[str, Key], None]) -> None:
    """Run the waiting tasks of all lanes until `stopped` is set."""
    _queues.update({lane: FairQueue() for lane in LANES})
    threads = [
        threading.Thread(target=_serve_lane, args=(queue, stopped, run), name=f"tasks: {lane}", daemon=True)
        for lane, queue in _queues.items()
        for _ in range(count_threads(lane))
    ]
    for thread in threads:
        thread.start()
    stopped.wait()
    for queue in _queues.values():
        queue.wake()
    _queues.clear()
    join_threads(threads, GRACE_SECONDS)


def _serve_lane(queue: FairQueue, stopped: threading.Event, run: Callable[[str, Key], None]) -> None:
    while not stopped.is_set():
        item = queue.take(timezone.now, IDLE_SECONDS)
        if item is None:
            connections.close_all()
            continue
        try:
            close_old_connections()
            run(*item)
        except Exception:
            logger.exception("The worker broke; it goes on")
        finally:
            close_old_connections()
            queue.finish(item)
