from pathlib import Path

from django.core.management.base import CommandParser

from config.lib.commands import KeelCommand
from trading.imports.news import FUNDING_COLUMNS, read_funding, store_funding


class Command(KeelCommand):
    help = f"Take funding rates from a CSV or JSON file with the columns {', '.join(FUNDING_COLUMNS)}."

    def add_own_arguments(self, parser: CommandParser) -> None:
        """Add the file and where it is from."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--source", default="", help="where the rates are from; by default the file's name")

    def run(self, *, file: Path, source: str, **options: object) -> None:
        """Read all, then write."""
        count = store_funding(list(read_funding(file, source=(source or file.name)[:80])))
        self.say(f"{count} funding rates", funding_rates=count)
