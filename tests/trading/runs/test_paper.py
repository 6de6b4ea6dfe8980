import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factories.memory import HOUR
from trading.ledger.positions import Book, Tick
from trading.ledger.trips import ExitCause, PathBar
from trading.models import Bar, FundingRate
from trading.runs.paper import Costs, Holding, OrderRequest, PaperBroker

D = Decimal
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
FREE = Costs(D(0), D(0))


def order(side="long", size="1000", *, hour=0, stop=None, leverage="1", name="a", symbol="BTC") -> OrderRequest:
    return OrderRequest(
        name, symbol, side, D(size) if size else None, D(leverage), D(stop) if stop else None, NOON + hour * HOUR
    )


def hour_bar(symbol: str, hour: int, first: D, high: D, low: D, last: D, volume: D | int = 0) -> Bar:
    opened_at = NOON + hour * HOUR
    prices = {"open": first, "high": high, "low": low, "close": last}
    return Bar(symbol=symbol, interval="1h", opened_at=opened_at, volume=volume, **prices)


def changed(bar: Bar, **values: Any) -> Bar:
    for name, value in values.items():
        setattr(bar, name, value)
    return bar


def rate(symbol: str, at: datetime, fraction: D) -> FundingRate:
    return FundingRate(symbol=symbol, at=at, rate=fraction)


def bar(hour: int, first: str, high: str, low: str, last: str, symbol: str = "BTC") -> Bar:
    return hour_bar(symbol, hour, D(first), D(high), D(low), D(last))


def flat(hour: int, price: str = "100") -> Bar:
    return bar(hour, price, price, price, price)


def broker(costs: Costs = FREE, **state) -> PaperBroker:
    return PaperBroker(D(10_000), costs, **state)


def after(paper: PaperBroker, *market, hours: int):
    paper.feed([one for one in market if isinstance(one, Bar)], [one for one in market if isinstance(one, FundingRate)])
    return paper.report(NOON + hours * HOUR)


def test_order_fills_at_the_open_of_the_next_bar_once():
    paper = broker()
    for _ in range(2):
        paper.submit(order(hour=1))

    early = after(paper, flat(0), bar(1, "102", "110", "101", "108"), hours=1)
    report = paper.report(NOON + 2 * HOUR)

    assert early.fills == []
    (fill,) = report.fills
    assert (fill.quantity, fill.price, fill.at) == (D("9.80392156"), 102, NOON + HOUR)
    assert (report.order_ids, report.positions, report.marks) == ({"a": "a"}, {"BTC": fill.quantity}, {"BTC": 108})
    assert report.equity_usd == 10_000 + fill.quantity * 6
    assert paper.report(NOON + 2 * HOUR).fills == []


def test_costs_are_paid_on_notional_and_slippage_is_against_us():
    paper = broker(Costs(D(5), D(10)))
    paper.submit(order())
    (bought,) = after(paper, flat(0), hours=1).fills
    paper.submit(order("close", None, hour=1, name="b"))
    report = after(paper, flat(1), hours=2)

    (sold,) = report.fills
    assert (bought.price, sold.price) == (D("100.1"), D("99.9"))
    assert (bought.fee_usd, sold.fee_usd) == (D("0.5005"), D("0.4995"))
    assert report.equity_usd == 10_000 - 10 * D("0.2") - 1
    assert report.positions == {}


def test_orders_add_to_reduce_or_close_a_position():
    for side, size, held, left in (
        ("close", None, 10, 0),
        ("close", "400", 10, 6),
        ("close", "99999", 10, 0),
        ("close", None, 0, 0),
        ("short", "400", 10, 6),
        ("short", "1500", 10, -5),
        ("long", "500", 10, 15),
    ):
        paper = broker(holdings={"BTC": Holding(D(held), D(100))} if held else {})
        paper.submit(order(side, size))

        assert after(paper, flat(0), hours=1).positions.get("BTC", 0) == left


