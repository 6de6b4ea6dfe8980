from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trading.asking.query import QueryRefused
from trading.asking.sizing import Plan, parse_plan, size_plan

D = Decimal
PRICES = st.decimals("0.01", "90000", places=2)
AMOUNTS = st.none() | st.decimals("0.01", "1000000", places=2)


@given(
    side=st.sampled_from(["long", "short"]),
    price=PRICES,
    stop=PRICES,
    equity=AMOUNTS,
    leverage=st.none() | st.decimals("0.1", "50", places=1),
    how=st.sampled_from(["size_usd", "risk_usd", "risk_pct", ""]),
    amount=st.decimals("0.01", "100", places=2),
    limit=AMOUNTS,
)
def test_size_loses_the_risk_at_the_stop_and_stays_within_the_leverage(
    side, price, stop, equity, leverage, how, amount, limit
):
    numbers = {"stop": stop, how: amount, "leverage": leverage}
    plan = Plan("BTC", side, {name: number for name, number in numbers.items() if name and number is not None})

    if (stop >= price) if side == "long" else (stop <= price):
        with pytest.raises(QueryRefused):
            size_plan(plan, price=price, equity_usd=equity, limit_usd=limit)
        return
    found = size_plan(plan, price=price, equity_usd=equity, limit_usd=limit)

    wanted = {"risk_usd": amount, "risk_pct": equity and equity * amount / 100, "": limit}.get(how)
    most = None if equity is None or leverage is None else equity * leverage
    if how != "size_usd" and wanted is None:
        assert (found.size_usd, found.risk_usd) == (None, None)
        return
    loss_of_one = abs(price - stop)
    assert float(found.risk_usd) == pytest.approx(float(found.quantity * loss_of_one))
    assert float(found.quantity * price) == pytest.approx(float(found.size_usd))
    if found.is_capped:
        assert found.size_usd == most
        assert how == "size_usd" or found.risk_usd < wanted
    else:
        assert most is None or found.size_usd <= most
        expected = amount if how == "size_usd" else wanted
        assert float(found.size_usd if how == "size_usd" else found.risk_usd) == pytest.approx(float(expected))
    assert (found.leverage is None) == (equity is None)


def test_size_in_coins_is_worth_them_at_the_price_and_else_the_given_one():
    plan = parse_plan({"symbol": "BTC", "side": "buy", "quantity": "0.5", "stop": "80"})

    found = size_plan(plan, price=D(100), equity_usd=D(1000), limit_usd=D(1))
    unknown = size_plan(plan, price=None, equity_usd=D(1000), limit_usd=D(1))
    given = size_plan(Plan("BTC", "long", {"size_usd": D(500)}), price=None, equity_usd=D(1000), limit_usd=D(10))

    assert (found.size_usd, found.quantity, found.risk_usd, found.leverage) == (D(50), D("0.5"), D(10), D("0.05"))
    assert (unknown.size_usd, unknown.risk_usd) == (None, None)
    assert (given.size_usd, given.quantity, given.risk_usd, given.leverage) == (D(500), None, None, D("0.5"))


def test_plan_is_read_from_words_and_back():
    plan = parse_plan({"symbol": "btc", "side": "Buy", "stop": "$63,000.50", "risk_pct": "1%", "price": " "})

    assert plan == Plan("BTC", "long", {"stop": D("63000.50"), "risk_pct": D(1)})
    assert parse_plan(plan.words) == plan


@pytest.mark.limit("trading.asking.sizing._MOST")
def test_plan_that_cannot_be_read_is_refused():
    plan = {"symbol": "BTC", "side": "long"}
    for words in (
        *({}, {"symbol": "BTC"}, {"side": "long"}, {**plan, "symbol": "b t c"}, {**plan, "side": "up"}),
        *({**plan, "stop": stop} for stop in ("-3", "0", "NaN", "1000000000001", "1e-99", "soon")),
        *({**plan, "size_usd": "1", "risk_usd": "1"}, {**plan, "deployment": "mine"}, {**plan, "colour": "red"}),
    ):
        with pytest.raises(QueryRefused):
            parse_plan(words)
