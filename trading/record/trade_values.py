"""What a trade comes to, each value computed once: pages, REST, exports and tools take it from here by its name."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from trading.models import Trade, TradeSide


@dataclass(frozen=True, slots=True)
class TradeValues:
    """A trade's values by name; None: not known. A name that is not computed here is a column of the trade."""

    trade: Trade
    mark_price: Decimal | None = None  # of now, while it is open
    stop_price: Decimal | None = None  # that its entry set; of an open position the present one

    def __getattr__(self, name: str) -> Any:
        return getattr(self.trade, name)

    @property
    def unrealised_usd(self) -> Decimal | None:
        """What the mark gives for the quantity still held, before fees; None: closed, or no price is known."""
        if self.mark_price is None or self.trade.exit_at is not None:
            return None
        value: Decimal = (self.mark_price - self.trade.entry_price) * self.trade.quantity
        return value

    @property
    def excursion_usd(self) -> tuple[Decimal, Decimal] | None:
        """The best and the worst gross so far, the mark included; None: no bars tell its path."""
        trade = self.trade
        if trade.path_minutes is None:
            return None
        if self.mark_price is None:
            return trade.mfe_usd, trade.mae_usd
        value = trade.gross_pnl_usd + (self.unrealised_usd or 0)
        return max(trade.mfe_usd, value), min(trade.mae_usd, value)

    @property
    def mfe_usd(self) -> Decimal | None:
        return self.excursion_usd and self.excursion_usd[0]

    @property
    def mae_usd(self) -> Decimal | None:
        return self.excursion_usd and self.excursion_usd[1]

    @property
    def net_fraction(self) -> Decimal | None:
        """The net as a share of `entry_size_usd`, unlevered (settled 29)."""
        return self._divide_by_size(self.trade.realized_pnl_usd)

    @property
    def mfe_fraction(self) -> Decimal | None:
        return self._divide_by_size(self.mfe_usd)

    @property
    def mae_fraction(self) -> Decimal | None:
        return self._divide_by_size(self.mae_usd)

    @property
    def held(self) -> timedelta | None:
        """How long it was held, None while it is open."""
        minutes = self.trade.holding_minutes
        return None if minutes is None else timedelta(minutes=float(minutes))

    @property
    def multiple(self) -> float | None:
        """The net over what its first stop put at risk (R), None without that stop or while it is open."""
        trade, stop = self.trade, self.stop_price if self.trade.exit_at else None
        net, size, price = float(trade.realized_pnl_usd), float(trade.entry_size_usd), float(trade.entry_price)
        return measure_multiple(net, size, price, trade.side, None if stop is None else float(stop))

    def _divide_by_size(self, amount: Decimal | None) -> Decimal | None:
        size = self.trade.entry_size_usd
        return amount / size if amount is not None and size else None


def measure_multiple(net_usd: float, size_usd: float, price: float, side: str, stop: float | None) -> float | None:
    """Return a net over what the first stop put at risk, None without such a stop."""
    distance = None if stop is None else (price - stop if side == TradeSide.LONG else stop - price)
    return net_usd * price / (size_usd * distance) if distance and distance > 0 and size_usd else None