def test_stop():
    for side, stop, reached, price in (
        ("long", "95", bar(1, "100", "101", "94", "96"), 95),
        ("long", "95", bar(1, "90", "91", "85", "88"), 90),
        ("long", "95", bar(1, "100", "101", "95.1", "96"), None),
        ("short", "105", bar(1, "100", "106", "99", "104"), 105),
        ("short", "105", bar(1, "110", "112", "109", "111"), 110),
    ):
        paper = broker()
        paper.submit(order(side, stop=stop))
        after(paper, flat(0), hours=1)

        report = after(paper, reached, hours=2)

        assert [fill.price for fill in report.fills] == ([price] if price else [])
        assert report.stopped.keys() == {fill.fill_id for fill in report.fills}
        assert bool(report.positions) is (price is None)


def test_liquidation_takes_the_margin_and_no_more_and_a_stop_before_it_comes_first():
    crash = bar(1, "100", "100", "80", "85")
    bare, stopped = broker(), broker()
    for paper, stop in ((bare, None), (stopped, "95")):
        paper.submit(order(size="10000", leverage="10", stop=stop))
        after(paper, flat(0), hours=1)

    report = after(bare, crash, hours=2)
    (fill,) = report.fills
    assert (fill.is_liquidation, fill.price, report.positions) == (True, D("90.5"), {})
    assert report.equity_usd == 10_000 - D(950)
    assert report.stopped == {}
    (fill,) = after(stopped, crash, hours=2).fills
    assert (fill.is_liquidation, fill.price) == (False, 95)
    assert Holding(D(1), D(100)).liquidation_price == D("0.5")  # all but never without leverage


def test_longs_pay_funding_to_shorts_for_what_was_held_before():
    for quantity, amount in ((10, "-0.1"), (-10, "0.1")):
        paper = broker(holdings={"BTC": Holding(D(quantity), D(100))})
        report = after(paper, flat(0), rate("BTC", NOON + HOUR, D("0.0001")), hours=1)
        assert [payment.amount_usd for payment in report.funding] == [D(amount)]
        assert report.equity_usd == 10_000 + D(amount)

    paper = broker()
    paper.submit(order())
    assert after(paper, flat(0), rate("BTC", NOON, D("0.0001")), hours=1).funding == []


moves = st.lists(st.integers(-15, 15), min_size=3, max_size=25)
wishes = st.lists(
    st.tuples(st.sampled_from(["long", "short", "close"]), st.integers(10, 3000), st.sampled_from([None, -6, 6])),
    min_size=1,
    max_size=25,
)


@given(moves, wishes, st.integers(1, 5))
def test_account_and_ledger_agree_to_the_cent(moves, wishes, leverage):
    paper, book, trips = broker(Costs()), Book(), {}
    price = D(100)
    for hour, move in enumerate(moves):
        last = price * (100 + move) / 100
        high, low = max(price, last) * D("1.01"), min(price, last) * D("0.99")
        if hour < len(wishes):
            side, size, stop = wishes[hour]
            at = None if stop is None else str(price * (100 + (-abs(stop) if side == "long" else abs(stop))) / 100)
            paper.submit(order(side, str(size), hour=hour, name=str(hour), stop=at, leverage=str(leverage)))
        now = hour_bar("BTC", hour, price, high, low, last)
        report = after(paper, now, rate("BTC", NOON + hour * HOUR, D("0.0002")), hours=hour + 1)
        path = PathBar(now.opened_at, now.closed_at, high, low, last)
        tick = Tick(report.at, report.fills, report.funding, {"BTC": [path]}, report.marks, report.positions)
        trips |= {trip.first_fill_id: trip for trip in book.apply(tick)}
        price = last

        held = sum(trip.quantity * price - trip.cost_usd for trip in trips.values() if trip.is_open)
        realised = sum(trip.realized_pnl_usd for trip in trips.values())
        assert abs(10_000 + realised + held - report.equity_usd) < D("1e-8")
        assert all(trip.reconciled == "exact" for trip in trips.values())
        assert all(trip.mae_usd <= trip.gross_usd <= trip.mfe_usd for trip in trips.values() if not trip.is_open)
        assert all(trip.exit_cause is not ExitCause.UNEXPLAINED for trip in trips.values())


# --- Kept and given again ---


def kept(paper: PaperBroker) -> PaperBroker:
    """Return the broker as it comes back from a database, which may turn the order of keys."""
    state = json.loads(json.dumps(paper.state(), sort_keys=True))
    return PaperBroker.restored(state, starting_equity_usd=D(1), costs=paper.costs)


