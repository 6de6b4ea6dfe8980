"""Simulated bars never reach own trades: no path, price, fee, regime, exposure or candle comes from them."""

from decimal import Decimal
from importlib import import_module
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from django.apps import apps
from django.db import connection

from tests.factories.memory import DAY, HOUR, JUNE, MAY, MINUTE
from tests.factories.record import BarFactory, DeploymentFactory, MarketEventFactory, TradeFactory
from tests.trading.ledger.test_rebuild import NOW, at, bring, execution
from trading.asking.check import check_plan
from trading.asking.sizing import parse_plan
from trading.ledger.arrivals import measure_paths, price_fees
from trading.market.tape import REAL, STORED
from trading.models import Bar, Trade
from trading.record.deployment_queries import find_trade_marks, mark_positions
from trading.record.exposure import list_exposures
from trading.record.trade_queries import TradeFilter, read_skill_accounts
from trading.web.deployments import draw_prices
from trading.web.trade_chart import draw_trade
from trading.web.trades import describe_trades

D = Decimal

pytestmark = pytest.mark.usefixtures("as_trader")


def store_minutes(*, is_simulated: bool, price: int = 100) -> None:
    """Store bars of an hour from JUNE, two above and three below a price."""
    around = {"open": price, "close": price, "high": price + 2, "low": price - 3}
    for minute in range(60):
        BarFactory(interval="1m", opened_at=at(minute), is_simulated=is_simulated, **around)


def bring_trade(**bars: bool) -> Trade:
    """Import a long of ten minutes, with bars of its time stored."""
    deployment = DeploymentFactory(broker_kind="live")
    store_minutes(**bars)
    bring(deployment, [execution(1, 100), execution(-1, 101, 10)])
    return Trade.objects.get()


def test_path_of_an_own_trade_follows_real_bars_alone():
    made = bring_trade(is_simulated=True)
    assert (made.path_minutes, made.mae_usd, measure_paths(Trade.objects.all(), now=NOW)) == (None, 0, 0)

    Bar.objects.update(is_simulated=False)

    assert measure_paths(Trade.objects.all(), now=NOW) == 1
    found = Trade.objects.get()
    assert (found.path_minutes, found.mfe_usd, found.mae_usd) == (1, 2, -3)


def test_longer_real_bars_are_not_hidden_by_shorter_simulated_ones():
    BarFactory(interval="1h", opened_at=JUNE - HOUR)
    BarFactory(interval="1h", opened_at=JUNE, high=104, low=95)

    assert bring_trade(is_simulated=True).path_minutes == 60


def test_charts_of_own_trades_draw_real_candles_alone():
    trade = bring_trade(is_simulated=True)

    def draw():
        return draw_trade(trade, [], [], NOW), draw_prices(trade.deployment, "BTC", NOW)

    of_trade, of_account = draw()
    assert (of_trade.simulated, of_trade.data) == (False, {})
    assert (of_account.simulated, of_account.data) == (False, {})
    assert "No prices of BTC for these days are stored" in of_trade.empty

    Bar.objects.update(is_simulated=False)
    assert all(chart.data for chart in draw())


def test_price_of_an_open_own_trade_is_real_while_an_agent_sees_the_simulated_market():
    own = TradeFactory(deployment=DeploymentFactory(broker_kind="live"), still_open=True)
    of_agent = TradeFactory(deployment=DeploymentFactory(), still_open=True)
    BarFactory(opened_at=MAY - DAY, close=96)
    BarFactory(opened_at=MAY - HOUR, close=104, is_simulated=True)

    marks = find_trade_marks([own, of_agent], MAY)

    assert {pk: mark.price for pk, mark in marks.items()} == {own.pk: 96, of_agent.pk: 104}
    held = [(one.deployment, [one]) for one in (own, of_agent)]
    assert mark_positions(held, MAY).simulated == ["BTC"]
    assert mark_positions(held[:1], MAY).simulated == []
    flat = [held[0], (of_agent.deployment, [])]
    assert mark_positions(flat, MAY).simulated == ["BTC"]  # the market of the agent, though the own mark is real


