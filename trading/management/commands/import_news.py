from pathlib import Path

from django.core.management.base import CommandParser

from config.lib.work.commands import KeelCommand
from trading.market.imports.news import NEWS_COLUMNS, read_news, store_news


class Command(KeelCommand):
    help = f"Import news from a CSV or JSON file with the columns {', '.join(NEWS_COLUMNS)}, the last two optional."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def run(self, *, file: Path, **options: object) -> None:
        count = store_news(list(read_news(file)))
        self.say(f"{count} headlines", headlines=count)
