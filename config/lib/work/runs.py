"""Run jobs and tasks, note the result, try failed tasks again."""

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from django.db import DatabaseError
from django.db.models import Max

from config.lib.errors import DomainError
from config.lib.owned import system
from config.lib.work.defer import defer, defer_found
from config.lib.work.jobs import Job, Key, Task, get_task, list_tasks, list_work, start_clock
from config.lib.work.models import BACKUP, WorkRun

logger = logging.getLogger(__name__)

MAX_TRIES: Final = 5
FIRST_RETRY: Final = timedelta(minutes=1)  # five times as long before each further one
REST: Final = timedelta(days=1)  # after the last try, unless staff retry it
KEPT: Final = timedelta(days=7)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class JobRun:
    """The result of one run."""

    name: str
    summary: str
    has_failed: bool
    key: str = ""

    @property
    def is_idle(self) -> bool:
        """Whether nothing was to be done, as the summary counts it."""
        return not self.has_failed and re.match(r"(0|no|nothing)\b", self.summary) is not None


def log_run(run: JobRun) -> None:
    """Log a run of the worker; what had nothing to do at DEBUG."""
    level = logging.ERROR if run.has_failed else logging.DEBUG if run.is_idle else logging.INFO
    logger.log(level, "%s: %s", f"{run.name} {run.key}".strip(), run.summary)


def list_finders() -> list[Job]:
    """Return the jobs that defer the due rows of each task."""

    def defer_due(task: Task, now: datetime) -> str:
        keys = list_due(task, now)
        defer_found(task.name, keys)
        return f"{len(keys)} due"

    return [Job(f"find:{task.name}", task.every, partial(defer_due, task), lane="due") for task in list_tasks()]


def list_due(task: Task, now: datetime) -> list[Key]:
    """Return the due rows of a task, without those that failed and wait."""
    with system(f"rows due for {task.name}"):
        keys = list(task.list_due(now))
    if not keys:
        return []
    waiting = set(WorkRun.objects.filter(name=task.name, next_at__gt=now).values_list("key", flat=True))
    return [key for key in keys if str(key) not in waiting]


def run_due(jobs: Iterable[Job], now: datetime) -> Iterator[JobRun]:
    """Run the due jobs that no other worker has taken."""
    jobs = list(jobs)
    rows = WorkRun.objects.filter(name__in=[job.name for job in jobs], key="")
    known = {run.name: run.next_at for run in rows}
    missing = [WorkRun(name=job.name, next_at=now) for job in jobs if job.name not in known]
    WorkRun.objects.bulk_create(missing, ignore_conflicts=True)
    for job in jobs:
        if (known.get(job.name) or now) > now:
            continue
        next_at = now + job.every - (now - _EPOCH) % job.every
        turn = WorkRun.objects.filter(name=job.name, key="", next_at__lte=now)
        if turn.update(next_at=next_at, started_at=now, finished_at=None):  # else another worker has taken it
            yield run_job(job, now)


def run_job(job: Job, now: datetime) -> JobRun:
    """Run one job now."""
    return _run(job.name, "", now, lambda: job.run(now))


def run_task(name: str, key: Key, now: datetime) -> JobRun:
    """Run a task on one row now; a failure is tried again later."""
    task, clock = get_task(name), start_clock(now)
    return _run(name, str(key), now, lambda: task.run(key, clock))


def run_rows(task: Task, now: datetime) -> Iterator[JobRun]:
    """Run a task on all due rows here, one after another."""
    clock = start_clock(now)
    return (run_task(task.name, key, clock()) for key in list_due(task, now))


def run_now(names: Collection[str], now: datetime) -> Iterator[JobRun]:
    """Run jobs, and tasks on their due rows, one after another; without names all."""
    for work in list_work():
        if names and work.name not in names:
            continue
        if isinstance(work, Job):
            yield run_job(work, now)
        else:
            yield from run_rows(work, now)


def run_again(run: WorkRun, now: datetime) -> None:
    """Run a job or a task at once, with new tries."""
    run.tries, run.next_at = 0, now
    run.save(update_fields=["tries", "next_at"])
    if run.key:
        defer(run.name, Key.parse(run.key))


def _run(name: str, key: str, now: datetime, work: Callable[[], str]) -> JobRun:
    clock = start_clock(now)
    try:
        result = JobRun(name, work()[:200], has_failed=False, key=key)
    except Exception as problem:
        # The reason goes to a list that all staff may read, and an exception may quote a user.
        reason = str(problem) if isinstance(problem, DomainError) else type(problem).__name__
        logger.exception("%s failed", f"{name} {key}".strip())
        result = JobRun(name, f"failed: {reason}"[:200], has_failed=True, key=key)
    try:
        _note_run(result, now, clock())
    except DatabaseError as problem:
        logger.warning("%s is not noted: %s", name, type(problem).__name__)
    return result


def _note_run(result: JobRun, started_at: datetime, finished_at: datetime) -> None:
    rows = WorkRun.objects.filter(name=result.name, key=result.key)
    tries = (rows.values_list("tries", flat=True).first() or 0) % MAX_TRIES + 1 if result.has_failed else 0
    values: dict[str, Any] = {"started_at": started_at, "finished_at": finished_at, "tries": tries}
    values["summary"] = result.summary
    if result.key:
        pause = FIRST_RETRY * 5 ** (tries - 1) if tries < MAX_TRIES else REST
        values["next_at"] = finished_at + pause if tries else None
    run = WorkRun(name=result.name, key=result.key, **values)
    WorkRun.objects.bulk_create([run], update_conflicts=True, unique_fields=["name", "key"], update_fields=[*values])
    if 0 < tries < MAX_TRIES and result.key:
        defer(result.name, Key.parse(result.key), at=values["next_at"])


def measure_age(now: datetime, name: str = "") -> timedelta | None:
    """Return how long ago a job, by default any, last ended; None: never."""
    runs = WorkRun.objects.filter(name=name) if name else WorkRun.objects.exclude(name=BACKUP)
    ended = runs.aggregate(ended=Max("finished_at"))["ended"]
    return now - ended if ended else None


def count_failed() -> int:
    """Return the number of jobs and tasks whose last run failed."""
    return WorkRun.objects.filter(tries__gt=0).count()


def forget_old_runs(now: datetime) -> str:
    """Delete tasks' runs after a week, but for those that wait for a try."""
    rows = WorkRun.objects.exclude(key="").filter(finished_at__lt=now - KEPT, tries=0)
    return f"{rows.delete()[0]} runs forgotten"


def forget_user(user_id: int) -> None:
    """Delete the runs on a user's rows."""
    WorkRun.objects.filter(key__startswith=f"{user_id}:").delete()
