"""Events against open positions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from trading.market.moves import Impact, PastMoves, measure_impact
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
    moves: dict[tuple[str, str], PastMoves] = {}
    exposures = []
    for event in events:
        for trade in positions:
            if not is_about(event.symbols, [trade.symbol]):
                continue
            mark = marks.get(trade.symbol)
            is_simulated = mark is not None and mark.bar.is_simulated
            key = (event.kind, trade.symbol)
            if key not in moves:
                moves[key] = list_past_moves(event.kind, trade.symbol, now, is_simulated=is_simulated)
            price, price_at = (mark.price, mark.at) if mark else (trade.entry_price, trade.entry_at)
            past = measure_impact(moves[key], is_long=trade.side == "long")
            exposures.append(Exposure(event, trade, abs(trade.quantity) * price, price_at, is_simulated, past))
    return exposures


def list_deployment_exposures(deployment_id: UUID, events: Iterable[MarketEvent], now: datetime) -> list[Exposure]:
    """Return the exposures of a deployment. Raises DeploymentNotFound."""
    deployment = get_deployment(deployment_id)
    return list_exposures(events, list(Trade.objects.open().filter(deployment=deployment).order_by("symbol")), now)
