"""Round trips from fills and position snapshots. Pure.

Fills price the trades; snapshots are their control total. A tick's fills are applied in the order in which
the venue made them; what the snapshot then shows beyond them is booked at the tick's mark and called an estimate,
and a hole in the venue's own chain of positions is called a gap. A trip runs from flat to flat at average cost; a fill
that crosses zero ends one trip and begins the next. Whatever happens to be said twice, late or out of order ends in
the same trips, and over all trips that have ended gross is exactly what the fills brought in less what they cost.

Quantities are signed: long above zero, short below.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal, localcontext
from enum import StrEnum
from typing import Final, NamedTuple

from trading.record.executions import EXACT_MATHS, QUANTITY_GRAIN, ZERO, Execution, round_quantities, sort_fills

DUST: Final = Decimal("1e-9")  # a snapshot may differ by this much of a coin before anybody asks why
GAP_PREFIX: Final = "gap:"  # before a fill's id: the change that must have come before it unseen
_GRAIN: Final = Decimal("1e-24")  # shares are rounded down here; the remainder stays with the rest


class Side(StrEnum):
    LONG = "long"
    SHORT = "short"


class Reconciled(StrEnum):
    EXACT = "exact"  # fills explain every change of the position
    ESTIMATED = "estimated"  # a change without a fill, priced at the mark of its tick
    GAP = "gap"  # history is missing


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
class Tick:
    """A tick's news, none later than `at`."""

    at: datetime
    fills: Sequence[Execution] = ()
    funding: Sequence[Funding] = ()
    bars: Mapping[str, Sequence[PathBar]] = field(default_factory=dict)
    marks: Mapping[str, Decimal] = field(default_factory=dict)  # the price of each symbol at `at`
    positions: Mapping[str, Decimal] | None = None  # the snapshot at `at`; None: no snapshot
    is_complete: bool = True  # the snapshot names every position: what it does not name is flat


@dataclass(frozen=True, slots=True)
class Estimate:
    """An unexplained part of a trip."""

    is_entry: bool
    quantity: Decimal  # signed as a fill's
    price: Decimal
    at: datetime


@dataclass(slots=True)
class Trip:
    """One round trip so far, in exact money; zero `quantity` once ended."""

    symbol: str
    side: Side
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
    estimates: list[Estimate] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        """Whether it still holds something."""
        return self.exit_tick_at is None

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
    def reconciled(self) -> Reconciled:
        """How far fills explain it."""
        if self.has_gap:
            return Reconciled.GAP
        return Reconciled.ESTIMATED if self.estimates else Reconciled.EXACT

    def unrealized_usd(self, price: Decimal) -> Decimal:
        """Return the unrealised PnL at a price."""
        return EXACT_MATHS.subtract(EXACT_MATHS.multiply(self.quantity, price), self.cost_usd)

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

    def correct_estimate(self, estimate: Estimate, quantity: Decimal, fill: Execution, fee_usd: Decimal) -> None:
        """Replace (part of) an estimate with a late fill."""
        self.fees_usd += fee_usd
        off = quantity * (fill.price - estimate.price)
        if not estimate.is_entry:
            self.gross_usd -= off
            self.exited_value_usd += abs(quantity) * (fill.price - estimate.price)
        elif self.quantity:
            # What is still held bears all of it, so that nothing that was realised changes afterwards.
            self.cost_usd += off
            self.entry_price = self.cost_usd / self.quantity
            self.entry_size_usd = max(self.entry_size_usd, abs(self.cost_usd))
        else:
            self.gross_usd -= off
            self.entry_price += (fill.price - estimate.price) * abs(quantity) / self.peak_quantity
        if not self.is_open:
            self._widen_excursion(self.gross_usd)
            self.exit_at = fill.at if self.exit_at == estimate.at else self.exit_at
        self.entry_at = fill.at if self.entry_at == estimate.at and estimate.is_entry else self.entry_at
        at = self.estimates.index(estimate)
        left = estimate.quantity - quantity
        self.estimates[at : at + 1] = [replace(estimate, quantity=left)] if left else []


