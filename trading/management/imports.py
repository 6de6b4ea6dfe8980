"""The base of the commands that import files of fills."""

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
from config.lib.work.commands import KeelCommand
from trading.intake.files import PROBLEMS_SHOWN, check_reading, import_reading
from trading.intake.formats import FIELDS, FORMATS, FillMapping, propose_mapping
from trading.intake.ledgers import add_reading_to, name_venue
from trading.intake.reading import FileReading, read_fills
from trading.intake.tables import read_table
from trading.ledger.entries import IntakeRecord
from trading.models import EntrySource, Trader
from trading.record.deployments import get_pushed_deployment


class Corrections(BaseModel):
    """What is corrected of a proposed mapping; None: it stays."""

    model_config = ConfigDict(extra="forbid")

    zone: str | None = None
    dates: Literal["ymd", "dmy", "mdy"] | None = None
    decimal: Literal[".", ","] | None = None
    fee_sign: Literal[1, -1] | None = None
    market: Literal["spot", "futures"] | None = None
    contract_sizes: str | None = Field(default=None, max_length=500)
    account: str | None = None
    ledger: str | None = Field(default=None, max_length=20)
    columns: dict[str, str] = {}


class FillsCommand(KeelCommand):
    """Import a file of fills into the user's own trades, or into one deployment."""

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--leave-out", action="store_true", help="leave out the rows that cannot be read")
        parser.add_argument("--dry-run", action="store_true", help="say what was found, and import nothing")

    def import_file(
        self,
        file: Path,
        owner: AbstractBaseUser,
        corrections: Corrections,
        *,
        deployment: UUID | None = None,
        venue: str = "",
        leave_out: bool,
        dry_run: bool,
        **_: Any,
    ) -> None:
        """Read a file, say what was found, and import it unless it is a dry run. Raises CommandError, DomainError."""
        now = timezone.now()
        reading, mapping = self._read(file, owner, corrections, now)
        if mapping.format and venue not in ("", FORMATS[mapping.format].venue):
            raise CommandError(f"This is an export of {FORMATS[mapping.format].venue}, not of {venue}.")
        if dry_run:
            with owned(owner):
                self.preview(reading, name_venue(mapping, venue), now)
            return
        check_reading(reading, leaves_out=leave_out)
        with owned_tx(owner):
            if deployment is not None:
                details = {"format": mapping.format, "zone": mapping.zone}
                target = get_pushed_deployment(deployment)
                records = [add_reading_to(target, reading, name=file.name, details=details, now=now)]
            else:
                source = EntrySource.FILE
                ledgers = import_reading(reading, mapping, source=source, name=file.name, venue=venue, now=now)
                records = [ledger.record for ledger in ledgers]
        for record in records:
            self._report(record)

    def preview(self, reading: FileReading, venue: str, now: datetime) -> None:
        """Print what an import would do, beside what was found."""

    def _read(
        self, file: Path, owner: AbstractBaseUser, corrections: Corrections, now: datetime
    ) -> tuple[FileReading, FillMapping]:
        try:
            table = read_table(file.read_bytes())
        except OSError as error:
            raise CommandError(f"{file.name} cannot be opened: {error.strerror}.") from error
        if unknown := corrections.columns.keys() - FIELDS.keys():
            raise CommandError(f"There is no field {min(unknown)}. Fields are {', '.join(FIELDS)}.")
        proposed = propose_mapping(table, zone=owner.time_zone if isinstance(owner, Trader) else "UTC")
        mapping = proposed.correct(corrections.columns.items(), **corrections.model_dump(exclude={"columns"}))
        reading = read_fills(table, mapping, now=now)
        recognised = mapping.recognised.replace(":", ",") or "a table that Keel does not know"
        self.stderr.write(f"{recognised}: {len(reading.fills)} fills, {len(reading.funding)} funding payments")
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
