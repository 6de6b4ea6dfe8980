"""Round trips from fills and position snapshots. Pure.

Fills price the trades; snapshots are their control total. Fills are applied in the order in which the venue made
them; what a snapshot shows beyond them is booked at its mark and called an estimate, a hole in the venue's chain of
positions is called a gap. A trip runs from flat to flat at average cost; a fill that crosses zero ends one trip and
begins the next. A book only goes forward: `rebuild.py` folds again what comes late. Gross is exact.

Quantities are signed: long above zero, short below.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, localcontext
from typing import Final

from trading.ledger.executions import EXACT_MATHS, QUANTITY_GRAIN, ZERO, Execution, round_quantities, sort_fills
from trading.ledger.trips import ExitCause, PathBar, Trip, take_share
from trading.models import ReconcileState, TradeSide

DUST: Final = Decimal("1e-9")  # a snapshot may differ by this much of a coin before anybody asks why
GAP_PREFIX: Final = "gap:"  # before a fill's id: the change that must have come before it unseen


@dataclass(frozen=True, slots=True)
class Funding:
    """One funding payment; received above zero, paid below."""

    symbol: str
    at: datetime
    amount_usd: Decimal


@dataclass(frozen=True, slots=True)
class Check:
    """A position at an instant, and the price at which a difference is booked."""

    symbol: str
    at: datetime
    quantity: Decimal  # signed
    price: Decimal
    is_opening: bool = False  # entered by hand; it precedes the fills of its instant

    @property
    def size(self) -> Decimal:
        """What is held, above zero."""
        return abs(self.quantity)

    @property
    def side(self) -> TradeSide:
        """Of what is held, if anything is."""
        return TradeSide.LONG if self.quantity > 0 else TradeSide.SHORT

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
class Starts:
    """The symbols of which it is proven what was held before their first fill."""

    proven: set[str] = field(default_factory=set)
    whole_since: datetime | None = None  # a snapshot named every position then

    def is_proven(self, symbol: str, at: datetime) -> bool:
        """Tell whether a trip of a symbol that begins at an instant begins from what is known."""
        return symbol in self.proven or (self.whole_since is not None and at > self.whole_since)


class Book:
    def __init__(
        self,
        trips: Iterable[Trip] = (),
        *,
        seen: Iterable[tuple[str, str]] = (),
        uses_closes: bool = False,
        starts: Starts | None = None,
    ) -> None:
        """Start from open trips.

        `seen`: fills applied before, by (symbol, fill id). `starts`: those proven before; None: all.
        """
        self.open: dict[str, Trip] = {trip.symbol: trip for trip in trips if trip.is_open}
        self.booked: list[Check] = []  # the snapshots of the last tick that changed or confirmed a trip
        self.taken: list[Execution] = []  # the new fills of the last tick
        self._seen = set(seen)
        self._uses_closes = uses_closes
        self._starts = starts
        self._touched: dict[int, Trip] = {}

    def held(self, symbol: str) -> Decimal:
        """Return the signed quantity held of a symbol."""
        trip = self.open.get(symbol)
        return trip.quantity if trip else ZERO

    def is_proven(self, symbol: str, at: datetime) -> bool:
        """Tell the same of all that is proven so far."""
        return self._starts is None or self._starts.is_proven(symbol, at)

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
        if start is not None:
            self._accept_position(fill.symbol, start, fill.at)
        elif fill.must_reduce(held):
            start = -fill.quantity  # at the least, or there was nothing to reduce
        gaps = []
        if start is not None and start != held:
            name = f"{GAP_PREFIX}{fill.fill_id}"
            missing = Execution(name, fill.symbol, fill.at, start - held, fill.price, settled_at=fill.settled_at)
            gaps = self._take_unseen(tick.at, missing, "has_gap")
        return gaps + self._take_fill(tick.at, fill, ExitCause.LIQUIDATION if fill.is_liquidation else ExitCause.FILL)

    def _take_unseen(self, tick_at: datetime, change: Execution, mark: str) -> list[Trip]:
        """Apply a change that no fill explains; its trips are marked before they end."""
        if trip := self.open.get(change.symbol):
            setattr(trip, mark, True)
        changed = self._take_fill(tick_at, change, ExitCause.UNEXPLAINED)
        for trip in changed:
            setattr(trip, mark, True)
        return changed

    def _take_fill(self, tick_at: datetime, fill: Execution, cause: ExitCause) -> list[Trip]:
        """Apply a fill; return the trips of its parts, two across zero."""
        trip, quantity, fee = self.open.get(fill.symbol), fill.quantity, fill.fee_usd or ZERO
        tick_at, changed = fill.settled_at or tick_at, []
        if trip is not None and trip.quantity * quantity < 0:
            out = quantity if abs(quantity) <= abs(trip.quantity) else -trip.quantity
            part = take_share(fee, out, quantity)
            quantity, fee = quantity - out, fee - part
            changed.append(trip)
            trip.follow_price(fill.price)
            trip.take(fill, out, part)
            self._mark_touched(trip)
            if not trip.quantity:
                has_crossed = quantity and cause is not ExitCause.LIQUIDATION
                self._end(trip, tick_at, fill.at, ExitCause.FLIP if has_crossed else cause)
            if not quantity:
                return changed
            trip = None
        if trip is None:
            side = TradeSide.LONG if quantity > 0 else TradeSide.SHORT
            trip = self.open[fill.symbol] = Trip(
                fill.symbol, side, fill.fill_id, tick_at, fill.at, fill.fill_id, fill.at
            )
            is_rest = bool(changed)
            trip.is_unconfirmed = not self.is_proven(fill.symbol, fill.at) or (is_rest and changed[0].agrees is False)
            trip.is_rest_in_doubt = is_rest and trip.is_unconfirmed
        trip.follow_price(fill.price)
        trip.take(fill, quantity, fee)
        self._mark_touched(trip)
        return [*changed, trip]

    def _end(self, trip: Trip, tick_at: datetime, at: datetime, cause: ExitCause) -> None:
        """End a trip. To be flat proves nothing of the next one, unless it is proven that this one began from zero."""
        trip.end(tick_at, at, cause)
        del self.open[trip.symbol]
        if self._starts is not None and trip.reconciled is ReconcileState.EXACT:
            self._starts.proven.add(trip.symbol)

    def _accept_position(self, symbol: str, quantity: Decimal, at: datetime) -> bool:
        """Take a stated position as the proof of a start; tell whether anything was in doubt."""
        if self._starts is None:
            return False
        is_news, trip = not self._starts.is_proven(symbol, at), self.open.get(symbol)
        self._starts.proven.add(symbol)
        if trip is not None and trip.is_unconfirmed and trip.quantity == quantity:
            trip.is_unconfirmed, is_news = False, True
            self._mark_touched(trip)
        return is_news

    def _apply_check(self, check: Check, tick_at: datetime) -> bool:
        """Book the difference to a checked position; tell whether there was one, or a start to confirm."""
        is_news = self._accept_position(check.symbol, check.quantity, check.at)
        missing = check.quantity - self.held(check.symbol)
        if not missing or (check.quantity and abs(missing) <= DUST):
            return is_news
        fill = Execution(check.name, check.symbol, check.at, missing, check.price)
        self._take_unseen(tick_at, fill, "has_estimate")
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
