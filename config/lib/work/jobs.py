"""Scheduled jobs: idempotent, run at most once per period."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.core.cache import cache
from django.utils.module_loading import import_string

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Job:
    """A scheduled job; `run(now)` opens its scopes, returns a summary.

    Jobs of one lane run one after another, those of different lanes side by side: a job that may take minutes has a
    lane of its own.
    """

    name: str
    every: timedelta
    run: Callable[[datetime], str]
    lane: str = "quick"


@dataclass(frozen=True, slots=True)
class JobRun:
    """The result of one run."""

    name: str
    summary: str
    has_failed: bool


def list_jobs() -> list[Job]:
    """Return the jobs that the settings name."""
    return [job for path in settings.JOBS for job in import_string(path)]


def start_clock(now: datetime) -> Clock:
    """Return a clock from `now`, for leases during model calls."""
    began = time.monotonic()
    return lambda: now + timedelta(seconds=time.monotonic() - began)


def run_due(jobs: Iterable[Job], now: datetime) -> Iterator[JobRun]:
    """Run the due jobs that no worker has taken.

    Workers that share a cache (Redis) share the work; a job that runs twice does no harm, being idempotent.
    """
    for job in jobs:
        if _take_turn(job, now):
            yield run_job(job, now)


def _take_turn(job: Job, now: datetime) -> bool:
    seconds = job.every.total_seconds()
    return bool(cache.add(f"job:{job.name}:{int(now.timestamp() // seconds)}", True, timeout=2 * seconds))


def run_job(job: Job, now: datetime) -> JobRun:
    """Run one job now; log and report its failure."""
    try:
        return JobRun(job.name, job.run(now), has_failed=False)
    except Exception:
        logger.exception("Job %s failed", job.name)
        return JobRun(job.name, "failed; the log says why", has_failed=True)
