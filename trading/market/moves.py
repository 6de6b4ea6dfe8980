"""How prices moved around scheduled events, and what that means for a position. Pure."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from statistics import median
from typing import Final

WINDOW: Final = timedelta(minutes=60)
MIN_EVENTS: Final = 3  # below, no numbers (seed 000)


@dataclass(frozen=True, slots=True)
class Close:
    """The end of a bar: when it was, how long the bar had lasted, and the price."""

    at: datetime
    length: timedelta
    price: Decimal


@dataclass(frozen=True, slots=True)
class Impact:
    """What past events did; the numbers are None below three of them. Fractions of the price."""

    events: int
    median_abs_move_fraction: float | None
    worst_move_fraction: float | None  # for the side asked about: below zero is against it


def measure_move(closes: Sequence[Close], at: datetime, now: datetime) -> float | None:
    """Return the move (a fraction) in the hour after an event; None if its window is not past or has holes.

    From the close of the last bar that had ended when it happened, to that of the last one that ended an hour later.
    """
    if at + WINDOW > now:
        return None
    before, after = _last_close(closes, at), _last_close(closes, at + WINDOW)
    if before is None or after is None or before is after or not before.price:
        return None
    return float(after.price / before.price - 1)


def _last_close(closes: Sequence[Close], at: datetime) -> Close | None:
    """Return the last close by an instant; None if a bar is missing between the two."""
    number = bisect_right(closes, at, key=lambda close: close.at)
    if not number or at - closes[number - 1].at >= closes[number - 1].length:
        return None
    return closes[number - 1]


def measure_impact(moves: Iterable[float | None], *, is_long: bool) -> Impact:
    """Return what past events did to a side; unknown moves do not count."""
    known = [move for move in moves if move is not None]
    if len(known) < MIN_EVENTS:
        return Impact(len(known), None, None)
    return Impact(
        len(known),
        median(abs(move) for move in known),
        min(known) if is_long else -max(known),
    )
