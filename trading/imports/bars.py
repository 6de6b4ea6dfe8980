"""Bars from CSV files. A file may be imported again, or go on after a stop: a bar stands once."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import groupby, islice
from pathlib import Path
from typing import Final

from trading.imports.rows import FileRefused, Row, instant, number, read_csv
from trading.models import Bar
from trading.schemas import INTERVALS

CSV_COLUMNS: Final = ("timestamp", "open", "high", "low", "close", "volume")  # the bar's beginning, UTC (settled 38)
CHUNK: Final = 2000  # bars in a transaction
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_VALUES: Final = ("open", "high", "low", "close", "volume", "mark", "index", "source", "is_simulated")


def read_bars(path: Path, *, symbol: str, interval: str, source: str) -> Iterator[Bar]:
    """Yield the bars of a CSV file with CSV_COLUMNS, and `mark` and `index` if it has them. Raises FileRefused."""
    for line, row in read_csv(path, set(CSV_COLUMNS) - {"volume"}):
        try:
            yield _bar(row, symbol, interval, source)
        except ValueError as error:
            raise FileRefused(f"{path.name}, line {line}: {error}.") from error


def _bar(row: Row, symbol: str, interval: str, source: str) -> Bar:
    opened_at = instant(row["timestamp"])
    if (opened_at - _EPOCH) % INTERVALS[interval]:
        raise ValueError(f"{opened_at:%Y-%m-%d %H:%M:%S} is not the beginning of a bar of {interval}")
    prices = [number(row[name]) for name in ("open", "high", "low", "close")]
    first, high, low, last = prices
    volume = number(row.get("volume") or 0)
    if low <= 0 or volume < 0 or not (low <= min(first, last) <= max(first, last) <= high):
        raise ValueError("the prices do not lie between low and high, or something is below zero")
    return Bar(
        symbol=symbol,
        interval=interval,
        opened_at=opened_at,
        open=first,
        high=high,
        low=low,
        close=last,
        volume=volume,
        mark=number(row["mark"]) if row.get("mark") else None,
        index=number(row["index"]) if row.get("index") else None,
        source=source,
    )


def store_bars(bars: Iterable[Bar], *, progress: Callable[[int, Bar], None] = lambda count, last: None) -> int:
    """Write bars a chunk at a time, over those of the same beginning; return how many there were.

    What was written stays if the rest fails, so an import may be begun again.
    """
    bars, count = iter(bars), 0
    while chunk := list(islice(bars, CHUNK)):
        unique = {(bar.symbol, bar.interval, bar.opened_at): bar for bar in chunk}
        Bar.objects.bulk_create(
            unique.values(),
            update_conflicts=True,
            unique_fields=["symbol", "interval", "opened_at"],
            update_fields=_VALUES,
        )
        count += len(chunk)
        progress(count, chunk[-1])
    return count


def last_stored(symbol: str, interval: str) -> datetime | None:
    """Return the beginning of the newest bar that is stored."""
    rows = Bar.objects.filter(symbol=symbol, interval=interval).order_by("-opened_at")
    return rows.values_list("opened_at", flat=True).first()


def combine_bars(bars: Iterable[Bar], interval: str) -> Iterator[Bar]:
    """Yield longer bars out of shorter ones in order; one of which a part is missing is left out."""
    length = INTERVALS[interval]

    def beginning(bar: Bar) -> datetime:
        return bar.opened_at - (bar.opened_at - _EPOCH) % length

    for opened_at, group in groupby(bars, beginning):
        parts = list(group)
        if len(parts) * INTERVALS[parts[0].interval] == length:
            yield _combined(parts, opened_at, interval)


def _combined(parts: list[Bar], opened_at: datetime, interval: str) -> Bar:
    last = parts[-1]
    return Bar(
        symbol=last.symbol,
        interval=interval,
        opened_at=opened_at,
        open=parts[0].open,
        high=max(part.high for part in parts),
        low=min(part.low for part in parts),
        close=last.close,
        volume=sum((part.volume for part in parts), Decimal(0)),
        mark=last.mark,
        index=last.index,
        source=last.source,
        is_simulated=any(part.is_simulated for part in parts),
    )


def store_combined(symbol: str, *, from_interval: str, to_interval: str, since: datetime | None = None) -> int:
    """Store the longer bars that the stored shorter ones make up; return how many."""
    rows = Bar.objects.filter(symbol=symbol, interval=from_interval).order_by("opened_at")
    if since is not None:
        rows = rows.filter(opened_at__gte=since - timedelta(days=1))
    return store_bars(combine_bars(rows.iterator(chunk_size=CHUNK), to_interval))
