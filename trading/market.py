"""Reading the market at an instant: nothing that was not known then. It belongs to nobody, but for `exposures`."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Final
from uuid import UUID

from django.db.models import Q

from trading.exposure import WINDOW, Close, event_move, impact
from trading.models import Bar, FundingRate, MarketEvent, NewsItem, Trade
from trading.queries import get_deployment
from trading.regime import VOLATILITY_BARS, WARM_BARS, Candle, Regime, classify, realised_volatility
from trading.schemas import INTERVALS

HOUR: Final = timedelta(hours=1)
_FINE: Final = [name for name, length in INTERVALS.items() if length <= HOUR]  # fine enough for an hour's move


@dataclass(frozen=True, slots=True)
class Mark:
    """The last price that was known: the close of the newest bar that had ended."""

    at: datetime
    price: Decimal
    bar: Bar


@dataclass(frozen=True, slots=True)
class Overview:
    """What a symbol does at an instant. None: there are not the bars to say."""

    symbol: str
    at: datetime | None  # of the price
    price: Decimal | None
    change_24h_fraction: float | None
    funding_rate_fraction: float | None  # of the last payment
    funding_hours: int | None  # between two payments
    basis_fraction: float | None  # mark over index, less one
    realised_volatility_fraction: float | None  # annualised, of 24 hours
    regime: Regime
    is_simulated: bool


@dataclass(frozen=True, slots=True)
class Exposure:
    """A position against an event, with what such events did to the symbol before (seed 000)."""

    event_id: int
    symbol: str
    position_side: str
    notional_usd: Decimal
    similar_events_back: int
    median_abs_move_fraction: float | None
    worst_move_fraction: float | None  # below zero is against the position


def list_bars(symbol: str, interval: str, now: datetime, limit: int) -> list[Bar]:
    """Return the last bars that had ended by `now`, oldest first."""
    rows = Bar.objects.filter(symbol=symbol, interval=interval, opened_at__lte=now - INTERVALS[interval])
    return list(rows.order_by("-opened_at")[:limit])[::-1]


def find_mark(symbol: str, now: datetime) -> Mark | None:
    """Return the last price known of a symbol, from bars of any length."""
    newest = [bar for interval in INTERVALS for bar in list_bars(symbol, interval, now, 1)]
    if not newest:
        return None
    last = max(newest, key=_closed_at)
    return Mark(_closed_at(last), last.close, last)


def regime_at(symbol: str, now: datetime) -> Regime:
    """Return the regime on the closed hourly bars; unknown if some are missing or the last is old (settled 33)."""
    return _regime(_hours(symbol, now), now)


def _regime(hours: Sequence[Bar], now: datetime) -> Regime:
    if len(hours) < WARM_BARS or not _is_whole(hours, now):
        return Regime.UNKNOWN
    return classify([Candle(float(bar.high), float(bar.low), float(bar.close)) for bar in hours])


def _hours(symbol: str, now: datetime) -> list[Bar]:
    return list_bars(symbol, "1h", now, WARM_BARS)


def _is_whole(hours: Sequence[Bar], now: datetime) -> bool:
    is_fresh = now - _closed_at(hours[-1]) < HOUR
    return is_fresh and hours[-1].opened_at - hours[0].opened_at == (len(hours) - 1) * HOUR


def _closed_at(bar: Bar) -> datetime:
    return bar.opened_at + INTERVALS[bar.interval]


def overview(symbol: str, now: datetime) -> Overview:
    """Return what a symbol does at an instant."""
    mark, hours = find_mark(symbol, now), _hours(symbol, now)
    day = hours[-VOLATILITY_BARS - 1 :]
    closes = [float(bar.close) for bar in day] if len(day) > VOLATILITY_BARS and _is_whole(day, now) else []
    funding = FundingRate.objects.filter(symbol=symbol, at__lte=now).order_by("-at").first()
    bar = mark.bar if mark else None
    return Overview(
        symbol=symbol,
        at=mark.at if mark else None,
        price=mark.price if mark else None,
        change_24h_fraction=closes[-1] / closes[0] - 1 if closes else None,
        funding_rate_fraction=float(funding.rate) if funding else None,
        funding_hours=funding.hours if funding else None,
        basis_fraction=float(bar.mark / bar.index - 1) if bar and bar.mark and bar.index else None,
        realised_volatility_fraction=realised_volatility(closes) if closes else None,
        regime=_regime(hours, now),
        is_simulated=bool(bar and bar.is_simulated),
    )


def list_news(symbols: Collection[str], *, since: datetime, now: datetime, limit: int) -> list[NewsItem]:
    """Return the headlines about the symbols or the whole market, newest first; nothing published after `now`."""
    rows = NewsItem.objects.filter(published_at__gt=since, published_at__lte=now).order_by("-published_at", "id")
    return [item for item in rows if _concerns(item.symbols, symbols)][:limit]


def list_events(
    now: datetime,
    *,
    until: datetime,
    kinds: Collection[str] = (),
    symbols: Collection[str] = (),
    min_importance: float = 0.0,
) -> list[MarketEvent]:
    """Return the events from `now` up to an instant, in order; without kinds or symbols, of all."""
    rows = MarketEvent.objects.filter(starts_at__gte=now, starts_at__lte=until, importance__gte=min_importance)
    if kinds:
        rows = rows.filter(kind__in=kinds)
    return [event for event in rows.order_by("starts_at", "id") if _concerns(event.symbols, symbols)]


def _concerns(named: Collection[str], symbols: Collection[str]) -> bool:
    return not named or not symbols or not set(named).isdisjoint(symbols)


def past_moves(kind: str, symbol: str, now: datetime) -> list[float]:
    """Return what a symbol did in the hour after each past event of a kind, as far as there are bars for it."""
    events = MarketEvent.objects.filter(kind=kind, starts_at__lte=now - WINDOW).order_by("starts_at")
    instants = [event.starts_at for event in events if _concerns(event.symbols, [symbol])]
    closes = _closes_around(symbol, instants)
    found = []
    for at in instants:
        moves = (event_move(closes.get(interval, []), at, now) for interval in _FINE)
        move = next((move for move in moves if move is not None), None)
        if move is not None:
            found.append(move)
    return found


def _closes_around(symbol: str, instants: Iterable[datetime]) -> dict[str, list[Close]]:
    """Return the ends of the bars around each instant, by interval, in one query."""
    windows = [Q(opened_at__range=(at - 2 * HOUR, at + WINDOW)) for at in instants]
    if not windows:
        return {}
    rows = Bar.objects.filter(reduce(or_, windows), symbol=symbol, interval__in=_FINE).order_by("opened_at")
    closes: dict[str, list[Close]] = {}
    for interval, opened_at, price in rows.values_list("interval", "opened_at", "close"):
        length = INTERVALS[interval]
        closes.setdefault(interval, []).append(Close(opened_at + length, length, price))
    return closes


def exposures(deployment_id: UUID, events: Iterable[MarketEvent], now: datetime) -> list[Exposure]:
    """Return each open position of a deployment against each event that concerns it; the owner is in scope.

    Raises:
        DeploymentNotFound: the owner has no such deployment.
    """
    deployment = get_deployment(deployment_id)
    positions = list(Trade.objects.open().filter(deployment=deployment).order_by("symbol"))
    known: dict[tuple[str, str], list[float]] = {}
    found = []
    for event in events:
        for trade in positions:
            if not _concerns(event.symbols, [trade.symbol]):
                continue
            key = (event.kind, trade.symbol)
            if key not in known:
                known[key] = past_moves(event.kind, trade.symbol, now)
            found.append(_exposure(event, trade, known[key], now))
    return found


def _exposure(event: MarketEvent, trade: Trade, moves: list[float], now: datetime) -> Exposure:
    mark = find_mark(trade.symbol, now)
    past = impact(moves, is_long=trade.side == "long")
    return Exposure(
        event_id=event.pk,
        symbol=trade.symbol,
        position_side=trade.side,
        notional_usd=abs(trade.quantity) * (mark.price if mark else trade.entry_price),
        similar_events_back=past.events,
        median_abs_move_fraction=past.median_abs_move_fraction,
        worst_move_fraction=past.worst_move_fraction,
    )
