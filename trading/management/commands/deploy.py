from decimal import Decimal
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from config.lib.owned import owned_tx
from config.lib.proofs import OPERATOR
from config.lib.work.commands import KeelCommand, add_user_argument, get_user_by_email
from trading.management.arguments import positive_argument
from trading.management.owners import find_skill
from trading.models import BrokerKind
from trading.record.deployments import STARTING_EQUITY_USD, deploy_skill


class Command(KeelCommand):
    help = (
        "Set the newest version of a skill to run. On paper the runner ticks it from now on; live means that another"
        " program does, and that its fills are imported or pushed."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_user_argument(parser)
        parser.add_argument("--skill", metavar="NAME_OR_ID", help="by default the user's only skill")
        parser.add_argument("--broker", choices=[BrokerKind.PAPER, BrokerKind.LIVE], default=BrokerKind.PAPER)
        parser.add_argument("--equity", type=positive_argument, help=f"initial USD; on paper {STARTING_EQUITY_USD:,}")

    def run(self, *, user: str, skill: str | None, broker: str, equity: Decimal, **options: Any) -> None:
        with owned_tx(get_user_by_email(user)):
            deployment = deploy_skill(
                skill_id=find_skill(skill).pk,
                broker_kind=broker,
                starting_equity_usd=equity,
                proof=OPERATOR,
                now=timezone.now(),
            )
            name, version = deployment.skill.name, deployment.version.version
        self.say(
            f"{deployment.pk}: {name}, version {version}, {deployment.get_broker_kind_display().lower()}.",
            deployment_id=deployment.pk,
            skill=name,
            version=version,
        )