def test_broker_without_a_state_is_new_and_an_order_survives_until_its_bar_comes():
    new = PaperBroker.restored({}, starting_equity_usd=D(500), costs=Costs(D(7), D(8)))
    assert new == PaperBroker(D(500), Costs(D(7), D(8)))
    paper = broker()
    paper.submit(order(hour=1, leverage="2", stop="90"))
    again = kept(paper)
    again.submit(order(hour=1, leverage="2", stop="90"))

    report = after(again, flat(1), hours=2)

    assert [(fill.fill_id, fill.quantity) for fill in report.fills] == [("a", 10)]
    assert again.holdings["BTC"] == Holding(D(10), D(100), D(2), D(90), "a", report.fills[0].at)


def test_longer_bar_over_a_time_already_seen_is_not_traded_again():
    paper = broker()
    paper.submit(order(stop="95"))
    after(
        paper, *(changed(flat(0), interval="30m"), changed(flat(0), interval="30m", opened_at=NOON + HOUR / 2)), hours=1
    )
    again = kept(paper)

    report = after(again, changed(bar(0, "100", "101", "90", "92"), interval="4h"), hours=4)

    assert (report.fills, report.marks) == ([], {"BTC": 100})
    assert [fill.price for fill in after(again, bar(1, "100", "101", "90", "92"), hours=2).fills] == [95]


names = st.sampled_from(["BTC", "ETH", "SOL"])
days = st.lists(
    st.fixed_dictionaries(
        {
            "moves": st.dictionaries(names, st.tuples(st.integers(-1999, 1999), st.integers(0, 900)), max_size=3),
            "rates": st.dictionaries(names, st.integers(-50, 50), max_size=2),
            "orders": st.lists(
                st.tuples(
                    names,
                    st.sampled_from(["long", "short", "close"]),
                    st.none() | st.integers(1, 500_000),  # cents
                    st.sampled_from([None, 3, 8]),  # percent from the price to the stop
                    st.integers(10, 70),  # tenths of leverage
                    st.integers(0, 2),  # hours until it counts
                ),
                max_size=3,
            ),
            "is_kept": st.booleans(),
        }
    ),
    min_size=2,
    max_size=14,
)


@given(days, st.integers(-3, 9), st.integers(0, 9), st.integers(0, 30))
def test_restored_broker_is_exact_after_any_interruption(days, fee, slippage, volume):
    whole = broker(Costs(D(fee), D(slippage), D("0.1")))
    cut = kept(whole)
    prices = {"BTC": D("65432.1"), "ETH": D("3456.789"), "SOL": D("0.0123456")}
    for hour, day in enumerate(days):
        market = []
        for symbol, (move, width) in sorted(day["moves"].items()):
            first, last = prices[symbol], prices[symbol] * (10_000 + move) / 10_000
            high, low = max(first, last) * (10_000 + width) / 10_000, min(first, last) * (10_000 - width) / 10_000
            market.append(hour_bar(symbol, hour, first, high, low, last, D(volume) / 10))
            prices[symbol] = last
        market += [rate(symbol, NOON + hour * HOUR, D(paid) / 100_000) for symbol, paid in day["rates"].items()]
        for number, (symbol, side, cents, stop, tenths, wait) in enumerate(day["orders"]):
            if side != "close" and cents is None:
                continue
            away = None if stop is None else prices[symbol] * (100 - stop if side == "long" else 100 + stop) / 100
            size, at = None if cents is None else D(cents) / 100, NOON + (hour + wait) * HOUR
            asked = OrderRequest(f"{hour}-{number}", symbol, side, size, D(tenths) / 10, away, at)
            whole.submit(asked)
            cut.submit(asked)

        if day["is_kept"]:
            cut = kept(cut)
        report = after(whole, *market, hours=hour + 1)
        assert after(cut, *market, hours=hour + 1) == report
        for symbol in prices if volume else ():
            filled = sum(abs(one.quantity) for one in report.fills if one.symbol == symbol and not one.is_liquidation)
            assert filled <= D(volume) / 100
        assert cut == whole
        cut = kept(cut)
        assert str(cut.equity_usd) == str(whole.equity_usd)


