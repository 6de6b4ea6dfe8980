from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser
from django.utils import timezone

from config.lib.owned import owned
from config.lib.work.commands import KeelCommand
from trading.agent.context import preview_prompt, restore_context
from trading.ledger.services import get_deployment
from trading.management.arguments import instant_argument
from trading.management.owners import add_optional_user_argument, find_owner
from trading.models import DecisionSnapshot


class Command(KeelCommand):
    help = (
        "Print what a trading agent sees, byte for byte: at the instant of a tick what was sent then, else what would"
        " be sent."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("deployment", type=UUID)
        parser.add_argument("--at", type=instant_argument, help="such as 2026-01-31T12:00, in UTC; by default now")
        add_optional_user_argument(parser)

    def run(self, *, deployment: UUID, at: datetime | None, user: str | None, **options: Any) -> None:
        at = at or timezone.now()
        with owned(find_owner(deployment, email=user)):
            sent = DecisionSnapshot.objects.filter(deployment=deployment, tick_at=at).first()
            if sent is not None:
                system, context = sent.system_prompt, restore_context(sent).context
            else:
                prompt = preview_prompt(get_deployment(deployment), at=at)
                system, context = prompt.system, prompt.context
        self.say(f"{system}\n\n{context}", system=system, context=context, was_sent=sent is not None)
