import argparse
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from config.lib.figures import format_count
from config.lib.owned import owned_tx
from config.lib.work.commands import KeelCommand, get_user_by_email
from trading.intake.files import PROBLEMS_SHOWN, check_reading, import_reading
from trading.intake.formats import FIELDS, FillMapping, propose_mapping
from trading.intake.ledgers import add_reading_to
from trading.intake.reading import Reading, read_fills
from trading.intake.tables import read_table
from trading.management.owners import add_optional_user_argument, find_deployment_owner
from trading.models import EntrySource, Trader
from trading.record.deployments import get_pushed_deployment


class Command(KeelCommand):
    help = (
        "Import fills from a venue's export, or from any CSV: into the user's own trades, or into the record of another"
        " program's deployment. The same file twice changes nothing."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--deployment", type=UUID, help="of another program: see `deploy --broker live`")
        add_optional_user_argument(parser)
        parser.add_argument("--account", default="", metavar="ADDRESS", help="your address, to identify liquidations")
        parser.add_argument(
            "--ledger", default="", metavar="NAME", help="the account's, if you have several at a venue"
        )
        parser.add_argument("--zone", help="the file's time zone, where it names none; by default the user's")
        parser.add_argument(
            "--column",
            action="append",
            type=_parse_column,
            default=[],
            metavar="FIELD=COLUMN",
            help=f"what a column is; fields are {', '.join(FIELDS)}",
        )
        parser.add_argument("--dates", choices=("ymd", "dmy", "mdy"), help="the order of day, month and year")
        parser.add_argument("--leave-out", action="store_true", help="leave out the rows that cannot be read")
        parser.add_argument("--dry-run", action="store_true", help="say what was found, and import nothing")

    def run(self, *, file: Path, user: str | None, deployment: UUID | None, **options: Any) -> None:
        if deployment is None and user is None:
            raise CommandError("Say whose trades they are with --user, or name a --deployment.")
        owner = find_deployment_owner(deployment, email=user) if deployment else get_user_by_email(user or "")
        try:
            table = read_table(file.read_bytes())
        except OSError as error:
            raise CommandError(f"{file.name} cannot be opened: {error.strerror}.") from error
        now = timezone.now()
        zone = owner.time_zone if isinstance(owner, Trader) else "UTC"
        changes = {name: options[name] for name in ("account", "ledger", "zone", "dates")}
        mapping = propose_mapping(table, zone=zone).correct(options["column"], **changes)
        reading = read_fills(table, mapping, now=now)
        self._say_found(reading, mapping)
        if options["dry_run"]:
            return
        check_reading(reading, leaves_out=options["leave_out"])
        with owned_tx(owner):
            if deployment is not None:
                details = {"format": mapping.format, "zone": mapping.zone}
                target = get_pushed_deployment(deployment)
                done = [add_reading_to(target, reading, name=file.name, details=details, now=now)]
            else:
                added = import_reading(reading, mapping, source=EntrySource.FILE, name=file.name, now=now)
                done = [one.record for one in added]
        for record in done:
            conflicts = len(record.conflicts)
            self.say(
                f"{record.new_fills} new fills, {record.known_fills} known; {format_count(record.opened, 'new trade')},"
                f" {record.closed} closed, {record.gaps} with history missing"
                + (f"; {conflicts} known ones came with other numbers and were kept" if conflicts else ""),
                new_fills=record.new_fills,
                known_fills=record.known_fills,
                opened=record.opened,
                closed=record.closed,
                gaps=record.gaps,
                conflicts=conflicts,
            )

    def _say_found(self, reading: Reading, mapping: FillMapping) -> None:
        found = mapping.recognised.replace(":", ",") or "a table that Keel does not know"
        self.stderr.write(f"{found}: {len(reading.fills)} fills, {len(reading.funding)} funding payments")
        for problem in reading.problems[:PROBLEMS_SHOWN]:
            where = f"{reading.row_word} {problem.row}: " if problem.row else ""
            self.stderr.write(f"  {where}{problem.message}")


def _parse_column(text: str) -> tuple[str, str]:
    name, found, column = text.partition("=")
    if not found or name not in FIELDS:
        raise argparse.ArgumentTypeError(f"write FIELD=COLUMN with one of {', '.join(FIELDS)}")
    return name, column
