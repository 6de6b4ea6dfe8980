from datetime import UTC, datetime
from math import sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trading.data import needs_bars, real_hours
from trading.market.regime import (
    WARM_BARS,
    Candle,
    classify_regime,
    compute_adx,
    compute_choppiness,
    compute_efficiency,
    is_shock,
    realised_volatility,
)
from trading.models import RegimeTag


def candles(closes: list[float], wick: float = 0.5) -> list[Candle]:
    return [Candle(close + wick, close - wick, close) for close in closes]


def noise(bars: int, size: float = 1.0, seed: int = 7) -> list[float]:
    random = Random(seed)
    return [1000 + random.uniform(-size, size) for _ in range(bars)]


def climb(bars: int, step: float = 1.0) -> list[float]:
    random = Random(3)
    return [1000 + number * step + random.uniform(-0.2, 0.2) for number in range(bars)]


def test_classify():
    for closes, regime in (
        (climb(WARM_BARS - 1), RegimeTag.UNKNOWN),
        (climb(WARM_BARS), RegimeTag.TREND),
        (climb(WARM_BARS, -1.0), RegimeTag.TREND),
        (noise(WARM_BARS), RegimeTag.CHOP),
        ([*noise(WARM_BARS - 1), 1100.0], RegimeTag.SHOCK),
        ([*noise(WARM_BARS - 3), 900.0, 900.2, 900.1], RegimeTag.SHOCK),
        ([*noise(WARM_BARS - 24), *noise(24, size=4)], RegimeTag.SHOCK),
        ([1000.0] * WARM_BARS, RegimeTag.CHOP),
    ):
        assert classify_regime(candles(closes)) is regime


def test_jump_counts_by_its_size_for_three_bars():
    # Mostly small moves and some large ones: the jump is far above the median, yet changes the volatility little.
    moves = [0.2, -0.2, 1.5, 0.2, -1.5] * 40 + [2.0, 0.2, -0.2, 0.2]
    closes = [1000.0]
    for move in moves:
        closes.append(closes[-1] * (1 + move / 1000))

    assert [is_shock(closes[: len(closes) - left]) for left in (4, 3, 2, 1, 0)] == [False, True, True, True, False]


def test_adx_is_full_on_a_straight_way_low_on_a_zigzag_and_zero_in_a_flat_market():
    straight = candles([100.0 + number for number in range(60)])
    zigzag = candles([100.0 + number % 2 for number in range(60)])

    assert compute_adx(straight) == pytest.approx(100)
    assert compute_adx(zigzag) < 10
    assert compute_adx(candles([100.0] * 40, wick=0)) == 0


def test_choppiness_and_efficiency_of_straight_and_dead_markets():
    # Fourteen candles that follow on each other without overlap walk exactly their reach.
    straight = [Candle(101.0 + number, 100.0 + number, 101.0 + number) for number in range(15)]

    assert compute_choppiness(straight) == pytest.approx(0)
    assert compute_choppiness(candles([100.0] * 15, wick=0)) == 100

    for closes, ratio in (
        ([float(number) for number in range(1, 26)], 1.0),
        ([100.0 + number % 2 for number in range(25)], 0.0),
        ([5.0] * 25, 0.0),
    ):
        assert compute_efficiency(closes) == ratio


def test_realised_volatility_is_of_24_hours_and_annual():
    closes = [100.0]
    for number in range(24):
        closes.append(closes[-1] * (1.01 if number % 2 else 0.99))

    assert realised_volatility(closes) == pytest.approx(0.01 * sqrt(24 / 23) * sqrt(8760))
    assert realised_volatility(closes[1:]) is None
    assert realised_volatility([1.0, *closes]) == realised_volatility(closes)


@given(st.integers(0, 10**6), st.floats(0.001, 1000), st.integers(0, 50))
def test_regime_depends_neither_on_the_unit_nor_on_older_history(seed, unit, older):
    random = Random(seed)
    closes = [1000.0]
    for _ in range(WARM_BARS + 50):
        closes.append(closes[-1] * (1 + random.gauss(0.0003, 0.004)))
    whole = candles(closes)
    scaled = [Candle(candle.high * unit, candle.low * unit, candle.close * unit) for candle in whole]

    assert classify_regime(whole[older:]) is classify_regime(whole)
    assert classify_regime(scaled) is classify_regime(whole)


@needs_bars
def test_real_month_has_every_regime_and_its_crash_is_a_shock():
    hours = [(at, Candle(float(high), float(low), float(close))) for at, _, high, low, close in real_hours()]
    found = {
        at: classify_regime([candle for _, candle in hours[: number + 1]])
        for number, (at, _) in enumerate(hours)
        if number >= WARM_BARS - 1
    }

    assert set(found.values()) == {RegimeTag.TREND, RegimeTag.CHOP, RegimeTag.SHOCK}
    crash = [regime for at, regime in found.items() if datetime(2022, 1, 21, tzinfo=UTC).date() == at.date()]
    assert RegimeTag.SHOCK in crash
    assert sum(regime is RegimeTag.SHOCK for regime in found.values()) < len(found) / 4
