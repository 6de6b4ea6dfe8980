"""Scheduled events: the shipped calendar and files."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from config.lib.text import one_line
from trading.market.imports.rows import Row, parse_instant, parse_number, parse_rows, read_rows, store_rows
from trading.models import MarketEvent
from trading.models.choices import EventKind
from trading.skills.schemas import symbol_name

SHIPPED: Final = Path(__file__).with_name("calendar.json")
CSV_COLUMNS: Final = ("kind", "title", "starts_at", "importance", "symbols", "source")


def to_utc(day: date, clock: time, zone: str) -> datetime:
    """Return a local date and time in UTC."""
    return datetime.combine(day, clock, ZoneInfo(zone)).astimezone(UTC)


def iter_shipped_events() -> Iterator[MarketEvent]:
    """Yield the events of the shipped calendar."""
    for series in json.loads(SHIPPED.read_text())["series"]:
        clock = time.fromisoformat(series["time"])
        for day in map(date.fromisoformat, series["dates"]):
            yield _make_event(
                kind=series["kind"],
                title=series["title"],
                starts_at=to_utc(day, clock, series["zone"]),
                importance=series["importance"],
                symbols=[],
                source=series["source"],
            )


def read_events(path: Path) -> Iterator[MarketEvent]:
    """Yield a file's events, in UTC or the row's `zone`. Raises FileRefused."""

    def parse(row: Row) -> MarketEvent:
        return _make_event(
            kind=EventKind(str(row["kind"]).strip().lower()).value,
            title=one_line(str(row["title"]))[:160],
            starts_at=_parse_start(row),
            importance=float(parse_number(row.get("importance") or "0.5")),
            symbols=parse_symbols(row.get("symbols")),
            source=one_line(str(row.get("source") or path.name))[:160],
        )

    return parse_rows(path, read_rows(path, {"kind", "title", "starts_at"}), parse)


def _parse_start(row: Row) -> datetime:
    if not row.get("zone"):
        return parse_instant(row["starts_at"])
    local = datetime.fromisoformat(str(row["starts_at"]))
    return to_utc(local.date(), local.time(), str(row["zone"]))


def parse_symbols(value: Any) -> list[str]:
    """Return the distinct symbols of a cell. Raises ValueError."""
    names = value if isinstance(value, list) else str(value or "").replace(",", " ").split()
    return list(dict.fromkeys(symbol_name(str(name)) for name in names))


def _make_event(**values: Any) -> MarketEvent:
    if not values["title"]:
        raise ValueError("title is empty")
    if not 0 <= values["importance"] <= 1:
        raise ValueError("importance lies between 0 and 1")
    # One of a kind and title a day: an event that is moved by an hour stays the same event.
    key = f"{values['kind']}|{values['title']}|{values['starts_at']:%Y-%m-%d}|{' '.join(values['symbols'])}"
    return MarketEvent(key=sha256(key.encode()).hexdigest(), **values)


def store_events(events: Iterable[MarketEvent]) -> int:
    """Upsert events by kind, title and day; return how many."""
    update = ["starts_at", "importance", "source", "is_simulated"]
    return store_rows(MarketEvent, events, unique=["key"], update=update)
