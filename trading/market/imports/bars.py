"""Bars: read, stored, aggregated; each is stored once."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Final

from django.db import connection, transaction

from trading.market.imports.rows import Row, parse_instant, parse_number, parse_rows, read_csv
from trading.models import Bar
from trading.models.choices import INTERVALS

CSV_COLUMNS: Final = ("timestamp", "open", "high", "low", "close", "volume")  # the bar's beginning, UTC (settled 38)
CHUNK: Final = 10_000  # bars of a file in a transaction
DAY: Final = timedelta(days=1)  # the longest interval; every other divides it and those between
Key = tuple[str, str, datetime]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_KEY: Final = ("symbol", "interval", "opened_at")
_AMOUNTS: Final = ("open", "high", "low", "close", "volume", "mark", "index")
_COLUMNS: Final = (*_KEY, *_AMOUNTS, "source", "is_simulated")


def read_bars(path: Path, *, symbol: str, interval: str, source: str) -> Iterator[Bar]:
    """Yield a CSV file's bars (CSV_COLUMNS, `mark`, `index`). Raises FileRefused."""
    parse = partial(parse_bar, symbol=symbol, interval=interval, source=source)
    return parse_rows(path, read_csv(path, set(CSV_COLUMNS) - {"volume"}), parse, what="line")


def parse_bar(row: Row, *, symbol: str, interval: str, source: str) -> Bar:
    """Return the bar of a row. Raises ValueError."""
    opened_at = parse_instant(row["timestamp"])
    if (opened_at - _EPOCH) % INTERVALS[interval]:
        raise ValueError(f"{opened_at:%Y-%m-%d %H:%M:%S} is not the beginning of a bar of {interval}")
    prices = {name: parse_number(row[name]) for name in ("open", "high", "low", "close")}
    first, high, low, last = prices.values()
    volume = parse_number(row.get("volume") or 0)
    if low <= 0 or volume < 0 or not (low <= min(first, last) <= max(first, last) <= high):
        raise ValueError("the prices do not lie between low and high, or something is below zero")
    return Bar(
        symbol=symbol,
        interval=interval,
        opened_at=opened_at,
        **prices,
        volume=volume,
        mark=parse_number(row["mark"]) if row.get("mark") else None,
        index=parse_number(row["index"]) if row.get("index") else None,
        source=source,
    )


def split_pages(bars: Iterable[Bar]) -> Iterator[list[Bar]]:
    """Yield the bars in pages to store."""
    bars = iter(bars)
    while page := list(islice(bars, CHUNK)):
        yield page


def store_bars(
    pages: Iterable[Collection[Bar]],
    *,
    aggregate: Collection[str] = (),
    progress: Callable[[int, Bar], None] = lambda count, last: None,
) -> Counter[str]:
    """Upsert bars page by page, with the longer ones that they make; return the counts by interval.

    `progress` is told after each page how many bars there were so far, and the last of them.
    """
    written, count, before = Counter[str](), 0, set[Key]()
    for page in filter(None, pages):
        unique = {_bar_key(bar): bar for bar in page}
        with transaction.atomic():
            _write_bars(unique.values())
            longer = {_bar_key(bar): bar for bar in _longer_bars(unique.values(), aggregate)} if aggregate else {}
            _write_bars(longer.values())
        # One that reaches over several pages is made again with each, and counts once.
        written.update(bar.interval for key, bar in chain(unique.items(), longer.items()) if key not in before)
        before, count = set(longer), count + len(page)
        progress(count, next(reversed(unique.values())))
    return written


def _bar_key(bar: Bar) -> Key:
    return bar.symbol, bar.interval, bar.opened_at


def _write_bars(bars: Iterable[Bar]) -> None:
    """Upsert bars in raw SQL: Django is many times slower."""
    quote, amount = connection.ops.quote_name, connection.ops.adapt_decimalfield_value
    names = {name: quote(name) for name in _COLUMNS}
    changes = ", ".join(f"{names[name]} = EXCLUDED.{names[name]}" for name in _COLUMNS if name not in _KEY)
    statement = (
        f"INSERT INTO {quote(Bar._meta.db_table)} ({', '.join(names.values())})"  # noqa: S608  names of ours alone
        f" VALUES ({', '.join(['%s'] * len(names))})"
        f" ON CONFLICT ({', '.join(names[name] for name in _KEY)}) DO UPDATE SET {changes}"
    )
    instant_of = connection.ops.adapt_datetimefield_value
    rows = []
    for bar in bars:
        values = (getattr(bar, name) for name in _AMOUNTS)
        amounts = (None if value is None else amount(value, 36, 12) for value in values)
        rows.append((bar.symbol, bar.interval, instant_of(bar.opened_at), *amounts, bar.source, bar.is_simulated))
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(statement, rows)


def find_newest_bar(symbol: str, interval: str, *, is_simulated: bool | None = None) -> datetime | None:
    """Return the beginning of the newest stored bar."""
    rows = Bar.objects.filter(symbol=symbol, interval=interval)
    if is_simulated is not None:
        rows = rows.filter(is_simulated=is_simulated)
    return rows.order_by("-opened_at").values_list("opened_at", flat=True).first()


def list_longer_intervals(interval: str) -> list[str]:
    """Return the longer intervals, the shortest first."""
    return [name for name, length in INTERVALS.items() if length > INTERVALS[interval]]


def aggregate_bars(bars: Iterable[Bar], interval: str) -> Iterator[Bar]:
    """Yield longer bars from ordered shorter ones; skip incomplete ones."""
    length = INTERVALS[interval]
    for opened_at, group in groupby(bars, lambda bar: floor_instant(bar.opened_at, length)):
        parts = list(group)
        if len(parts) * INTERVALS[parts[0].interval] == length:
            yield _join_bars(parts, opened_at, interval)


def floor_instant(at: datetime, length: timedelta) -> datetime:
    """Round an instant down to a multiple of a length."""
    return at - (at - _EPOCH) % length


def _join_bars(parts: list[Bar], opened_at: datetime, interval: str) -> Bar:
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


def _longer_bars(written: Collection[Bar], intervals: Collection[str]) -> list[Bar]:
    found = []
    for symbol, interval in dict.fromkeys((bar.symbol, bar.interval) for bar in written):
        parts = [bar for bar in written if (bar.symbol, bar.interval) == (symbol, interval)]
        first, last = min(bar.opened_at for bar in parts), max(bar.opened_at for bar in parts)
        days = (floor_instant(first, DAY), floor_instant(last, DAY) + DAY)
        if len(parts) * INTERVALS[interval] < days[1] - days[0]:  # whole days need no reading
            rows = Bar.objects.filter(symbol=symbol, interval=interval, opened_at__gte=days[0], opened_at__lt=days[1])
            parts = list(rows)
        parts.sort(key=lambda bar: bar.opened_at)
        for longer in list_longer_intervals(interval):
            if longer not in intervals:
                continue
            # Out of the next shorter ones: a whole bar of whole bars is whole.
            parts = list(aggregate_bars(parts, longer))
            found += [bar for bar in parts if floor_instant(first, INTERVALS[longer]) <= bar.opened_at <= last]
    return found
