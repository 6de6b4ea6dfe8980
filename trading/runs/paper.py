"""A paper broker: fills, fees, slippage, funding and liquidation from bars.

docs/operations.md lists its rules. Where a bar is ambiguous, the broker is pessimistic: an order fills a little worse
than the next bar's open, a stop at its price or at a worse open. Within a bar the level nearer to the open is reached
first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from trading.ledger.executions import Execution
from trading.ledger.positions import Funding
from trading.models import AT_ONCE, Bar, FundingRate

ZERO: Final = Decimal(0)
BPS: Final = Decimal(10_000)
MAINTENANCE_FRACTION: Final = Decimal("0.005")  # of notional, that must be left of a position's margin
_A_MOMENT: Final = timedelta(microseconds=1)  # before its bar ended, or the whole bar would count as held
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_QUANTITY: Final = Decimal("1e-8")
ORDER_LIFETIME: Final = timedelta(hours=1)  # at least; an order to close does not expire


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


@dataclass(frozen=True, slots=True)
class Costs:
    """What trading costs; basis points of notional."""

    fee_bps: Decimal = Decimal(4)  # a rebate is negative
    slippage_bps: Decimal = Decimal(2)
    volume_share: Decimal = ZERO  # of a bar's volume that fills may take; 0: no limit


@dataclass(frozen=True, slots=True)
class Holding:
    quantity: Decimal  # signed
    entry_price: Decimal  # average
    leverage: Decimal = Decimal(1)
    stop_price: Decimal | None = None
    stop_order_id: str = ""  # the order that set the stop
    paid_until: datetime = _NEVER  # when it was opened, or funding was last paid on it
    is_stopping: bool = False  # the stop was reached, and the bar's volume did not suffice

    @property
    def liquidation_price(self) -> Decimal:
        """The liquidation price; none if zero or below."""
        room = 1 / self.leverage - MAINTENANCE_FRACTION
        return self.entry_price * (1 - room if self.quantity > 0 else 1 + room)


@dataclass
class _State:
    """The fields of a broker that outlive its process."""

    cash_usd: Decimal
    holdings: dict[str, Holding]
    pending: list[OrderRequest]
    marks: dict[str, Decimal]
    seen_until: dict[str, datetime]


_STATES: Final = TypeAdapter(_State)


@dataclass
class PaperBroker:
    """An account on paper; its fields are its whole state."""

    cash_usd: Decimal  # the starting equity, and all that was realised, paid and received
    costs: Costs = field(default_factory=Costs)
    holdings: dict[str, Holding] = field(default_factory=dict)
    pending: list[OrderRequest] = field(default_factory=list)
    marks: dict[str, Decimal] = field(default_factory=dict)
    seen_until: dict[str, datetime] = field(default_factory=dict)  # by symbol, the end of the last bar
    _room: Decimal | None = field(default=None, compare=False)  # what is left of the bar's volume; None: no limit
    _market: list[Bar | FundingRate] = field(default_factory=list)
    _news: Report = field(default_factory=Report)  # since the last report

    def submit(self, order: OrderRequest) -> None:
        """Queue an order for its symbol's next open; idempotent."""
        if all(order.order_id != waiting.order_id for waiting in self.pending):
            self.pending.append(order)

    def feed(self, bars: Iterable[Bar], rates: Iterable[FundingRate] = ()) -> None:
        """Queue bars and funding for the next `report`."""
        self._market += [*bars, *rates]

    @classmethod
    def restored(cls, state: Mapping[str, Any], *, starting_equity_usd: Decimal, costs: Costs) -> "PaperBroker":
        """Restore a broker from `state`, or start one."""
        return cls(costs=costs, **vars(_STATES.validate_python(state))) if state else cls(starting_equity_usd, costs)

    def state(self) -> dict[str, Any]:
        """Return the exact state as JSON, after a report."""
        state = _State(self.cash_usd, self.holdings, self.pending, self.marks, self.seen_until)
        return _STATES.dump_python(state, mode="json")  # type: ignore[no-any-return]

    def report(self, until: datetime) -> Report:
        """Process the market up to an instant; report it once."""
        known = [one for one in self._market if _ends_at(one) <= until]
        self._market = [one for one in self._market if _ends_at(one) > until]
        for one in sorted(known, key=_sort_key):
            if isinstance(one, FundingRate):
                self._pay_funding(one)
            else:
                self._trade_bar(one)
        positions = {symbol: holding.quantity for symbol, holding in self.holdings.items()}
        told, self._news = self._news, Report()
        return replace(told, at=until, positions=positions, marks=dict(self.marks), equity_usd=self.equity_usd)

    @property
    def equity_usd(self) -> Decimal:
        """Cash and the unrealised PnL at the marks."""
        gains = (
            holding.quantity * (self.marks.get(symbol, holding.entry_price) - holding.entry_price)
            for symbol, holding in sorted(self.holdings.items())  # a database may turn the order, and sums round
        )
        return self.cash_usd + sum(gains, ZERO)

    def _pay_funding(self, rate: FundingRate) -> None:
        holding = self.holdings.get(rate.symbol)
        if holding is None or rate.at <= holding.paid_until:
            return
        self.holdings[rate.symbol] = replace(holding, paid_until=rate.at)
        amount = -holding.quantity * self.marks.get(rate.symbol, holding.entry_price) * rate.rate
        self.cash_usd += amount
        self._news.funding.append(Funding(rate.symbol, rate.at, amount))

    def _trade_bar(self, bar: Bar) -> None:
        """Fill at the open, then at levels; mark the close."""
        if bar.opened_at < self.seen_until.get(bar.symbol, bar.opened_at):
            return  # shorter bars covered this time already
        self.seen_until[bar.symbol] = bar.closed_at
        room = (bar.volume * self.costs.volume_share).quantize(_QUANTITY, rounding=ROUND_DOWN)
        self._room = room if bar.volume and self.costs.volume_share else None
        due = [order for order in self.pending if order.symbol == bar.symbol and order.at <= bar.opened_at]
        self.pending = [order for order in self.pending if order not in due]
        for order in due:
            if order.side != "close" and bar.opened_at - order.at > max(bar.closed_at - bar.opened_at, ORDER_LIFETIME):
                self._news.expired.add(order.order_id)
            else:
                self._execute_order(order, bar)
        holding = self.holdings.get(bar.symbol)
        if holding is not None:
            self._reach_levels(holding, bar)
        self.marks[bar.symbol] = bar.close

    def _execute_order(self, order: OrderRequest, bar: Bar) -> None:
        wanted = self._order_quantity(order, bar.open)
        if left := abs(wanted) - abs(quantity := self._take_room(wanted)):
            self.pending.append(replace(order, left=left))
        if not quantity:
            return
        before = self.holdings.get(order.symbol)
        fill_id = order.order_id if order.left is None else f"{order.order_id}:{bar.opened_at.isoformat()}"
        self._news.order_ids[fill_id] = order.order_id
        self._book_fill(fill_id, bar.symbol, bar.opened_at, quantity, self._slip_price(bar.open, quantity))
        holding = self.holdings.get(order.symbol)
        if holding is not None and order.side != "close":
            self.holdings[order.symbol] = replace(
                holding,
                leverage=_blend_leverage(before, holding, order.leverage),
                stop_price=order.stop_price or holding.stop_price,
                stop_order_id=order.order_id if order.stop_price else holding.stop_order_id,
            )

    def _take_room(self, wanted: Decimal) -> Decimal:
        """Return what the bar's volume leaves of a quantity, and take it."""
        if self._room is None:
            return wanted
        quantity = min(abs(wanted), self._room).copy_sign(wanted)
        self._room -= abs(quantity)
        return quantity

    def _order_quantity(self, order: OrderRequest, price: Decimal) -> Decimal:
        held = self.holdings[order.symbol].quantity if order.symbol in self.holdings else ZERO
        if order.side == "close" and order.size_usd is None:
            return -held
        size = order.left
        if size is None:
            size = ((order.size_usd or ZERO) / price).quantize(_QUANTITY, rounding=ROUND_DOWN)
        if order.side == "close":
            return -min(size, abs(held)).copy_sign(held)
        return size if order.side == "long" else -size

    def _reach_levels(self, holding: Holding, bar: Bar) -> None:
        """Fill the stop or liquidation that the bar reached first."""
        is_long = holding.quantity > 0
        levels = [(holding.liquidation_price, True)]
        if holding.is_stopping or holding.stop_price is not None:
            levels.append((bar.open if holding.is_stopping else holding.stop_price or ZERO, False))
        worst = bar.low if is_long else bar.high
        met = [(price, out) for price, out in levels if (worst <= price if is_long else worst >= price) and price > 0]
        if not met:
            return
        price, is_liquidation = (max if is_long else min)(met)
        # The open may already be beyond the level.
        price = min(price, bar.open) if is_long else max(price, bar.open)
        fill_id = f"{'liquidation' if is_liquidation else 'stop'}:{bar.symbol}:{bar.closed_at.isoformat()}"
        # The venue takes a liquidated position over as a whole.
        quantity = -holding.quantity if is_liquidation else self._take_room(-holding.quantity)
        self.holdings[bar.symbol] = replace(holding, is_stopping=not is_liquidation)
        if not quantity:
            return
        if not is_liquidation:
            self._news.stopped[fill_id] = holding.stop_order_id
        self._book_fill(
            fill_id, bar.symbol, bar.closed_at - _A_MOMENT, quantity, self._slip_price(price, quantity), is_liquidation
        )

    def _slip_price(self, price: Decimal, quantity: Decimal) -> Decimal:
        worse = price * self.costs.slippage_bps / BPS
        return price + (worse if quantity > 0 else -worse)

    def _book_fill(
        self, fill_id: str, symbol: str, at: datetime, quantity: Decimal, price: Decimal, is_liquidation: bool = False
    ) -> None:
        old = self.holdings.get(symbol, Holding(ZERO, price))
        fee = abs(quantity) * price * self.costs.fee_bps / BPS
        self._news.fills.append(Execution(fill_id, symbol, at, quantity, price, fee, is_liquidation, old.quantity))
        self.cash_usd -= fee
        left = old.quantity + quantity
        if old.quantity * quantity >= 0:
            average = (old.quantity * old.entry_price + quantity * price) / left
            paid_until = old.paid_until if old.quantity else at
            self.holdings[symbol] = replace(old, quantity=left, entry_price=average, paid_until=paid_until)
            return
        out = quantity if abs(quantity) <= abs(old.quantity) else -old.quantity
        self.cash_usd -= out * (price - old.entry_price)
        if left and left * old.quantity > 0:
            self.holdings[symbol] = replace(old, quantity=left)
        elif left:
            self.holdings[symbol] = Holding(left, price, old.leverage, paid_until=at)
        else:
            del self.holdings[symbol]


def _blend_leverage(before: Holding | None, after: Holding, leverage: Decimal) -> Decimal:
    """Return the leverage of the whole margin: an add brings its own, a reduction takes its share away."""
    if before is None or before.quantity * after.quantity < 0:
        return leverage
    held, whole = abs(before.quantity) * before.entry_price, abs(after.quantity) * after.entry_price
    if whole <= held:
        return before.leverage
    return whole / (held / before.leverage + (whole - held) / leverage)


def _ends_at(one: Bar | FundingRate) -> datetime:
    return one.at if isinstance(one, FundingRate) else one.closed_at


def _sort_key(one: Bar | FundingRate) -> tuple[datetime, bool, str]:
    # A payment at a bar's opening instant is for the position before that bar.
    return one.opened_at if isinstance(one, Bar) else one.at, isinstance(one, Bar), one.symbol
