import math
from functools import partial
from random import Random

import pytest

from config.lib.intervals import (
    mean_interval,
    median_interval,
    profit_factor_interval,
    share_interval,
    sharpe_interval,
    student_quantile,
)

SKEWED = [-1.0, -0.9, -1.1, 6.0, -1.05, -0.95, 9.0, -1.0]


def count_covered(bounds, truth, draws=1500):
    random = Random(4)
    found = [bounds(random) for _ in range(draws)]
    return sum(low <= truth <= high for low, high in found) / draws


@pytest.mark.parametrize(
    ("share", "freedom", "value"),
    [
        (0.95, 1, 6.313752),
        (0.95, 4, 2.131847),
        (0.95, 5, 2.015048),
        (0.995, 9, 3.249836),
        (0.975, 200, 1.971896),
        (0.95, 1000, 1.646379),
    ],
)
def test_student_quantile_equals_the_tables(share, freedom, value):
    assert student_quantile(share, freedom) == pytest.approx(value, abs=2e-6)


@pytest.mark.parametrize("n", [6, 20])
def test_mean_interval_of_normal_values_covers_what_it_states(n):
    covered = count_covered(lambda random: mean_interval([random.gauss(3, 2) for _ in range(n)]), 3)

    assert abs(covered - 0.9) < 0.02


@pytest.mark.parametrize("sign", [1, -1])
def test_mean_interval_of_skewed_values_covers_nearly_what_it_states(sign):
    covered = count_covered(lambda random: mean_interval([sign * random.expovariate(1) for _ in range(7)]), sign)

    assert abs(covered - 0.9) < 0.04


def test_mean_interval_leans_towards_the_rare_large_values():
    low, high = mean_interval(SKEWED)
    mean = sum(SKEWED) / len(SKEWED)

    assert high - mean > 1.5 * (mean - low)
    assert mean_interval([-value for value in SKEWED]) == pytest.approx((-high, -low))


def test_mean_interval_widens_with_the_number_of_groups():
    one, many = mean_interval(SKEWED), mean_interval(SKEWED, groups=10)

    assert many[0] < one[0] < one[1] < many[1]


@pytest.mark.parametrize("values", [[], [1.0, 2.0, 3.0, 4.0], [7.5] * 30])
def test_mean_interval_of_too_few_or_equal_values_is_none(values):
    assert mean_interval(values) is None


def test_share_interval_stays_within_one_and_never_has_no_width():
    assert share_interval(7, 10) == pytest.approx((0.4417, 0.8731), abs=1e-4)
    low, high = share_interval(8, 8)
    assert (0.7 < low < 0.8, high) == (True, 1.0)
    assert share_interval(2, 4) is None


def test_profit_factor_interval_encloses_the_observed_one():
    values = [2.0, -1.0, 1.5, -0.5, 3.0, -1.2, 0.4, -0.8] * 4
    low, high = profit_factor_interval(values)

    assert low < 6.9 / 3.5 < high
    assert profit_factor_interval([value / 1e6 for value in values]) == pytest.approx((low, high))
    inverse = profit_factor_interval([-value for value in values])
    assert inverse == pytest.approx((1 / high, 1 / low))


def test_profit_factor_interval_with_one_small_loss_has_no_upper_end():
    assert profit_factor_interval([5.0, 4.0, 6.0, 3.0, 7.0, -0.01])[1] is None
    assert profit_factor_interval([5.0, 4.0, 6.0, 3.0, 7.0]) is None


def test_sharpe_interval_of_a_month_without_an_edge_includes_large_ratios():
    random = Random(2)
    low, high = sharpe_interval([random.gauss(0, 1) for _ in range(30)])

    assert (high - low) * math.sqrt(365) > 10
    assert sharpe_interval([0.01] * 30) is None


def draw_days(random, n, likeness, mean):
    """Draw days that each repeat a share of the one before, with a deviation of 1."""
    day, days = random.gauss(0, 1), []
    for _ in range(n):
        day = likeness * day + random.gauss(0, math.sqrt(1 - likeness**2))
        days.append(mean + day)
    return days


@pytest.mark.parametrize("likeness", [0.0, 0.3])
@pytest.mark.parametrize(
    "bounds", [sharpe_interval, partial(mean_interval, is_series=True)], ids=["Sharpe", "mean of days"]
)
def test_intervals_of_days_cover_what_they_state_though_days_are_alike(bounds, likeness):
    covered = count_covered(lambda random: bounds(draw_days(random, 90, likeness, 0.08)), 0.08)

    assert 0.87 <= covered <= 0.93


def test_intervals_of_days_do_not_narrow_where_days_alternate():
    days = [0.3, -0.1, 0.25, -0.05, 0.2, -0.15] * 5

    assert mean_interval(days, is_series=True) == mean_interval(days)


def test_median_interval_is_of_order_statistics():
    assert median_interval(range(1, 6)) == (1, 5)
    assert median_interval(range(10, 0, -1)) == (2, 9)
    assert median_interval([1, 2, 3, 4]) is None
    assert median_interval([]) is None
