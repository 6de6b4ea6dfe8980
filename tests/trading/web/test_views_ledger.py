import csv
import json
import re
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from django.urls import reverse
from django.utils import timezone

from config.lib.figures import format_signed_usd
from tests.factories.memory import HOUR, JUNE, MAY
from tests.factories.record import (
    BacktestRunFactory,
    BarFactory,
    DecisionSnapshotFactory,
    DeploymentFactory,
    FillFactory,
    ReflectionNoteFactory,
    TradeFactory,
)
from tests.owners import as_owner
from tests.tables import each_case
from tests.trading.browsing import assert_shows, into, is_page, text_of
from trading.models import Trade
from trading.record.trade_queries import PAGE_SIZE

TRADES = "/trades/"
EXPORT = "/trades/export/"


def page_of(trade: Trade) -> str:
    return reverse("trading:trade", args=[trade.pk])


def backtest_trade(**values) -> Trade:
    return TradeFactory(deployment=BacktestRunFactory(done=True).deployment, **values)


# --- The list ---


def test_trades_lists_what_each_came_to_and_their_sum(client):
    won = TradeFactory(deployment__version__skill__name="Dips")
    TradeFactory(deployment=won.deployment, symbol="ETH", gross_pnl_usd=Decimal(-5), exit_kind="stop")

    words = ("2 trades", "Net +$13.00 of 2 closed trades", "BTC long", "Dips", "+$19.00", "2 h", "-$6.00", "Stop price")
    assert_shows(client.get(TRADES), *words)
    assert page_of(won) in client.get(TRADES).content.decode()


def test_open_trade_shows_what_it_is_worth_now_and_not_its_fee_as_a_loss(client):
    trade = TradeFactory(still_open=True, fees_usd=Decimal("0.95"), funding_usd=Decimal(0))
    Trade.objects.filter(pk=trade.pk).update(realized_pnl_usd=Decimal("-0.95"))
    assert_shows(client.get(TRADES), "-$0.95 realised so far", "Still held open")
    assert_shows(client.get(page_of(trade)), "Net so far, realised", "-$0.95", lacks=("Unrealised",))

    BarFactory(opened_at=timezone.now() - 2 * HOUR, close=trade.entry_price + 3)

    worth = format_signed_usd(3 * trade.quantity)
    assert_shows(client.get(TRADES), f"{worth} unrealised")
    assert_shows(client.get(page_of(trade)), "Unrealised", f"{worth} at ")


def test_trades_says_what_is_open_what_is_estimated_and_what_is_missing(client):
    TradeFactory(still_open=True)
    assert_shows(client.get(TRADES), "1 still open, ", "Still held", lacks=("of them",))
    TradeFactory(reconciled="estimated")
    TradeFactory.create_batch(2, reconciled="gap")

    estimated, gaps = "1 of them is partly estimated : where fills are missing", "2 of them have a gap : part of the"
    assert_shows(client.get(TRADES), estimated, gaps, "Partly estimated")
    body = client.get(TRADES, {"side": "long"}).content.decode()
    assert '<a href="/trades/?side=long&amp;reconciled=estimated">1 of them</a>' in body
    assert '<a href="/trades/?side=long&amp;reconciled=gap">2 of them</a>' in body
    gaps = client.get(TRADES, {"reconciled": "gap"})
    assert_shows(gaps, "2 trades fit")
    assert ">2 of them</a>" not in gaps.content.decode()


@each_case(
    "query, values",
    [
        ({"symbol": "ETH"}, {"symbol": "ETH"}),
        ({"side": "short"}, {"side": "short"}),
        ({"status": "open"}, {"still_open": True}),
        ({"exit": "stop"}, {"exit_kind": "stop"}),
        ({"regime": "shock"}, {"entry_regime_tag": "shock"}),
        ({"reconciled": "gap"}, {"reconciled": "gap"}),
        ({"since": "2026-06-01", "side": "long"}, {"entry_tick_at": JUNE}),
        ({"until": "2026-04-30"}, {"entry_tick_at": MAY - timedelta(days=1)}),
        ({"backtests": "with", "q": "FLUSH"}, {"entry_reason": "Bought the flush"}),
    ],
)
def test_trades_keeps_those_that_fit(client, query, values):
    Trade.objects.all().delete()
    TradeFactory.create_batch(2)
    fitting = TradeFactory(**values)

    for asked in (query, {"skill": fitting.skill_id}, {"deployment": fitting.deployment_id}):
        response = client.get(TRADES, asked)
        assert_shows(response, "1 trade fits")
        assert page_of(fitting) in response.content.decode()


def test_trades_keeps_those_that_lessons_were_drawn_from(client, stranger):
    first, other = TradeFactory(symbol="ETH"), backtest_trade(symbol="SOL")
    TradeFactory(symbol="DOGE", deployment=first.deployment)
    note = ReflectionNoteFactory(trade_ids=[str(first.pk), str(other.pk), str(uuid4())])
    theirs = as_owner(stranger, lambda: ReflectionNoteFactory(trade_ids=[str(first.pk)]))

    response = client.get(TRADES, {"note": note.pk})

    assert_shows(response, "2 trades", "ETH long", "SOL long", lacks=("DOGE long",))
    assert f'name="note" value="{note.pk}"' in response.content.decode()
    assert_shows(client.get(TRADES, {"note": theirs.pk}), lacks=("ETH long",))


