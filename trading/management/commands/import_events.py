from pathlib import Path

from django.core.management.base import CommandParser

from config.lib.work.commands import KeelCommand
from trading.market.imports.events import CSV_COLUMNS, iter_shipped_events, read_events, store_events


class Command(KeelCommand):
    help = (
        "Take scheduled events into the calendar: from a CSV or JSON file with the columns"
        f" {', '.join(CSV_COLUMNS)}, or without a file those that Keel ships (Fed decisions and consumer prices)."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, nargs="?")

    def run(self, *, file: Path | None, **options: object) -> None:
        count = store_events(iter_shipped_events() if file is None else list(read_events(file)))
        self.say(f"{count} events", events=count)
