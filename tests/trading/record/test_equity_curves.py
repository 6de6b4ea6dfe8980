from datetime import UTC, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.charts.values import trace_falls
from tests.factories.memory import MAY
from tests.factories.record import DeploymentFactory, EquityPointFactory
from trading.record.deployment_queries import read_curve
from trading.record.performance import EquityAt, daily_equity, max_drawdown, thin_curve

START = Decimal(500)


def rows_of(values, step):
    return [(f"{MAY + n * step:%Y-%m-%d %H:%M:%S}", float(value)) for n, value in enumerate(values)]


def points_of(values, step):
    return [EquityAt(MAY + n * step, value) for n, value in enumerate(values)]


CURVES = st.lists(st.decimals(1, 1_000, places=2), min_size=1, max_size=400)
STEPS = st.sampled_from([timedelta(minutes=15), timedelta(hours=5), timedelta(days=1)])


@given(CURVES, STEPS)
def test_thin_curve_changes_no_figure(values, step):
    whole = points_of(values, step)

    thinned = thin_curve(rows_of(values, step), float(START), most=20)

    assert [point for point in whole if point in thinned] == thinned
    assert max_drawdown(thinned, START).fraction == pytest.approx(max_drawdown(whole, START).fraction)
    assert daily_equity(thinned, START) == daily_equity(whole, START)


@given(CURVES, STEPS)
def test_thin_curve_keeps_the_fall_of_each_point(values, step):
    falls = dict(zip((point.at for point in points_of(values, step)), trace_falls(values, START), strict=True))

    thinned = thin_curve(rows_of(values, step), float(START), most=20)

    traced = trace_falls([point.equity_usd for point in thinned], START)
    assert traced == [falls[point.at] for point in thinned]


def test_thin_curve_of_nothing_is_empty():
    assert thin_curve([], 0.0) == []


@pytest.mark.django_db
def test_read_curve_reads_instants_and_amounts_as_stored(as_trader):
    deployment = DeploymentFactory()
    at = MAY + timedelta(microseconds=123_456)
    EquityPointFactory(deployment=deployment, tick=2, at=at, equity_usd=Decimal("12345.678912"))
    EquityPointFactory(deployment=deployment, tick=1, at=MAY, equity_usd=Decimal(10_000))
    EquityPointFactory()

    first, second = read_curve(deployment)

    assert (first.at, first.equity_usd) == (MAY, 10_000)
    assert (second.at, second.equity_usd) == (at, Decimal("12345.678912"))
    assert second.at.utcoffset() == UTC.utcoffset(None)