def test_trades_leaves_backtests_out_unless_asked_for_and_offers_an_old_one_in_the_address(client, monkeypatch):
    monkeypatch.setattr("trading.web.trades.RUNS_OFFERED", 1)
    plain, played, other = TradeFactory(), backtest_trade(), backtest_trade()
    run = played.deployment.backtest
    BacktestRunFactory(created_at=JUNE)

    def listed(**query):
        body = client.get(TRADES, query).content.decode()
        return [trade for trade in (plain, played, other) if page_of(trade) in body]

    assert listed() == [plain]
    assert listed(backtests="with") == [plain, played, other]
    assert listed(backtests=run.pk) == [played]


def test_trades_stand_in_the_order_asked_for(client):
    old, new = TradeFactory(gross_pnl_usd=Decimal(25)), TradeFactory(entry_tick_at=JUNE)

    for sort, first, second in (("", new, old), ("oldest", old, new), ("best", old, new), ("worst", new, old)):
        body = client.get(TRADES, {"sort": sort}).content.decode()
        assert body.index(page_of(first)) < body.index(page_of(second)), sort


@each_case(
    "query",
    [
        *("side=up", "since=x", "until=9999-12-31", "reconciled=x", "since=2026-04-02&until=2026-04-01&side=long"),
        *("page=x", "page=-1", "page=99999999999999999999", "sort=id", "q=%00", "q=%ED%A0%80", "skill=1"),
        *("deployment=x", "backtests=x", "symbol=%27%22%3Cb%3E", "format=xml"),
    ],
)
def test_trades_bear_any_address(client, query):
    trade = Trade.objects.first() or TradeFactory()

    for address in (TRADES, EXPORT):
        response = client.get(f"{address}?{query}")

        assert response.status_code == 200
        # What makes no sense filters nothing.
        assert str(trade.pk) in b"".join(response).decode() or "q=" in query


def test_trades_says_which_value_it_does_not_know_or_makes_no_sense(client):
    page = client.get(TRADES, {"side": "up"})
    piece = client.get(TRADES, {"side": "up"}, headers=into("results", TRADES))
    days = client.get(TRADES, {"since": "2026-05-02", "until": "2026-05-01"})

    assert_shows(page, "Select a valid choice. up is not one of")
    assert "Side. Select a valid choice. up is not one of" in text_of(piece).replace(" .", ".")
    assert_shows(days, "The last day is before the first one.")


def test_trades_turn_pages(client, monkeypatch):
    monkeypatch.setattr("trading.record.trade_queries.PAGE_SIZE", 1)
    old, new = TradeFactory(), TradeFactory(entry_tick_at=JUNE)

    first, second = (client.get(TRADES, {"page": number}).content.decode() for number in (1, 2))

    assert [page_of(trade) in body for trade in (old, new) for body in (first, second)] == [False, True, True, False]


def test_trades_take_as_many_queries_for_many_as_for_one(client, django_assert_max_num_queries):
    for symbol in ("BTC", "ETH", "SOL"):
        TradeFactory.create_batch(20, symbol=symbol)
        backtest_trade(symbol=symbol)

    with django_assert_max_num_queries(18):  # twelve, session and user, and the four of the scope on PostgreSQL
        client.get(TRADES, {"backtests": "with"})


def test_filters_get_the_list_alone_and_a_short_address(client):
    TradeFactory()

    response = client.get(TRADES, {"side": "long", "q": "", "page": ""}, headers=into("results", TRADES))
    typed = client.get(TRADES, {"q": "brea"}, headers=into("results", f"{TRADES}?q=bre"))

    assert not is_page(response)
    assert response["HX-Push-Url"] == f"{TRADES}?side=long"
    assert typed["HX-Replace-Url"] == f"{TRADES}?q=brea"
    assert "1 trade fits" in text_of(typed)


def test_trades_of_a_simulated_market_say_so(client):
    TradeFactory()
    assert_shows(client.get(TRADES), lacks=("Simulated market",))
    BarFactory(opened_at=MAY - HOUR, is_simulated=True)

    assert_shows(client.get(TRADES), "Simulated market. The prices of BTC are made by a seeded model")


# --- The file ---


def exported(client, **query) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(b"".join(client.get(EXPORT, query)).decode())))


def test_export_holds_the_whole_selection(client, monkeypatch):
    monkeypatch.setattr("trading.web.views.exports._ROWS_AT_ONCE", 20)
    deployment = DeploymentFactory()
    for number in range(PAGE_SIZE + 10):
        TradeFactory(deployment=deployment, entry_tick_at=MAY + number * HOUR)
    TradeFactory(symbol="ETH")

    rows = exported(client, symbol="BTC", page=2)

    assert len({row["id"] for row in rows}) == PAGE_SIZE + 10
    assert [row["entry_at"] for row in rows] == sorted((row["entry_at"] for row in rows), reverse=True)


