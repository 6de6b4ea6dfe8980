from datetime import timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from config.lib.words.rules import DailyLoss, Leverage, RiskPerTrade, StopRequired, Symbols, TradesPerDay, dump_rule
from tests.factories.memory import HOUR, MAY
from tests.factories.record import (
    BarFactory,
    DeploymentFactory,
    EquityPointFactory,
    MarketEventFactory,
    TradeFactory,
    TradingRuleFactory,
)
from trading.asking.check import check_plan
from trading.asking.sizing import parse_plan
from trading.models import Order, Trade

D = Decimal
NOW = MAY + timedelta(days=10)


def check(**words):
    given = {"symbol": "BTC", "side": "long", **words}
    return check_plan(parse_plan(given), zone=ZoneInfo("UTC"), now=NOW)


def rule(rule):
    return TradingRuleFactory(payload=dump_rule(rule))


@pytest.fixture
def account(as_trader):
    """An own account with 5,000 USD, and BTC at 100."""
    BarFactory(opened_at=NOW - 2 * HOUR, close=D(100))
    account = DeploymentFactory(broker_kind="live", label="Kraken spot", starting_equity_usd=None)
    EquityPointFactory(deployment=account, at=NOW - HOUR, equity_usd=D(5000))
    return account


def test_size_follows_from_the_risk_or_the_smallest_risk_of_the_own_rules(account):
    found = check(stop="95", risk_pct="1")

    assert (found.price, found.equity_usd, found.equity_of) == (D(100), D(5000), "Kraken spot")
    assert (found.sizing.size_usd, found.sizing.quantity, found.sizing.risk_usd) == (D(1000), D(10), D(50))
    assert (found.verdict, found.why) == (
        "not enough record",
        ["No closed trades of this symbol and side, of at least 5."],
    )

    rule(RiskPerTrade(limit=D(2), unit="pct"))
    rule(RiskPerTrade(limit=D(20), unit="usd"))
    TradingRuleFactory(payload=dump_rule(RiskPerTrade(limit=D(1), unit="usd")), valid_until=NOW)

    assert check(stop="95").sizing.risk_usd == D(20)


def test_plan_that_breaks_a_rule_says_so(account):
    EquityPointFactory(deployment=account, at=NOW - timedelta(days=2), equity_usd=D(5000))
    loss = {"gross_pnl_usd": D(-60), "mae_usd": D(-70), "mfe_usd": D(0)}
    TradeFactory(deployment=account, symbol="ETH", entry_tick_at=NOW - 4 * HOUR, **loss)
    small = {"stop": "95", "size_usd": "100"}

    for broken, words in (
        (RiskPerTrade(limit=D(1), unit="pct"), {"stop": "95", "size_usd": "1100"}),
        (StopRequired(), {"size_usd": "100"}),
        (Symbols(mode="only", symbols=("ETH",)), small),
        (Leverage(limit=D(2)), {**small, "leverage": "3"}),
        (Leverage(limit=D(2)), {"stop": "95", "size_usd": "10001"}),
        (TradesPerDay(limit=1, zone="UTC"), small),
        (DailyLoss(limit=D(1), unit="pct", zone="UTC"), small),
    ):
        row = rule(broken)
        found = check(**words)
        assert found.verdict == "breaks a rule"
        assert [one.verdict for one in found.rules] == ["broken"]
        assert found.rules[0].reading in found.why[0]
        row.delete()


def test_plan_fits_with_its_size_known_its_rules_kept_and_enough_record(account):
    rule(StopRequired())
    for number in range(5):
        TradeFactory(deployment=account, entry_tick_at=MAY + number * HOUR)
        TradeFactory(deployment=account, entry_tick_at=MAY + number * HOUR, side="short")

    found = check(stop="95", size_usd="100")
    assert (found.verdict, found.why) == ("fits", ["Keeps 1 rule."])
    assert (found.expectancy.trades, found.expectancy.value, found.win_rate.value) == (5, 19.0, 1)

    found = check(stop="95")
    assert (found.sizing.size_usd, found.verdict) == (None, "not enough record")
    assert "The size is not known: give it, or a stop, a risk and your equity." in found.why


def test_risk_without_a_price_cannot_be_told(account):
    rule(RiskPerTrade(limit=D(1), unit="usd"))

    for words in ({}, {"size_usd": "100"}):
        found = check(symbol="ADA", stop="1", **words)
        assert (found.price, found.sizing.risk_usd) == (None, None)
        assert [(one.verdict, one.why) for one in found.rules] == [("unknown", "what it risks is not known")]


def test_exposure_and_coming_events_are_listed(account):
    TradeFactory(deployment=account, still_open=True)
    TradeFactory(deployment=DeploymentFactory(), still_open=True)  # of an agent: another account
    MarketEventFactory(starts_at=NOW + HOUR)
    MarketEventFactory(starts_at=NOW + 80 * HOUR)
    MarketEventFactory(starts_at=NOW + HOUR, symbols=["ETH"])
    MarketEventFactory(starts_at=NOW + HOUR, is_simulated=True)

    found = check(size_usd="100")

    assert [one.notional_usd for one in found.positions] == [D(200)]
    assert found.exposure_usd == D(200)
    assert [(one.event.starts_at, one.past.events) for one in found.events] == [(NOW + HOUR, 0)]
    TradeFactory(deployment=account, still_open=True, symbol="ADA")  # without a price
    assert check(size_usd="100").exposure_usd is None


def test_agents_accounts_count_together_without_an_own_one(as_trader):
    DeploymentFactory()
    DeploymentFactory()
    DeploymentFactory(status="stopped")

    found = check(price="100", stop="95", risk_pct="1")

    assert (found.equity_usd, found.equity_of) == (D(20000), "2 accounts together")
    assert found.mark is None


def test_check_of_a_new_user_works_with_what_is_given(as_trader):
    rule(TradesPerDay(limit=1, zone="UTC"))

    found = check(price="100", stop="95", risk_pct="1", equity_usd="2000", leverage="0.1")

    assert (found.sizing.size_usd, found.sizing.is_capped, found.equity_of) == (D(200), True, "as you gave it")
    assert check().equity_usd is None


def test_check_writes_nothing(account, django_assert_max_num_queries):
    rule(TradesPerDay(limit=1, zone="UTC"))
    MarketEventFactory(starts_at=NOW + HOUR)
    TradeFactory(deployment=account)

    with django_assert_max_num_queries(30) as queries:
        check(stop="95", risk_usd="20")

    assert [query["sql"] for query in queries if not query["sql"].startswith("SELECT")] == []
    assert (Trade.objects.count(), Order.objects.count()) == (1, 0)
