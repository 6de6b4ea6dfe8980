"""The trade page's chart, R and lessons."""

import json
import re
from datetime import timedelta
from decimal import Decimal

from tests.factories.memory import MAY
from tests.factories.record import (
    BarFactory,
    DecisionSnapshotFactory,
    FillFactory,
    MarketEventFactory,
    OrderFactory,
    ReflectionNoteFactory,
    TradeFactory,
    TradingRuleFactory,
)
from tests.trading.browsing import assert_shows, text_of
from trading.models import Trade

HOUR = timedelta(hours=1)


def page_of(trade: Trade) -> str:
    return f"/trades/{trade.pk}/"


def trade_with_a_stop(**values) -> Trade:
    snapshot = DecisionSnapshotFactory()
    trade = TradeFactory(entry_snapshot=snapshot, deployment=snapshot.deployment, **values)
    OrderFactory(deployment=trade.deployment, snapshot=snapshot, stop_price=Decimal(95), proposed_at=MAY)
    return trade


def chart_of(client, trade: Trade) -> dict:
    body = client.get(page_of(trade)).content.decode()
    found = re.search(r'data-chart="price"\s+data-values="([^"]*)"', body)
    assert found is not None, "the page has a chart"
    return json.loads(found[1].replace("&quot;", '"'))


def test_trade_page_draws_fills_stop_extremes_and_events(client):
    trade = trade_with_a_stop()
    for number in range(-12, 14):
        BarFactory(opened_at=MAY + number * HOUR, high=Decimal(120 if number == 1 else 105))
    for quantity, at in ((1, MAY), (1, MAY + HOUR / 2), (-2, MAY + 2 * HOUR)):
        FillFactory(deployment=trade.deployment, quantity=quantity, at=at)
    MarketEventFactory(starts_at=MAY + HOUR, title="Rates decided")
    MarketEventFactory(starts_at=MAY + HOUR, title="Of another coin", symbols=["DOGE"])

    chart = chart_of(client, trade)

    assert [mark["way"] for mark in chart["marks"]].count("event") == 1
    assert {mark["way"] for mark in chart["marks"]} == {"entry", "add", "exit", "best", "worst", "event"}
    assert [level["price"] for level in chart["levels"]] == [95.0]
    assert len(chart["times"]) >= 14
    assert "Highest: 120" in text_of(client.get(page_of(trade)))


def test_trade_page_list_and_planner_say_the_multiple_of_a_known_stop(client):
    r = "R multiple 1.90 R net over what the stop at 95 put at risk"  # 19 over 5 a coin, 2 coins
    assert_shows(client.get(page_of(trade_with_a_stop())), r)
    assert_shows(client.get("/trades/", {"columns": "r"}), "1.90")
    assert_shows(client.get("/trades/ask/", {"measure": "r"}), "+1.90 R")

    bare = client.get(page_of(TradeFactory()))
    assert_shows(bare, "No stop is known", "No prices of BTC for these days are stored", "Ask about this trade")
    assert_shows(client.get(page_of(trade_with_a_stop(still_open=True))), "Still open")


def test_trade_page_shows_the_lessons_that_rest_on_it(client):
    trade = TradeFactory()
    window = {"deployment": trade.deployment, "window_end": trade.exit_at}
    ReflectionNoteFactory(trade_ids=[str(trade.pk)], lessons_text="- Wait for the close", **window)
    old = {"status": "superseded", "superseded_at": MAY}
    ReflectionNoteFactory(trade_ids=[], lessons_text="- Of other trades", **old, **window)

    assert_shows(client.get(page_of(trade)), "Wait for the close", lacks=("Of other trades",))


def test_trade_page_takes_few_queries(client, django_assert_max_num_queries):
    trade = trade_with_a_stop()
    ReflectionNoteFactory(deployment=trade.deployment, trade_ids=[str(trade.pk)])
    FillFactory(deployment=trade.deployment)
    BarFactory()

    with django_assert_max_num_queries(18):  # twelve, session and user, and the scope on PostgreSQL
        client.get(page_of(trade))
    TradingRuleFactory()
    with django_assert_max_num_queries(21):  # a confirmed rule is judged over the whole record
        client.get(page_of(trade))
