"""The base command of a job over all users.

It has a dry run, a progress line, a summary and an exit code.
"""

from datetime import datetime

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from config.lib.work.commands import KeelCommand
from config.lib.work.per_user import for_each_user


class SweepCommand(KeelCommand):
    """A job over all users; `sweep` does one user's work."""

    reason = ""
    summary = "{touched} rows of {users} users"

    def sweep(self, now: datetime, is_dry_run: bool) -> int:
        """Do or, in a dry run, count one user's work."""
        raise NotImplementedError

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add `--dry-run`."""
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")

    def run(self, *, dry_run: bool, **options: object) -> None:
        """Sweep user after user; log and count failures."""
        now = timezone.now()
        touched = failed = users = 0
        for share in for_each_user(self.reason, lambda: self.sweep(now, dry_run)):
            users += 1
            failed += share.has_failed
            touched += share.result or 0
            self._show_progress(users, share.total)
        said = self.summary.format(touched=touched, users=users) + (f", {failed} users failed" if failed else "")
        self.say(f"Dry run: {said}" if dry_run else said, touched=touched, users=users, failed=failed, dry_run=dry_run)
        if failed and failed == users:
            raise CommandError("It failed for every user; the log says why.")

    def _show_progress(self, done: int, total: int) -> None:
        # On a terminal only: a log needs no progress.
        if self.stderr.isatty() and (done == total or done % 100 == 0):
            self.stderr.write(f"\r{done} of {total} users", ending="\n" if done == total else "")
