"""Trades and backtests over REST."""

from datetime import timedelta
from decimal import Decimal

import pytest

from tests.factories.memory import MAY
from tests.factories.record import BacktestRunFactory, DeploymentFactory, FillFactory, SkillVersionFactory, TradeFactory
from trading.api.trades import WholeTradeSerializer
from trading.models import BacktestRun, Deployment

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_june")]
HOUR = timedelta(hours=1)


@pytest.fixture
def trades(trader):
    """Four trades of two deployments, and one of a backtest."""

    def make():
        paper = DeploymentFactory()
        found = [
            TradeFactory(deployment=paper, entry_tick_at=MAY, entry_reason="Breakout"),
            TradeFactory(deployment=paper, entry_tick_at=MAY + HOUR, symbol="ETH", side="short", exit_kind="stop"),
            TradeFactory(deployment=paper, entry_tick_at=MAY + 2 * HOUR, still_open=True, entry_regime_tag="trend"),
            TradeFactory(entry_tick_at=MAY + 3 * HOUR, exit_reason="50% retraced"),
        ]
        TradeFactory(deployment=BacktestRunFactory().deployment, symbol="SOL")
        return found

    return make()


def test_trades_are_filtered_and_ordered(api, trades):
    for query, expected in (
        ({}, [3, 2, 1, 0]),
        ({"order": "oldest"}, [0, 1, 2, 3]),
        ({"order": "symbol"}, [3, 2, 0, 1]),
        ({"regime": "trend", "symbol": "btc"}, [2]),
        ({"words": "50%"}, [3]),
        ({"words": "_"}, []),
        ({"since": "0001-01-01", "until": "2026-04-30"}, []),
        ({"since": "2026-05-02", "until": "9999-12-31"}, []),
        ({"deployment_id": str(trades[3].deployment_id)}, [3]),
        ({"skill_id": str(trades[0].skill_id)}, [2, 1, 0]),
        ({"symbol": "SOL"}, []),
    ):
        found = [trade["id"] for trade in api("get", "trades/", **query)["items"]]
        assert found == [str(trades[number].pk) for number in expected], query
    assert len(api("get", "trades/", symbol="SOL", with_backtests="true")["items"]) == 1


def test_pages_hold_each_trade_once(api, trades):
    for order in ("newest", "oldest", "symbol"):
        whole = [trade["id"] for trade in api("get", "trades/", order=order)["items"]]

        page = api("get", "trades/", order=order, limit=1)
        found = page["items"]
        while page["next_cursor"]:
            page = api("get", "trades/", order=order, limit=1, cursor=page["next_cursor"])
            found += page["items"]

        assert [trade["id"] for trade in found] == whole


def test_a_trade_comes_with_its_fills_and_every_digit(api):
    trade = TradeFactory(
        entry_price=Decimal("0.000012345678"), gross_pnl_usd=Decimal("1234567.89"), mfe_usd=Decimal(2_000_000)
    )
    for number, quantity in enumerate((Decimal(2), Decimal("-2.0"))):
        FillFactory(deployment=trade.deployment, at=trade.entry_at + number * HOUR, quantity=quantity)
    FillFactory(deployment=trade.deployment, at=trade.entry_at - HOUR)
    trade = trade

    shown = api("get", f"trades/{trade.pk}/")

    assert [(fill["quantity"], fill["price"]) for fill in shown["fills"]] == [("2", "100"), ("-2", "100")]
    assert (shown["entry_price"], shown["gross_pnl_usd"]) == ("0.000012345678", "1234567.89")
    assert (shown["realized_pnl_usd"], shown["holding_minutes"]) == ("1234566.89", "120")
    assert shown["exit_at"] == "2026-05-01T14:00:00Z"
    assert shown.keys() == WholeTradeSerializer().fields.keys()


def test_a_query_that_cannot_be_is_refused(api):
    for query in ({"order": "best"}, {"side": "up"}, {"cursor": "x"}, {"colour": "red"}):
        assert api("get", "trades/", status=422, **query)["status"] == 422


@pytest.fixture
def skill(trader):
    return SkillVersionFactory().skill


APRIL = {"starts_at": "2026-04-01T00:00:00Z", "ends_at": "2026-05-01T00:00:00Z"}


def test_a_backtest_is_queued_seen_and_cancelled(api, skill):
    run = api("post", "backtests/", {"skill_id": str(skill.pk), **APRIL, "fee_bps": "2.5"}, status=201)

    assert run | {"status": "pending", "skill": str(skill.pk), "skill_version": 1, "fee_bps": "2.5"} == run
    usual = {"starting_equity_usd": "10000", "slippage_bps": "2", "volume_pct": "10"}
    assert run | usual | {"reflects": True, "by_rules": False, "summary": {}} == run
    assert api("get", f"backtests/{run['id']}/") == run
    cancelled = api("post", f"backtests/{run['id']}/cancel/", {})
    assert (cancelled["status"], cancelled["finished_at"]) == ("cancelled", "2026-06-01T12:00:00Z")
    assert api("post", f"backtests/{run['id']}/cancel/", {}, status=409)["code"] == "backtest_is_over"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"ends_at": "2026-03-01T00:00:00Z"}, "backtest_refused"),
        ({"starts_at": "0001-01-01T00:00:00+14:00"}, "invalid"),
        ({"fee_bps": "1e9"}, "invalid"),
    ],
    ids=repr,
)
def test_a_backtest_that_makes_no_sense_is_refused(api, skill, fields, code):
    problem = api("post", "backtests/", {"skill_id": str(skill.pk), **APRIL, **fields}, status=422)

    assert problem["code"] == code
    assert not Deployment.objects.exists() or BacktestRun.objects.exists()


def test_backtests_are_listed_newest_first(api, django_assert_max_num_queries):
    done = BacktestRunFactory(done=True, summary={"trades": 12})
    for number in range(1, 4):
        BacktestRunFactory(created_at=MAY + number * HOUR)
    done = done

    with django_assert_max_num_queries(14):
        listed = api("get", "backtests/")["items"]
    assert [run["status"] for run in listed] == ["pending", "pending", "pending", "done"]
    assert listed[-1]["summary"] == {"trades": 12}
    assert [run["id"] for run in api("get", "backtests/?status=done")["items"]] == [str(done.pk)]
    own = api("get", "backtests/", skill_id=listed[0]["skill"])["items"]
    assert [run["id"] for run in own] == [listed[0]["id"]]
