from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trading.runs.risk import Account, RiskCode, check_order
from trading.skills.schemas import ProposedOrder, RiskCaps

D = Decimal
CAPS = RiskCaps()  # 10 % a position, 50 % in all, 3 x, 5 % a day, 20 orders
SYMBOLS = ["BTC", "ETH"]


def account(**changes) -> Account:
    given = {
        "equity_usd": D(10_000),
        "day_start_equity_usd": D(10_000),
        "positions": {},
        "marks": {"BTC": D(100), "ETH": D(10), "SOL": D(1)},
    }
    return Account(**{**given, **changes})


def order(side="long", size="500", symbol="BTC", leverage="1") -> ProposedOrder:
    return ProposedOrder(symbol=symbol, side=side, size_usd=size, leverage=leverage, reason="Because")


def code(order: ProposedOrder, **changes) -> RiskCode | None:
    return check_order(order, account=account(**changes), caps=CAPS, symbols=SYMBOLS).code


@pytest.mark.parametrize(
    ("proposed", "state", "expected"),
    [
        (order(), {}, None),
        (order(), {"is_halted": True}, RiskCode.HALTED),
        (order(symbol="SOL"), {}, RiskCode.SYMBOL),
        (order(), {"marks": {}}, RiskCode.SYMBOL),
        (order(size="1000"), {}, None),
        (order(size="1000.01"), {}, RiskCode.POSITION_CAP),
        (order(size="400"), {"positions": {"BTC": D(7)}}, RiskCode.POSITION_CAP),
        (order("short", "1700"), {"positions": {"BTC": D(7)}}, None),
        (order("short", "1701"), {"positions": {"BTC": D(7)}}, RiskCode.POSITION_CAP),
        (order(size="500"), {"positions": {"ETH": D(-450)}}, None),
        (order(size="501"), {"positions": {"ETH": D(-450)}}, RiskCode.TOTAL_EXPOSURE),
        (order(leverage="3"), {}, None),
        (order(leverage="3.1"), {}, RiskCode.LEVERAGE),
        (order(), {"equity_usd": D("9500.01")}, None),
        (order(), {"equity_usd": D(9500)}, RiskCode.DAILY_LOSS_HALT),
        (order(), {"orders_today": 19}, None),
        (order(), {"orders_today": 20}, RiskCode.MAX_ORDERS),
        (order(size="10"), {}, None),
        (order(size="9.99"), {}, RiskCode.MIN_SIZE),
        (order(), {"equity_usd": D(-5), "day_start_equity_usd": D(-5)}, RiskCode.POSITION_CAP),
    ],
)
def test_check_order(proposed, state, expected):
    assert code(proposed, **state) == expected


@pytest.mark.parametrize("side", ["close", "short"])
def test_check_order_always_accepts_a_reducing_order(side):
    worst = {"is_halted": True, "orders_today": 99, "equity_usd": D(1), "positions": {"BTC": D(7), "ETH": D(9999)}}

    assert code(order(side, "50", leverage="50"), **worst) is None


def test_symbol_that_was_taken_off_may_be_closed_but_not_added_to():
    held = {"positions": {"SOL": D(50)}}

    assert code(order("close", symbol="SOL"), **held) is None
    assert code(order("long", symbol="SOL"), **held) is RiskCode.SYMBOL


def test_closing_nothing_is_refused():
    assert code(ProposedOrder(symbol="BTC", side="close", reason="x")) is RiskCode.MIN_SIZE


def test_the_first_rule_in_order_speaks():
    every = {"is_halted": True, "orders_today": 99, "equity_usd": D(1)}

    assert code(order(size="99999", leverage="50"), **every) is RiskCode.HALTED
    assert code(order(size="99999", leverage="50"), **{**every, "is_halted": False}) is RiskCode.POSITION_CAP


def test_refusal_says_the_numbers():
    verdict = check_order(order(size="1500"), account=account(), caps=CAPS, symbols=SYMBOLS)

    assert verdict.text == "BTC would be $1,500.00, above 10.0% of equity, $1,000.00"


def test_codes_are_the_nine():
    assert [code.value[:3] for code in RiskCode] == [f"R{number}_" for number in range(1, 10)]


