"""Defer a task on a row to the engine that the settings name.

Call it in the transaction that changes the row: both engines take the task when that commits, and drop it when that is
rolled back. The row is the truth: a task that is lost is found by its `list_due`, and one that is deferred twice finds
nothing to do.
"""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from django.conf import settings

from config.lib.work import embedded
from config.lib.work.jobs import Key


class Engine(Protocol):
    """Where deferred tasks wait, and who runs them."""

    def put(self, name: str, keys: Sequence[Key], *, at: datetime | None, is_found: bool) -> None:
        """Take tasks; one that waits already is not taken twice."""

    def work(self, stopped: threading.Event, run: Callable[[str, Key], None]) -> None:
        """Run the waiting tasks of all lanes until `stopped` is set."""


def get_engine() -> Engine:
    """Return the engine that the settings name."""
    if settings.JOBS_ENGINE == "embedded":
        return embedded
    from config.lib.work import postgresql_queue  # noqa: PLC0415 - it needs the extra `jobs`

    return postgresql_queue


def defer(task: str, key: Key, *, at: datetime | None = None) -> None:
    """Run a task on a row in the background, at once or at an instant."""
    get_engine().put(task, [key], at=at, is_found=False)


def defer_found(task: str, keys: Sequence[Key]) -> None:
    """Run a task on rows that were found due, after those that users wait for."""
    if keys:
        get_engine().put(task, keys, at=None, is_found=True)
