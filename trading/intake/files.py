"""Files of trades: keep one until it is understood, then import it or drop it."""

import gzip
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from config.lib.errors import DomainError, NotFound
from config.lib.text import one_line
from trading.intake.formats import FillMapping
from trading.intake.guessing import propose_mapping
from trading.intake.ledgers import LedgerImport, add_reading, find_twin, name_venue
from trading.intake.reading import FileReading, RowProblem, read_fills
from trading.intake.tables import FileTable, read_table
from trading.models import EntrySource, TradeFile

KEPT: Final = timedelta(days=1)
MAX_WAITING: Final = 5  # files of a user
PROBLEMS_SHOWN: Final = 100


class FileNotFound(NotFound):
    """There is no such file."""


class ImportRefused(DomainError):
    """The file cannot be imported as it is; nothing was."""

    def __init__(self, message: str, problems: Sequence[RowProblem] = ()) -> None:
        self.problems = problems
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class NewFile:
    """An uploaded file that holds a table."""

    packed: bytes
    mapping: FillMapping


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A waiting file, its table and how to read it."""

    file: TradeFile
    table: FileTable
    mapping: FillMapping


def read_upload(content: bytes, *, zone: str) -> NewFile:
    """Return an uploaded file with the mapping that fits it, outside of transactions. Raises TableRefused."""
    return NewFile(gzip.compress(content, 6), propose_mapping(read_table(content), zone=zone))


def read_content(
    content: bytes, *, own_zone: str, columns: Mapping[str, str], now: datetime, **changes: str | None
) -> tuple[FileReading, FillMapping]:
    """Return what a file holds, by the mapping that fits it with these changes. Raises TableRefused."""
    table = read_table(content)
    mapping = propose_mapping(table, zone=own_zone).correct(columns.items(), **changes)
    return read_fills(table, mapping, now=now), mapping


def keep_file(new: NewFile, *, name: str, now: datetime) -> TradeFile:
    """Keep a file until it is imported; needs `owned_tx(user)`."""
    waiting = TradeFile.objects.order_by("-created_at", "id").values_list("pk", flat=True)
    TradeFile.objects.filter(pk__in=list(waiting[MAX_WAITING - 1 :])).delete()
    return TradeFile.objects.create(
        name=one_line(name)[-200:] or "file", content=new.packed, mapping=new.mapping.to_json(), created_at=now
    )


def get_file(file_id: UUID) -> TradeFile:
    """Return a waiting file. Raises FileNotFound."""
    return TradeFile.objects.filter(pk=file_id).first_or(
        FileNotFound("This file is not here any more: it was imported or dropped. Choose it again.")
    )


def open_file(file: TradeFile) -> OpenFile:
    """Return a waiting file with its table, outside of transactions."""
    return OpenFile(file, read_table(gzip.decompress(bytes(file.content))), FillMapping.from_json(file.mapping))


def read_file(opened: OpenFile, *, now: datetime) -> FileReading:
    """Return what an open file holds, outside of transactions."""
    return read_fills(opened.table, opened.mapping, now=now)


def correct_mapping(file_id: UUID, changes: Mapping[str, Any]) -> TradeFile:
    """Store another mapping and return the file; needs `owned_tx(user)`. Raises FileNotFound."""
    file = get_file(file_id)
    file.mapping = replace(FillMapping.from_json(file.mapping), **changes).to_json()
    file.save(update_fields=["mapping"])
    return file


def import_file(
    opened: OpenFile, reading: FileReading, *, counts_twice: bool = False, begins: Collection[str] = (), now: datetime
) -> list[LedgerImport]:
    """Import what `check_reading` let pass and drop the file; needs `owned_tx(user)`.

    `begins`: see `add_reading`.

    Raises:
        FileNotFound: the file was imported or dropped since it was read.
        ImportRefused: its mapping was corrected since, or `import_reading` refuses it.
    """
    file = get_file(opened.file.pk)
    if FillMapping.from_json(file.mapping) != opened.mapping:
        raise ImportRefused("The columns of this file were corrected in another window. Nothing was imported.")
    done = import_reading(
        reading,
        opened.mapping,
        source=EntrySource.FILE,
        name=file.name,
        counts_twice=counts_twice,
        begins=begins,
        now=now,
    )
    file.delete()
    return done


def import_reading(
    reading: FileReading,
    mapping: FillMapping,
    *,
    source: EntrySource,
    name: str,
    venue: str = "",
    counts_twice: bool = False,
    begins: Collection[str] = (),
    now: datetime,
) -> list[LedgerImport]:
    """Import what `check_reading` let pass; needs `owned_tx(user)`.

    Raises:
        EntriesRefused: the record cannot take the entries.
        ImportRefused: another account has most of the fills, and they are not to count twice.
    """
    account = name_venue(mapping, venue)
    if not counts_twice and (twin := find_twin(reading, venue=account)):
        raise ImportRefused(f"{say_twin(twin, len(reading.fills))} Nothing was imported.")
    details = {"format": mapping.format, "zone": mapping.zone}
    return add_reading(reading, venue=account, source=source, name=name, details=details, begins=begins, now=now)


def say_twin(twin: tuple[str, int], fills: int) -> str:
    """Return the words for an account that has fills of a file."""
    return f"{twin[1]} of these {fills} fills are in the account “{twin[0]}” already: they would count twice."


def check_reading(reading: FileReading, *, leaves_out: bool) -> None:
    """Refuse a file with problems: of the whole, or, unless they are left out, of its rows. Raises ImportRefused."""
    word = reading.row_word
    if refused := reading.blocking if leaves_out else reading.problems:
        first = refused[0]
        text = (
            f"{word.capitalize()} {first.row}: {first.message}{'' if first.message.endswith('?') else '.'}"
            if first.row
            else first.message
        )
        others = len({problem.row for problem in refused} - {0, first.row})
        more = f" {others} more {word}{' has' if others == 1 else 's have'} a problem." if others else ""
        raise ImportRefused(f"{text}{more} Nothing was imported.", refused)
    if reading.is_empty:
        why = f" Its rows were left out: {reading.say_left_out()}." if reading.left_out else ""
        raise ImportRefused(f"The file holds no fills and no funding.{why} Nothing was imported.")


def drop_file(file_id: UUID) -> None:
    """Drop a waiting file; needs `owned_tx(user)`. Raises FileNotFound."""
    get_file(file_id).delete()


def drop_old_files(*, now: datetime) -> int:
    """Drop the files that nobody imported within a day; return how many."""
    return select_old_files(now=now).delete()[0]


def select_old_files(*, now: datetime) -> QuerySet[TradeFile]:
    """Return the files that nobody imported within a day, of the owner in scope."""
    return TradeFile.objects.filter(created_at__lt=now - KEPT)
