from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.charts.thinning import Ohlc, group_candles, pick_extremes

START = datetime(2026, 3, 1, tzinfo=UTC)
AMOUNTS = st.lists(st.decimals(-10_000, 10_000, places=2), min_size=1, max_size=300)


@given(AMOUNTS, st.integers(10, 60))
def test_pick_extremes_keeps_ends_and_extremes_in_order(values, most):
    kept = pick_extremes([values], most)

    assert len(kept) <= most
    assert kept == sorted(set(kept))
    assert (kept[0], kept[-1]) == (0, len(values) - 1)
    assert {min(values), max(values)} <= {values[place] for place in kept}


@given(AMOUNTS)
def test_pick_extremes_keeps_all_of_a_short_column(values):
    assert pick_extremes([values], len(values)) == list(range(len(values)))


@given(st.lists(st.tuples(*[st.decimals(0, 100, places=1)] * 2), min_size=50, max_size=300))
def test_pick_extremes_keeps_those_of_each_column(rows):
    columns = list(zip(*rows, strict=True))

    kept = pick_extremes(columns, 20)

    assert len(kept) <= 20
    for column in columns:
        assert {min(column), max(column)} <= {column[index] for index in kept}


@st.composite
def candles(draw):
    found = []
    for n in range(draw(st.integers(1, 120))):
        low, a, b, high = sorted(draw(st.tuples(*[st.decimals(1, 500, places=2)] * 4)))
        found.append(Ohlc(START + timedelta(hours=n), a, high, low, b))
    return found


@given(candles(), st.integers(1, 40))
def test_group_candles_keeps_open_close_and_range(given_candles, most):
    grouped = group_candles(given_candles, most)

    assert len(grouped) <= most
    assert (grouped[0].at, grouped[0].open) == (given_candles[0].at, given_candles[0].open)
    assert grouped[-1].close == given_candles[-1].close
    assert max(one.high for one in grouped) == max(one.high for one in given_candles)
    assert min(one.low for one in grouped) == min(one.low for one in given_candles)
    assert all(one.low <= one.open <= one.high and one.low <= one.close <= one.high for one in grouped)
    assert [one.at for one in grouped] == sorted({one.at for one in grouped})


def test_group_candles_joins_neighbours():
    hours = [
        Ohlc(START, Decimal(10), Decimal(12), Decimal(9), Decimal(11)),
        Ohlc(START + timedelta(hours=1), Decimal(11), Decimal(15), Decimal(10), Decimal(14)),
        Ohlc(START + timedelta(hours=2), Decimal(14), Decimal(14), Decimal(8), Decimal(8)),
    ]

    assert group_candles(hours, 2) == [
        Ohlc(START, Decimal(10), Decimal(15), Decimal(9), Decimal(14)),
        Ohlc(START + timedelta(hours=2), Decimal(14), Decimal(14), Decimal(8), Decimal(8)),
    ]


@pytest.mark.parametrize("most", [1, 5])
def test_nothing_thins_to_nothing(most):
    assert pick_extremes([[]], most) == []
    assert group_candles([], most) == []
