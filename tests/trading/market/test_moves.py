from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factories.memory import MINUTE
from tests.trading.data import needs_bars, real_minutes
from trading.market.moves import Close, PastMoves, list_separate, measure_impact, measure_move

T = datetime(2026, 6, 1, 13, 30, tzinfo=UTC)
LATER = T + timedelta(days=1)


def closes(prices: dict[int, str], length: timedelta = MINUTE) -> list[Close]:
    """Bars by the minute, from T, at which they end."""
    return [Close(T + minute * MINUTE, length, Decimal(price)) for minute, price in sorted(prices.items())]


def test_move_is_from_the_bar_that_ended_at_the_event_to_the_one_an_hour_later_also_of_hourly_bars():
    assert measure_move(closes({-1: "90", 0: "100", 1: "150", 60: "103", 61: "1"}), T, LATER) == pytest.approx(0.03)

    bars = closes({-90: "90", -30: "100", 30: "98", 90: "1"}, timedelta(hours=1))

    assert measure_move(bars, T, LATER) == pytest.approx(-0.02)

    assert list_separate([T, T, T + 59 * MINUTE, T + 60 * MINUTE]) == [T, T + 60 * MINUTE]


def test_no_move_without_a_whole_window():
    for prices, now in (
        ({0: "100", 60: "103"}, T + 59 * MINUTE),
        ({60: "103"}, LATER),
        ({0: "100"}, LATER),
        ({-1: "100", 60: "103"}, LATER),
        ({0: "100", 59: "103"}, LATER),
        ({0: "0", 60: "103"}, LATER),
        ({}, LATER),
    ):
        assert measure_move(closes(prices), T, now) is None


def test_impact_and_its_interval_and_quiet_hours_of_five_events():
    for moves, is_long, expected in (
        ([0.01, -0.03, 0.02], True, (3, 0.02, -0.03)),
        ([0.01, -0.03, 0.02], False, (3, 0.02, -0.02)),
        ([0.01, -0.03, 0.02, 0.04], False, (4, 0.025, -0.04)),
        ([0.01, 0.02, 0.03], True, (3, 0.02, 0.01)),
        ([0.01, -0.03], True, (2, None, None)),
        ([], True, (0, None, None)),
    ):
        found = measure_impact(PastMoves(moves, []), is_long=is_long)

        assert (found.events, found.median_abs_move_fraction, found.worst_move_fraction) == pytest.approx(expected)

    found = measure_impact(PastMoves([0.01, -0.02, 0.03, -0.04, 0.05], [0.001, -0.003, 0.002]), is_long=True)

    assert found.median_interval_fraction == (0.01, 0.05)
    assert (found.quiet_hours, found.quiet_abs_move_fraction) == (3, 0.002)
    assert measure_impact(PastMoves([0.01] * 4, [0.001] * 2), is_long=True).quiet_abs_move_fraction is None


@given(st.lists(st.floats(-0.5, 0.5), min_size=3, max_size=30))
def test_worst_move_for_one_side_is_the_best_for_the_other(moves):
    long, short = (measure_impact(PastMoves(moves, []), is_long=is_long) for is_long in (True, False))

    assert long.worst_move_fraction == min(moves)
    assert short.worst_move_fraction == -max(moves)
    assert long.median_abs_move_fraction == short.median_abs_move_fraction >= 0


@needs_bars
def test_real_prints_of_january_2022():
    bars = [Close(at + MINUTE, MINUTE, close) for at, _, _, _, close in real_minutes()]
    now = datetime(2022, 2, 1, tzinfo=UTC)

    cpi = measure_move(bars, datetime(2022, 1, 12, 13, 30, tzinfo=UTC), now)
    fomc = measure_move(bars, datetime(2022, 1, 26, 19, tzinfo=UTC), now)

    assert 0 < cpi < 0.05
    assert abs(fomc) < 0.05
    assert measure_move(bars, datetime(2022, 1, 31, 23, 30, tzinfo=UTC), now) is None
