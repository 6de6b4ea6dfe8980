from django.core.management.base import CommandParser

from config.lib.work.commands import add_user_argument
from trading.management.commands import import_fills


class Command(import_fills.Command):
    help = (
        "Import a user's own trades from a venue's export, or any CSV or JSON of fills, without a skill, as the page"
        " /trades/import/ does. The same file twice changes nothing."
    )

    def add_owner_arguments(self, parser: CommandParser) -> None:
        add_user_argument(parser)
