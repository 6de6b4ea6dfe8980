import logging
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Final

from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError, InterfaceError, close_old_connections, connections
from django.utils import timezone

from config.lib.observe.metrics import serve_metrics
from config.lib.operations.health import require_migrations
from config.lib.threads import join_threads, share_arenas
from config.lib.work.commands import RunCommand
from config.lib.work.defer import get_engine
from config.lib.work.jobs import Job, list_jobs
from config.lib.work.runs import JobRun, list_finders, log_run, run_due, run_task

logger = logging.getLogger(__name__)

TICK_SECONDS: Final = 5.0
RESTART_SECONDS: Final = 5.0
GRACE_SECONDS: Final = 5.0  # for what runs when it is stopped; leases let others go on with it

Report = Callable[[JobRun], None]


class Command(RunCommand):
    help = "Run the scheduled jobs and the deferred tasks until stopped; with --once, all that is due now."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="run every job and every due task once and exit")
        parser.add_argument("--metrics-port", type=int, help="serve this worker's metrics on this port")
        parser.add_argument("--metrics-host", default="127.0.0.1", help="the address to serve them on")

    def run(  # type: ignore[override]
        self, *, once: bool, metrics_port: int | None, metrics_host: str, **options: object
    ) -> None:
        share_arenas()
        require_migrations()
        if once:
            super().run()
            return
        stopped = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopped.set())
        if metrics_port is not None and not serve_metrics(metrics_host, metrics_port):
            raise CommandError("There are no metrics: set METRICS_TOKEN and install keel[metrics].")
        work_until(stopped, log_run)
        self.say("Stopped.", stopped=True)


def work_until(stopped: threading.Event, report: Report) -> None:
    """Run due jobs, one thread per lane, and deferred tasks until `stopped` is set."""
    jobs = [*list_jobs(), *list_finders()]
    lanes = [
        threading.Thread(
            target=_keep_working,
            args=([job for job in jobs if job.lane == lane], stopped, report),
            name=f"jobs: {lane}",
            daemon=True,
        )
        for lane in sorted({job.lane for job in jobs})
    ]
    for thread in lanes:
        thread.start()
    get_engine().work(stopped, lambda name, key: report(run_task(name, key, timezone.now())))
    join_threads(lanes, GRACE_SECONDS)


def _keep_working(jobs: Sequence[Job], stopped: threading.Event, report: Report) -> None:
    """Run a lane of jobs; restart its loop after an error."""
    while not stopped.is_set():
        try:
            close_old_connections()
            for run in run_due(jobs, timezone.now()):
                report(run)
            pause = TICK_SECONDS
        except (DatabaseError, InterfaceError) as error:
            logger.warning("The job worker waits for the database (%s)", type(error).__name__)
            pause = RESTART_SECONDS
        except Exception:
            logger.exception("The job worker broke; it starts again")
            pause = RESTART_SECONDS
        finally:
            connections.close_all()
        stopped.wait(pause)
