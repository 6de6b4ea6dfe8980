"""One round trip, at average cost. Pure; quantities are signed: long above zero, short below. Gross is exact."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final

from trading.ledger.executions import EXACT_MATHS, ZERO, Execution, compare_profit
from trading.models import ReconcileState, TradeSide

_MINUTE: Final = timedelta(minutes=1)
_GRAIN: Final = Decimal("1e-24")  # shares are cut here; what is cut off stays with the rest


class ExitCause(StrEnum):
    FILL = "fill"
    FLIP = "flip"  # one fill closed it and opened the other side
    LIQUIDATION = "liquidation"
    UNEXPLAINED = "unexplained"  # no fill was seen


@dataclass(frozen=True, slots=True)
class PathBar:
    opened_at: datetime
    closed_at: datetime
    high: Decimal
    low: Decimal
    close: Decimal


@dataclass(slots=True)
class Trip:
    """One round trip so far, in exact money; zero `quantity` once ended."""

    symbol: str
    side: TradeSide
    first_fill_id: str
    entry_tick_at: datetime
    entry_at: datetime  # of the first fill
    last_fill_id: str
    last_fill_at: datetime
    quantity: Decimal = ZERO
    peak_quantity: Decimal = ZERO  # absolute
    cost_usd: Decimal = ZERO  # of the quantity held, signed as it is
    entry_price: Decimal = ZERO  # average cost after the last add
    entry_size_usd: Decimal = ZERO  # the largest cost it held at once
    exited_quantity: Decimal = ZERO  # absolute
    exited_value_usd: Decimal = ZERO  # what the exits traded at
    gross_usd: Decimal = ZERO  # realised so far, before fees and funding
    fees_usd: Decimal = ZERO
    funding_usd: Decimal = ZERO
    mfe_usd: Decimal = ZERO  # best gross on the way, realised and unrealised; never below zero
    mae_usd: Decimal = ZERO  # worst; never above zero
    last_funding_at: datetime | None = None
    exit_tick_at: datetime | None = None
    exit_at: datetime | None = None  # of the last fill
    exit_cause: ExitCause | None = None
    has_gap: bool = False
    has_estimate: bool = False
    is_unconfirmed: bool = False  # nothing proves that it began from zero
    is_rest_in_doubt: bool = False  # what a fill left across zero: its price is known, not its quantity
    agrees: bool | None = None  # Keel's profits with those that the venue states, each; None: none is stated
    stated_usd: Decimal = ZERO  # the sum of those that the venue states
    found_usd: Decimal = ZERO  # and of Keel's for the same fills
    path_minutes: int = 0  # of the longest bar that it was followed by
    converted_fees: dict[str, Decimal] = field(default_factory=dict)  # by coin, part of `fees_usd`
    unpriced_fees: dict[str, Decimal] = field(default_factory=dict)  # by coin, not part of it

    @property
    def is_open(self) -> bool:
        return self.exit_tick_at is None

    @property
    def last_change_at(self) -> datetime:
        return max(self.last_fill_at, self.last_funding_at or self.last_fill_at)

    @property
    def exit_price(self) -> Decimal | None:
        """The mean exit price, if any."""
        if not self.exited_quantity:
            return None
        return EXACT_MATHS.divide(self.exited_value_usd, self.exited_quantity)

    @property
    def realized_pnl_usd(self) -> Decimal:
        """Net: gross less fees, with funding."""
        return EXACT_MATHS.add(EXACT_MATHS.subtract(self.gross_usd, self.fees_usd), self.funding_usd)

    @property
    def reconciled(self) -> ReconcileState:
        """How far fills explain it."""
        if self.has_gap:
            return ReconcileState.GAP
        if self.has_estimate:
            return ReconcileState.ESTIMATED
        is_doubtful = self.is_unconfirmed or self.agrees is False
        return ReconcileState.UNCONFIRMED if is_doubtful else ReconcileState.EXACT

    def follow_price(self, price: Decimal) -> bool:
        """Widen the excursion to a price; tell whether it grew."""
        value = self.gross_usd + self.quantity * price - self.cost_usd
        return self._widen_excursion(value)

    def _widen_excursion(self, gross: Decimal) -> bool:
        if gross > self.mfe_usd:
            self.mfe_usd = gross
        elif gross < self.mae_usd:
            self.mae_usd = gross
        else:
            return False
        return True

    def take(self, fill: Execution, quantity: Decimal, fee_usd: Decimal) -> None:
        """Add or remove a fill's part, down to flat."""
        self.last_fill_id, self.last_fill_at = fill.fill_id, fill.at
        self.fees_usd += fee_usd
        if fill.fee_coin and fill.fee_in_coin:
            coins = self.unpriced_fees if fill.fee_usd is None else self.converted_fees
            part = take_share(fill.fee_in_coin, quantity, fill.quantity)
            coins[fill.fee_coin] = coins.get(fill.fee_coin, ZERO) + part
        value = quantity * fill.price
        if self.quantity * quantity >= 0:
            self.quantity += quantity
            self.cost_usd += value
            self.entry_price = self.cost_usd / self.quantity
            self.peak_quantity = max(self.peak_quantity, abs(self.quantity))
            self.entry_size_usd = max(self.entry_size_usd, abs(self.cost_usd))
            return
        removed = take_share(self.cost_usd, -quantity, self.quantity)
        self.gross_usd -= value + removed
        if fill.is_reducing is False:
            self.agrees = False  # a position on each side, held at once, is more than one trip can say
        if fill.has_profit and fill.start_quantity is None:
            self._compare(fill.pnl_usd or ZERO, -value - removed, abs(value))
        self.cost_usd -= removed
        self.quantity += quantity
        self.exited_quantity += abs(quantity)
        self.exited_value_usd += abs(value)

    def _compare(self, stated: Decimal, computed: Decimal, value: Decimal) -> None:
        """Hold a profit that the venue states against Keel's; where all agree, it began from zero."""
        self.stated_usd += stated
        self.found_usd += computed
        is_equal = compare_profit(stated, computed, value)
        if is_equal is False or (is_equal and self.agrees is None):
            self.agrees = is_equal
        if self.agrees and not (self.has_gap or self.has_estimate or self.is_rest_in_doubt):
            self.is_unconfirmed = False

    def end(self, tick_at: datetime, at: datetime, cause: ExitCause) -> None:
        """Close it; it holds nothing any more."""
        self.exit_tick_at, self.exit_at, self.exit_cause = tick_at, at, cause

    def follow_bar(self, bar: PathBar, *, uses_closes: bool) -> bool:
        """Follow a bar that has ended; tell whether the trip changed."""
        minutes = (bar.closed_at - bar.opened_at) // _MINUTE
        is_longest = minutes > self.path_minutes
        self.path_minutes = max(self.path_minutes, minutes)
        if not self.is_open or bar.closed_at <= self.last_fill_at:
            return is_longest  # it was looked at before that fill
        # Highs and lows count only if the position was the same all the way: not in the bar of an entry or an add.
        is_whole = self.last_fill_at <= bar.opened_at
        prices = (bar.high, bar.low) if is_whole and not uses_closes else (bar.close,)
        return any([self.follow_price(price) for price in prices]) or is_longest


def take_share(amount: Decimal, part: Decimal, whole: Decimal) -> Decimal:
    """Return a part's share of an amount; what is cut off stays with the rest."""
    return amount if part == whole else (amount * part / whole).quantize(_GRAIN)
