"""Files of trades: keep one until it is understood, then import it or drop it."""

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from config.lib.errors import DomainError, NotFound
from config.lib.text import one_line
from trading.intake.formats import FillMapping, propose_mapping
from trading.intake.ledgers import LedgerImport, LedgerPreview, add_reading, name_venue, preview_reading
from trading.intake.reading import Problem, Reading, read_fills
from trading.intake.tables import Table, TableRow, read_table
from trading.models import EntrySource, TradeFile

KEPT: Final = timedelta(days=1)
MAX_WAITING: Final = 5  # files of a user
PROBLEMS_SHOWN: Final = 100
_SAMPLE_ROWS: Final = 3


class FileNotFound(NotFound):
    """There is no such file."""


class ImportRefused(DomainError):
    """The file cannot be imported as it is; nothing was."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        self.problems = problems
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class FilePreview:
    file: TradeFile
    table: Table
    mapping: FillMapping
    reading: Reading
    accounts: Sequence[LedgerPreview]

    @property
    def sample(self) -> Sequence[TableRow]:
        return self.table.rows[:_SAMPLE_ROWS]

    @property
    def blocking(self) -> list[Problem]:
        """The problems of the whole file, which no row can be left out for."""
        return [problem for problem in self.reading.problems if not problem.row]

    @property
    def refused_rows(self) -> list[Problem]:
        return [problem for problem in self.reading.problems if problem.row]

    @property
    def is_empty(self) -> bool:
        return not self.reading.fills and not self.reading.funding


def keep_file(*, name: str, content: bytes, zone: str, now: datetime) -> TradeFile:
    """Keep a file with the mapping that fits it; needs `owned_tx(user)`. Raises TableRefused."""
    mapping = propose_mapping(read_table(content), zone=zone)
    waiting = TradeFile.objects.order_by("-created_at", "id").values_list("pk", flat=True)
    TradeFile.objects.filter(pk__in=list(waiting[MAX_WAITING - 1 :])).delete()
    return TradeFile.objects.create(
        name=one_line(name)[-200:] or "file",
        content=gzip.compress(content, 6),
        mapping=mapping.to_json(),
        created_at=now,
    )


def get_file(file_id: UUID) -> TradeFile:
    """Return a waiting file. Raises FileNotFound."""
    return TradeFile.objects.filter(pk=file_id).first_or(
        FileNotFound("This file is not here any more: it was imported or dropped. Choose it again.")
    )


def open_file(file: TradeFile) -> tuple[Table, FillMapping]:
    """Return the table of a waiting file and how to read it."""
    return read_table(gzip.decompress(bytes(file.content))), FillMapping.from_json(file.mapping)


def preview_file(file: TradeFile, *, now: datetime) -> FilePreview:
    """Return a file as its mapping reads it."""
    table, mapping = open_file(file)
    reading = read_fills(table, mapping, now=now)
    return FilePreview(file, table, mapping, reading, preview_reading(reading, venue=name_venue(mapping), now=now))


def correct_mapping(file: TradeFile, changes: Mapping[str, Any]) -> None:
    """Store another mapping; needs `owned_tx(user)`."""
    file.mapping = replace(FillMapping.from_json(file.mapping), **changes).to_json()
    file.save(update_fields=["mapping"])


def import_file(file: TradeFile, *, leaves_out: bool, now: datetime) -> list[LedgerImport]:
    """Import a file whole and drop it, see `import_reading`; needs `owned_tx(user)`."""
    table, mapping = open_file(file)
    reading = read_fills(table, mapping, now=now)
    check_reading(reading, leaves_out=leaves_out)
    done = import_reading(reading, mapping, source=EntrySource.FILE, name=file.name, now=now)
    file.delete()
    return done


def import_reading(
    reading: Reading, mapping: FillMapping, *, source: EntrySource, name: str, now: datetime
) -> list[LedgerImport]:
    """Import what `check_reading` let pass; needs `owned_tx(user)`. Raises EntriesRefused."""
    details = {"format": mapping.format, "zone": mapping.zone}
    return add_reading(reading, venue=name_venue(mapping), source=source, name=name, details=details, now=now)


def check_reading(reading: Reading, *, leaves_out: bool) -> None:
    """Refuse a file with problems: of the whole, or, unless they are left out, of its rows. Raises ImportRefused."""
    word = reading.row_word
    refused = [problem for problem in reading.problems if not (problem.row and leaves_out)]
    if refused:
        first = refused[0]
        text = (
            f"{word.capitalize()} {first.row}: {first.message}{'' if first.message.endswith('?') else '.'}"
            if first.row
            else first.message
        )
        others = len({problem.row for problem in refused} - {0, first.row})
        more = f" {others} more {word}{' has' if others == 1 else 's have'} a problem." if others else ""
        raise ImportRefused(f"{text}{more} Nothing was imported.", refused)
    if not reading.fills and not reading.funding:
        raise ImportRefused("The file holds no fills and no funding. Nothing was imported.")


def drop_file(file_id: UUID) -> None:
    """Drop a waiting file; needs `owned_tx(user)`. Raises FileNotFound."""
    get_file(file_id).delete()


def drop_old_files(*, now: datetime) -> int:
    """Drop the files that nobody imported within a day; return how many."""
    return TradeFile.objects.filter(created_at__lt=now - KEPT).delete()[0]
