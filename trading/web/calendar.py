"""Reads of the calendar page."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from trading.market.queries import list_events
from trading.models import MarketEvent, Trade
from trading.record.exposure import Exposure, list_exposures
from trading.record.trade_queries import TradeFilter, select_trades

EVENTS_SHOWN: Final = 200
POSITIONS_WEIGHED: Final = 50  # against events; each symbol of theirs costs a few queries


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event with the positions that it concerns."""

    event: MarketEvent
    is_past: bool
    exposures: list[Exposure]


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """A day's events in the reader's zone, by time."""

    day: date
    events: list[ShownEvent]


@dataclass(frozen=True, slots=True)
class Calendar:
    """The days of a range that have an event."""

    days: list[CalendarDay]
    events: int
    is_cut: bool  # there are more than EVENTS_SHOWN
    positions: int  # that are open, but for those of backtests
    is_simulated: bool  # whether an event is of the simulated market


def get_calendar(
    starts_at: datetime,
    ends_at: datetime,
    *,
    kinds: Collection[str] = (),
    symbols: Collection[str] = (),
    min_importance: float = 0.0,
    zone: ZoneInfo,
    now: datetime,
) -> Calendar:
    """Return a range's events by day, with positions exposed to them."""
    found = list_events(
        starts_at,
        until=ends_at - timedelta(microseconds=1),
        kinds=kinds,
        symbols=symbols,
        min_importance=min_importance,
    )
    events = found[:EVENTS_SHOWN]
    positions = _list_positions()
    exposures: dict[int, list[Exposure]] = {}
    for exposure in list_exposures((event for event in events if event.starts_at >= now), positions, now):
        exposures.setdefault(exposure.event.pk, []).append(exposure)
    days: dict[date, list[ShownEvent]] = {}
    for event in events:
        shown = ShownEvent(event, is_past=event.starts_at < now, exposures=exposures.get(event.pk, []))
        days.setdefault(event.starts_at.astimezone(zone).date(), []).append(shown)
    return Calendar(
        [CalendarDay(day, of_day) for day, of_day in days.items()],
        events=len(events),
        is_cut=len(found) > EVENTS_SHOWN,
        positions=len(positions),
        is_simulated=any(event.is_simulated for event in events),
    )


def _list_positions() -> list[Trade]:
    """Return open positions, also of paused or stopped deployments (settled 32)."""
    rows = select_trades(TradeFilter(status="open")).select_related("skill").defer("state")
    return list(rows.order_by("symbol", "entry_at", "id")[:POSITIONS_WEIGHED])
