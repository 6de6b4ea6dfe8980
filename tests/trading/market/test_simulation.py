from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise

import pytest

from tests.factories.memory import DAY
from tests.factories.record import BarFactory, FundingRateFactory
from trading import jobs
from trading.market.imports.bars import aggregate_bars, list_longer_intervals
from trading.market.queries import get_overview
from trading.market.simulation import (
    SYMBOLS,
    Extended,
    extend_market,
    format_source,
    iter_simulated_bars,
    iter_simulated_rates,
    list_simulated_symbols,
)
from trading.models import Bar, RegimeTag

NOW = datetime(2026, 3, 5, 6, 42, 17, tzinfo=UTC)
STEP = timedelta(minutes=5)
COLUMNS = ("symbol", "interval", "opened_at", "open", "high", "low", "close", "volume", "mark", "index", "source")


def values(bars):
    return [tuple(getattr(bar, name) for name in COLUMNS) for bar in bars]


def stored(**which):
    return list(Bar.objects.filter(**which).order_by("symbol", "interval", "opened_at").values_list(*COLUMNS))


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_the_same_bars_come_in_pieces_and_in_one_go(symbol):
    cuts = [NOW - DAY, NOW - 20 * STEP, NOW - DAY / 3, NOW - 3 * STEP, NOW]
    whole = values(iter_simulated_bars(symbol, cuts[0], NOW))

    pieces = []
    for begins_at, ends_at in pairwise(sorted(cuts)):
        last = pieces[-1][2] + STEP if pieces else begins_at
        pieces += values(iter_simulated_bars(symbol, last, ends_at))

    assert pieces == whole
    assert len(whole) == 287


def test_the_order_in_which_symbols_and_days_are_asked_about_changes_nothing_but_the_seed_all():
    forwards = [values(iter_simulated_bars(symbol, NOW - DAY, NOW)) for symbol in SYMBOLS]
    list(iter_simulated_bars("SOL", NOW - 40 * DAY, NOW - 20 * DAY))
    backwards = [values(iter_simulated_bars(symbol, NOW - DAY, NOW)) for symbol in reversed(SYMBOLS)]

    assert backwards[::-1] == forwards
    first, second = (values(iter_simulated_bars("BTC", NOW - DAY, NOW, seed=seed)) for seed in (1, 2))
    assert not {row[6] for row in first} & {row[6] for row in second}


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_bars_follow_on_each_other_and_lie_within_their_range(symbol):
    bars = list(iter_simulated_bars(symbol, NOW - 9 * DAY, NOW, seed=3))

    assert all(bar.low <= min(bar.open, bar.close) <= max(bar.open, bar.close) <= bar.high for bar in bars)
    assert all(bar.low > 0 and bar.volume > 0 and bar.is_simulated for bar in bars)
    assert all(after.opened_at - bar.opened_at == STEP for bar, after in pairwise(bars))
    assert all(abs(after.open / bar.close - 1) < Decimal("0.0001") for bar, after in pairwise(bars))
    assert all(abs(bar.mark / bar.index - 1) < Decimal("0.01") for bar in bars)


def test_no_bar_is_made_before_it_has_ended():
    for minute in range(11):
        now = datetime(2026, 3, 5, 23, 55, tzinfo=UTC) + timedelta(minutes=minute)

        bars = list(iter_simulated_bars("ETH", now - timedelta(hours=1), now))

        assert bars[-1].opened_at + STEP <= now < bars[-1].opened_at + 2 * STEP


def test_funding_is_paid_each_eight_hours_and_not_ahead():
    paid = list(iter_simulated_rates("BTC", NOW - 2 * DAY, NOW))

    assert [rate.at.hour for rate in paid] == [8, 16, 0, 8, 16, 0]
    assert paid[-1].at <= NOW
    assert all(abs(rate.rate) < Decimal("0.003") and rate.is_simulated for rate in paid)


def test_simulated_symbols_have_correlated_returns():
    def moves(symbol):
        closes = [float(bar.close) for bar in iter_simulated_bars(symbol, NOW - 20 * DAY, NOW)][::12]
        return [after / before - 1 for before, after in pairwise(closes)]

    both = list(zip(moves("BTC"), moves("ETH"), strict=True))

    assert sum(btc * eth > 0 for btc, eth in both) / len(both) > 0.7


