"""Round trips from fills and position snapshots. Pure.

Fills price the trades; snapshots are their control total. Fills are applied in the order in which the venue made
them; what a snapshot shows beyond them is booked at its mark and called an estimate, a hole in the venue's chain of
positions is called a gap. A trip runs from flat to flat at average cost; a fill that crosses zero ends one trip and
begins the next. A book only goes forward: `rebuild.py` folds again what comes late. Gross is exact.

Quantities are signed: long above zero, short below.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal, localcontext
from enum import StrEnum
from typing import Final

from trading.ledger.executions import EXACT_MATHS, QUANTITY_GRAIN, ZERO, Execution, round_quantities, sort_fills
from trading.models import ReconcileState, TradeSide

DUST: Final = Decimal("1e-9")  # a snapshot may differ by this much of a coin before anybody asks why
GAP_PREFIX: Final = "gap:"  # before a fill's id: the change that must have come before it unseen
_MINUTE: Final = timedelta(minutes=1)
_GRAIN: Final = Decimal("1e-24")  # shares are cut here; what is cut off stays with the rest


class ExitCause(StrEnum):
    FILL = "fill"
    FLIP = "flip"  # one fill closed it and opened the other side
    LIQUIDATION = "liquidation"
    UNEXPLAINED = "unexplained"  # no fill was seen


@dataclass(frozen=True, slots=True)
class Funding:
    """One funding payment; received above zero, paid below."""

    symbol: str
    at: datetime
    amount_usd: Decimal


@dataclass(frozen=True, slots=True)
class PathBar:
    opened_at: datetime
    closed_at: datetime
    high: Decimal
    low: Decimal
    close: Decimal


@dataclass(frozen=True, slots=True)
class Check:
    """A position at an instant, and the price at which a difference is booked."""

    symbol: str
    at: datetime
    quantity: Decimal  # signed
    price: Decimal
    is_opening: bool = False  # entered by hand; it precedes the fills of its instant

    @property
    def name(self) -> str:
        """The id under which a difference is booked."""
        return f"{'opening' if self.is_opening else 'estimate'}:{self.at.isoformat()}"


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick's news, none later than `at`."""

    at: datetime
    fills: Sequence[Execution] = ()
    funding: Sequence[Funding] = ()
    bars: Mapping[str, Sequence[PathBar]] = field(default_factory=dict)
    marks: Mapping[str, Decimal] = field(default_factory=dict)  # the price of each symbol at `at`
    positions: Mapping[str, Decimal] | None = None  # the snapshot at `at`; None: no snapshot
    is_complete: bool = True  # the snapshot names every position: what it does not name is flat
    checks: Sequence[Check] = ()  # stored ones


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
    is_unconfirmed: bool = False
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
        return ReconcileState.UNCONFIRMED if self.is_unconfirmed else ReconcileState.EXACT

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
            part = _take_share(fill.fee_in_coin, quantity, fill.quantity)
            coins[fill.fee_coin] = coins.get(fill.fee_coin, ZERO) + part
        value = quantity * fill.price
        if self.quantity * quantity >= 0:
            self.quantity += quantity
            self.cost_usd += value
            self.entry_price = self.cost_usd / self.quantity
            self.peak_quantity = max(self.peak_quantity, abs(self.quantity))
            self.entry_size_usd = max(self.entry_size_usd, abs(self.cost_usd))
            return
        removed = _take_share(self.cost_usd, -quantity, self.quantity)
        self.gross_usd -= value + removed
        self.cost_usd -= removed
        self.quantity += quantity
        self.exited_quantity += abs(quantity)
        self.exited_value_usd += abs(value)

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


