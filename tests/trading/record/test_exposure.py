from datetime import timedelta
from decimal import Decimal

import pytest

from tests.factories.memory import HOUR, MAY
from tests.factories.record import BarFactory, DeploymentFactory, MarketEventFactory, TradeFactory
from trading.record.exposure import list_deployment_exposures

D = Decimal


def past_event(days: int, before: int, after: int, *, is_simulated: bool = False, is_quiet: bool = False) -> None:
    at = MAY - timedelta(days=days)
    if not is_quiet:
        MarketEventFactory(starts_at=at, is_simulated=is_simulated)
    for minute, price in ((-1, before), (59, after)):
        prices = dict.fromkeys(("open", "high", "low", "close"), D(price))
        opened_at = at + timedelta(minutes=minute)
        BarFactory(interval="1m", opened_at=opened_at, is_simulated=is_simulated, **prices)


def test_exposure_of_a_position_to_an_event(held, django_assert_max_num_queries):
    for days, after in ((10, 103), (20, 98), (30, 101)):
        past_event(days, 100, after)
    MarketEventFactory(starts_at=MAY - timedelta(days=40))  # without bars
    elsewhere = MarketEventFactory(kind="token_unlock", symbols=["ARB"], starts_at=MAY + HOUR)
    coming = [MarketEventFactory(starts_at=MAY + HOUR) for _ in range(9)]

    with django_assert_max_num_queries(12):  # each price is asked for once
        found = list_deployment_exposures(held.pk, [*coming, elsewhere], MAY)

    assert [one.event for one in found] == coming
    one = found[0]
    assert (one.trade.symbol, one.trade.side, one.notional_usd, one.past.events) == ("BTC", "long", 206, 3)
    assert (one.past.median_abs_move_fraction, one.past.worst_move_fraction) == pytest.approx((0.02, -0.02))


@pytest.fixture
def held(as_trader):
    deployment = DeploymentFactory()
    TradeFactory(deployment=deployment, still_open=True)
    return deployment


def expose(deployment, now=MAY):
    (found,) = list_deployment_exposures(deployment.pk, [MarketEventFactory(starts_at=now + HOUR)], now)
    return found


def test_exposure_counts_an_event_under_several_titles_once(held):
    past_event(10, 100, 101)
    for title in ("Fed interest rate decision", "FOMC press conference"):
        MarketEventFactory(starts_at=MAY - timedelta(days=10) + HOUR / 2, title=title)

    assert expose(held).past.events == 1


@pytest.mark.parametrize(("is_simulated", "move"), [(False, 0.01), (True, 0.3)])
def test_exposure_over_real_or_simulated_prices_leaves_the_others_out_and_says_so(held, is_simulated, move):
    newest, older = (10, 20, 30), (40, 50, 60)
    for days in older if not is_simulated else newest:
        past_event(days, 100, 130, is_simulated=True)
    for days in newest if not is_simulated else older:
        past_event(days, 100, 101)

    found = expose(held)

    assert (found.is_simulated, found.past.events) == (is_simulated, 3)
    assert found.past.median_abs_move_fraction == pytest.approx(move)


def test_exposure_has_the_instant_of_its_price(held):
    assert expose(held).price_at == held.trades.get().entry_at

    past_event(400, 100, 100)

    assert expose(held).price_at == MAY - timedelta(days=400) + HOUR


def test_exposure_compares_with_the_same_hours_of_weeks_without_an_event(held):
    for days in (30, 60, 90):
        past_event(days, 100, 104)
    for days in (23, 53, 67, 83, 97):
        past_event(days, 100, 101, is_quiet=True)
    past_event(37, 100, 150)  # a week before the first, but not quiet

    found = expose(held).past

    assert (found.events, found.quiet_hours) == (4, 5)
    assert found.quiet_abs_move_fraction == pytest.approx(0.01)
