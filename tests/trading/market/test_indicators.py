from math import isclose, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trading.market.indicators import compute_value, count_least, count_most
from trading.market.regime import Candle
from trading.skills.terms import Operand

prices = st.floats(1, 1_000)


@st.composite
def markets(draw):
    candles = []
    for close in draw(st.lists(prices, min_size=20, max_size=90)):
        wick = draw(st.floats(0, 0.2))
        candles.append(Candle(close * (1 + wick), close * (1 - wick), close, draw(prices)))
    return candles


def plain_mean(values):
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


def plain_wilder(values, n):
    level = plain_mean(values[:n])
    for value in values[n:]:
        level = (level * (n - 1) + value) / n
    return level


def plain_rsi(closes, n):
    rises, falls = [], []
    for place in range(1, len(closes)):
        change = closes[place] - closes[place - 1]
        rises.append(change if change > 0 else 0.0)
        falls.append(-change if change < 0 else 0.0)
    up, down = plain_wilder(rises, n), plain_wilder(falls, n)
    if up + down == 0:
        return 50.0
    return 100.0 if down == 0 else 100 - 100 / (1 + up / down)


def plain_ema(closes, n):
    level, weight = plain_mean(closes[:n]), 2 / (n + 1)
    for close in closes[n:]:
        level = weight * close + (1 - weight) * level
    return level


def plain_value(what, candles, n, amount):
    closes = [candle.close for candle in candles]
    last = closes[-n:]
    highs, lows = [candle.high for candle in candles[-n:]], [candle.low for candle in candles[-n:]]
    mean = plain_mean(last)
    return {
        "high": lambda: sorted(highs)[-1],
        "low": lambda: sorted(lows)[0],
        "highest close": lambda: sorted(last)[-1],
        "lowest close": lambda: sorted(last)[0],
        "mean": lambda: mean,
        "band": lambda: mean + amount * sqrt(plain_mean([(close - mean) ** 2 for close in last])),
        "range": lambda: sorted(lows)[0] * (1 - amount) + sorted(highs)[-1] * amount,
        "EMA": lambda: plain_ema(closes[-5 * n :], n),
        "RSI": lambda: plain_rsi(closes[-8 * n - 1 :], n),
        "mean volume": lambda: amount * plain_mean([candle.volume for candle in candles[-n:]]),
        "change": lambda: 100 * (closes[-1] - closes[-1 - n]) / closes[-1 - n],
    }[what]()


KINDS = ["high", "low", "highest close", "lowest close", "mean", "band", "range", "EMA", "RSI", "mean volume", "change"]


@pytest.mark.parametrize("what", KINDS)
@given(candles=markets(), bars=st.integers(2, 18), amount=st.floats(0.1, 3))
def test_value_equals_an_independent_computation(what, candles, bars, amount):
    value = compute_value(Operand(what, bars, amount), candles)

    assert isclose(value, plain_value(what, candles, bars, amount), rel_tol=1e-9, abs_tol=1e-6)


@pytest.mark.parametrize("what", [*KINDS, "ADX"])
@given(candles=markets(), bars=st.integers(2, 9))
def test_value_depends_on_its_own_bars_alone(what, candles, bars):
    operand = Operand(what, bars, 1.0)
    longer = [Candle(1e6, 1, 5, 9)] * 40 + candles

    if len(candles) >= count_most(operand):
        assert compute_value(operand, candles) == compute_value(operand, longer)
    assert count_least(operand) <= count_most(operand) <= 540


def test_flat_market_has_its_price_as_mean_and_no_strength():
    flat = [Candle(7697.54, 7697.54, 7697.54)] * 40

    assert compute_value(Operand("mean", 20), flat) == 7697.54
    assert compute_value(Operand("band", 20, 2.0), flat) == 7697.54
    assert compute_value(Operand("RSI", 14), flat) == 50