@pytest.mark.django_db
def test_hourly_bars_reach_back_before_the_others_once():
    extend_market(now=NOW, history=DAY, past=6 * DAY, seed=5)
    extend_market(now=NOW + STEP, history=DAY, past=20 * DAY, seed=5)

    begins = NOW.replace(hour=0, minute=0, second=0) - DAY
    hours = Bar.objects.filter(symbol="BTC", interval="1h").order_by("opened_at")
    assert hours.first().opened_at == begins - 6 * DAY
    assert len(hours) == 7 * 24 + 6  # without a hole
    assert Bar.objects.filter(symbol="BTC", interval="5m").earliest("opened_at").opened_at == begins
    assert Bar.objects.filter(symbol="BTC", interval="1d").count() == 7
    before = list(iter_simulated_bars("BTC", begins - 6 * DAY, begins - 5 * DAY, seed=5))
    assert values(hours[:24]) == values(aggregate_bars(before, "1h"))


@pytest.mark.django_db
def test_a_market_that_is_there_changes_no_more_and_keeps_its_seed():
    made = extend_market(now=NOW, history=DAY, seed=5)
    before = stored()

    again = extend_market(now=NOW, history=9 * DAY, seed=6)
    later = extend_market(now=NOW + STEP, history=9 * DAY, seed=6)

    assert made.bars["5m"] == Bar.objects.filter(interval="5m").count() - 3
    assert again == Extended()
    assert (later.bars["5m"], set(later.skipped)) == (3, set())
    assert {bar[-1] for bar in stored()} == {format_source(5)}
    assert set(before) <= set(stored())


@pytest.mark.django_db
def test_longer_bars_are_those_that_imports_would_make():
    extend_market(now=NOW, history=2 * DAY)

    for symbol in SYMBOLS:
        shorter = list(Bar.objects.filter(symbol=symbol, interval="5m").order_by("opened_at"))
        for interval in list_longer_intervals("5m"):
            assert stored(symbol=symbol, interval=interval) == values(aggregate_bars(shorter, interval))
    assert Counter(Bar.objects.values_list("interval", flat=True))["1d"] == 2 * len(SYMBOLS)


@pytest.mark.django_db
def test_a_symbol_with_real_bars_or_funding_is_left_alone_and_named():
    real = BarFactory(symbol="BTC", interval="1h", opened_at=NOW - 900 * DAY)
    FundingRateFactory(symbol="SOL", at=NOW - 900 * DAY)

    extended = extend_market(now=NOW, history=DAY)

    assert extended.skipped == ["BTC", "SOL"]
    assert list(Bar.objects.filter(symbol="BTC")) == [real]
    assert list_simulated_symbols() == ["ETH"]


@pytest.mark.django_db
@pytest.mark.computing
def test_the_market_can_be_read_like_a_real_one():
    extend_market(now=NOW, history=9 * DAY)

    for symbol in SYMBOLS:
        seen = get_overview(symbol, NOW)

        assert seen.is_simulated
        assert seen.regime != RegimeTag.UNKNOWN
        assert None not in (seen.price, seen.funding_rate_fraction, seen.basis_fraction)
        assert 0.1 < seen.realised_volatility_fraction < 3


@pytest.mark.django_db
def test_the_job_begins_no_market_lets_one_go_on_bar_by_bar_and_names_what_became_real():
    assert jobs.extend_simulation(NOW) == "no market is simulated"
    assert not Bar.objects.exists()
    extend_market(now=NOW, history=DAY, symbols=["BTC", "ETH"])

    said = [jobs.extend_simulation(NOW + timedelta(minutes=minutes)) for minutes in (1, 3, 4, 8)]

    assert said == ["no bar has ended", "4 bars simulated", "no bar has ended", "2 bars simulated"]
    assert list_simulated_symbols() == ["BTC", "ETH"]
    BarFactory(symbol="ETH", interval="1d", opened_at=NOW - 10 * DAY)
    assert jobs.extend_simulation(NOW + 4 * STEP).endswith("ETH has bars from elsewhere")
