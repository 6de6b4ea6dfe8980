import json
import math
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.factories.memory import MAY
from tests.properties import examples
from trading.record.performance import (
    ClosedTrade,
    EquityAt,
    compare_days,
    daily_equity,
    daily_returns,
    max_drawdown,
    measure_share_held,
    measure_sharpe,
    monthly_returns,
    summarise_trades,
)

DAY = datetime(2026, 6, 1, tzinfo=UTC)
D = Decimal


def curve(*values: float, every: timedelta = timedelta(days=1)) -> list[EquityAt]:
    return [EquityAt(DAY + number * every + timedelta(hours=1), D(str(value))) for number, value in enumerate(values)]


def trades(*nets: float) -> list[ClosedTrade]:
    return [ClosedTrade(float(net), held_minutes=60) for net in nets]


def test_summary_of_a_small_record():
    found = summarise_trades(trades(10, -5, 0, 20, -5))

    assert (found.trades, found.wins, found.net_usd, found.is_too_few) == (5, 2, 20, False)
    assert (found.win_rate_fraction, found.profit_factor, found.expectancy_usd) == (0.4, 3.0, 4.0)
    low, high = found.expectancy_interval_usd
    assert low < 4 < high
    assert found.win_rate_interval_fraction[0] < 0.4 < found.win_rate_interval_fraction[1]
    assert found.profit_factor_interval[0] < 3.0
    assert (found.sharpe, found.max_drawdown, found.mean_held) == (None, None, timedelta(hours=1))


def test_record_without_trades_says_nothing():
    found = summarise_trades([])

    assert (found.win_rate_fraction, found.profit_factor, found.expectancy_usd, found.mean_held) == (None,) * 4
    assert found.is_too_few


def test_without_losses_there_is_no_profit_factor():
    assert summarise_trades(trades(1, 2, 0)).profit_factor is None


def test_four_trades_are_too_few_to_say():
    found = summarise_trades(trades(1, 2, 3, 4))

    assert found.is_too_few
    assert found.expectancy_interval_usd is None


def test_daily_equity_has_idle_days_and_the_start():
    points = [
        EquityAt(DAY + timedelta(hours=1), D(101)),
        EquityAt(DAY + timedelta(hours=23), D(102)),
        EquityAt(DAY + timedelta(days=3), D(105)),
    ]

    assert daily_equity(points, D(100)) == [100, 102, 102, 102, 105]
    assert daily_equity([]) == []


def test_sharpe_equals_the_value_computed_by_hand():
    daily = [100.0]
    for number in range(20):
        daily.append(daily[-1] * (1.02 if number % 2 else 1.00))

    deviation = math.sqrt(20 * 0.01**2 / 19)
    assert measure_sharpe(daily).ratio == pytest.approx(0.01 / deviation * math.sqrt(365))


@pytest.mark.parametrize(
    "daily",
    [[100.0 + number for number in range(20)], [100.0] * 40, [100.0] * 30 + [0.0, 100.0], []],
    ids=["19 returns", "never moved", "wiped out", "nothing"],
)
def test_sharpe_with_too_few_days_is_none(daily):
    assert measure_sharpe(daily) is None


def test_drawdown_counts_the_start_as_a_peak():
    found = max_drawdown(curve(90, 95, 80, 120, 110), D(100))

    assert (found.usd, found.fraction) == (20, 0.2)


def test_drawdown_of_a_climb_is_zero():
    assert max_drawdown(curve(101, 102), D(100)).fraction == 0
    assert max_drawdown([], D(100)) is None


@settings(max_examples=examples(30))
@given(
    st.lists(st.decimals("-1000", "1000", places=2), max_size=300),
    st.lists(st.decimals("-100", "10000", places=2), max_size=60),
)
def test_performance_of_any_record_fits_into_json(nets, values):
    found = summarise_trades([ClosedTrade(float(net)) for net in nets], curve(*values), starting_equity_usd=D(1000))

    json.dumps(asdict(found), default=str, allow_nan=False)
    assert found.net_usd == sum(nets)


@pytest.mark.parametrize("start", [None, D(1000)])
def test_numbers_of_a_curve_read_once_are_those_of_the_whole(start):
    values = [1000 + 7 * number - 60 * (number % 5) for number in range(200)]
    points = curve(*values, every=timedelta(hours=5))

    found = summarise_trades([], iter(points), starting_equity_usd=start)

    sharpe = measure_sharpe(daily_equity(points, start))
    assert (found.sharpe, found.sharpe_days, found.sharpe_interval) == (sharpe.ratio, sharpe.days, sharpe.interval)
    assert (sharpe.days, sharpe.interval[0] < sharpe.ratio < sharpe.interval[1]) == (42, True)
    assert found.max_drawdown == max_drawdown(points, start)
    assert summarise_trades([], iter(())).max_drawdown is None


def days_from_may(*values: float) -> list[EquityAt]:
    return [EquityAt(MAY + number * timedelta(days=1), D(value)) for number, value in enumerate(values)]


def test_monthly_returns_multiply_to_the_whole():
    points = days_from_may(*(1_000 + 7 * number - (number % 5) * 20 for number in range(75)))

    returns = monthly_returns(points, D(1_000))

    whole = 1.0
    for value in returns.values():
        whole *= 1 + value
    assert list(returns) == [(2026, 5), (2026, 6), (2026, 7)]
    assert whole == pytest.approx(float(points[-1].equity_usd) / 1_000)


def test_daily_returns_have_idle_days_and_none_of_a_ruined_account():
    points = [EquityAt(MAY, D(110)), EquityAt(MAY + timedelta(days=2), D(99))]

    days = daily_returns(points, D(100))

    assert [round(value, 3) for value in days.values()] == [0.1, 0.0, -0.1]
    assert min(days) == MAY.date()
    assert daily_returns(days_from_may(10, 0, 5)) == {}
    assert daily_returns([]) == {}


def test_compare_days_pairs_the_days_of_both():
    first = daily_returns(days_from_may(*range(100, 110)), D(99))
    second = {day: value + 0.01 for day, value in list(first.items())[3:]} | {MAY.date() + timedelta(days=99): 5.0}

    figure = compare_days(first, second)

    assert (figure.trades, round(figure.value, 9)) == (7, 0.01)
    assert compare_days(first, {}).value is None


@given(st.lists(st.tuples(st.integers(-50, 150), st.integers(0, 60)), max_size=12))
def test_share_held_is_the_share_of_minutes_within_a_span(pairs):
    minute = timedelta(minutes=1)
    spans = [(MAY + begin * minute, MAY + (begin + length) * minute) for begin, length in pairs]

    share = measure_share_held(spans, MAY, MAY + 100 * minute)

    held = {at for begin, length in pairs for at in range(begin, begin + length) if 0 <= at < 100}
    assert share == pytest.approx(len(held) / 100)
