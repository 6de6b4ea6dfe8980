from decimal import Decimal

import pytest

from config.lib.charts.thinning import Ohlc, group_candles
from tests.factories.memory import HOUR, MAY, MINUTE
from tests.factories.record import BarFactory
from trading.market.candles import read_candles
from trading.models import Bar

pytestmark = pytest.mark.django_db


def store(interval, length, count, **values):
    bars = [
        BarFactory.build(
            **{"symbol": "BTC", "interval": interval, "opened_at": MAY + n * length, **values},
            open=Decimal(100 + n % 7),
            high=Decimal(120 + n % 11),
            low=Decimal(90 - n % 13),
            close=Decimal(101 + n % 5),
        )
        for n in range(count)
    ]
    return Bar.objects.bulk_create(bars)


def test_read_candles_returns_the_shortest_bars_that_fit():
    store("1h", HOUR, 150)
    store("1d", 24 * HOUR, 6)
    store("1h", HOUR, 150, symbol="ETH")

    found = read_candles("BTC", MAY, MAY + 120 * HOUR)

    assert (found.length, len(found.bars), found.is_simulated) == (HOUR, 120, False)
    assert found.bars[1] == Ohlc(MAY + HOUR, 101, 121, 89, 102)


def test_read_candles_prefers_longer_bars_to_joined_ones():
    store("1m", MINUTE, 3_000)
    store("15m", 15 * MINUTE, 200)

    assert read_candles("BTC", MAY, MAY + 50 * HOUR).length == 15 * MINUTE


def test_read_candles_joins_too_many_bars_as_the_charts_do():
    bars = store("1m", MINUTE, 2_400, is_simulated=True)
    whole = [Ohlc(bar.opened_at, bar.open, bar.high, bar.low, bar.close) for bar in bars]

    found = read_candles("BTC", MAY, MAY + 40 * HOUR, most=241)

    assert (found.length, found.is_simulated) == (10 * MINUTE, True)
    assert list(found.bars) == group_candles(whole, 240)


def test_read_candles_takes_few_bars_when_there_are_no_others():
    assert read_candles("BTC", MAY, MAY + HOUR).bars == ()
    store("1d", 24 * HOUR, 3)
    assert len(read_candles("BTC", MAY, MAY + 90 * HOUR).bars) == 3


def test_read_candles_takes_three_queries_at_most(django_assert_max_num_queries):
    store("1m", MINUTE, 1_200)

    with django_assert_max_num_queries(3):
        assert len(read_candles("BTC", MAY, MAY + 20 * HOUR, most=100).bars) <= 100