def test_exposure_of_own_trades_counts_real_bars_and_past_moves_alone():
    own = TradeFactory(deployment=DeploymentFactory(broker_kind="live"), still_open=True)
    of_agent = TradeFactory(deployment=DeploymentFactory(), still_open=True)
    for days in (10, 20, 30):
        MarketEventFactory(starts_at=MAY - days * DAY)
        for minute, price in ((-1, 100), (59, 110)):
            around = dict.fromkeys(("open", "high", "low", "close"), price)
            begin = MAY - days * DAY + minute * MINUTE
            BarFactory(interval="1m", opened_at=begin, is_simulated=True, **around)
    coming = MarketEventFactory(starts_at=MAY + HOUR)

    found = {one.trade.pk: one for one in list_exposures([coming], [own, of_agent], MAY)}

    assert (found[own.pk].is_simulated, found[own.pk].past.events) == (False, 0)
    assert found[own.pk].notional_usd == abs(own.quantity) * own.entry_price
    assert (found[of_agent.pk].is_simulated, found[of_agent.pk].past.events) == (True, 3)


def test_fee_in_another_coin_is_not_priced_by_a_simulated_bar():
    BarFactory(symbol="ETH", opened_at=JUNE - HOUR, is_simulated=True)
    fill = execution(1, 100, fee_coin="ETH", fee_in_coin=D("0.01"))

    assert price_fees([fill])[0].fee_usd is None
    Bar.objects.update(is_simulated=False)
    assert price_fees([fill])[0].fee_usd == D("1.01")


def test_planned_trade_of_an_own_account_is_not_sized_by_a_simulated_price():
    BarFactory(opened_at=MAY - HOUR, is_simulated=True)

    def check():
        plan = parse_plan({"symbol": "BTC", "side": "long", "quantity": "1"})
        return check_plan(plan, zone=ZoneInfo("UTC"), now=MAY)

    assert check().price == 101
    DeploymentFactory(broker_kind="live")
    assert (check().price, check().mark) == (None, None)


def test_pages_of_own_trades_never_say_that_their_market_is_simulated():
    trade = bring_trade(is_simulated=True)
    of_agent = TradeFactory(deployment=DeploymentFactory(), entry_at=JUNE + HOUR)

    shown = describe_trades(TradeFilter(deployment_id=trade.deployment_id), now=NOW)

    assert shown["simulated"] == []
    assert describe_trades(TradeFilter(), now=NOW)["simulated"] == ["BTC"]
    assert read_skill_accounts(trade.skill_id).first_trades == {}
    assert list(read_skill_accounts(of_agent.skill_id).first_trades) == ["BTC"]


def test_real_tape_has_nothing_that_a_model_made():
    BarFactory(opened_at=MAY - HOUR, is_simulated=True)
    MarketEventFactory(starts_at=MAY, is_simulated=True)

    assert [REAL.last_bars("BTC", "1h", MAY, 5), REAL.newest_bars(["BTC"], MAY), REAL.events(MAY, MAY)] == [[], [], []]
    assert len(STORED.newest_bars(["BTC"], MAY)) == len(STORED.events(MAY, MAY)) == 1


def test_migration_forgets_what_simulated_bars_told_of_own_trades():
    own, of_agent = DeploymentFactory(broker_kind="live"), DeploymentFactory()
    same = {"mfe_usd": D(90), "mae_usd": D(-80), "path_minutes": 60, "entry_regime_tag": "trend"}
    closed, foreign = (TradeFactory(deployment=one, symbol="BTC", **same) for one in (own, of_agent))
    state = {"symbol": "BTC", "mfe_usd": "9", "path_minutes": 60}
    still = TradeFactory(deployment=own, symbol="BTC", still_open=True, state=state, **same)
    real = TradeFactory(deployment=own, symbol="SOL", **same)
    BarFactory(opened_at=closed.entry_at - HOUR, is_simulated=True)
    BarFactory(opened_at=still.entry_at - HOUR + MINUTE, is_simulated=True)
    BarFactory(symbol="SOL", opened_at=real.entry_at)

    forget = import_module("trading.migrations.0003_own_trades_without_simulated_bars").forget_simulated
    forget(apps, SimpleNamespace(connection=connection))

    for trade in (closed, still, real, foreign):
        trade.refresh_from_db()
    assert [one.path_minutes for one in (closed, still, real, foreign)] == [None, None, 60, 60]
    assert [one.entry_regime_tag for one in (closed, still, real, foreign)] == ["unknown", "unknown", "trend", "trend"]
    assert (closed.mfe_usd, closed.mae_usd) == (max(closed.gross_pnl_usd, 0), min(closed.gross_pnl_usd, 0))
    assert still.state == {"symbol": "BTC"}
