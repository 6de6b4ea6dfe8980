"""The base command of jobs and tasks that an operator runs by hand."""

from contextlib import nullcontext

from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from config.lib.work.commands import KeelCommand
from config.lib.work.runs import JobRun, run_now


class RunCommand(KeelCommand):
    """Run jobs, and tasks on their due rows, once, as the worker does by the clock."""

    names: tuple[str, ...] = ()  # of jobs and tasks; empty: all
    has_dry_run = False

    def add_own_arguments(self, parser: CommandParser) -> None:
        if self.has_dry_run:
            parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")

    def run(self, *, dry_run: bool = False, **options: object) -> None:
        """Run what is due now; a dry run does the same work and rolls back, so both say the same."""
        with transaction.atomic() if dry_run else nullcontext():
            runs = self.run_due("Dry run: " if dry_run else "")
            if dry_run:
                transaction.set_rollback(True)
        if not runs:
            self.say("Nothing is due.", summary="nothing is due")
        elif all(run.has_failed for run in runs):
            raise CommandError("Everything failed; the log says why.")

    def run_due(self, prefix: str = "") -> list[JobRun]:
        """Run what is due and print each result."""
        runs = []
        for run in run_now(self.names, timezone.now()):
            runs.append(run)
            self.report_run(run, prefix)
        return runs

    def report_run(self, run: JobRun, prefix: str = "") -> None:
        """Print the result of a run."""
        name = f"{run.name} {run.key}".strip()
        text = f"{prefix}{name}: {run.summary}"
        self.say(text, job=run.name, key=run.key, summary=run.summary, failed=run.has_failed)
