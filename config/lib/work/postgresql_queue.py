"""The engine beyond one machine: Procrastinate's queue in PostgreSQL.

A task is enqueued in the caller's transaction, and the commit wakes the workers. What has run leaves the queue:
`WorkRun` keeps the last result and the tries.
"""

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

import procrastinate
from django.db import close_old_connections, transaction
from procrastinate.contrib.django import app
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.contrib.django.models import ProcrastinateJob
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException, UniqueViolation
from procrastinate.jobs import Job, Status

from config.lib.work.jobs import LANES, Key, count_threads, get_task

logger = logging.getLogger(__name__)

TASK: Final = "run_task"
GRACE_SECONDS: Final = 5.0
RESCUE_SECONDS: Final = 10.0  # between two looks for tasks of workers that died
RESTART_SECONDS: Final = 5.0
STOP_SECONDS: Final = 0.2
POLL_SECONDS: Final = 1.0  # for tasks whose time has come or whose row is free again; a commit wakes at once
_LATER: Final = -1_000_000  # a task that waits for its time holds up no other of its row


def put(name: str, keys: Sequence[Key], *, at: datetime | None, is_found: bool) -> None:
    """Enqueue tasks in this transaction; one that waits already stays one."""
    if is_found:
        # In one query and one insertion, or a task that ends meanwhile would be enqueued again.
        locks = [f"{name}:{key}" for key in keys]
        at_work = set(ProcrastinateJob.objects.filter(lock__in=locks).values_list("lock", flat=True))
        keys = [key for key, lock in zip(keys, locks, strict=True) if lock not in at_work]
    jobs, ranks = [], Counter[int]()
    for key in keys:
        ranks[key.user_id] += 1
        lock = f"{name}:{key}"
        job = Job(
            id=None,
            queue=get_task(name).lane,
            lock=lock,
            queueing_lock=f"{lock}:{at or ''}",
            task_name=TASK,
            task_kwargs={"name": name, "key": str(key)},
            scheduled_at=at,
            # Users take turns with what was found; what they wait for comes first.
            priority=_LATER if at else -ranks[key.user_id] if is_found else 0,
        )
        jobs.append(job)
    try:
        with transaction.atomic():
            app.job_manager.batch_defer_jobs(jobs)
    except AlreadyEnqueued:
        for job in jobs if len(jobs) > 1 else ():
            with suppress(AlreadyEnqueued), transaction.atomic():
                app.job_manager.defer_job(job)


def work(stopped: threading.Event, run: Callable[[str, Key], None]) -> None:
    """Run the waiting tasks of all lanes until `stopped` is set."""
    while not stopped.is_set():
        try:
            asyncio.run(_serve(stopped, run))
        except Exception:
            logger.exception("The workers of the queue broke; they start again")
            stopped.wait(RESTART_SECONDS)


async def _serve(stopped: threading.Event, run: Callable[[str, Key], None]) -> None:
    # An app of its own: the workers' connector listens, the site's is the connection of the caller's transaction.
    workers = procrastinate.App(connector=DjangoConnector().get_worker_connector())

    @workers.task(name=TASK)
    async def run_one(name: str, key: str) -> None:
        await _run_in_daemon(lambda: run(name, Key.parse(key)))

    async with workers.open_async():
        running = [
            asyncio.create_task(
                workers.run_worker_async(
                    queues=[lane],
                    concurrency=count_threads(lane),
                    fetch_job_polling_interval=POLL_SECONDS,
                    delete_jobs="always",
                    install_signal_handlers=False,
                    shutdown_graceful_timeout=GRACE_SECONDS,
                )
            )
            for lane in LANES
        ]
        running += [asyncio.create_task(_rescue_tasks(workers)), asyncio.create_task(_wait_for(stopped))]
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for worker in running:
            worker.cancel()
        ends = await asyncio.gather(*running, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception):
            raise end


async def _run_in_daemon(run: Callable[[], None]) -> None:
    # A daemon, unlike the threads of an executor: a model that is slow must not keep the process from ending.
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def run_and_tell() -> None:
        close_old_connections()
        try:
            run()
        except Exception:
            logger.exception("The worker broke; it goes on")
        finally:
            close_old_connections()
            with suppress(RuntimeError):  # the loop is over
                loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run_and_tell, name="task", daemon=True).start()
    await done.wait()


async def _wait_for(stopped: threading.Event) -> None:
    while not stopped.is_set():  # noqa: ASYNC110 - it is set by another thread
        await asyncio.sleep(STOP_SECONDS)


async def _rescue_task(workers: procrastinate.App, job: Job) -> None:
    try:
        await workers.job_manager.retry_job(job)
    except UniqueViolation:
        # The next run of the row waits in the queue already, and would wait for this one for ever.
        await workers.job_manager.finish_job(job, Status.FAILED, delete_job=True)
    except ConnectorException:
        logger.info("Task %s was rescued by another worker", job.id)


async def _rescue_tasks(workers: procrastinate.App) -> None:
    """Run the tasks of workers that died again."""
    while True:
        with suppress(ConnectorException):  # the database is away: the next look follows soon
            for job in await workers.job_manager.get_stalled_jobs():
                await _rescue_task(workers, job)
        await asyncio.sleep(RESCUE_SECONDS)
