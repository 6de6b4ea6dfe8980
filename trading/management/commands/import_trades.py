from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from config.lib.work.commands import add_user_argument, check_json_object, get_user_by_email
from trading.intake.feeds import SOURCES
from trading.intake.ledgers import preview_reading
from trading.intake.reading import FileReading
from trading.management.imports import Corrections, FillsCommand
from trading.skills.schemas import parse_block


class Command(FillsCommand):
    help = (
        "Import a user's own trades from a venue's export, or any CSV or JSON of fills, without a skill, as the page"
        " /trades/import/ does. The same file twice changes nothing."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        super().add_own_arguments(parser)
        add_user_argument(parser)
        parser.add_argument("--venue", choices=sorted(SOURCES), help="where they were made, if the file does not tell")
        parser.add_argument(
            "--mapping",
            type=check_json_object,
            default="{}",
            metavar="JSON",
            help=f"what to correct of how the file is read: an object with {', '.join(Corrections.model_fields)};"
            ' such as \'{"columns": {"price": "Kurs"}, "dates": "dmy"}\'',
        )

    def run(self, *, user: str, venue: str | None, mapping: str, **options: Any) -> None:
        label = SOURCES[venue].label if venue else ""
        corrections = parse_block(Corrections, mapping, within="mapping")
        self.import_file(owner=get_user_by_email(user), corrections=corrections, venue=label, **options)

    def preview(self, reading: FileReading, venue: str, now: datetime) -> None:
        """Print the counts of each account."""
        for ledger in preview_reading(reading, venue=venue, now=now):
            counts = ledger.counts
            self.say(
                f"{ledger.label}: {counts.new_fills} new fills, {counts.known_fills} known",
                account=ledger.label,
                new_fills=counts.new_fills,
                known_fills=counts.known_fills,
            )
