"""Events against open positions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from trading.market.moves import Impact, measure_impact
from trading.market.queries import find_marks, is_about, list_past_moves
from trading.models import MarketEvent, Trade
from trading.record.deployment_queries import get_deployment


@dataclass(frozen=True, slots=True)
class Exposure:
    """An open position against a relevant event (seed 000)."""

    event: MarketEvent
    trade: Trade
    notional_usd: Decimal  # at the last known price, else at the entry price
    price_at: datetime  # when that price was
    is_simulated: bool  # the prices, and so the past moves
    past: Impact  # of past events of the kind on the position's symbol and side


def list_exposures(events: Iterable[MarketEvent], positions: Sequence[Trade], now: datetime) -> list[Exposure]:
    """Return each open position against each relevant event."""
    marks = find_marks({trade.symbol for trade in positions}, now)
    pairs = [(event, trade) for event in events for trade in positions if is_about(event.symbols, [trade.symbol])]
    simulated = {symbol for symbol, mark in marks.items() if mark.bar.is_simulated}
    moves = list_past_moves({(event.kind, trade.symbol) for event, trade in pairs}, now, simulated=simulated)
    exposures = []
    for event, trade in pairs:
        mark = marks.get(trade.symbol)
        price, price_at = (mark.price, mark.at) if mark else (trade.entry_price, trade.entry_at)
        past = measure_impact(moves[event.kind, trade.symbol], is_long=trade.side == "long")
        notional = abs(trade.quantity) * price
        exposures.append(Exposure(event, trade, notional, price_at, trade.symbol in simulated, past))
    return exposures


def list_deployment_exposures(deployment_id: UUID, events: Iterable[MarketEvent], now: datetime) -> list[Exposure]:
    """Return the exposures of a deployment. Raises DeploymentNotFound."""
    deployment = get_deployment(deployment_id)
    return list_exposures(events, list(Trade.objects.open().filter(deployment=deployment).order_by("symbol")), now)
