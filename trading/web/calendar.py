"""Reads of the calendar page."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from trading.market.moves import Impact, impact
from trading.market.queries import list_events, past_moves
from trading.models import (
    MarketEvent,
    Trade,
)
from trading.record.deployment_queries import last_marks
from trading.record.trade_queries import (
    TradeFilter,
    trades_that_fit,
)

EVENTS_SHOWN: Final = 200


POSITIONS_WEIGHED: Final = 50  # against events; each symbol of theirs costs a few queries


@dataclass(frozen=True, slots=True)
class ShownExposure:
    """An open position against an event that is to come."""

    trade: Trade
    notional_usd: Decimal  # at the last price known
    past: Impact  # what events of its kind did to the symbol in the hour after


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event with the positions that it concerns."""

    event: MarketEvent
    is_past: bool
    exposures: list[ShownExposure]


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """The events of a day in the reader's zone, in order of time."""

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


def show_calendar(
    starts_at: datetime,
    ends_at: datetime,
    *,
    kinds: Collection[str] = (),
    symbols: Collection[str] = (),
    min_importance: float = 0.0,
    zone: ZoneInfo,
    now: datetime,
) -> Calendar:
    """Return the events from an instant until before another, by day, with the exposure of open positions.

    The queries are bounded by the kinds of events and the symbols of positions, whatever the range.
    """
    found = list_events(
        starts_at,
        until=ends_at - timedelta(microseconds=1),
        kinds=kinds,
        symbols=symbols,
        min_importance=min_importance,
    )
    events = found[:EVENTS_SHOWN]
    positions = _positions()
    weighed = _weigh((event for event in events if event.starts_at >= now), positions, now)
    days: dict[date, list[ShownEvent]] = {}
    for event in events:
        shown = ShownEvent(event, is_past=event.starts_at < now, exposures=weighed.get(event.pk, []))
        days.setdefault(event.starts_at.astimezone(zone).date(), []).append(shown)
    return Calendar(
        [CalendarDay(day, of_day) for day, of_day in days.items()],
        events=len(events),
        is_cut=len(found) > EVENTS_SHOWN,
        positions=len(positions),
        is_simulated=any(event.is_simulated for event in events),
    )


def _positions() -> list[Trade]:
    """Return the open positions, also of deployments that are paused or stopped: neither closes any (settled 32)."""
    rows = trades_that_fit(TradeFilter(status="open")).select_related("skill").defer("state")
    return list(rows.order_by("symbol", "entry_at", "id")[:POSITIONS_WEIGHED])


def _weigh(events: Iterable[MarketEvent], positions: list[Trade], now: datetime) -> dict[int, list[ShownExposure]]:
    marks = last_marks({trade.symbol for trade in positions}, now)
    moves: dict[tuple[str, str], list[float]] = {}
    found: dict[int, list[ShownExposure]] = {}
    for event in events:
        for trade in positions:
            symbol, kind = trade.symbol, (event.kind, trade.symbol)
            if event.symbols and symbol not in event.symbols:
                continue
            if kind not in moves:
                moves[kind] = past_moves(event.kind, symbol, now)
            price = marks[symbol].price if symbol in marks else trade.entry_price
            past = impact(moves[kind], is_long=trade.side == "long")
            found.setdefault(event.pk, []).append(ShownExposure(trade, abs(trade.quantity) * price, past))
    return found
