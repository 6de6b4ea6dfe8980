import re
from datetime import date, timedelta
from decimal import Decimal

import pytest

from tests.factories.memory import HOUR, JUNE, MAY
from tests.factories.record import (
    BacktestRunFactory,
    DeploymentFactory,
    EquityPointFactory,
    FillFactory,
    ReflectionNoteFactory,
    TradeFactory,
)
from tests.tables import each_case
from trading.ledger.arrivals import add_entries
from trading.ledger.entries import Entries
from trading.ledger.executions import Execution
from trading.models import Trade
from trading.record.trade_queries import (
    TradeFilter,
    get_latest_equity,
    get_skill_performance,
    get_skill_record,
    get_trade_page,
    iter_trades,
    list_fills,
    list_last_closed,
    list_symbols_in_use,
    read_account,
    utc_midnight,
)

D = Decimal


def test_symbols_in_use_are_held_ones_then_running_ones(as_trader):
    deployment = DeploymentFactory()  # on BTC and ETH
    DeploymentFactory(status="paused", version__payload={"context": {"symbols": ["XRP"]}})
    for symbol in ("SOL", "ETH"):
        TradeFactory(deployment=deployment, still_open=True, symbol=symbol)
    TradeFactory(deployment=BacktestRunFactory().deployment, still_open=True, symbol="ADA")

    assert list_symbols_in_use() == ["ETH", "SOL", "BTC"]


@pytest.fixture
def trades(as_trader):
    deployment = DeploymentFactory()
    return [
        TradeFactory(deployment=deployment, entry_reason="Breakout", entry_regime_tag="trend"),
        TradeFactory(
            deployment=deployment, symbol="ETH", entry_tick_at=MAY + HOUR, gross_pnl_usd=D(-5), exit_kind="stop"
        ),
        TradeFactory(deployment=deployment, entry_tick_at=MAY + 2 * HOUR, still_open=True, side="long"),
        TradeFactory(deployment=BacktestRunFactory(deployment__version=deployment.version).deployment),
    ]


@each_case(
    "which, expected",
    [
        ({}, [2, 1, 0]),
        ({"with_backtests": True, "order": "oldest", "symbol": "btc", "status": "closed"}, [0, 3]),
        ({"symbol": "eth"}, [1]),
        ({"status": "open"}, [2]),
        ({"exit_kind": "stop"}, [1]),
        ({"regime": "trend"}, [0]),
        ({"words": "breakOUT", "regime": "trend"}, [0]),
        ({"words": "nothing like it"}, []),
        ({"reconciled": "exact"}, [2, 1, 0]),
        ({"reconciled": "gap"}, []),
        ({"since": date(2026, 5, 1), "until": date(2026, 5, 1)}, [2, 1, 0]),
        ({"since": date(2026, 5, 2)}, []),
        ({"until": date(2026, 4, 30)}, []),
        ({"order": "worst"}, [1, 2, 0]),
        ({"order": "best"}, [0, 2, 1]),
        ({"order": "oldest"}, [0, 1, 2]),
    ],
)
def test_page_lists_the_trades_that_fit(trades, which, expected):
    page, totals = get_trade_page(TradeFilter(**which))

    found = [trades.index(trade) for trade in page]
    assert sorted(found) == sorted(expected)
    assert found == expected or which.get("with_backtests")
    assert page.paginator.count == len(expected)
    found = [trades[number] for number in expected]
    assert totals.net_usd == sum(trade.realized_pnl_usd for trade in found if trade.status == "closed")


def test_export_reads_all_but_backtests_or_the_deployment_named_and_the_last_closed_are_the_newest(trades):
    first, second, opened, played = trades
    of_backtest = TradeFilter(deployment_id=played.deployment_id, with_backtests=True)

    assert list(iter_trades()) == [opened, second, first]
    assert list(iter_trades(played.deployment_id)) == [played]
    assert list_last_closed(TradeFilter(), 9) == [second, first]
    assert list_last_closed(TradeFilter(), 1) == [second]
    assert list_last_closed(of_backtest, 9) == [played]


def test_fills_of_a_trade_lie_between_its_ends(as_trader):
    trade = TradeFactory()
    inside = [FillFactory(deployment=trade.deployment, at=MAY + hours * HOUR) for hours in (2, 0, 1)]
    FillFactory(deployment=trade.deployment, at=MAY + 3 * HOUR)
    FillFactory(deployment=trade.deployment, at=MAY + HOUR, symbol="ETH")
    FillFactory(at=MAY + HOUR)

    assert list_fills(trade) == [inside[1], inside[2], inside[0]]


