"""Read rows of CSV and JSON files; store rows."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from gzip import open as open_gzip
from pathlib import Path
from typing import Any, TextIO, TypeVar

from django.db.models import Model

from config.lib.errors import DomainError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = Mapping[str, Any]
T = TypeVar("T")
M = TypeVar("M", bound=Model)


class FileRefused(DomainError):
    """A file cannot be read; nothing was imported."""


def open_text(path: Path) -> TextIO:
    """Open a text file, also `.gz`. Raises FileRefused."""
    try:
        return open_gzip(path, "rt", encoding="utf-8-sig") if path.suffix == ".gz" else path.open(encoding="utf-8-sig")
    except OSError as error:
        raise FileRefused(f"{path.name} cannot be opened: {error.strerror}.") from error


def read_csv(path: Path, columns: set[str]) -> Iterator[tuple[int, Row]]:
    """Yield (line number, row) of a CSV file. Raises FileRefused."""
    with open_text(path) as file:
        reader = csv.DictReader(file)
        try:
            if missing := columns - set(reader.fieldnames or ()):
                raise FileRefused(f"{path.name} lacks the columns {', '.join(sorted(missing))}.")
            for row in reader:
                yield reader.line_num, row
        except (csv.Error, UnicodeDecodeError, OSError, EOFError) as error:
            raise FileRefused(f"{path.name} is not a CSV file of UTF-8 text.") from error


def read_json(path: Path) -> list[tuple[int, Row]]:
    """Return numbered objects of JSON or JSON lines. Raises FileRefused."""
    with open_text(path) as file:
        try:
            text = file.read()
            values = json.loads(text) if text.lstrip().startswith("[") else map(json.loads, text.splitlines())
            rows = list(enumerate(values, start=1))
        except (ValueError, OSError, EOFError, RecursionError) as error:
            raise FileRefused(f"{path.name} is not JSON.") from error
    if any(not isinstance(row, dict) for _, row in rows):
        raise FileRefused(f"{path.name} should be a list of objects.")
    return rows


def read_rows(path: Path, columns: set[str]) -> Iterable[tuple[int, Row]]:
    """Return the numbered rows of a file. Raises FileRefused."""
    return read_csv(path, columns) if path.name.removesuffix(".gz").endswith(".csv") else read_json(path)


def parse_rows(
    path: Path, rows: Iterable[tuple[int, Row]], parse: Callable[[Row], T], *, what: str = "row"
) -> Iterator[T]:
    """Yield parsed rows. Raises FileRefused, naming the row."""
    for place, row in rows:
        try:
            yield parse(row)
        except KeyError as error:
            raise FileRefused(f"{path.name}, {what} {place}: {error.args[0]} is missing.") from error
        except ValueError as error:
            raise FileRefused(f"{path.name}, {what} {place}: {error}.") from error


def parse_number(value: object) -> Decimal:
    """Return a finite number. Raises ValueError."""
    try:
        found = Decimal(str(value).strip())
    except InvalidOperation as error:
        raise ValueError(f"{str(value)[:40]!r} is not a number") from error
    if not found.is_finite() or abs(found) >= Decimal("1e24"):
        raise ValueError(f"{str(value)[:40]!r} is out of range")
    return found


def parse_instant(value: object) -> datetime:
    """Parse ISO 8601 or (milli)seconds since 1970; default UTC."""
    text = str(value).strip()
    try:
        if text.isdecimal():
            count = int(text)
            return _EPOCH + (timedelta(milliseconds=count) if count >= 10**11 else timedelta(seconds=count))
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text[:40]!r} is not an instant") from error
    return (found.replace(tzinfo=UTC) if found.tzinfo is None else found).astimezone(UTC)


def store_rows(model: type[M], rows: Iterable[M], *, unique: Sequence[str], update: Sequence[str]) -> int:
    """Upsert rows by unique columns; return how many."""
    by_key = {tuple(getattr(row, column) for column in unique): row for row in rows}
    model._default_manager.bulk_create(
        by_key.values(), batch_size=500, update_conflicts=True, unique_fields=unique, update_fields=update
    )
    return len(by_key)
