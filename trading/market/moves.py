"""Price moves around scheduled events. Pure."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from statistics import median
from typing import Final

from config.lib.intervals import Interval, median_interval

WINDOW: Final = timedelta(minutes=60)
MIN_EVENTS: Final = 3  # below, no numbers (seed 000)


@dataclass(frozen=True, slots=True)
class Close:
    at: datetime
    length: timedelta
    price: Decimal


@dataclass(frozen=True, slots=True)
class PastMoves:
    """A symbol's moves in the hour after events, and in the same hours without one."""

    events: Sequence[float]
    quiet: Sequence[float]


@dataclass(frozen=True, slots=True)
class Impact:
    """The impact of past events, as price fractions; None below three events."""

    events: int
    median_abs_move_fraction: float | None
    worst_move_fraction: float | None  # for the side asked about: below zero is against it
    median_interval_fraction: Interval | None = None  # about 90 %; None below five events
    quiet_hours: int = 0
    quiet_abs_move_fraction: float | None = None  # median of the same hours without an event


def measure_move(closes: Sequence[Close], at: datetime, now: datetime) -> float | None:
    """Return the fractional move in the hour after an event, between closes of ended bars, or None."""
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


def list_separate(instants: Iterable[datetime]) -> list[datetime]:
    """Return ordered instants without those whose hour another one covers."""
    kept: list[datetime] = []
    for at in instants:
        if not kept or at >= kept[-1] + WINDOW:
            kept.append(at)
    return kept


def measure_impact(moves: PastMoves, *, is_long: bool) -> Impact:
    """Return the impact of past moves on a side."""
    known = moves.events
    if len(known) < MIN_EVENTS:
        return Impact(len(known), None, None)
    sizes, quiet = [abs(move) for move in known], [abs(move) for move in moves.quiet]
    return Impact(
        events=len(known),
        median_abs_move_fraction=median(sizes),
        worst_move_fraction=min(known) if is_long else -max(known),
        median_interval_fraction=median_interval(sizes),
        quiet_hours=len(quiet),
        quiet_abs_move_fraction=median(quiet) if len(quiet) >= MIN_EVENTS else None,
    )
