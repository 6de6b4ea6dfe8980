"""Fewer points for the same picture: extremes of a line, groups of candles. Pure."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Final, NamedTuple

MOST: Final = 1_000  # points of a chart; screens are not wider

Number = Decimal | float


class Ohlc(NamedTuple):
    """The prices of a time, named by its beginning."""

    at: datetime
    open: Decimal
    high: Decimal
    low: Decimal
    close: Decimal


def pick_extremes(columns: Sequence[Sequence[Number]], most: int = MOST) -> list[int]:
    """Return the indexes that keep the ends and each stretch's extremes, so that every peak and trough stays."""
    n = len(columns[0]) if columns else 0
    if n <= most:
        return list(range(n))
    stretches = max(1, (most - 2) // (2 * len(columns)))
    kept = {0, n - 1}
    for first, end in pairwise(place * n // stretches for place in range(stretches + 1)):
        stretch = range(first, end)
        for column in columns:
            kept.add(min(stretch, key=column.__getitem__))
            kept.add(max(stretch, key=column.__getitem__))
    return sorted(kept)


def group_candles(bars: Sequence[Ohlc], most: int = MOST) -> list[Ohlc]:
    """Return at most so many bars, each of neighbours: first open, last close, highest and lowest price."""
    size = max(1, -(-len(bars) // most))
    if size == 1:
        return list(bars)
    groups = (bars[first : first + size] for first in range(0, len(bars), size))
    return [
        Ohlc(group[0].at, group[0].open, max(b.high for b in group), min(b.low for b in group), group[-1].close)
        for group in groups
    ]
