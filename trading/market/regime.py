"""The market regime `regime_v1` of closed hourly bars. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import log10, sqrt
from statistics import fmean, median, stdev
from typing import Final

from trading.models import RegimeTag

VERSION: Final = "regime_v1"
SHOCK_BARS: Final = 3
TRAILING: Final = 168  # bars; a week
VOLATILITY_BARS: Final = 24
SHOCK_SIZE: Final = 6 * 1.4826  # 1.4826 makes a median absolute deviation a standard deviation
SHOCK_VOLATILITY: Final = 2.0  # times its trailing median
PERIOD: Final = 14  # of ADX and CHOP, as Wilder and Dreiss have them
TREND_ADX: Final = 25.0
TREND_CHOP: Final = 38.2
EFFICIENCY_BARS: Final = 24
TREND_EFFICIENCY: Final = 0.35
HOURS_PER_YEAR: Final = 24 * 365

# Enough for the trailing median of the volatility; no bar before them counts, so a longer history changes nothing.
WARM_BARS: Final = TRAILING + VOLATILITY_BARS + 1


@dataclass(frozen=True, slots=True)
class Candle:
    high: float
    low: float
    close: float
    volume: float = 0.0


def classify_regime(candles: Sequence[Candle]) -> RegimeTag:
    """Return the regime after the last hourly candle."""
    if len(candles) < WARM_BARS:
        return RegimeTag.UNKNOWN
    candles = candles[-WARM_BARS:]
    closes = [candle.close for candle in candles]
    if is_shock(closes):
        return RegimeTag.SHOCK
    signs = (compute_adx(candles) >= TREND_ADX) + (compute_choppiness(candles) <= TREND_CHOP)
    return RegimeTag.TREND if signs + (compute_efficiency(closes) >= TREND_EFFICIENCY) >= 2 else RegimeTag.CHOP


def simple_returns(values: Sequence[float]) -> list[float]:
    """Return the returns between successive values."""
    return [after / before - 1 for before, after in pairwise(values)]


def rolling_deviations(values: Sequence[float], size: int) -> list[float]:
    """Return the sample deviation of each window of `size` values, by running sums."""
    sums, squares = [0.0, *accumulate(values)], [0.0, *accumulate(value * value for value in values)]
    return [
        sqrt(max(squares[end] - squares[end - size] - (sums[end] - sums[end - size]) ** 2 / size, 0) / (size - 1))
        for end in range(size, len(values) + 1)
    ]


def is_shock(closes: Sequence[float]) -> bool:
    """Tell whether recent moves or volatility are extreme."""
    moves = simple_returns(closes)
    usual = median(abs(move) for move in moves[-TRAILING - SHOCK_BARS : -SHOCK_BARS])
    if any(abs(move) > SHOCK_SIZE * usual for move in moves[-SHOCK_BARS:]):
        return True
    volatilities = rolling_deviations(moves[-TRAILING - VOLATILITY_BARS :], VOLATILITY_BARS)
    return volatilities[-1] > SHOCK_VOLATILITY * median(volatilities[:-1])


def compute_adx(candles: Sequence[Candle], period: int = PERIOD) -> float:
    """Return Wilder's ADX (0..100); needs 2 x `period` candles."""
    up = down = ranged = 0.0
    strengths: list[float] = []
    for number, (before, candle) in enumerate(pairwise(candles), start=1):
        rise, fall = candle.high - before.high, before.low - candle.low
        keep = 1 - 1 / period if number > period else 1.0  # sums first, then Wilder's smoothing of them
        up = up * keep + (rise if rise > fall and rise > 0 else 0.0)
        down = down * keep + (fall if fall > rise and fall > 0 else 0.0)
        ranged = ranged * keep + true_range(before, candle)
        if number >= period:
            strengths.append(100 * abs(up - down) / (up + down) if ranged and up + down else 0.0)
    index = fmean(strengths[:period])
    for strength in strengths[period:]:
        index += (strength - index) / period
    return index


def compute_choppiness(candles: Sequence[Candle], period: int = PERIOD) -> float:
    """Return Dreiss's choppiness index: 100 sideways, 0 straight."""
    last = candles[-period:]
    reach = max(candle.high for candle in last) - min(candle.low for candle in last)
    walked = sum(true_range(before, candle) for before, candle in pairwise(candles[-period - 1 :]))
    return 100 * log10(walked / reach) / log10(period) if reach and walked else 100.0


def compute_efficiency(closes: Sequence[float], bars: int = EFFICIENCY_BARS) -> float:
    """Return Kaufman's efficiency ratio (0..1)."""
    last = closes[-bars - 1 :]
    walked = sum(abs(after - before) for before, after in pairwise(last))
    return abs(last[-1] - last[0]) / walked if walked else 0.0


def true_range(before: Candle, candle: Candle) -> float:
    """Return a candle's range including the previous close."""
    return max(candle.high, before.close) - min(candle.low, before.close)


def realised_volatility(closes: Sequence[float]) -> float | None:
    """Return the annualised volatility of 24 hourly returns (settled 33)."""
    moves = simple_returns(closes[-VOLATILITY_BARS - 1 :])
    return stdev(moves) * sqrt(HOURS_PER_YEAR) if len(moves) == VOLATILITY_BARS else None
