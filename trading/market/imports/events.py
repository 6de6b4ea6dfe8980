"""Scheduled events: the shipped calendar and files."""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from config.lib.text import one_line
from config.lib.words.markets import CalendarKind
from trading.market.imports.rows import Row, parse_instant, parse_number, parse_rows, read_rows, store_rows
from trading.models import MarketEvent
from trading.skills.schemas import parse_symbols

SHIPPED: Final = Path(__file__).with_name("calendar.json")
# One of these kinds a day: another title, or an hour's move, is the same event.
DAILY_KINDS: Final = frozenset({"fomc", "cpi", "nfp", "ppi", "gdp", "options_expiry"})
CSV_COLUMNS: Final = ("kind", "title", "starts_at", "importance", "symbols", "source")


def to_utc(day: date, clock: time, zone: str) -> datetime:
    """Return a local date and time in UTC."""
    return datetime.combine(day, clock, ZoneInfo(zone)).astimezone(UTC)


def iter_shipped_events() -> Iterator[MarketEvent]:
    """Yield the events of the shipped calendar."""
    for series in json.loads(SHIPPED.read_text())["series"]:
        clock = time.fromisoformat(series["time"])
        days = map(date.fromisoformat, series["dates"]) if "dates" in series else _iter_expiries(**series)
        for day in days:
            yield _make_event(
                kind=series["kind"],
                title=series["title"],
                starts_at=to_utc(day, clock, series["zone"]),
                importance=series["importance"],
                symbols=[],
                source=series["source"],
            )


def _iter_expiries(last_fridays_of_quarters: Sequence[int], **_: Any) -> Iterator[date]:
    """Yield the last Friday of each quarter from the first year to the last."""
    first, last = last_fridays_of_quarters
    for year in range(first, last + 1):
        for month, length in ((3, 31), (6, 30), (9, 30), (12, 31)):
            end = date(year, month, length)
            yield end - timedelta(days=(end.weekday() - 4) % 7)


def read_events(path: Path) -> Iterator[MarketEvent]:
    """Yield a file's events, in UTC or the row's `zone`. Raises FileRefused."""

    def parse(row: Row) -> MarketEvent:
        if row.get("zone"):
            local = datetime.fromisoformat(str(row["starts_at"]))
            starts_at = to_utc(local.date(), local.time(), str(row["zone"]))
        else:
            starts_at = parse_instant(row["starts_at"])
        return _make_event(
            kind=CalendarKind(str(row["kind"]).strip().lower()).value,
            title=one_line(str(row["title"]))[:160],
            starts_at=starts_at,
            importance=float(parse_number(row.get("importance") or "0.5")),
            symbols=parse_symbols(row.get("symbols")),
            source=one_line(str(row.get("source") or path.name))[:160],
        )

    return parse_rows(path, read_rows(path, {"kind", "title", "starts_at"}), parse)


def _make_event(**values: Any) -> MarketEvent:
    if not values["title"]:
        raise ValueError("title is empty")
    if not 0 <= values["importance"] <= 1:
        raise ValueError("importance lies between 0 and 1")
    return MarketEvent(
        key=make_event_key(values["kind"], values["title"], values["starts_at"], values["symbols"]), **values
    )


def make_event_key(kind: str, title: str, starts_at: datetime, symbols: list[str]) -> str:
    """Return an event's key; an event that moves by an hour keeps it."""
    named = "" if kind in DAILY_KINDS else title
    return sha256(f"{kind}|{named}|{starts_at:%Y-%m-%d}|{' '.join(symbols)}".encode()).hexdigest()


def store_events(events: Iterable[MarketEvent]) -> int:
    """Upsert events by their key; return how many."""
    update = ["starts_at", "importance", "source", "is_simulated"]
    return store_rows(MarketEvent, events, unique=["key"], update=update)
