from decimal import Decimal

import pytest

from tests.factories.memory import HOUR, MAY
from tests.factories.record import BarFactory, FundingRateFactory, MarketEventFactory, NewsItemFactory
from trading.market.queries import find_marks, get_overview, get_regime, list_events, list_news, list_symbols
from trading.market.regime import WARM_BARS
from trading.models import Bar, RegimeTag

pytestmark = pytest.mark.django_db

D = Decimal


def hours(count: int, *, skip: int | None = None) -> None:
    """Store hourly bars that climb and end at MAY."""
    bars, above = [], {"open": 1000, "high": 1002, "low": 999, "close": 1001}
    for number in set(range(count)) - {skip}:
        prices = {name: D(price + number) for name, price in above.items()}
        bars.append(BarFactory.build(opened_at=MAY - (count - number) * HOUR, **prices))
    Bar.objects.bulk_create(bars)


def test_mark_is_the_close_of_the_bar_that_ended_last():
    BarFactory(interval="1h", opened_at=MAY - HOUR, close=D(101))
    BarFactory(interval="1m", opened_at=MAY - HOUR, close=D(99))

    (mark,) = find_marks(["BTC"], MAY).values()
    assert (mark.price, mark.at) == (101, MAY)
    assert find_marks(["BTC"], MAY - HOUR / 2)["BTC"].price == 99
    assert find_marks(["BTC"], MAY - 2 * HOUR) == {}


def test_regime_needs_whole_and_fresh_history():
    hours(WARM_BARS)

    assert get_regime("BTC", MAY) is RegimeTag.TREND
    assert get_regime("BTC", MAY + HOUR / 2) is RegimeTag.TREND
    assert get_regime("BTC", MAY + HOUR) is RegimeTag.UNKNOWN
    assert get_regime("BTC", MAY - HOUR) is RegimeTag.UNKNOWN
    Bar.objects.all().delete()
    hours(WARM_BARS + 1, skip=90)
    assert get_regime("BTC", MAY) is RegimeTag.UNKNOWN


def test_overview_of_a_symbol_and_of_an_unknown_one():
    hours(WARM_BARS)
    FundingRateFactory(at=MAY - HOUR, rate=D("0.0002"))
    FundingRateFactory(at=MAY + HOUR, rate=D("0.9"))
    Bar.objects.filter(opened_at=MAY - HOUR).update(mark=D("1010"), index=D("1000"))

    found = get_overview("BTC", MAY)

    last, before = 1000 + WARM_BARS, 1000 + WARM_BARS - 24
    assert (found.price, found.at, found.regime) == (last, MAY, RegimeTag.TREND)
    assert found.change_24h_fraction == pytest.approx(last / before - 1)
    assert (found.funding_rate_fraction, found.basis_fraction) == pytest.approx((0.0002, 0.01))
    assert found.realised_volatility_fraction > 0

    found = get_overview("XYZ", MAY)

    assert (found.price, found.change_24h_fraction, found.basis_fraction) == (None, None, None)
    assert found.regime == RegimeTag.UNKNOWN


def test_symbols_with_bars_are_listed_by_name_a_step_each(django_assert_num_queries):
    for symbol in ("SOL", "BTC", "BTC", "ETH"):
        BarFactory(symbol=symbol, opened_at=MAY - Bar.objects.count() * HOUR)

    with django_assert_num_queries(4):
        assert list_symbols(9) == ["BTC", "ETH", "SOL"]
    with django_assert_num_queries(2):
        assert list_symbols(2) == ["BTC", "ETH"]


def test_news_and_events_are_those_of_the_symbols_and_their_time():
    about_all = NewsItemFactory(published_at=MAY - 2 * HOUR)
    about_btc = NewsItemFactory(published_at=MAY - HOUR, symbols=["BTC", "SOL"])
    NewsItemFactory(published_at=MAY - HOUR, symbols=["ETH"])
    NewsItemFactory(published_at=MAY + HOUR)
    NewsItemFactory(published_at=MAY - 9 * HOUR)

    assert list_news(["BTC"], since=MAY - 3 * HOUR, now=MAY, limit=5) == [about_btc, about_all]
    assert list_news(["BTC"], since=MAY - 3 * HOUR, now=MAY, limit=1) == [about_btc]

    fed = MarketEventFactory(starts_at=MAY + HOUR)
    unlock = MarketEventFactory(kind="token_unlock", symbols=["ARB"], starts_at=MAY + 2 * HOUR, importance=0.3)
    MarketEventFactory(starts_at=MAY - HOUR)
    MarketEventFactory(starts_at=MAY + 30 * HOUR)
    until = MAY + 24 * HOUR

    assert list_events(MAY, until=until) == [fed, unlock]
    assert list_events(MAY, until=until, symbols=["BTC"]) == [fed]
    assert list_events(MAY, until=until, symbols=["ARB"], kinds=["token_unlock"]) == [unlock]
    assert list_events(MAY, until=until, min_importance=0.4) == [fed]