FILLS_OF_TRADES = {
    "one instant": ("a0:0+2 z1:2-2 y1:0+1 x1:1-1 w1:0+5 v2:5-5", ["az", "yx", "wv"]),
    "a flip in one instant": ("a0:0+2 z1:2-2 y1:0+1 x1:1-4 w1:-3+3 v1:0+5 u2:5-5", ["az", "yx", "xw", "vu"]),
    "an instant that ends as it began": ("a0:0+5 d1:5-5 c1:0-3 b1:-3+3 e1:0+5 f2:5-5", ["ad", "cb", "ef"]),
    "no chain": ("a0+2 b1-2 c1+1 d1-4 e1+3 f2+9", ["ab", "cd", "de", "f"]),
    "a liquidation across zero": ("a0:0+2 b1:2-5! c1:-3+3 d1:0+1", ["ab", "bc", "d"]),
    "a gap that opens what the fill turns": ("g0:3-5 h1:-2+2", ["g", "gh"]),
    "a gap across zero": ("a0:0+2 b1:-3+3", ["a", "b"]),
    "a gap that closes": ("a0:0+2 b1:0+1 c2:1-1", ["a", "bc"]),
}


@pytest.mark.parametrize(("told", "expected"), FILLS_OF_TRADES.values(), ids=FILLS_OF_TRADES.keys())
def test_fill_belongs_to_the_trades_that_it_moved(as_trader, told, expected):
    """Fills are told as id, minute, the position before it if there is a chain, quantity, ! for a liquidation."""
    deployment = DeploymentFactory(broker_kind="live")
    fills = []
    for one in told.split():
        name, minute, start, quantity, liquidated = re.fullmatch(r"(.)(\d)(?::(-?\d))?([+-]\d)(!?)", one).groups()
        at = MAY + timedelta(minutes=int(minute))
        start = None if start is None else D(start)
        fills.append(Execution(name, "BTC", at, D(quantity), D(100), D(0), bool(liquidated), start))
    add_entries(deployment_id=deployment.pk, entries=Entries(fills), source="api", now=JUNE)

    found = ["".join(fill.fill_id for fill in list_fills(trade)) for trade in Trade.objects.all()]

    assert sorted(found) == sorted(expected)


def test_performance_of_a_deployment(as_trader):
    deployment = DeploymentFactory()
    for hours, gross in enumerate((20, -15, 3)):
        TradeFactory(deployment=deployment, entry_tick_at=MAY + hours * HOUR, gross_pnl_usd=D(gross), mae_usd=D(-20))
    TradeFactory(deployment=deployment, still_open=True)
    for tick, equity in enumerate((10_100, 9_898, 9_950), start=1):
        EquityPointFactory(deployment=deployment, tick=tick, at=MAY + tick * HOUR, equity_usd=equity)

    found = read_account(deployment).numbers

    assert (found.trades, found.wins, found.net_usd, found.is_too_few) == (3, 2, 5, True)
    assert (found.max_drawdown.usd, found.sharpe) == (202, None)
    assert found.mean_held == 2 * HOUR


def test_performance_reads_the_whole_curve_in_order(as_trader):
    deployment = DeploymentFactory()
    # It halves on the first days and only rises from there on: the last points alone know of no fall.
    for tick in reversed(range(1, 26)):
        equity = 10_000 if tick == 1 else 5_000 + tick
        EquityPointFactory(deployment=deployment, tick=tick, at=MAY + tick * 24 * HOUR, equity_usd=equity)

    found = read_account(deployment).numbers

    assert (found.max_drawdown.usd, found.max_drawdown.fraction) == (4_998, 0.4998)
    assert found.sharpe < 0


def test_performance_of_a_skill_is_by_broker_kind(as_trader):
    deployment = DeploymentFactory()
    TradeFactory(deployment=deployment)
    other = DeploymentFactory(version=deployment.version)
    TradeFactory(deployment=other)
    TradeFactory(deployment=BacktestRunFactory(deployment__version=deployment.version).deployment)
    DeploymentFactory(version=deployment.version, broker_kind="live")

    found = get_skill_performance(deployment.skill_id)

    assert {kind: numbers.trades for kind, numbers in found.items()} == {"paper": 2, "backtest": 1}


def test_equity_at_midnight_is_the_last_before_it_or_the_start(as_trader):
    deployment = DeploymentFactory()
    EquityPointFactory(deployment=deployment, at=MAY, equity_usd=9_000)
    EquityPointFactory(deployment=deployment, at=MAY + 13 * HOUR, equity_usd=8_000)

    assert get_latest_equity(deployment, utc_midnight(MAY)) == 10_000
    assert get_latest_equity(deployment, utc_midnight(MAY + 14 * HOUR)) == 9_000
    assert get_latest_equity(deployment, utc_midnight(MAY + 48 * HOUR)) == 8_000


def test_record_of_a_skill_is_of_its_deployments_once_one_closed_a_trade(as_trader):
    deployment = DeploymentFactory()
    run = BacktestRunFactory(done=True, deployment__version=deployment.version)
    of_backtest = TradeFactory(deployment=run.deployment)
    note = ReflectionNoteFactory(deployment=run.deployment)
    before = get_skill_record(deployment.skill_id, 9)

    trade, own = TradeFactory(deployment=deployment), ReflectionNoteFactory(deployment=deployment)
    after = get_skill_record(deployment.skill_id, 9)

    assert (before.trades, before.notes, before.backtest) == ([of_backtest], [note], run)
    assert (after.trades, after.notes, after.backtest) == ([trade], [own], None)
