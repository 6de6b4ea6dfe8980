"""Orders to a broker and its reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Literal

from trading.record.executions import Execution
from trading.record.positions import Funding

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

    at: datetime
    fills: Sequence[Execution] = ()
    funding: Sequence[Funding] = ()
    positions: Mapping[str, Decimal] = field(default_factory=dict)  # signed quantities; a missing symbol is flat
    marks: Mapping[str, Decimal] = field(default_factory=dict)
    equity_usd: Decimal = Decimal(0)
    order_ids: Mapping[str, str] = field(default_factory=dict)  # by fill id, the order it filled
    expired: frozenset[str] = frozenset()  # ids of orders that no bar came for in time
    stopped: Mapping[str, str] = field(default_factory=dict)  # by fill id, the order that set the stop
