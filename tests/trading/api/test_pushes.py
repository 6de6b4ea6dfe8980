"""Another program's record over REST: past fills, then ticks."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.cache import cache
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.factories.memory import JUNE, MINUTE
from tests.factories.record import BacktestRunFactory, BarFactory, DeploymentFactory
from tests.properties import examples
from tests.tables import each_case
from tests.trading.browsing import Browser
from trading.models import Deployment, EquityPoint, Fill, Trade

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_june")]


@pytest.fixture
def live(as_trader):
    """A deployment that another program runs."""
    return DeploymentFactory(broker_kind="live")


def at(minutes: float) -> str:
    """Return an instant of the hour before now."""
    return (JUNE - timedelta(hours=1) + minutes * MINUTE).isoformat()


def fill(fill_id: str, minutes: float, quantity: str, price: str, **more) -> dict:
    return {"fill_id": fill_id, "symbol": "BTC", "at": at(minutes), "quantity": quantity, "price": price, **more}


def list_trades(live) -> list[Trade]:
    return list(Trade.objects.filter(deployment=live).order_by("entry_at"))


# --- Fills of the past ---


def test_fills_become_trades_whatever_their_order_and_however_often_they_come(api, live):
    address = f"deployments/{live.pk}/fills/"
    fills = [
        fill("a", 0, "2", "100", fee_usd="0.10"),
        fill("b", 5, "-2", "110.5", fee_usd="-0.01"),
        fill("c", 9, "-1", "111"),
    ]

    done = api("post", address, {"fills": fills[1:]})
    assert done.items() >= {"new_fills": 2, "known_fills": 0, "opened": 1, "closed": 0, "gaps": 0}.items()
    done = api("post", address, {"fills": fills})
    assert done.items() >= {"new_fills": 1, "known_fills": 2, "opened": 1, "closed": 1, "gaps": 0}.items()
    assert api("post", address, {"fills": fills})["new_fills"] == 0

    [first, second] = list_trades(live)
    assert (first.status, first.gross_pnl_usd, first.fees_usd) == ("closed", Decimal(21), Decimal("0.09"))
    assert (second.status, second.side, second.quantity) == ("open", "short", Decimal(-1))


def test_five_hundred_fills_fit_and_one_more_does_not(api, live):
    fills = [fill(f"id-{number:0100}", number / 10, "0.123456789012", "100.5") for number in range(501)]

    assert api("post", f"deployments/{live.pk}/fills/", {"fills": fills[:500]})["new_fills"] == 500
    problem = api("post", f"deployments/{live.pk}/fills/", {"fills": fills}, status=422)
    assert problem["errors"][0]["pointer"] == "#/fills"


WRONG = [
    ({"quantity": "0"}, "quantity"),
    ({"quantity": "NaN"}, "quantity"),
    ({"quantity": "0.0000000000001"}, "quantity"),
    ({"price": "0"}, "price"),
    ({"price": True}, "price"),
    ({"fee_usd": "1e16"}, "fee_usd"),
    ({"symbol": "B T C"}, "symbol"),
    ({"fill_id": "a b"}, "fill_id"),
    ({"fill_id": 121 * "a"}, "fill_id"),
    ({"fill_id": "gap:1"}, "fill_id"),
    ({"at": "0001-01-01T00:00:00+14:00"}, "at"),
    ({"at": "2026-06-01T12:06:00Z"}, "at"),
    ({"at": 1780000000}, "at"),
    ({"user": 1}, "user"),
]


@each_case("wrong, field", WRONG)
def test_a_fill_that_cannot_be_is_pointed_at_and_nothing_is_kept(api, live, wrong, field):
    fills = [fill("good", 0, "1", "100"), fill("a", 0, "1", "100") | wrong]
    for address, body in (("fills", {}), ("ticks", {"at": at(10)})):
        problem = api("post", f"deployments/{live.pk}/{address}/", {"fills": fills, **body}, status=422)
        assert [error["pointer"] for error in problem["errors"]] == [f"#/fills/1/{field}"]
    assert not Fill.objects.exists()


# --- Ticks ---


def test_ticks_are_applied_one_after_the_other_and_price_from_fills(api, live):
    address = f"deployments/{live.pk}/ticks/"

    opened = api(
        "post",
        address,
        {
            "at": at(10),
            "fills": [fill("a", 9, "2", "100", fee_usd="0.1")],
            "positions": {"BTC": "2"},
            "marks": {"BTC": "100"},
            "equity_usd": "9999.90",
            "reasons": [{"fill_id": "a", "reason": "Flush  into\nsupport", "leverage": "3"}],
        },
        status=201,
    )
    held = api("post", address, {"at": at(20), "positions": {"btc": "2"}, "marks": {"BTC": "120"}}, status=201)
    closed = api(
        "post",
        address,
        {
            "number": 3,
            "at": at(30),
            "fills": [fill("b", 29, "-2", "110", fee_usd="0.1")],
            "positions": {},
            "funding": [{"symbol": "BTC", "at": at(28), "amount_usd": "-0.5"}],
            "reasons": [{"symbol": "BTC", "reason": "Stop", "origin": "stop"}],
        },
        status=201,
    )

    assert opened == {"number": 1, "applied": True, "opened": 1, "closed": 0, "fills": 1, "conflicts": []}
    assert (held["number"], closed["number"], closed["closed"]) == (2, 3, 1)
    [trade] = list_trades(live)
    assert (trade.reconciled, trade.entry_reason, trade.entry_leverage) == ("exact", "Flush into support", 3)
    assert (trade.exit_reason, trade.exit_kind) == ("Stop", "stop")
    assert (trade.gross_pnl_usd, trade.realized_pnl_usd) == (Decimal(20), Decimal("19.3"))
    assert (trade.mfe_usd, trade.mae_usd) == (Decimal(40), Decimal(0))  # the mark of the second tick
    shown = api("get", f"deployments/{live.pk}/")
    assert (shown["last_tick"], shown["equity_usd"], shown["positions"]) == (3, "9999.9", [])


def test_a_tick_that_was_applied_changes_nothing_when_it_comes_again(api, live):
    address = f"deployments/{live.pk}/ticks/"
    tick = {"number": 1, "at": at(10), "fills": [fill("a", 9, "2", "100")], "equity_usd": "10000"}
    api("post", address, tick, status=201)

    again = api("post", address, tick, status=200)
    other = api("post", address, {"number": 1, "at": at(50)}, status=200)

    assert again == other == {"number": 1, "applied": False, "opened": 0, "closed": 0, "fills": 0, "conflicts": []}
    assert len(list_trades(live)) == 1
    assert EquityPoint.objects.count() == 1


def test_a_hole_and_a_tick_of_the_past_are_conflicts(api, live):
    address = f"deployments/{live.pk}/ticks/"
    api("post", address, {"at": at(10)}, status=201)

    assert api("post", address, {"number": 3, "at": at(20)}, status=409)["code"] == "tick_missing"
    late = {"at": at(5), "fills": [fill("b", 4, "1", "100")]}
    for tick in ({"number": 2, "at": at(10)}, {"at": at(10)}, late):
        assert api("post", address, tick, status=409)["code"] == "tick_out_of_time"
    assert api("get", f"deployments/{live.pk}/")["last_tick"] == 1
    assert not Fill.objects.exists()


def test_what_a_snapshot_does_not_name_is_flat_only_if_it_is_complete(api):
    whole, part = {"positions": {}}, {"positions": {}, "is_complete": False}
    for positions, open_trades in ((whole, 0), (part, 1), ({"positions": None}, 1), ({}, 1)):
        live = DeploymentFactory(broker_kind="live")
        address = f"deployments/{live.pk}/ticks/"
        api("post", address, {"at": at(10), "fills": [fill("a", 9, "2", "100")]}, status=201)
        api("post", address, {"at": at(20), "marks": {"BTC": "103"}, **positions}, status=201)
        assert [trade.status for trade in list_trades(live)].count("open") == open_trades


def test_a_trade_keeps_the_regime_that_the_bars_tell(api, live):
    hour = timedelta(hours=1)
    first = JUNE.replace(minute=0) - 400 * hour
    for number in range(400):
        price = Decimal(100 + number)
        BarFactory(opened_at=first + number * hour, open=price, high=price + 1, low=price - 1, close=price)

    api("post", f"deployments/{live.pk}/ticks/", {"at": at(55), "fills": [fill("a", 54, "2", "100")]}, status=201)

    assert [trade.entry_regime_tag for trade in list_trades(live)] == ["trend"]


WRONG_TICKS = [
    ({"at": "2030-01-01T00:00:00Z"}, "#/at"),
    ({"number": 2**31}, "#/number"),
    ({"positions": {"BTC": "x"}}, "#/positions/BTC"),
    ({"positions": {"b c": "1"}}, "#/positions"),
    ({"positions": {f"S{number}": "1" for number in range(201)}}, "#/positions"),
    ({"marks": {"BTC": "0"}}, "#/marks/BTC"),
    ({"equity_usd": "1e16"}, "#/equity_usd"),
    ({"reasons": [{"reason": "why"}]}, "#/reasons/0"),
    ({"reasons": [{"reason": "why", "symbol": "BTC", "fill_id": "a"}]}, "#/reasons/0"),
    ({"reasons": [{"reason": "x" * 281, "symbol": "BTC"}]}, "#/reasons/0/reason"),
    ({"reasons": [{"reason": "\ufdfa" * 100, "symbol": "BTC"}]}, "#/reasons/0/reason"),  # one sign, eighteen letters
    ({"reasons": [{"reason": "why", "symbol": "BTC", "leverage": "0.5"}]}, "#/reasons/0/leverage"),
    ({"reasons": [{"reason": "why", "symbol": "BTC", "origin": "moon"}]}, "#/reasons/0/origin"),
    ({"skill_version": 2}, "#/skill_version"),
]


@each_case("wrong, pointer", WRONG_TICKS)
def test_a_tick_that_cannot_be_is_pointed_at_and_nothing_is_kept(api, live, wrong, pointer):
    problem = api("post", f"deployments/{live.pk}/ticks/", {"at": at(10), **wrong}, status=422)

    assert [error["pointer"] for error in problem["errors"]] == [pointer]
    assert api("get", f"deployments/{live.pk}/")["last_tick"] == 0


# --- Whose record it is ---


def test_keel_keeps_the_record_of_what_it_runs_and_a_closed_one_takes_nothing_in(api, live):
    Deployment.objects.update(status="stopped", stopped_at=JUNE)
    paper, run = DeploymentFactory(), BacktestRunFactory()

    for address, body in (("fills", {"fills": []}), ("ticks", {"at": at(10)})):
        for deployment_id, status, code in (
            (paper.pk, 409, "push_refused"),
            (live.pk, 409, "push_refused"),
            (run.deployment_id, 404, "deployment_not_found"),
        ):
            assert api("post", f"deployments/{deployment_id}/{address}/", body, status=status)["code"] == code


def test_push_fills_reports_conflicts_and_takes_funding_and_openings(api, live):
    address = f"deployments/{live.pk}/fills/"
    opening = {"symbol": "BTC", "at": at(0), "quantity": "1", "price": "90"}
    api("post", address, {"fills": [fill("a", 1, "-1", "100")], "openings": [opening]})

    paid = {"symbol": "BTC", "at": at(0.5), "amount_usd": "-0.5"}
    done = api("post", address, {"fills": [fill("a", 1, "-1", "101")], "funding": [paid]})

    assert (done["new_funding"], [one["key"] for one in done["conflicts"]]) == (1, ["a"])
    [trade] = list_trades(live)
    assert (trade.gross_pnl_usd, trade.funding_usd, trade.reconciled) == (10, Decimal("-0.5"), "estimated")


# --- The ends of what may be sent ---

SYMBOLS = st.sampled_from(["BTC", "eth"])
QUANTITIES = st.sampled_from(["1", "-2", "0.5", "1e12", "-1e12", "1e-12", "-1e-12"])
PRICES = st.sampled_from(["100", "1e9", "1e-12"])
MONEY = st.sampled_from(["0", "1e15", "-1e15", "-1e-12"])
INSTANTS = st.integers(-30, 60).map(at)
FILLS = st.fixed_dictionaries(
    {
        "fill_id": st.sampled_from(["a", "b", "c", "d"]),
        "symbol": SYMBOLS,
        "at": INSTANTS,
        "quantity": QUANTITIES,
        "price": PRICES,
    },
    optional={"fee_usd": MONEY, "is_liquidation": st.booleans(), "start_quantity": QUANTITIES},
)
TICKS = st.fixed_dictionaries(
    {"fills": st.lists(FILLS, max_size=3)},
    optional={
        "positions": st.none() | st.dictionaries(SYMBOLS, QUANTITIES),
        "is_complete": st.booleans(),
        "marks": st.dictionaries(SYMBOLS, PRICES),
        "funding": st.lists(
            st.fixed_dictionaries({"symbol": SYMBOLS, "at": INSTANTS, "amount_usd": MONEY}), max_size=2
        ),
        "equity_usd": MONEY,
        "reasons": st.lists(st.fixed_dictionaries({"symbol": SYMBOLS, "reason": st.just("why")}), max_size=2),
    },
)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ticks=st.lists(TICKS, min_size=1, max_size=4))
def test_whatever_may_be_sent_is_kept_and_can_be_read_again(as_trader, ticks):
    live = DeploymentFactory(broker_kind="live")
    client = Browser()
    client.force_login(as_trader)
    cache.clear()  # of the minute's writes

    for number, tick in enumerate(ticks, start=1):
        body = {"number": number, "at": at(number), **tick}
        pushed = client.post(f"/api/deployments/{live.pk}/ticks/", body, content_type="application/json")
        assert pushed.status_code == 201, pushed.content

    for address in ("", "trades/", "equity/", "memory/"):
        assert client.get(f"/api/deployments/{live.pk}/{address}").status_code == 200
