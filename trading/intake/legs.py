"""Spot fills that stand in two rows, one a coin: OKX writes the fee on one of them. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final, NamedTuple

from trading.intake import values
from trading.intake.tables import TableRow

_CLOSE: Final = Decimal("0.001")  # of a total to quantity times price, which are rounded each


class Leg(NamedTuple):
    """A row of a spot fill: the coin that moved, and how much of it."""

    row: TableRow
    key: tuple[str, ...]  # order, time and symbol
    coin: str
    instrument: values.Instrument
    amount: Decimal
    price: Decimal
    has_fee: bool


def join_legs(
    rows: Sequence[TableRow], read_leg: Callable[[TableRow], Leg | None], fee_columns: Sequence[str]
) -> Iterator[TableRow]:
    """Yield each spot fill once, as the row of its coin with the fee; a leg without the other is at fault.

    A row for which `read_leg` returns nothing is no leg and passes as it is.
    """
    legs = {row.number: read_leg(row) for row in rows}
    totals: dict[tuple[str, ...], list[Leg]] = {}
    for one in legs.values():
        if one is not None and one.coin == one.instrument.quote:
            totals.setdefault(one.key, []).append(one)
    for row in rows:
        if (leg := legs[row.number]) is None:
            yield row
        elif leg.coin == leg.instrument.quote:
            continue
        elif other := _take_other(leg, totals.get(leg.key, [])):
            with_fee = other if other.has_fee and not leg.has_fee else leg
            fee = {name: with_fee.row.cells.get(name, "") for name in fee_columns}
            yield replace(row, cells={**row.cells, **fee})
        else:
            yield replace(row, fault=_say_alone(leg.instrument.quote))
    for alone in (one for left in totals.values() for one in left):
        yield replace(alone.row, fault=_say_alone(alone.instrument.coin))


def _take_other(leg: Leg, totals: list[Leg]) -> Leg | None:
    """Take the other leg, of which the amount is this one's times the price."""
    product = leg.amount * leg.price
    found = min(totals, key=lambda one: abs(one.amount - product), default=None)
    if found is None or abs(found.amount - product) > _CLOSE * product:
        return None
    totals.remove(found)
    return found


def _say_alone(coin: str) -> str:
    return f"it is one leg of a spot trade, and no leg in {coin[:12]} multiplies out with it; export the whole period"
