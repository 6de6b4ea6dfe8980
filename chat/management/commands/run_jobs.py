import threading
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import close_old_connections
from django.utils import timezone

from chat.jobs import JOBS
from config.lib.commands import KeelCommand
from config.lib.jobs import JobRun, run_due, run_job

TICK_SECONDS = 5.0


class Command(KeelCommand):
    help = "Run the jobs that come round by the clock, until stopped; with --once each of them now, one time."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add how often."""
        parser.add_argument("--once", action="store_true", help="run every job once and exit")

    def run(self, *, once: bool, **options: Any) -> None:
        """Run all jobs once, or what is due again and again."""
        if once:
            runs = [run_job(job, timezone.now()) for job in JOBS]
            for run in runs:
                self._report(run)
            if all(run.has_failed for run in runs):
                raise CommandError("Every job failed.")
            return
        try:
            work_until(threading.Event(), self._report)
        except KeyboardInterrupt:
            self.say("Stopped.", stopped=True)

    def _report(self, run: JobRun) -> None:
        self.say(f"{run.name}: {run.summary}", job=run.name, summary=run.summary, failed=run.has_failed)


def work_until(stopped: threading.Event, report: Any) -> None:
    """Run what is due every few seconds until `stopped` is set."""
    while not stopped.is_set():
        close_old_connections()
        for run in run_due(JOBS, timezone.now()):
            report(run)
        close_old_connections()
        stopped.wait(TICK_SECONDS)
