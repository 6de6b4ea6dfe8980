"""Values of a strategy's terms after the last closed bar, the same whatever the length of the history. Pure."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Final

from trading.market.regime import Candle, compute_adx, true_range
from trading.market.tape import LONGEST_LOOKBACK
from trading.skills.terms import Operand, Quantity


def compute_mean(values: Sequence[float]) -> float:
    """Return the mean; of equal values exactly their value."""
    return values[0] + fmean([value - values[0] for value in values])


def compute_ema(closes: Sequence[float], bars: int) -> float:
    """Return the exponential mean, begun with the plain mean of the first bars."""
    level = compute_mean(closes[:bars])
    for close in closes[bars:]:
        level += (close - level) * 2 / (bars + 1)
    return level


def compute_rsi(closes: Sequence[float], bars: int) -> float:
    """Return Wilder's RSI (0..100); 50 without a move."""
    moves = [after - before for before, after in pairwise(closes)]
    rise = smooth([max(move, 0.0) for move in moves], bars)
    fall = smooth([max(-move, 0.0) for move in moves], bars)
    return 100 * rise / (rise + fall) if rise + fall else 50.0


def compute_atr(candles: Sequence[Candle], bars: int) -> float:
    """Return Wilder's average true range."""
    ranges = [true_range(before, candle) for before, candle in pairwise(candles)]
    return smooth(ranges, bars)


def smooth(values: Sequence[float], bars: int) -> float:
    """Return Wilder's mean, begun with the plain mean of the first values."""
    level = fmean(values[:bars])
    for value in values[bars:]:
        level += (value - level) / bars
    return level


def _closes(candles: Sequence[Candle]) -> list[float]:
    return [candle.close for candle in candles]


def _compute_band(candles: Sequence[Candle], operand: Operand) -> float:
    closes = _closes(candles)
    return compute_mean(closes) + operand.amount * pstdev(closes)


def _compute_point(candles: Sequence[Candle], operand: Operand) -> float:
    high, low = max(candle.high for candle in candles), min(candle.low for candle in candles)
    return low + operand.amount * (high - low)


# The bars that a value of N bars takes at least, and the most that count.
_N: Final = (1, 0)
_N_AND_BEFORE: Final = (1, 1)
_COMPUTE: Final[dict[Quantity, tuple[tuple[int, int], int, Callable[[Sequence[Candle], Operand], float]]]] = {
    "close": ((0, 1), 0, lambda candles, _: candles[-1].close),
    "volume": ((0, 1), 0, lambda candles, _: candles[-1].volume),
    "high": (_N, 1, lambda candles, _: max(candle.high for candle in candles)),
    "low": (_N, 1, lambda candles, _: min(candle.low for candle in candles)),
    "highest close": (_N, 1, lambda candles, _: max(_closes(candles))),
    "lowest close": (_N, 1, lambda candles, _: min(_closes(candles))),
    "mean": (_N, 1, lambda candles, _: compute_mean(_closes(candles))),
    "EMA": (_N, 5, lambda candles, operand: compute_ema(_closes(candles), operand.bars)),
    "band": (_N, 1, _compute_band),
    "range": (_N, 1, _compute_point),
    "mean volume": (_N, 1, lambda candles, operand: operand.amount * fmean([candle.volume for candle in candles])),
    "RSI": (_N_AND_BEFORE, 8, lambda candles, operand: compute_rsi(_closes(candles), operand.bars)),
    "ADX": ((2, 0), 8, lambda candles, operand: compute_adx(candles, operand.bars)),
    "change": (_N_AND_BEFORE, 1, lambda candles, _: 100 * (candles[-1].close / candles[0].close - 1)),
}


def count_least(operand: Operand) -> int:
    """Return how many bars a value takes at least; 0 if it takes none."""
    if operand.what not in _COMPUTE:
        return 0
    (times, more), _, _ = _COMPUTE[operand.what]
    return times * operand.bars + more


def count_most(operand: Operand) -> int:
    """Return how many bars of a value count at most."""
    if operand.what not in _COMPUTE:
        return 0
    (_, more), times, _ = _COMPUTE[operand.what]
    return min(max(times * operand.bars + more, count_least(operand)), LONGEST_LOOKBACK - 60)


def compute_value(operand: Operand, candles: Sequence[Candle]) -> float:
    """Return a value after the last candle; there must be enough."""
    return _COMPUTE[operand.what][2](candles[-count_most(operand) :], operand)
