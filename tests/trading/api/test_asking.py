from decimal import Decimal

import pytest

from tests.factories.record import DeploymentFactory, TradeFactory
from trading.api.trades import PlanCheckSerializer


@pytest.fixture
def trades(as_trader):
    deployment, values = DeploymentFactory(), {"gross_pnl_usd": Decimal(6)}
    return [TradeFactory(deployment=deployment, symbol=symbol, **values) for symbol in ("BTC", "ETH")]


def test_question_is_answered_as_the_tool_does_or_refused(api, trades):
    answer = api("get", "trades/query/", measure="net", group="symbol", side="long")

    assert (answer["n"], answer["value"], answer["mean"], answer["interval_90pct"]) == (2, 10.0, 5.0, None)
    assert [(one["group"], one["value"]) for one in answer["groups"]] == [("BTC", 5.0), ("ETH", 5.0)]
    assert sorted(answer["trade_ids"]) == sorted(str(trade.pk) for trade in trades)

    for words in ({"measure": "luck"}, {"colour": "red"}, {"symbol": "x" * 201}):
        assert api("get", "trades/query/", status=422, **words)["detail"]
    assert api("get", "trades/query/", status=404, skill="Nobody's")["detail"]
    assert "side" in api("get", "trades/check/", symbol="BTC", status=422)["detail"]


def test_check_sizes_a_plan(api, trades):
    words = {"symbol": "BTC", "side": "long", "price": "100", "stop": "95", "risk_usd": "50"}

    found = api("get", "trades/check/", **words)

    assert set(found) == set(PlanCheckSerializer().get_fields())
    assert (found["size_usd"], found["quantity"], found["risk_pct"], found["leverage"]) == (1000.0, 10.0, 0.5, 0.1)
    assert (found["verdict"], found["similar"]["n"], found["positions"]) == ("not enough record", 1, [])
