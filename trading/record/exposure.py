"""Events against open positions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from trading.ledger.services import get_deployment
from trading.market.moves import Impact, measure_impact
from trading.market.queries import is_about, list_past_moves
from trading.models import MarketEvent, Trade
from trading.record.deployment_queries import find_trade_marks


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
    marks = find_trade_marks(positions, now)
    pairs = [(event, trade) for event in events for trade in positions if is_about(event.symbols, [trade.symbol])]
    simulated = {pk for pk, mark in marks.items() if mark.bar.is_simulated}
    moves = {}  # an own trade and an agent's may hold one symbol, one by real and one by simulated bars
    for is_made in (False, True):
        wanted = {(event.kind, trade.symbol) for event, trade in pairs if (trade.pk in simulated) is is_made}
        moves[is_made] = list_past_moves(wanted, now, simulated={symbol for _, symbol in wanted} if is_made else ())
    exposures = []
    for event, trade in pairs:
        mark = marks.get(trade.pk)
        price, price_at = (mark.price, mark.at) if mark else (trade.entry_price, trade.entry_at)
        past = measure_impact(moves[trade.pk in simulated][event.kind, trade.symbol], is_long=trade.side == "long")
        notional = abs(trade.quantity) * price
        exposures.append(Exposure(event, trade, notional, price_at, trade.pk in simulated, past))
    return exposures


def list_deployment_exposures(deployment_id: UUID, events: Iterable[MarketEvent], now: datetime) -> list[Exposure]:
    """Return the exposures of a deployment. Raises DeploymentNotFound."""
    deployment = get_deployment(deployment_id)
    return list_exposures(events, list(Trade.objects.open().filter(deployment=deployment).order_by("symbol")), now)
