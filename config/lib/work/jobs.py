"""Work that comes round by the clock: each job is idempotent, and each turn of the clock runs it once."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.core.cache import cache
from django.utils.module_loading import import_string

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do every so often; `run(now)` opens its own doors and returns a summary line.

    Jobs of one lane run one after another, those of different lanes side by side: a job that may take minutes has a
    lane of its own.
    """

    name: str
    every: timedelta
    run: Callable[[datetime], str]
    lane: str = "quick"


@dataclass(frozen=True, slots=True)
class JobRun:
    """How one run of a job ended."""

    name: str
    summary: str
    has_failed: bool


def list_jobs() -> list[Job]:
    """Return the jobs of all apps; the settings name them, since no app knows all the others."""
    return [job for path in settings.JOBS for job in import_string(path)]


def start_clock(now: datetime) -> Callable[[], datetime]:
    """Return a clock that goes on from `now`: leases are renewed while models answer."""
    began = time.monotonic()
    return lambda: now + timedelta(seconds=time.monotonic() - began)


def run_due(jobs: Iterable[Job], now: datetime) -> Iterator[JobRun]:
    """Run, and yield, the jobs whose turn of the clock at `now` nobody has taken.

    Workers that share a cache (Redis) share the work; a job that runs twice does no harm, being idempotent.
    """
    for job in jobs:
        if _take_turn(job, now):
            yield run_job(job, now)


def _take_turn(job: Job, now: datetime) -> bool:
    seconds = job.every.total_seconds()
    try:
        return bool(cache.add(f"job:{job.name}:{int(now.timestamp() // seconds)}", True, timeout=2 * seconds))
    except Exception:
        # Redis is away: the turn is taken when it is back, and the worker lives on.
        logger.exception("Nobody can tell whose turn job %s is", job.name)
        return False


def run_job(job: Job, now: datetime) -> JobRun:
    """Run one job now; what goes wrong in it is logged and reported, and stops no other job."""
    try:
        return JobRun(job.name, job.run(now), has_failed=False)
    except Exception:
        logger.exception("Job %s failed", job.name)
        return JobRun(job.name, "failed; the log says why", has_failed=True)
