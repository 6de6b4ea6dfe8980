"""What was held before a history began, as the venue's own profits tell it. Pure."""

from collections.abc import Sequence
from itertools import takewhile

from trading.ledger.executions import EXACT_MATHS, QUANTITY_GRAIN, ZERO, Execution, sort_fills
from trading.ledger.positions import Check


def propose_opening(fills: Sequence[Execution]) -> Check | None:
    """Return what to begin one symbol's history with: what its profits tell, else nothing; None: neither can be."""
    ordered = sort_fills(fills, ZERO)
    if ordered[0].must_reduce(ZERO):
        return work_out_opening(ordered)
    return Check(ordered[0].symbol, ordered[0].at, ZERO, ordered[0].price, is_opening=True)


def work_out_opening(fills: Sequence[Execution]) -> Check | None:
    """Return the least that was held before the first of one symbol's fills; None: no profit tells it.

    A purchase of q at p with a profit r closed q of a short of average p + r/q, a sale one of a long of p - r/q. What
    reduces it after the first fill that adds reduces both, so that it is not counted.
    """
    ordered = sort_fills(fills, ZERO)
    reducing = list(takewhile(lambda fill: fill.has_profit, ordered))
    if not reducing or any(fill.quantity * reducing[0].quantity < 0 for fill in reducing):
        return None  # on both sides: one of them crossed zero, and its profit is of a part that nothing names
    bought = sum((fill.quantity for fill in reducing), ZERO)
    cost = sum((fill.quantity * fill.price + (fill.pnl_usd or ZERO) for fill in reducing), ZERO)
    price = EXACT_MATHS.divide(cost, bought).quantize(QUANTITY_GRAIN)
    return Check(ordered[0].symbol, ordered[0].at, -bought, price, is_opening=True) if price > 0 else None
