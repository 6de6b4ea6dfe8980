import argparse
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from django.contrib.auth.base_user import AbstractBaseUser
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field

from config.lib.figures import format_count
from config.lib.owned import owned, owned_tx
from config.lib.work.commands import KeelCommand, check_json_object
from trading.intake.feeds import SOURCES
from trading.intake.files import PROBLEMS_SHOWN, check_reading, import_reading, read_content
from trading.intake.formats import FIELDS, FORMATS, FillMapping
from trading.intake.ledgers import LedgerPreview, add_reading_to, name_venue, preview_reading
from trading.intake.reading import FileReading
from trading.ledger.entries import IntakeRecord
from trading.management.owners import add_optional_user_argument, find_owner
from trading.models import EntrySource, Trader
from trading.record.deployments import get_pushed_deployment
from trading.skills.schemas import parse_block


class Corrections(BaseModel):
    """What is corrected of a proposed mapping; None: it stays."""

    model_config = ConfigDict(extra="forbid")

    zone: str | None = None
    dates: Literal["ymd", "dmy", "mdy"] | None = None
    decimal: Literal[".", ","] | None = None
    fee_sign: Literal[1, -1] | None = None
    market: Literal["spot", "futures", "margin", "account"] | None = None
    contract_sizes: str | None = Field(default=None, max_length=2_000)
    account: str | None = None
    ledger: str | None = Field(default=None, max_length=20)
    columns: dict[str, str] = {}


class Command(KeelCommand):
    help = (
        "Import fills from a venue's export, or from any CSV: into the user's own trades, or into the record of another"
        " program's deployment. The same file twice changes nothing."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        self.add_owner_arguments(parser)
        parser.add_argument("file", type=Path)
        parser.add_argument("--leave-out", action="store_true", help="leave out the rows that cannot be read")
        parser.add_argument("--dry-run", action="store_true", help="say what was found, and import nothing")
        parser.add_argument("--again", action="store_true", help="import fills that another account has already, too")
        parser.add_argument("--venue", choices=sorted(SOURCES), help="where they were made, if the file does not tell")
        parser.add_argument("--account", metavar="ADDRESS", help="your address, to identify liquidations")
        parser.add_argument("--ledger", metavar="NAME", help="the account's, if you have several at a venue")
        parser.add_argument("--zone", help="the file's time zone, where it names none; by default the user's")
        parser.add_argument("--dates", choices=("ymd", "dmy", "mdy"), help="the order of day, month and year")
        parser.add_argument(
            "--column",
            action="append",
            type=_parse_column,
            default=[],
            metavar="FIELD=COLUMN",
            help=f"what a column is; fields are {', '.join(FIELDS)}",
        )
        parser.add_argument(
            "--mapping",
            type=check_json_object,
            default="{}",
            metavar="JSON",
            help=f"what to correct of how the file is read: an object with {', '.join(Corrections.model_fields)};"
            ' such as \'{"columns": {"price": "Kurs"}, "dates": "dmy"}\'',
        )

    def add_owner_arguments(self, parser: CommandParser) -> None:
        """Add what tells whose record the fills go into."""
        parser.add_argument("--deployment", type=UUID, help="of another program: see `deploy --broker live`")
        add_optional_user_argument(parser)

    def run(
        self,
        *,
        file: Path,
        user: str | None,
        deployment: UUID | None = None,
        venue: str | None,
        leave_out: bool,
        dry_run: bool,
        again: bool,
        **options: Any,
    ) -> None:
        """Read a file, say what was found, and import it unless it is a dry run. Raises CommandError, DomainError."""
        owner, now, label = find_owner(deployment, email=user), timezone.now(), SOURCES[venue].label if venue else ""
        reading, mapping = self._read(file, owner, _parse_corrections(**options), now)
        if mapping.format and label not in ("", FORMATS[mapping.format].venue):
            raise CommandError(f"This is an export of {FORMATS[mapping.format].venue}, not of {label}.")
        if dry_run:
            with owned(owner):
                ledgers = [] if deployment else preview_reading(reading, venue=name_venue(mapping, label), now=now)
            return self._preview(ledgers)
        check_reading(reading, leaves_out=leave_out)
        with owned_tx(owner):
            if deployment is not None:
                details = {"format": mapping.format, "zone": mapping.zone}
                target = get_pushed_deployment(deployment)
                records = [add_reading_to(target, reading, name=file.name, details=details, now=now)]
            else:
                source = EntrySource.FILE
                imported = import_reading(
                    reading, mapping, source=source, name=file.name, venue=label, counts_twice=again, now=now
                )
                records = [ledger.record for ledger in imported]
        for record in records:
            self._report(record)

    def _preview(self, ledgers: Iterable[LedgerPreview]) -> None:
        for ledger in ledgers:
            counts = ledger.counts
            self.say(
                f"{ledger.label}: {counts.new_fills} new fills, {counts.known_fills} known",
                account=ledger.label,
                new_fills=counts.new_fills,
                known_fills=counts.known_fills,
            )

    def _read(
        self, file: Path, owner: AbstractBaseUser, corrections: Corrections, now: datetime
    ) -> tuple[FileReading, FillMapping]:
        if unknown := corrections.columns.keys() - FIELDS.keys():
            raise CommandError(f"There is no field {min(unknown)}. Fields are {', '.join(FIELDS)}.")
        try:
            content = file.read_bytes()
        except OSError as error:
            raise CommandError(f"{file.name} cannot be opened: {error.strerror}.") from error
        own_zone = owner.time_zone if isinstance(owner, Trader) else "UTC"
        reading, mapping = read_content(content, own_zone=own_zone, now=now, **corrections.model_dump())
        recognised = mapping.recognised.replace(":", ",") or "a table that Keel does not know"
        self.stderr.write(f"{recognised}: {len(reading.fills)} fills, {len(reading.funding)} funding payments")
        unread = [f"columns that are not read: {', '.join(reading.unread)}"] if reading.unread else []
        for line in (*reading.notices, *unread):
            self.stderr.write(f"  {line}")
        for problem in reading.problems[:PROBLEMS_SHOWN]:
            where = f"{reading.row_word} {problem.row}: " if problem.row else ""
            self.stderr.write(f"  {where}{problem.message}")
        return reading, mapping

    def _report(self, record: IntakeRecord) -> None:
        counts = {name: getattr(record, name) for name in ("new_fills", "known_fills", "opened", "closed", "gaps")}
        conflicts = len(record.conflicts)
        self.say(
            f"{record.new_fills} new fills, {record.known_fills} known; {format_count(record.opened, 'new trade')},"
            f" {record.closed} closed, {record.gaps} with history missing"
            + (f"; {conflicts} known ones came with other numbers and were kept" if conflicts else ""),
            **counts,
            conflicts=conflicts,
        )


def _parse_column(text: str) -> tuple[str, str]:
    name, found, column = text.partition("=")
    if not found or name not in FIELDS:
        raise argparse.ArgumentTypeError(f"write FIELD=COLUMN with one of {', '.join(FIELDS)}")
    return name, column


def _parse_corrections(mapping: str, column: Sequence[tuple[str, str]], **options: Any) -> Corrections:
    """Return the corrections of `--mapping`, and over them those of the other options. Raises PayloadInvalid."""
    known = parse_block(Corrections, mapping, within="mapping")
    given = {name: options[name] for name in ("account", "ledger", "zone", "dates") if options[name] is not None}
    return known.model_copy(update={**given, "columns": {**known.columns, **dict(column)}})
