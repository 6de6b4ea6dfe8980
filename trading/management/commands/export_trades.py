from uuid import UUID

from django.core.management.base import CommandParser

from config.lib.owned import owned
from config.lib.work.commands import KeelCommand
from trading.management.owners import add_optional_user_argument, find_owner
from trading.record.exports import TRADE_WRITERS
from trading.record.trade_queries import iter_trades


class Command(KeelCommand):
    help = "Print the trades of a user, or of one deployment, newest entry first."

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_optional_user_argument(parser)
        parser.add_argument("--deployment", type=UUID, default=None)
        parser.add_argument("--format", choices=("json", "csv"), default="json", dest="shape")

    def run(self, *, user: str | None, deployment: UUID | None, shape: str, **options: object) -> None:
        with owned(find_owner(deployment, email=user)):
            for text in TRADE_WRITERS[shape](iter_trades(deployment)):
                self.stdout.write(text, ending="")
