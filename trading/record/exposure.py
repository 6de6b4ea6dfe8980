"""Upcoming events against open positions."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from trading.market.moves import impact
from trading.market.queries import Mark, find_mark, is_about, past_moves
from trading.models import MarketEvent, Trade
from trading.record.deployment_queries import get_deployment


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


def exposures(deployment_id: UUID, events: Iterable[MarketEvent], now: datetime) -> list[Exposure]:
    """Return each open position of a deployment against each event that concerns it; the owner is in scope.

    Raises:
        DeploymentNotFound: the owner has no such deployment.
    """
    deployment = get_deployment(deployment_id)
    positions = list(Trade.objects.open().filter(deployment=deployment).order_by("symbol"))
    marks = {trade.symbol: find_mark(trade.symbol, now) for trade in positions}
    known: dict[tuple[str, str], list[float]] = {}
    found = []
    for event in events:
        for trade in positions:
            if not is_about(event.symbols, [trade.symbol]):
                continue
            key = (event.kind, trade.symbol)
            if key not in known:
                known[key] = past_moves(event.kind, trade.symbol, now)
            found.append(_exposure(event, trade, known[key], marks[trade.symbol]))
    return found


def _exposure(event: MarketEvent, trade: Trade, moves: list[float], mark: Mark | None) -> Exposure:
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
