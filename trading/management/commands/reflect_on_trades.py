from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from config.lib.work.commands import RunCommand
from trading.management.owners import add_optional_user_argument, find_owner
from trading.reviews.reflection import REFLECT, ReflectionOutcome, reflect


class Command(RunCommand):
    help = "Distil closed trades into lessons for the agents: where it is due, or of one deployment, due or not."
    names = (REFLECT,)

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_optional_user_argument(parser)
        parser.add_argument("--deployment", type=UUID, metavar="ID", help="reflect on this one now, due or not")

    def run(self, *, user: str | None, deployment: UUID | None, **options: object) -> None:  # type: ignore[override]
        if deployment is None:
            super().run()
            return
        owner = find_owner(deployment, email=user)
        done = reflect(deployment, user_id=owner.pk, now=timezone.now(), clock=timezone.now, is_forced=True)
        if done.outcome == ReflectionOutcome.FAILED:
            raise CommandError(done.error)
        self.say(f"{deployment}: {done.outcome}", deployment=deployment, outcome=done.outcome)
