import time
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser
from django.db import close_old_connections
from django.utils import timezone

from config.lib.work.commands import KeelCommand, get_user_by_email
from trading.runs.due import Ran, run_due

PAUSE_SECONDS: Final = 5.0


class Command(KeelCommand):
    help = "Run the due ticks and commands of paper deployments until stopped."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", metavar="EMAIL", help="only this user's")
        parser.add_argument("--once", action="store_true", help="do what is due now and exit")

    def run(self, *, user: str | None, once: bool, **options: Any) -> None:
        user_id = None if user is None else get_user_by_email(user).pk
        try:
            while True:
                ran = self._run_due(user_id)
                if once:
                    break
                close_old_connections()
                time.sleep(PAUSE_SECONDS)
        except KeyboardInterrupt:
            self.say("Stopped.", stopped=True)
            return
        failed = sum(one.has_failed for one in ran)
        self.say(f"{len(ran)} deployments were due, {failed} failed", due=len(ran), failed=failed)
        if failed and failed == len(ran):
            raise CommandError("Every deployment failed; see the log.")

    def _run_due(self, user_id: int | None) -> list[Ran]:
        ran = []
        for one in run_due(timezone.now(), user_id=user_id):
            ran.append(one)
            self._say_outcome(one)
        return ran

    def _say_outcome(self, ran: Ran) -> None:
        deployment_id = ran.key.row_id
        for command in ran.commands:
            kind, came_to = command.get_kind_display(), command.get_status_display().lower()
            self.say(
                f"{deployment_id}: {kind}, {came_to}",
                deployment_id=deployment_id,
                command=command.kind,
                status=command.status,
            )
        if ran.has_failed:
            self.say(f"{deployment_id}: failed; see the log", deployment_id=deployment_id, failed=True)
        if ran.ticked is None:
            return
        ticked, snapshot = ran.ticked, ran.ticked.snapshot
        came_to = ticked.outcome.value if snapshot is None else snapshot.get_verdict_display().lower()
        said = "" if snapshot is None or not snapshot.verdict_text else f" ({snapshot.verdict_text})"
        self.say(
            f"{deployment_id}: tick {ticked.number} of {ticked.at:%Y-%m-%d %H:%M}, {came_to}{said}",
            deployment_id=deployment_id,
            tick=ticked.number,
            at=ticked.at.isoformat(),
            outcome=ticked.outcome,
            verdict=None if snapshot is None else snapshot.verdict,
            proposal=None if snapshot is None else snapshot.proposal,
        )
