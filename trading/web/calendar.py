"""Reads of the calendar page."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from config.lib.charts.svg import Row, draw_intervals
from config.lib.charts.values import Chart
from trading.market.queries import list_events
from trading.models import MarketEvent
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
    chart: Chart | None  # of the exposures that past events tell of


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
    # Also those of paused or stopped deployments (settled 32).
    held = select_trades(TradeFilter(status="open")).select_related("skill").defer("state")
    positions = list(held.order_by("symbol", "entry_at", "id")[:POSITIONS_WEIGHED])
    exposures: dict[int, list[Exposure]] = {}
    for exposure in list_exposures((event for event in events if event.starts_at >= now), positions, now):
        exposures.setdefault(exposure.event.pk, []).append(exposure)
    days: dict[date, list[ShownEvent]] = {}
    for event in events:
        weighed = exposures.get(event.pk, [])
        shown = ShownEvent(event, event.starts_at < now, weighed, _draw_exposures(weighed))
        days.setdefault(event.starts_at.astimezone(zone).date(), []).append(shown)
    return Calendar(
        [CalendarDay(day, of_day) for day, of_day in days.items()],
        events=len(events),
        is_cut=len(found) > EVENTS_SHOWN,
        positions=len(positions),
        is_simulated=any(event.is_simulated for event in events),
    )


def list_weeks(calendar: Calendar, first: date, last: date) -> list[list[CalendarDay]]:
    """Return the weeks of a range, each from Monday on."""
    by_day = {one.day: one for one in calendar.days}
    monday = first - timedelta(days=first.weekday())
    mondays = [monday + timedelta(days=number) for number in range(0, (last - monday).days + 1, 7)]
    days = [[start + timedelta(days=number) for number in range(7)] for start in mondays]
    return [[by_day.get(day) or CalendarDay(day, []) for day in week] for week in days]


def _draw_exposures(exposures: Sequence[Exposure]) -> Chart | None:
    """Draw the usual and the worst move of each position, in percent."""
    rows = []
    for one in {(one.trade.symbol, one.trade.side): one for one in exposures}.values():
        past, name = one.past, f"{one.trade.symbol} {one.trade.side}"
        if past.median_abs_move_fraction is None or past.worst_move_fraction is None:
            continue
        low, high = past.median_interval_fraction or (None, None)
        rows.append(Row(name, 100 * past.median_abs_move_fraction, low and 100 * low, high and 100 * high, past.events))
        rows.append(Row("worst", 100 * past.worst_move_fraction, None, None, past.events))
    if not rows:
        return None
    title = "Usual move with its interval, and the worst"
    is_simulated = any(one.is_simulated for one in exposures)
    return replace(draw_intervals(rows, title=title, unit="%", of="event"), simulated=is_simulated)