class _Leg(NamedTuple):
    trip: Trip
    quantity: Decimal  # signed
    is_entry: bool


class Book:
    def __init__(
        self, trips: Iterable[Trip] = (), *, seen: Iterable[tuple[str, str]] = (), uses_closes: bool = False
    ) -> None:
        """Start from open and estimated trips; `seen` names their fills."""
        self.open: dict[str, Trip] = {}
        self._provisional: dict[str, list[Trip]] = defaultdict(list)  # closed, with estimates, oldest first
        self._seen = set(seen)
        self._uses_closes = uses_closes
        self._touched: dict[int, Trip] = {}
        for trip in sorted(trips, key=lambda trip: trip.entry_at):
            if trip.is_open:
                self.open[trip.symbol] = trip
            elif trip.estimates:
                self._provisional[trip.symbol].append(trip)

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
        self._touched = {}
        fills: dict[str, list[Execution]] = defaultdict(list)
        for fill in self.unseen(tick.fills):
            self._seen.add((fill.symbol, fill.fill_id))
            fills[fill.symbol].append(fill)
        funding: dict[str, list[Funding]] = defaultdict(list)
        for payment in tick.funding:
            funding[payment.symbol].append(payment)
        with localcontext(EXACT_MATHS):
            for symbol in sorted({*fills, *funding, *self.open, *(tick.positions or ())}):
                self._follow_symbol(tick, symbol, fills.get(symbol, []), funding.get(symbol, []))
                self._book_difference(tick, symbol, fills.get(symbol, []))
        return list(self._touched.values())

    def _follow_symbol(self, tick: Tick, symbol: str, fills: list[Execution], funding: list[Funding]) -> None:
        bars = tick.bars.get(symbol, ())
        if not bars and not funding:
            for fill in sort_fills(fills, self.held(symbol)):
                self._apply_fill(tick, fill)
            return
        # A bar ends before what happens at its end; a stable sort keeps the venue's order of fills.
        steps: list[tuple[datetime, int, PathBar | Funding | Execution]] = [(bar.closed_at, 0, bar) for bar in bars]
        steps += [(payment.at, 1, payment) for payment in funding]
        steps += [(fill.at, 2, fill) for fill in sort_fills(fills, self.held(symbol))]
        for _, _, step in sorted(steps, key=lambda step: step[:2]):
            if isinstance(step, PathBar):
                self._apply_bar(symbol, step)
            elif isinstance(step, Funding):
                self._apply_funding(step)
            else:
                self._apply_fill(tick, step)

    def _mark_touched(self, trip: Trip) -> None:
        self._touched[id(trip)] = trip

    def _apply_bar(self, symbol: str, bar: PathBar) -> None:
        trip = self.open.get(symbol)
        if trip is None or bar.closed_at <= trip.last_fill_at:
            return  # it was looked at before that fill
        # Highs and lows count only if the position was the same all the way: not in the bar of an entry or an add.
        is_whole = trip.last_fill_at <= bar.opened_at
        prices = (bar.high, bar.low) if is_whole and not self._uses_closes else (bar.close,)
        if any([trip.follow_price(price) for price in prices]):
            self._mark_touched(trip)

    def _apply_funding(self, payment: Funding) -> None:
        trip = self.open.get(payment.symbol)
        if trip is None or payment.at <= (trip.last_funding_at or trip.entry_at):
            return
        trip.last_funding_at = payment.at
        trip.funding_usd += payment.amount_usd
        self._mark_touched(trip)

    def _apply_fill(self, tick: Tick, fill: Execution) -> None:
        left = self._explain_estimates(fill)
        if left is None:
            return
        if left.start_quantity is not None and left.start_quantity != (held := self.held(fill.symbol)):
            missing = replace(
                left,
                fill_id=f"{GAP_PREFIX}{fill.fill_id}",
                quantity=left.start_quantity - held,
                fee_usd=ZERO,
                is_liquidation=False,
                start_quantity=None,
            )
            for leg in self._take_fill(tick.at, missing, ExitCause.UNEXPLAINED):
                leg.trip.has_gap = True
        self._take_fill(tick.at, left, ExitCause.LIQUIDATION if fill.is_liquidation else ExitCause.FILL)

    def _explain_estimates(self, fill: Execution) -> Execution | None:
        """Explain estimates with a late fill; return the rest."""
        symbol = fill.symbol
        if not self._provisional.get(symbol) and not (symbol in self.open and self.open[symbol].estimates):
            return fill
        trips = [*self._provisional[symbol], *([self.open[symbol]] if symbol in self.open else [])]
        for trip in trips:
            for estimate in tuple(trip.estimates):
                if fill.at > estimate.at or fill.quantity * estimate.quantity <= 0:
                    continue
                part = min(fill.quantity, estimate.quantity, key=abs)
                fee = _take_share(fill.fee_usd, part, fill.quantity)
                trip.correct_estimate(estimate, part, fill, fee)
                self._mark_touched(trip)
                if part == fill.quantity:
                    return None
                fill = replace(fill, quantity=fill.quantity - part, fee_usd=fill.fee_usd - fee, start_quantity=None)
        self._provisional[symbol] = [trip for trip in self._provisional[symbol] if trip.estimates]
        return fill

    def _take_fill(self, tick_at: datetime, fill: Execution, cause: ExitCause) -> list[_Leg]:
        """Apply a fill; return its parts, two across zero."""
        trip, quantity, fee = self.open.get(fill.symbol), fill.quantity, fill.fee_usd
        legs = []
        if trip is not None and trip.quantity * quantity < 0:
            out = quantity if abs(quantity) <= abs(trip.quantity) else -trip.quantity
            part = _take_share(fee, out, quantity)
            quantity, fee = quantity - out, fee - part
            legs.append(_Leg(trip, out, is_entry=False))
            trip.follow_price(fill.price)
            trip.take(fill, out, part)
            self._mark_touched(trip)
            if not trip.quantity:
                has_crossed = quantity and cause is not ExitCause.LIQUIDATION
                trip.end(tick_at, fill.at, ExitCause.FLIP if has_crossed else cause)
                del self.open[fill.symbol]
            if not quantity:
                return legs
            trip = None
        if trip is None:
            side = Side.LONG if quantity > 0 else Side.SHORT
            trip = self.open[fill.symbol] = Trip(
                fill.symbol, side, fill.fill_id, tick_at, fill.at, fill.fill_id, fill.at
            )
        trip.follow_price(fill.price)
        trip.take(fill, quantity, fee)
        self._mark_touched(trip)
        return [*legs, _Leg(trip, quantity, is_entry=True)]

    def _book_difference(self, tick: Tick, symbol: str, fills: list[Execution]) -> None:
        """Book the difference to the snapshot at the mark, once known."""
        if tick.positions is None or not (symbol in tick.positions or tick.is_complete):
            return
        actual, mark = tick.positions.get(symbol, ZERO).quantize(QUANTITY_GRAIN), tick.marks.get(symbol)
        missing = actual - self.held(symbol)
        is_ahead = any(fill.at > tick.at for fill in fills)  # of the snapshot, which cannot show them
        if not missing or (actual and abs(missing) <= DUST) or is_ahead or mark is None:
            return
        fill = Execution(f"estimate:{tick.at.isoformat()}", symbol, tick.at, missing, mark)
        for trip, quantity, is_entry in self._take_fill(tick.at, fill, ExitCause.UNEXPLAINED):
            trip.estimates.append(Estimate(is_entry, quantity, mark, tick.at))
            if not trip.is_open:
                self._provisional[symbol].append(trip)


def _take_share(amount: Decimal, part: Decimal, whole: Decimal) -> Decimal:
    """Return a part's share of an amount; the whole gets all."""
    return amount if part == whole else (amount * part / whole).quantize(_GRAIN)
