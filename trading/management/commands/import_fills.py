from pathlib import Path
from uuid import UUID

from django.core.management.base import CommandParser
from django.utils import timezone

from config.lib.owned import owned_tx
from config.lib.work.commands import KeelCommand
from trading.management.owners import add_optional_user_argument, find_deployment_owner
from trading.models import EntrySource
from trading.record.deployments import get_pushed_deployment
from trading.record.intake.entries import Entries
from trading.record.intake.files import CSV_COLUMNS, read_fills
from trading.record.intake.services import add_entries


class Command(KeelCommand):
    help = (
        "Take fills that another program made into a deployment's ledger: Hyperliquid's JSON, or a CSV with the columns"
        f" {', '.join(CSV_COLUMNS)}. The same file twice changes nothing."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--deployment", type=UUID, required=True, help="of another program: see `deploy --broker live`"
        )
        add_optional_user_argument(parser)
        parser.add_argument("--account", default="", metavar="ADDRESS", help="your address, to identify liquidations")

    def run(self, *, file: Path, user: str | None, deployment: UUID, account: str, **options: object) -> None:
        owner = find_deployment_owner(deployment, email=user)
        fills = read_fills(file, account=account)
        with owned_tx(owner):
            get_pushed_deployment(deployment)
            done = add_entries(
                deployment_id=deployment,
                entries=Entries(fills),
                source=EntrySource.FILE,
                name=file.name,
                now=timezone.now(),
            )
        self.say(
            f"{done.new_fills} new fills, {done.known_fills} known; {done.trades} trades,"
            f" {done.open_trades} open, {done.gaps} with history missing"
            + (f"; {len(done.conflicts)} known ones came with other numbers and were kept" if done.conflicts else ""),
            new_fills=done.new_fills,
            known_fills=done.known_fills,
            trades=done.trades,
            open_trades=done.open_trades,
            gaps=done.gaps,
            conflicts=len(done.conflicts),
        )