def test_export_as_json_and_as_a_file(client):
    trade = TradeFactory()

    response = client.get(EXPORT, {"format": "json"})

    (row,) = json.loads(b"".join(response))
    assert (row["id"], row["realized_pnl_usd"]) == (str(trade.pk), "19")
    assert response["Content-Type"].startswith("application/json")
    assert response["Content-Disposition"].startswith('attachment; filename="keel-trades-')


def test_export_takes_a_query_for_some_hundred_trades(client, django_assert_max_num_queries):
    TradeFactory.create_batch(30, deployment=DeploymentFactory())

    with django_assert_max_num_queries(17):  # session, user, six of the filter, one of the trades; doors on PostgreSQL
        assert len(exported(client)) == 30


@pytest.mark.django_db(transaction=True)
async def test_export_is_sent_in_parts_by_an_asynchronous_server(trader, monkeypatch):
    monkeypatch.setattr("config.lib.edge.streaming._LINES_AT_ONCE", 2)
    monkeypatch.setattr("trading.web.views.exports._ROWS_AT_ONCE", 2)
    await sync_to_async(as_owner)(trader, lambda: TradeFactory.create_batch(5, deployment=DeploymentFactory()))
    client = AsyncClient()
    await client.aforce_login(trader)

    response = await client.get(EXPORT)

    parts = [part async for part in response]
    assert len(parts) == 3
    assert len(list(csv.DictReader(StringIO(b"".join(parts).decode())))) == 5


# --- One trade ---


def test_trade_shows_both_ends_and_what_it_came_to(client):
    ends = {"exit_kind": "stop", "exit_reason": "Stop was hit", "entry_regime_tag": "trend", "exit_skill_version": 1}
    sums = {"entry_leverage": Decimal("2.5"), "funding_usd": Decimal("-0.25")}
    trade = TradeFactory(**ends, **sums, deployment__version__skill__name="Dips")

    assert_shows(
        client.get(page_of(trade)),
        *("BTC long", "Closed: Stop price", "Complete", "+$19.00", "+9.5% of the size", "+$20.00", "$1.00"),
        *("-$0.25", "+$30.00", "MFE", "-$8.00", "MAE", "2.5×", "Trend", "2 h", "Dips, version 1"),
        *("Breakout above the prior swing high", "Stop was hit", "The trade was read from the position alone"),
    )


def test_trade_shows_reasons_as_text(client):
    trade = TradeFactory(entry_reason="<script>alert(1)</script>")

    body = client.get(page_of(trade)).content.decode()

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in body
    assert "<script>alert" not in body


def test_trade_that_is_open_says_what_is_held(client):
    trade = TradeFactory(still_open=True, entry_regime_tag="unknown")

    regime = "at the entry, from closed hourly bars: too few hourly bars to tell"
    assert_shows(client.get(page_of(trade)), "Outcome so far", "Still held: 2 BTC", regime)


@each_case(
    "state, words",
    [("estimated", "the price at the decision replaces theirs"), ("gap", "history is missing"), ("exact", "Complete")],
)
def test_trade_says_how_far_it_is_explained(client, state, words):
    assert_shows(client.get(page_of(TradeFactory(reconciled=state))), words)


def test_trade_lists_its_fills(client):
    of = {"deployment": (trade := TradeFactory()).deployment}
    FillFactory(**of, quantity=Decimal(2), fee_usd=Decimal("0.5"))
    FillFactory(**of, quantity=Decimal(-2), at=MAY + HOUR, is_liquidation=True)
    FillFactory(**of, at=MAY + 3 * HOUR, price=Decimal(777))
    FillFactory(**of, symbol="ETH", price=Decimal(888))

    words = ("Fills 2", "Bought", "$200.00", "$0.50", "Sold", "Liquidation")
    assert_shows(client.get(page_of(trade)), *words, lacks=("777", "888"))


def test_trade_leads_to_its_decisions_versions_and_backtest(client):
    deployment = BacktestRunFactory(done=True).deployment
    entry, exit_ = (DecisionSnapshotFactory(deployment=deployment, tick=tick) for tick in (4, 9))
    trade = TradeFactory(deployment=deployment, entry_snapshot=entry, exit_snapshot=exit_)

    body = client.get(page_of(trade)).content.decode()

    for snapshot in (entry, exit_):
        assert reverse("trading:decision", args=[deployment.pk, snapshot.tick]) in body
    assert reverse("trading:version", args=[trade.skill_id, 1]) in body
    assert reverse("trading:backtest", args=[deployment.backtest.pk]) in body


def test_trade_tells_the_time_in_the_readers_zone(client, trader):
    trader.time_zone = "Pacific/Auckland"
    trader.save(update_fields=["time_zone"])
    trade = TradeFactory()

    body = client.get(page_of(trade)).content.decode()

    assert re.search(r'title="2026-05-01 12:00 UTC"\s*>2 May 2026, 00:00</time>', body)
    assert "Pacific/Auckland" in body
