from decimal import Decimal

import pytest

from chat.tools.questions import query_trades
from tests.chat.tools.talking import Toolbox
from tests.factories.memory import MAY
from tests.factories.record import DeploymentFactory, TradeFactory

D = Decimal


@pytest.fixture(params=["coach", "advisor"])
def box(request, as_trader) -> Toolbox:
    as_trader.time_zone = "Asia/Tokyo"
    as_trader.save()
    return Toolbox(as_trader, request.param, "How do I do?")


@pytest.fixture
def trades(as_trader):
    deployment = DeploymentFactory(version__skill__name="Dips")
    return [
        TradeFactory(deployment=deployment, symbol=symbol, gross_pnl_usd=D(gross))
        for symbol, gross in (("BTC", 11), ("BTC", -4), ("BTC", 6), ("BTC", 3), ("BTC", 21), ("ETH", -7))
    ]


def test_question_returns_n_value_interval_ids_and_a_link(box, trades):
    result = box.call("query_trades", group="symbol", where={"side": "long"}, period="2026-05")

    low, high = result.pop("interval_90pct")
    assert low < result["mean"] < high
    assert sorted(result.pop("trade_ids")) == sorted(str(trade.pk) for trade in trades)
    best, worst = result.pop("best"), result.pop("worst")
    assert (best["trade_id"], best["value"]) == (str(trades[4].pk), 20.0)
    assert (worst["symbol"], worst["value"]) == ("ETH", -8.0)
    btc, eth = result.pop("groups")
    assert (btc["group"], btc["n"], btc["value"], btc["mean"]) == ("BTC", 5, 32.0, 6.4)
    assert btc["interval_90pct"][0] < 6.4
    assert eth == {"group": "ETH", "n": 1, "value": -8.0, "mean": -8.0, "interval_90pct": None}
    assert result == {
        "measure": "net",
        "unit": "usd",
        "scope": "all closed trades, side: Long, 2026-05",
        "period": {"from": "2026-05-01", "to": "2026-05-31", "zone": "Asia/Tokyo"},
        "n": 6,
        "value": 24.0,
        "mean": 4.0,
        "interval_of": "mean",
        "is_too_few": False,
        "link": "/trades/ask/?measure=net&group=symbol&period=2026-05&side=long",
    }


def test_shares_are_percents_and_unknown_values_are_counted(box, trades):
    trades[0].path_minutes = None
    trades[0].save()

    wins, paths = box.call("query_trades", measure="win_rate"), box.call("query_trades", measure="mae")

    assert (wins["unit"], wins["value"], wins["interval_of"]) == ("pct", 66.67, "value")
    assert (paths["n"], paths["not_known"], paths["value"]) == (5, 1, -8.0)


def test_filters_may_be_numbers_and_lists(box, trades):
    assert box.call("query_trades", where={"symbol": ["BTC", "ETH"], "version": 1})["n"] == 6


def test_trades_are_ranked_with_their_ids(box, trades):
    result = box.call("query_trades", group="trade")

    assert [row["value"] for row in result["groups"]] == [20.0, 10.0, 5.0, 2.0, -5.0, -8.0]
    assert result["groups"][0]["trade_id"] == str(trades[4].pk)


def test_hours_are_those_of_the_user(box, trades):
    hour = (MAY.hour + 9) % 24

    assert box.call("query_trades", measure="count", group="hour")["groups"][0]["group"] == f"{hour:02}:00"


def test_check_sizes_a_planned_trade(box, trades):
    plan = {"symbol": "btc", "side": "long", "price": 100, "stop": 95, "risk_pct": 1}

    found = box.call("query_trades", check=plan)["check"]

    assert (found["size_usd"], found["risk_usd"], found["stop_distance_pct"]) == (2000.0, 100.0, 5.0)
    assert (found["equity_usd"], found["equity_of"], found["verdict"]) == (10000.0, "Dips", "fits")
    assert found["similar"]["n"] == 5
    assert found["similar"]["interval_90pct_usd"][0] < found["similar"]["expectancy_usd"]
    assert found["link"] == "/trades/check/?symbol=BTC&side=long&stop=95&risk_pct=1&price=100"
    assert query_trades.summarise({"check": found}) == "BTC long: fits"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"check": {"symbol": "BTC"}}, "Give the side"),
        ({"where": {"colour": "red"}}, "choose among symbol"),
        ({"period": "someday"}, "no period that Keel knows"),
        ({"where": {"skill": "Nobody's"}}, "no such skill"),
    ],
)
def test_question_that_is_not_understood_comes_back_as_an_error(box, arguments, words):
    assert words in box.call("query_trades", **arguments)["error"]


def test_call_is_summarised_by_its_measure_and_trades(box, trades):
    assert query_trades.summarise(box.call("query_trades", measure="fees")) == "Fees: 6 trades"
    assert query_trades.summarise({"error": "x"}) == ""