@given(
    st.sampled_from(["long", "short"]),
    st.decimals("10", "20000", places=2),
    st.decimals("-20", "20", places=3),
    st.decimals("-400", "400", places=3),
)
def test_accepted_order_respects_the_caps_or_reduces(side, size, btc, eth):
    state = account(positions={"BTC": btc, "ETH": eth})

    verdict = check_order(order(side, size), account=state, caps=CAPS, symbols=SYMBOLS)

    after = btc * 100 + (size if side == "long" else -size)
    reduces = abs(after) <= abs(btc * 100) and after * btc >= 0
    within = abs(after) <= 1000 and abs(after) + abs(eth * 10) <= 5000
    assert verdict.is_accepted == (reduces or within)


@pytest.mark.parametrize(
    ("side", "stop", "expected"),
    [
        ("long", "99", None),
        ("long", "100", RiskCode.STOP_SIDE),
        ("long", "101", RiskCode.STOP_SIDE),
        ("short", "101", None),
        ("short", "99", RiskCode.STOP_SIDE),
    ],
)
def test_check_order_refuses_a_stop_on_the_wrong_side_of_the_price(side, stop, expected):
    proposed = ProposedOrder(
        symbol="BTC", side=side, size_usd=Decimal(50), stop_price=Decimal(stop), reason="because of the stop"
    )
    account = Account(Decimal(10_000), Decimal(10_000), marks={"BTC": Decimal(100)})

    assert check_order(proposed, account=account, caps=RiskCaps(), symbols=["BTC"]).code is expected


@pytest.mark.parametrize(("size", "expected"), [("9", RiskCode.MIN_SIZE), ("10", None), ("200", None), (None, None)])
def test_check_order_refuses_a_small_reduction_that_leaves_something(size, expected):
    proposed = ProposedOrder(symbol="BTC", side="close", size_usd=size and Decimal(size), reason="take some off")
    account = Account(Decimal(10_000), Decimal(10_000), positions={"BTC": Decimal(2)}, marks={"BTC": Decimal(100)})

    assert check_order(proposed, account=account, caps=RiskCaps(), symbols=["BTC"]).code is expected


@pytest.mark.parametrize(
    ("side", "held", "stop", "expected"),
    [
        ("short", 5, "101", RiskCode.STOP_SIDE),
        ("short", 5, "99", None),
        ("long", -5, "99", RiskCode.STOP_SIDE),
        ("long", -5, "101", None),
        ("short", 2, "101", None),  # nothing is left to stop
    ],
)
def test_check_order_refuses_a_stop_on_the_wrong_side_of_what_a_reduction_leaves(side, held, stop, expected):
    proposed = ProposedOrder(symbol="BTC", side=side, size_usd=D(200), stop_price=D(stop), reason="take some off")

    assert code(proposed, positions={"BTC": D(held)}) is expected


@pytest.mark.parametrize(
    ("proposed", "positions", "expected"),
    [
        (order(size="10000"), {}, None),
        (order(size="10001"), {}, RiskCode.LEVERAGE),
        (order(size="20001", leverage="2"), {}, RiskCode.LEVERAGE),
        (order(size="20000", leverage="2"), {"ETH": D(-1)}, RiskCode.LEVERAGE),
        (order(size="8000", leverage="2"), {"ETH": D(600)}, None),  # of 6000 by itself
        (order(size="8001", leverage="2"), {"ETH": D(600)}, RiskCode.LEVERAGE),
        (order(size="20000", leverage="2"), {"BTC": D(-250)}, None),  # it reduces
        (order(size="24000", leverage="2"), {"BTC": D(-40)}, None),  # turned, all of it has the new leverage
        (order(size="6000", leverage="3"), {"BTC": D(160)}, None),  # 16000 at 2x and 6000 at 3x
        (order(size="6001", leverage="3"), {"BTC": D(160)}, RiskCode.LEVERAGE),
    ],
)
def test_check_order_refuses_margin_above_the_equity(proposed, positions, expected):
    caps = RiskCaps(max_position_pct=250, max_total_exposure_pct=300)
    state = account(positions=positions, leverages={"BTC": D(2)})

    assert check_order(proposed, account=state, caps=caps, symbols=SYMBOLS).code is expected
