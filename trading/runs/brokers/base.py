"""Orders to a broker and its reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Literal

from trading.ledger.executions import Execution
from trading.ledger.positions import Funding
from trading.models import AT_ONCE

Side = Literal["long", "short", "close"]


@dataclass(frozen=True, slots=True)
class OrderRequest:
    order_id: str  # ours; the same one again is the same order
    symbol: str
    side: Side
    size_usd: Decimal | None  # None: all of it, to close
    leverage: Decimal
    stop_price: Decimal | None
    at: datetime
    left: Decimal | None = None  # the quantity still to be filled; None: no bar came yet


@dataclass(frozen=True, slots=True)
class Report:
    """The events and the account up to an instant."""

    at: datetime = AT_ONCE
    fills: list[Execution] = field(default_factory=list)
    funding: list[Funding] = field(default_factory=list)
    positions: Mapping[str, Decimal] = field(default_factory=dict)  # signed quantities; a missing symbol is flat
    marks: Mapping[str, Decimal] = field(default_factory=dict)
    equity_usd: Decimal = Decimal(0)
    order_ids: dict[str, str] = field(default_factory=dict)  # by fill id, the order it filled
    expired: set[str] = field(default_factory=set)  # ids of orders that no bar came for in time
    stopped: dict[str, str] = field(default_factory=dict)  # by fill id, the order that set the stop
