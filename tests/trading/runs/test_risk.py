from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from trading.runs.risk import RiskAccount, RiskCode, check_order
from trading.skills.schemas import ProposedOrder, RiskCaps

D = Decimal
CAPS = RiskCaps()  # 10 % a position, 50 % in all, 3 x, 5 % a day, 20 orders
SYMBOLS = ["BTC", "ETH"]


def account(**changes) -> RiskAccount:
    given = {
        "equity_usd": D(10_000),
        "day_start_equity_usd": D(10_000),
        "positions": {},
        "marks": {"BTC": D(100), "ETH": D(10), "SOL": D(1)},
    }
    return RiskAccount(**{**given, **changes})


def order(side="long", size="500", symbol="BTC", leverage="1", stop=None) -> ProposedOrder:
    return ProposedOrder(symbol=symbol, side=side, size_usd=size, leverage=leverage, stop_price=stop, reason="Because")


HELD = {"positions": {"BTC": D(5)}}
WORST = {"is_halted": True, "orders_today": 99, "equity_usd": D(1)}
REDUCED = {**WORST, "positions": {"BTC": D(7), "ETH": D(9999)}}


def code(order: ProposedOrder, **changes) -> RiskCode | None:
    return check_order(order, account=account(**changes), caps=CAPS, symbols=SYMBOLS).code


def test_check_order():
    for proposed, state, expected in (
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
        # Less risk is always allowed, and closing all.
        (order("close", "50", leverage="50"), REDUCED, None),
        (order("short", "50", leverage="50"), REDUCED, None),
        (order("close", None), {}, RiskCode.MIN_SIZE),
        (order("close", "9"), HELD, RiskCode.MIN_SIZE),
        (order("close", "10"), HELD, None),
        (order("close", "500"), HELD, None),
        (order("close", None), HELD, None),
        # A symbol that was taken off may be closed but not added to.
        (order("close", symbol="SOL"), {"positions": {"SOL": D(50)}}, None),
        (order(symbol="SOL"), {"positions": {"SOL": D(50)}}, RiskCode.SYMBOL),
        # The first rule in order speaks.
        (order(size="99999", leverage="50"), WORST, RiskCode.HALTED),
        (order(size="99999", leverage="50"), {**WORST, "is_halted": False}, RiskCode.POSITION_CAP),
        # A stop is on the losing side of the price, for what the order leaves.
        (order(stop="99"), {}, None),
        (order(stop="100"), {}, RiskCode.STOP_SIDE),
        (order(stop="101"), {}, RiskCode.STOP_SIDE),
        (order("short", stop="101"), {}, None),
        (order("short", stop="99"), {}, RiskCode.STOP_SIDE),
        (order("short", "200", stop="101"), HELD, RiskCode.STOP_SIDE),
        (order("short", "200", stop="99"), HELD, None),
        (order("long", "200", stop="99"), {"positions": {"BTC": D(-5)}}, RiskCode.STOP_SIDE),
        (order("long", "200", stop="101"), {"positions": {"BTC": D(-5)}}, None),
        (order("short", "200", stop="101"), {"positions": {"BTC": D(2)}}, None),  # nothing is left to stop
    ):
        assert code(proposed, **state) == expected


def test_codes_are_the_nine_and_a_refusal_says_the_numbers():
    assert [code.value[:3] for code in RiskCode] == [f"R{number}_" for number in range(1, 10)]

    verdict = check_order(order(size="1500"), account=account(), caps=CAPS, symbols=SYMBOLS)

    assert verdict.text == "BTC would be $1,500.00, above 10.0% of equity, $1,000.00"


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


def test_check_order_refuses_margin_above_the_equity():
    for proposed, positions, expected in (
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
    ):
        caps = RiskCaps(max_position_pct=250, max_total_exposure_pct=300)
        state = account(positions=positions, leverages={"BTC": D(2)})

        assert check_order(proposed, account=state, caps=caps, symbols=SYMBOLS).code is expected
