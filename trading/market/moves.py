"""Price moves around scheduled events. Pure."""

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
    at: datetime
    length: timedelta
    price: Decimal


@dataclass(frozen=True, slots=True)
class Impact:
    """The impact of past events, as price fractions; None below three events."""

    events: int
    median_abs_move_fraction: float | None
    worst_move_fraction: float | None  # for the side asked about: below zero is against it


def measure_move(closes: Sequence[Close], at: datetime, now: datetime) -> float | None:
    """Return the fractional move in the hour after an event, or None.

    From the close of the last bar that had ended when it happened, to that of the last one that ended an hour later.
    """
    if at + WINDOW > now:
        return None
    before, after = _last_close(closes, at), _last_close(closes, at + WINDOW)
    if before is None or after is None or before is after or not before.price:
        return None
    return float(after.price / before.price - 1)


def _last_close(closes: Sequence[Close], at: datetime) -> Close | None:
    """Return the last close by an instant, if complete."""
    number = bisect_right(closes, at, key=lambda close: close.at)
    if not number or at - closes[number - 1].at >= closes[number - 1].length:
        return None
    return closes[number - 1]


def measure_impact(moves: Iterable[float | None], *, is_long: bool) -> Impact:
    """Return the impact of known moves on a side."""
    known = [move for move in moves if move is not None]
    if len(known) < MIN_EVENTS:
        return Impact(len(known), None, None)
    return Impact(len(known), median(abs(move) for move in known), min(known) if is_long else -max(known))
