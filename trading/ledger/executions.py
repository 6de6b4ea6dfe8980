"""Executions and the venue's order of them. Pure."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from itertools import pairwise
from typing import Final

ZERO: Final = Decimal(0)
QUANTITY_GRAIN: Final = Decimal("1e-12")  # no venue counts finer, nor does the database
EXACT_MATHS: Final = Context(prec=60)  # sums and products of prices and quantities are exact
MAX_AMOUNT: Final = Decimal("1e18")  # more no venue trades, and no column holds it
CLOCK_SKEW: Final = timedelta(minutes=5)  # that another clock may be ahead of ours
EARLIEST: Final = datetime(2009, 1, 3, tzinfo=UTC)  # of the first coin
DOLLARS: Final = frozenset(
    ["USD", "USDT", "USDC", "USDT0", "USDE", "USDH", "USDB", "FDUSD", "BUSD", "GUSD", "TUSD", "DAI", "PYUSD"]
)
_PLACES: Final = -12
_CENT: Final = Decimal("0.01")
_ROUNDED: Final = Decimal("1e-6")


@dataclass(frozen=True, slots=True)
class Execution:
    fill_id: str
    symbol: str
    at: datetime
    quantity: Decimal  # bought above zero, sold below
    price: Decimal
    fee_usd: Decimal | None = ZERO  # paid; a rebate is negative; None: in a coin without a price
    is_liquidation: bool = False
    start_quantity: Decimal | None = None  # the position before it, where the venue says so
    fee_coin: str = ""  # empty: the fee is in dollars
    fee_in_coin: Decimal | None = None
    is_reducing: bool | None = None  # whether it closes (part of) a position, where the venue says so
    pnl_usd: Decimal | None = None  # what it realised before fees, where the venue says so
    source_order: int = 0  # its place in the source, oldest first
    settled_at: datetime | None = None  # the tick that brought it; None: the tick that is applied, or its own instant

    @property
    def has_profit(self) -> bool:
        """Whether the venue says that it reduced a position at a profit or loss; a zero says nothing."""
        return bool(self.pnl_usd) and self.is_reducing is not False

    def must_reduce(self, held: Decimal) -> bool:
        """Tell whether it reduced more than is held: by its word all of it, by its profit some of it."""
        if held * self.quantity >= 0:
            return bool(self.is_reducing) or self.has_profit
        return bool(self.is_reducing) and abs(held) < abs(self.quantity)


def compare_profit(stated: Decimal, computed: Decimal, value: Decimal) -> bool | None:
    """Tell whether two profits of one exit are equal but for rounding; None: it is too coarse to tell.

    `value`: what the exit traded at. The profit may be cut at its last digit or a cent, the average at six digits.
    """
    unit = Decimal(1).scaleb(int(stated.normalize(EXACT_MATHS).as_tuple().exponent))
    rounding = min(unit, _CENT) + value * _ROUNDED
    if abs(stated - computed) > rounding:
        return False
    return True if rounding * 100 <= abs(stated) else None


def sort_fills(fills: Sequence[Execution], held: Decimal) -> list[Execution]:
    """Return one symbol's fills in the venue's order: by time, its chain of positions, or as in the source."""
    if len(fills) < 2:
        return list(fills)
    ordered: list[Execution] = []
    groups: dict[datetime, list[Execution]] = defaultdict(list)
    for fill in sorted(fills, key=lambda fill: (fill.at, fill.source_order, len(fill.fill_id), fill.fill_id)):
        groups[fill.at].append(fill)
    for group in groups.values():
        is_chained = len(group) > 1 and all(fill.start_quantity is not None for fill in group)
        ordered += _sort_chain(group, held) if is_chained else group
        held = _end_quantity(ordered[-1], held)
    return ordered


def _sort_chain(fills: list[Execution], held: Decimal) -> list[Execution]:
    """Return the fills of one instant as a walk over positions; self-trades are paired where that is no walk."""
    fills = sorted(fills, key=lambda fill: (len(fill.fill_id), fill.fill_id))  # the same for any source
    chain = _chain_fills(fills, held)
    if all(_end_quantity(before, ZERO) == after.start_quantity for before, after in pairwise(chain)):
        return chain
    return _chain_fills(_pair_self_trades(fills), held)


def _pair_self_trades(fills: Sequence[Execution]) -> list[Execution]:
    """Chain both sides of each self-trade, the adding one first: a trade with oneself never ends a position."""
    waiting: dict[tuple[Decimal, Decimal | None, Decimal], list[int]] = defaultdict(list)
    result = list(fills)
    for place, fill in enumerate(fills):
        start = fill.start_quantity or ZERO
        others = waiting[fill.price, start, -fill.quantity]
        if not others:
            waiting[fill.price, start, fill.quantity].append(place)
            continue
        pair = sorted((others.pop(), place), key=lambda one: fills[one].quantity * (start or 1) < 0)
        result[pair[1]] = replace(fills[pair[1]], start_quantity=start + fills[pair[0]].quantity)
    return result


def _end_quantity(fill: Execution, held: Decimal) -> Decimal:
    return (held if fill.start_quantity is None else fill.start_quantity) + fill.quantity


def _chain_fills(fills: list[Execution], held: Decimal) -> list[Execution]:
    """Return the fills as walks over positions (Hierholzer)."""
    leaving: dict[Decimal, list[Execution]] = defaultdict(list)
    for fill in reversed(fills):
        leaving[fill.start_quantity or ZERO].append(fill)
    ordered: list[Execution] = []
    while any(leaving.values()):
        ordered += _walk_chain(leaving, _find_head(leaving, held))
        held = _end_quantity(ordered[-1], held)
    return ordered


def _find_head(leaving: Mapping[Decimal, list[Execution]], held: Decimal) -> Decimal:
    """Return a walk's first quantity, the held one if possible; of a self-trade's circle, the smallest."""
    surplus = Counter({start: len(fills) for start, fills in leaving.items()})
    surplus.subtract(_end_quantity(fill, ZERO) for fills in leaving.values() for fill in fills)
    heads = [start for start, count in surplus.items() if count > 0]
    if leaving.get(held) and (held in heads or not heads):
        return held
    return heads[0] if heads else min((start for start, fills in leaving.items() if fills), key=abs)


def _walk_chain(leaving: Mapping[Decimal, list[Execution]], start: Decimal) -> list[Execution]:
    stack: list[tuple[Decimal, Execution | None]] = [(start, None)]
    path: list[Execution] = []
    while stack:
        position, arrived_by = stack[-1]
        if leaving.get(position):
            fill = leaving[position].pop()
            stack.append((position + fill.quantity, fill))
        else:
            stack.pop()
            if arrived_by is not None:
                path.append(arrived_by)
    return path[::-1]


def round_quantities(fill: Execution) -> Execution:
    """Return the fill with quantities in whole grains."""
    start = fill.start_quantity
    if _is_whole(fill.quantity) and (start is None or _is_whole(start)):
        return fill
    quantity = fill.quantity.quantize(QUANTITY_GRAIN, context=EXACT_MATHS)
    return replace(
        fill,
        quantity=quantity,
        start_quantity=None if start is None else start.quantize(QUANTITY_GRAIN, context=EXACT_MATHS),
    )


def _is_whole(quantity: Decimal) -> bool:
    exponent = quantity.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= _PLACES
