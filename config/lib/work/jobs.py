"""Background work: scheduled jobs, and tasks on one row."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Final, NamedTuple, Self
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

Clock = Callable[[], datetime]
LANES: Final = ("agents", "chats", "reflections", "venues", "backtests", "mails")


class Key(NamedTuple):
    """A row and its owner."""

    user_id: int
    row_id: UUID

    def __str__(self) -> str:
        return f"{self.user_id}:{self.row_id}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the key of a text."""
        user_id, row_id = text.split(":")
        return cls(int(user_id), UUID(row_id))


@dataclass(frozen=True, slots=True)
class Job:
    """A scheduled job; `run(now)` opens its scopes, returns a summary.

    Jobs of one lane run one after another, those of different lanes side by side.
    """

    name: str
    every: timedelta
    run: Callable[[datetime], str]
    lane: str = "quick"


@dataclass(frozen=True, slots=True)
class Task:
    """Work on one row, deferred by name and key; the row says what is to be done.

    `run` is idempotent, opens its own scopes and returns a summary. `list_due` returns the rows whose time has come or
    whose worker died, inside the system's scope; it is asked `every` so often. A lane is a group of threads.
    """

    name: str
    lane: str
    every: timedelta
    list_due: Callable[[datetime], Iterable[Key]]
    run: Callable[[Key, Clock], str]


@cache
def list_work() -> list[Job | Task]:
    """Return the jobs and tasks that the settings name."""
    return [work for path in settings.JOBS for work in import_string(path)]


def list_jobs() -> list[Job]:
    """Return the scheduled jobs that the settings name."""
    return [work for work in list_work() if isinstance(work, Job)]


def list_tasks() -> list[Task]:
    """Return the tasks that the settings name."""
    return [work for work in list_work() if isinstance(work, Task)]


def get_task(name: str) -> Task:
    """Return a task. Raises KeyError."""
    return {task.name: task for task in list_tasks()}[name]


def count_threads(lane: str) -> int:
    """Return the number of tasks of a lane that a process runs side by side."""
    return 1 if lane == "backtests" else settings.AGENT_WORKERS


def start_clock(now: datetime) -> Clock:
    """Return a clock from `now`, for leases during model calls."""
    began = time.monotonic()
    return lambda: now + timedelta(seconds=time.monotonic() - began)
