"""Rows that are whole trades: two fills each, which their own profit proves. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple

from trading.intake import values
from trading.ledger.executions import EXACT_MATHS

_ROUND: Final = tuple(map(Decimal, ("1", "1.25", "2", "2.5", "3.75", "4", "4.2", "5", "6.25", "10")))
_CLOSE: Final = Decimal("0.02")  # of a ratio to the value of a point
_COSTS: Final = (Decimal("-0.0005"), Decimal("0.003"))  # of what was traded, that a profit may be less without a fee
_CENT: Final = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class WholeTrade:
    """A whole trade, as its row says it."""

    row: int
    market: str
    symbol: str
    side: int  # 1: long; 0: the row does not say
    quantity: Decimal  # in units, above zero
    entry_price: Decimal
    exit_price: Decimal
    entry_at: datetime
    exit_at: datetime
    fee: Decimal
    fee_coin: str
    pnl: Decimal | None
    grain: Decimal = _CENT  # of the prices
    pnl_grain: Decimal = _CENT

    @property
    def slack(self) -> Decimal:
        """By how much a profit may differ from rounded prices."""
        return self.quantity * self.grain + self.pnl_grain / 2 + (_CENT if self.fee else 0)

    @property
    def first_at(self) -> datetime:
        return min(self.entry_at, self.exit_at)

    @property
    def last_at(self) -> datetime:
        return max(self.entry_at, self.exit_at)

    @property
    def move(self) -> Decimal:
        """The profit of a long before fees."""
        return EXACT_MATHS.multiply(self.quantity, self.exit_price - self.entry_price)

    @property
    def turnover(self) -> Decimal:
        return EXACT_MATHS.multiply(self.quantity, self.exit_price + self.entry_price)


class ProfitReading(NamedTuple):
    """What a file's profits are: of the side as written or its opposite; before the fees, after them or unsaid ones."""

    turn: int
    of: str  # net, gross or unsaid


_READINGS: Final = tuple(ProfitReading(turn, of) for turn in (1, -1) for of in ("net", "gross", "unsaid"))


def measure_grain(*texts: str, decimal: str) -> Decimal:
    """Return the last digit that amounts are written to, at least a cent."""
    places = [sum(letter.isdigit() for letter in text.rpartition(decimal)[2]) for text in texts if decimal in text]
    return Decimal(1).scaleb(-max([2, *places]))


def judge_trips(trips: Sequence[WholeTrade]) -> list[WholeTrade | str]:
    """Return each trade with its side and fees as the profits of the file prove them, or what is wrong with it."""
    reading = _choose_reading(trips)
    return [_prove(trip, reading) for trip in trips]


def _choose_reading(trips: Sequence[WholeTrade]) -> ProfitReading:
    stated = [trip for trip in trips if trip.pnl is not None]
    fits = {one: sum(_fits(trip, trip.side * one.turn or 1, one.of) for trip in stated) for one in _READINGS}
    if not any(trip.side for trip in trips):  # either side may be right
        fits = {one: sum(bool(_find_side(trip, one.of)) for trip in stated) for one in _READINGS}
    return max(_READINGS, key=lambda one: fits[one])


def _fits(trip: WholeTrade, side: int, of: str) -> bool:
    if trip.pnl is None:
        return False
    costs = side * trip.move - trip.pnl
    if of == "unsaid":
        low, high = (trip.turnover * share for share in _COSTS)
        return not trip.fee and low - trip.slack <= costs <= high + trip.slack
    return abs(costs - (trip.fee if of == "net" else 0)) <= trip.slack


def _find_side(trip: WholeTrade, of: str) -> int:
    """Return the one side that the profit of a trade proves, or 0."""
    fitting = [side for side in (1, -1) if _fits(trip, side, of)]
    return fitting[0] if len(fitting) == 1 else 0


def _prove(trip: WholeTrade, reading: ProfitReading) -> WholeTrade | str:
    if trip.pnl is None:
        return trip if trip.side else "the row has no side, and no profit that proves one"
    side = trip.side * reading.turn or _find_side(trip, reading.of)
    if not side:
        return "the row has no side, and its profit proves none; choose the column of the side"
    if not _fits(trip, side, reading.of):
        found = side * trip.move - (trip.fee if reading.of == "net" else 0)
        return (
            f"its profit is {trip.pnl:,.2f}, and its prices, quantity and fees give {found:,.2f};"
            " check the value of a point and the columns"
        )
    unsaid = side * trip.move - trip.pnl
    return replace(trip, side=side, fee=unsaid) if reading.of == "unsaid" else replace(trip, side=side)


def find_overlaps(trips: Sequence[WholeTrade]) -> set[str]:
    """Return the symbols of which two trades were open at once: the profit of each is not that of its exit."""
    overlaps, ends = set(), dict[str, datetime]()
    for trip in sorted(trips, key=lambda trip: (trip.first_at, trip.last_at)):
        if trip.symbol in ends and trip.first_at < ends[trip.symbol]:
            overlaps.add(trip.symbol)
        ends[trip.symbol] = max(trip.last_at, ends.get(trip.symbol, trip.last_at))
    return overlaps


def propose_sizes(trips: Sequence[WholeTrade], *, needs_all: bool) -> str:
    """Return the values of a point that profits prove, `ES=50, NQ=20`; 1 where it must be said."""
    by_name: dict[str, list[WholeTrade]] = {}
    for trip in trips:
        if trip.pnl is not None and trip.move:
            by_name.setdefault(values.find_root(trip.symbol) or trip.symbol, []).append(trip)
    sizes = {name: _find_value(of_name) for name, of_name in by_name.items()}
    return ", ".join(
        f"{name}={size.normalize():f}"
        for name, size in sorted(sizes.items())
        if size and (size != 1 or needs_all or name != by_name[name][0].symbol)
    )


def _find_value(trips: Sequence[WholeTrade]) -> Decimal | None:
    """Return the round value of a point by which each profit is that of its prices, or nothing."""
    largest = max(trips, key=lambda trip: abs(trip.pnl or Decimal(0)))
    for of, fee in (("gross", Decimal(0)), ("net", largest.fee)):
        ratio = abs(((largest.pnl or 0) + fee) / largest.move)
        size = min((one.scaleb(ratio.adjusted()) for one in _ROUND), key=lambda one: abs(one - ratio))
        scaled = [replace(trip, quantity=trip.quantity * size) for trip in trips]
        if abs(size - ratio) <= _CLOSE * ratio and all(any(_fits(one, side, of) for side in (1, -1)) for one in scaled):
            return size
    return None