class Book:
    def __init__(
        self,
        trips: Iterable[Trip] = (),
        *,
        seen: Iterable[tuple[str, str]] = (),
        uses_closes: bool = False,
        confirmed: Iterable[str] | None = None,
    ) -> None:
        """Start from open trips.

        `seen`: fills applied before, by (symbol, fill id). `confirmed`: symbols whose first position is known;
        None: all.
        """
        self.open: dict[str, Trip] = {trip.symbol: trip for trip in trips if trip.is_open}
        self.booked: list[Check] = []  # the snapshots of the last tick that changed or confirmed a trip
        self.taken: list[Execution] = []  # the new fills of the last tick
        self._seen = set(seen)
        self._uses_closes = uses_closes
        self._confirmed = None if confirmed is None else set(confirmed)
        self._touched: dict[int, Trip] = {}

    def held(self, symbol: str) -> Decimal:
        """Return the signed quantity held of a symbol."""
        trip = self.open.get(symbol)
        return trip.quantity if trip else ZERO

    def unseen(self, fills: Iterable[Execution]) -> list[Execution]:
        """Return the new fills, each once."""
        named = {(fill.symbol, fill.fill_id): round_quantities(fill) for fill in fills}
        return [fill for key, fill in named.items() if key not in self._seen and fill.quantity]

    def apply(self, tick: Tick) -> list[Trip]:
        """Apply a tick; return the touched trips in order."""
        self._touched, self.booked, self.taken = {}, [], self.unseen(tick.fills)
        fills: dict[str, list[Execution]] = defaultdict(list)
        for fill in self.taken:
            self._seen.add((fill.symbol, fill.fill_id))
            fills[fill.symbol].append(fill)
        others: dict[str, list[Funding | Check]] = defaultdict(list)
        for payment in tick.funding:
            others[payment.symbol].append(payment)
        for check in tick.checks:
            others[check.symbol].append(check)
        with localcontext(EXACT_MATHS):
            for symbol in sorted({*fills, *others, *self.open, *(tick.positions or ())}):
                self._follow_symbol(tick, symbol, fills.get(symbol, []), others.get(symbol, []))
                snapshot = read_snapshot(tick, symbol, fills.get(symbol, ()))
                if snapshot is not None and self._apply_check(snapshot, tick.at):
                    self.booked.append(snapshot)
        return list(self._touched.values())

    def _follow_symbol(
        self, tick: Tick, symbol: str, fills: list[Execution], others: Sequence[Funding | Check]
    ) -> None:
        bars, fills = tick.bars.get(symbol, ()), sort_fills(fills, self.held(symbol))
        if not bars and not others:
            for fill in fills:
                self._apply_fill(tick, fill)
            return
        # A bar ends before what happens at its end; a stable sort keeps the venue's order of fills.
        steps: list[tuple[datetime, int, PathBar | Funding | Execution | Check]] = []
        steps += [(bar.closed_at, 1, bar) for bar in bars]
        steps += [(one.at, 2 if isinstance(one, Funding) else 0 if one.is_opening else 4, one) for one in others]
        steps += [(fill.at, 3, fill) for fill in fills]
        ended: list[Trip] = []  # since the last bar
        for _, _, step in sorted(steps, key=lambda step: step[:2]):
            match step:
                case PathBar():
                    self._apply_bar(symbol, step, ended)
                    ended = []
                case Funding():
                    self._apply_funding(step)
                case Check():
                    self._apply_check(step, step.at)
                case _:
                    ended += [trip for trip in self._apply_fill(tick, step) if not trip.is_open]

    def _mark_touched(self, trip: Trip) -> None:
        self._touched[id(trip)] = trip

    def _apply_bar(self, symbol: str, bar: PathBar, ended: Iterable[Trip]) -> None:
        for trip in (*ended, *([self.open[symbol]] if symbol in self.open else [])):
            if trip.follow_bar(bar, uses_closes=self._uses_closes):
                self._mark_touched(trip)

    def _apply_funding(self, payment: Funding) -> None:
        trip = self.open.get(payment.symbol)
        if trip is None or payment.at <= (trip.last_funding_at or trip.entry_at):
            return
        trip.last_funding_at = payment.at
        trip.funding_usd += payment.amount_usd
        self._mark_touched(trip)

    def _apply_fill(self, tick: Tick, fill: Execution) -> list[Trip]:
        held, start = self.held(fill.symbol), fill.start_quantity
        if start is None and fill.is_reducing and held * fill.quantity >= 0:
            start = -fill.quantity  # at the least, or there was nothing to reduce
        if start is not None and self._confirmed is not None:
            self._confirmed.add(fill.symbol)
        gaps = []
        if start is not None and start != held:
            missing = replace(
                fill,
                fill_id=f"{GAP_PREFIX}{fill.fill_id}",
                quantity=start - held,
                fee_usd=ZERO,
                fee_coin="",
                is_liquidation=False,
                start_quantity=None,
            )
            gaps = self._take_fill(tick.at, missing, ExitCause.UNEXPLAINED)
            for trip in gaps:
                trip.has_gap = True
        return gaps + self._take_fill(tick.at, fill, ExitCause.LIQUIDATION if fill.is_liquidation else ExitCause.FILL)

    def _take_fill(self, tick_at: datetime, fill: Execution, cause: ExitCause) -> list[Trip]:
        """Apply a fill; return the trips of its parts, two across zero."""
        trip, quantity, fee = self.open.get(fill.symbol), fill.quantity, fill.fee_usd or ZERO
        tick_at, changed = fill.settled_at or tick_at, []
        if trip is not None and trip.quantity * quantity < 0:
            out = quantity if abs(quantity) <= abs(trip.quantity) else -trip.quantity
            part = _take_share(fee, out, quantity)
            quantity, fee = quantity - out, fee - part
            changed.append(trip)
            trip.follow_price(fill.price)
            trip.take(fill, out, part)
            self._mark_touched(trip)
            if not trip.quantity:
                has_crossed = quantity and cause is not ExitCause.LIQUIDATION
                trip.end(tick_at, fill.at, ExitCause.FLIP if has_crossed else cause)
                del self.open[fill.symbol]
            if not quantity:
                if not trip.quantity and self._confirmed is not None:
                    self._confirmed.add(fill.symbol)
                return changed
            trip = None
        if trip is None:
            side = TradeSide.LONG if quantity > 0 else TradeSide.SHORT
            trip = self.open[fill.symbol] = Trip(
                fill.symbol, side, fill.fill_id, tick_at, fill.at, fill.fill_id, fill.at
            )
            trip.is_unconfirmed = self._confirmed is not None and fill.symbol not in self._confirmed
        trip.follow_price(fill.price)
        trip.take(fill, quantity, fee)
        self._mark_touched(trip)
        return [*changed, trip]

    def _apply_check(self, check: Check, tick_at: datetime) -> bool:
        """Book the difference to a checked position; tell whether there was one, or a start to confirm."""
        symbol, missing = check.symbol, check.quantity - self.held(check.symbol)
        is_news, trip = self._confirmed is not None and symbol not in self._confirmed, self.open.get(symbol)
        if self._confirmed is not None:
            self._confirmed.add(symbol)
        if is_news and trip is not None and not missing:
            trip.is_unconfirmed = False
            self._mark_touched(trip)
        if not missing or (check.quantity and abs(missing) <= DUST):
            return is_news
        fill = Execution(check.name, symbol, check.at, missing, check.price)
        for trip in self._take_fill(tick_at, fill, ExitCause.UNEXPLAINED):
            trip.has_estimate = True
        return True


def read_snapshot(tick: Tick, symbol: str, fills: Iterable[Execution]) -> Check | None:
    """Return what the snapshot of a tick says of a symbol, if its mark is known."""
    if tick.positions is None or not (symbol in tick.positions or tick.is_complete):
        return None
    mark = tick.marks.get(symbol)
    is_ahead = any(fill.at > tick.at for fill in fills)  # of the snapshot, which cannot show them
    if mark is None or is_ahead:
        return None
    return Check(symbol, tick.at, tick.positions.get(symbol, ZERO).quantize(QUANTITY_GRAIN), mark)


def _take_share(amount: Decimal, part: Decimal, whole: Decimal) -> Decimal:
    return amount if part == whole else (amount * part / whole).quantize(_GRAIN)
