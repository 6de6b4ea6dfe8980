from collections import Counter
from datetime import datetime
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from config.lib.owned import owned, system
from config.lib.work.commands import KeelCommand, get_user_by_email
from config.lib.work.jobs import Key
from trading.management.owners import add_optional_user_argument, find_deployment_owner
from trading.reviews.reflection import Outcome, ReflectionResult, list_due, list_reviewable, reflect_all


class Command(KeelCommand):
    help = (
        "Distil closed trades into lessons for the agents: where it is due, of everybody, one user or one deployment."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_optional_user_argument(parser)
        parser.add_argument("--deployment", type=UUID, default=None, metavar="ID")
        parser.add_argument("--force", action="store_true", help="also if not due; needs a user or a deployment")
        parser.add_argument("--dry-run", action="store_true", help="list the due reflections without running them")

    def run(self, *, user: str | None, deployment: UUID | None, force: bool, dry_run: bool, **options: object) -> None:
        now = timezone.now()
        if force and user is None and deployment is None:
            raise CommandError("Name a user or a deployment with --force.")
        due = self._list_due(user, deployment, force, now)
        if dry_run:
            for _, deployment_id in due:
                self.say(f"{deployment_id}: due", deployment=deployment_id, outcome="due")
            self._sum_up(Counter(), len(due), dry_run=True)
            return
        outcomes: Counter[Outcome] = Counter()
        for reflected in reflect_all(due, now=now, clock=timezone.now, is_forced=force):
            outcomes[reflected.outcome] += 1
            self._say_outcome(reflected)
        self._sum_up(outcomes, len(due), dry_run=False)
        if due and outcomes[Outcome.FAILED] == len(due):
            raise CommandError("Every reflection failed.")

    def _list_due(self, email: str | None, deployment_id: UUID | None, is_forced: bool, now: datetime) -> list[Key]:
        if email is None and deployment_id is None:
            with system("whose trades wait for a reflection"):
                return list_due(now)
        user = find_deployment_owner(deployment_id, email=email) if deployment_id else get_user_by_email(email or "")
        with owned(user):
            listed = list_reviewable() if is_forced else list_due(now)
        if deployment_id is not None:
            mine = Key(user.pk, deployment_id)
            return [mine] if is_forced or mine in listed else []
        return listed

    def _say_outcome(self, reflected: ReflectionResult) -> None:
        note = reflected.note
        words = f"{reflected.deployment_id}: {reflected.outcome}"
        if note is not None:
            words += f", {note.trades_considered} trades, {len(note.findings)} findings, {note.model_used}"
        self.say(
            f"{words}: {reflected.error}" if reflected.error else words,
            deployment=reflected.deployment_id,
            outcome=reflected.outcome,
            note=note.pk if note else None,
            trades=note.trades_considered if note else None,
            findings=note.findings if note else [],
            cost_usd=note.cost_usd if note else None,
            error=reflected.error,
        )

    def _sum_up(self, outcomes: Counter[Outcome], due: int, *, dry_run: bool) -> None:
        counts = {outcome.name.lower(): outcomes[outcome] for outcome in Outcome}
        said = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in Outcome if outcomes[outcome])
        words = f"{due} due" + (f": {said}" if said else "")
        self.say(f"Dry run: {words}" if dry_run else words, due=due, dry_run=dry_run, **counts)