def test_report_expires_an_order_after_a_hole_in_the_bars_but_not_one_to_close():
    paper = broker()
    paper.submit(order(hour=1))
    late = after(paper, flat(26, "150"), hours=27)
    assert (late.fills, late.expired, paper.pending) == ([], {"a"}, [])

    paper.submit(order(hour=27, name="b"))
    after(paper, flat(27), hours=28)
    paper.submit(order("close", size=None, hour=28, name="c"))

    assert [fill.quantity for fill in after(paper, flat(60, "150"), hours=61).fills] == [-10]


def test_small_add_with_high_leverage_hardly_moves_the_liquidation_price():
    paper = broker()
    paper.submit(order(size="1000", leverage="1"))
    after(paper, flat(0), hours=1)
    before = paper.holdings["BTC"].liquidation_price

    paper.submit(order(size="10", leverage="50", hour=1, name="b"))
    after(paper, flat(1), hours=2)

    assert 0 < paper.holdings["BTC"].liquidation_price - before < 2
    assert 1 < paper.holdings["BTC"].leverage < D("1.02")


THIN = Costs(D(0), D(0), D("0.1"))


def thin(hour: int, volume: str = "40", price: str = "100") -> Bar:
    return hour_bar("BTC", hour, *[D(price)] * 4, D(volume))


def fills_of(report):
    return [(fill.fill_id, fill.quantity, fill.price) for fill in report.fills]


def test_order_larger_than_its_share_of_the_volume_fills_over_bars_until_it_expires():
    paper = broker(THIN)
    paper.submit(order())

    first = after(paper, thin(0), hours=1)
    second = after(kept(paper), thin(1, price="110"), hours=2)
    third = after(paper, thin(1, price="110"), thin(2), hours=3)

    assert fills_of(first) == [("a", 4, 100)]
    assert [quantity for _, quantity, _ in fills_of(second)] == [4]
    assert [quantity for _, quantity, _ in fills_of(third)] == [4]
    assert (set(third.order_ids.values()), third.expired, paper.pending) == ({"a"}, {"a"}, [])


def test_order_to_close_goes_on_until_nothing_is_left():
    paper = broker(THIN, holdings={"BTC": Holding(D(10), D(100))})
    paper.submit(order("close", None))

    report = after(paper, *(thin(hour) for hour in range(4)), hours=4)

    assert [fill.quantity for fill in report.fills] == [-4, -4, -2]
    assert (report.positions, report.expired, paper.pending) == ({}, frozenset(), [])


def test_orders_of_one_bar_share_its_volume_where_it_limits_them():
    paper = broker(THIN, holdings={"BTC": Holding(D(3), D(100))})
    paper.submit(order("close", None))
    paper.submit(order(name="b"))

    assert fills_of(after(paper, thin(0), hours=1)) == [("a", -3, 100), ("b", 1, 100)]

    for costs, volume in ((THIN, "0"), (FREE, "40")):
        paper = broker(costs)
        paper.submit(order(size="1000000000"))

        assert fills_of(after(paper, thin(0, volume), hours=1)) == [("a", 10_000_000, 100)]

    paper = broker(THIN, holdings={"BTC": Holding(D(10), D(100), D(10))})

    (fill,) = after(paper, changed(bar(0, "100", "100", "80", "85"), volume=D(1)), hours=1).fills

    assert (fill.quantity, fill.is_liquidation) == (-10, True)


@pytest.mark.parametrize(("side", "quantity", "stop"), [("long", 10, "95"), ("short", -10, "105")])
def test_stop_that_the_volume_cuts_goes_on_at_the_next_opens(side, quantity, stop):
    paper = broker(THIN, holdings={"BTC": Holding(D(quantity), D(100), stop_price=D(stop), stop_order_id="a")})
    reached = changed(bar(0, "100", "106", "94", "100"), volume=D(40))

    first = after(paper, reached, hours=1)
    rest = after(kept(paper), thin(1), thin(2, "1000", "101"), hours=3)

    assert [(abs(fill.quantity), fill.price) for fill in first.fills] == [(4, D(stop))]
    assert [(abs(fill.quantity), fill.price) for fill in rest.fills] == [(4, 100), (2, 101)]
    assert (set(rest.stopped.values()), rest.positions) == ({"a"}, {})
