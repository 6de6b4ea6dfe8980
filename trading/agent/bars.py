"""The window of bars in a prompt, which advances in blocks.

A window that slid by a bar at each tick would change the first line of the prompt's bars, and the provider would read
all of them again. So a window begins at a fixed bar and moves on by a sixth of its length at a time. It depends on the
instant alone and is the same in a backtest and live. The bars of whole blocks stay the same until the next block is
complete; the newest bars follow the sections that change less often than they do.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from trading.market.tape import Tape
from trading.models import Bar
from trading.models.choices import INTERVALS

BLOCKS: Final = 6  # of the bars that a skill asks for
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def read_window(tape: Tape, symbol: str, interval: str, at: datetime, lookback: int) -> list[Bar]:
    """Return at least `lookback` closed bars, oldest first, if there are so many."""
    length = INTERVALS[interval]
    begin = block_start(interval, lookback, at) - count_settled(lookback) * length
    bars = tape.last_bars(symbol, interval, at, (at - begin) // length)
    anchored = [bar for bar in bars if bar.opened_at >= begin]
    # After a gap the block has too few bars: then the window ends at the newest bar, as long as asked.
    return anchored if len(anchored) >= lookback else bars[-lookback:]


def split_window(bars: Sequence[Bar], interval: str, lookback: int, at: datetime) -> tuple[list[Bar], list[Bar]]:
    """Return the bars of whole blocks, and the newest ones after them."""
    start = block_start(interval, lookback, at)
    return [bar for bar in bars if bar.opened_at < start], [bar for bar in bars if bar.opened_at >= start]


def block_start(interval: str, lookback: int, at: datetime) -> datetime:
    """Return when the block of an instant began."""
    return at - (at - _EPOCH) % block_length(interval, lookback)


def block_length(interval: str, lookback: int) -> timedelta:
    """Return how long the bars of whole blocks stay the same."""
    return _count_block(lookback) * INTERVALS[interval]


def most_bars(lookback: int) -> int:
    """Return the most bars that a window has."""
    return count_settled(lookback) + _count_block(lookback) - 1


def _count_block(lookback: int) -> int:
    return -(-lookback // BLOCKS)


def count_settled(lookback: int) -> int:
    """Return the least bars of whole blocks that a window has."""
    return -(-lookback // _count_block(lookback)) * _count_block(lookback)
