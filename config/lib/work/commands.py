"""The base commands: `--json`, refusals, user by e-mail; jobs and tasks that an operator runs by hand."""

import argparse
import json
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from config.lib.errors import DomainError
from config.lib.work.runs import JobRun, run_now


class KeelCommand(BaseCommand):
    """A command that prints text, or JSON lines with `--json`."""

    # The checks import every page and API, and take longer than most commands. `check` and `doctor` run them.
    requires_system_checks = ()
    is_json = False
    run: Callable[..., None]  # what the command is for; its keywords are the command's own arguments

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--json`; subclasses add theirs in `add_own_arguments`."""
        parser.add_argument("--json", action="store_true", help="print JSON lines")
        self.add_own_arguments(parser)

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add the arguments of this command."""

    def handle(self, *args: object, **options: Any) -> None:
        """Run the command; a refusal prints one line and exits 1."""
        self.is_json = options["json"]
        try:
            self.run(**options)
        except DomainError as error:
            raise CommandError(str(error)) from error

    def say(self, text: str, /, **values: object) -> None:
        """Print `text`, or the values as one JSON object."""
        self.stdout.write(json.dumps(values, default=str, ensure_ascii=False) if self.is_json else text)


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


def add_user_argument(parser: CommandParser) -> None:
    """Add the required `--user EMAIL`."""
    parser.add_argument("--user", required=True, metavar="EMAIL", help="whose data the command works on")


def get_user_by_email(email: str) -> AbstractBaseUser:
    """Return the user of an email address. Raises CommandError."""
    user = get_user_model()._default_manager.filter(email=email.lower()).first()
    if user is None:
        raise CommandError(f"There is no user {email}. Make one with `createuser`.")
    return user


def check_json_object(text: str) -> str:
    """Check a JSON object argument; return its text."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("not a JSON object")
    return text
