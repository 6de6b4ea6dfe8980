"""The calendar over REST."""

from datetime import timedelta
from decimal import Decimal

import pytest

from tests.factories.memory import JUNE
from tests.factories.record import BarFactory, MarketEventFactory, TradeFactory
from trading.api.events import ExposedEventSerializer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_june")]
HOUR = timedelta(hours=1)


def test_events_come_with_what_a_deployment_holds_against_them(api):
    for days in (10, 20, 30):
        at = JUNE - timedelta(days=days)
        MarketEventFactory(starts_at=at)
        BarFactory(opened_at=at - HOUR, close=Decimal(100))
        BarFactory(opened_at=at, close=Decimal(103), high=Decimal(110))
    MarketEventFactory(starts_at=JUNE + 2 * HOUR, title="FOMC statement in June")
    MarketEventFactory(starts_at=JUNE + 3 * HOUR, kind="cpi", title="CPI", symbols=["ETH"], importance=0.2)
    MarketEventFactory(starts_at=JUNE + timedelta(days=30), title="Too far")
    open_trade = TradeFactory(still_open=True, entry_price=Decimal(100))

    plain = api("get", "events/")["items"]
    assert [(event["title"], event["exposures"]) for event in plain] == [("FOMC statement in June", []), ("CPI", [])]
    fomc, cpi = api("get", "events/", deployment_id=str(open_trade.deployment_id))["items"]
    assert fomc.keys() == ExposedEventSerializer().fields.keys()
    [exposure] = fomc["exposures"]
    assert exposure | {"symbol": "BTC", "position_side": "long", "similar_events_back": 3} == exposure
    assert exposure["median_abs_move_fraction"] == pytest.approx(0.03)
    assert exposure["notional_usd"] == "206"
    assert (cpi["exposures"], cpi["symbols"]) == ([], ["ETH"])


def test_list_events_with_filters_returns_matching_events(api):
    MarketEventFactory(starts_at=JUNE + 2 * HOUR, title="FOMC")
    MarketEventFactory(starts_at=JUNE + 3 * HOUR, kind="cpi", title="CPI", symbols=["ETH"], importance=0.2)

    for query, titles in (
        ({"kind": "cpi"}, ["CPI"]),
        ({"symbol": "btc"}, ["FOMC"]),
        ({"min_importance": 0.5}, ["FOMC"]),
        ({"lookahead_hours": 1}, []),
    ):
        assert [event["title"] for event in api("get", "events/", **query)["items"]] == titles, query


def test_a_query_of_events_that_cannot_be_is_refused(api):
    for name, value in {
        "lookahead_hours": 10_000,
        "kind": "party",
        "min_importance": "nan",
        "symbol": "x" * 40,
    }.items():
        assert api("get", "events/", status=422, **{name: value})["errors"][0]["parameter"] == name
