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

from tests.factories.memory import JUNE, MAY
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
from tests.trading.browsing import into, is_page, text_of
from trading.models import Trade
from trading.record.trade_queries import PAGE_SIZE

TRADES = "/trades/"
EXPORT = "/trades/export/"
HOUR = timedelta(hours=1)


def page_of(trade: Trade) -> str:
    return reverse("trading:trade", args=[trade.pk])


def backtest_trade(**values) -> Trade:
    return TradeFactory(deployment=BacktestRunFactory(done=True).deployment, **values)


# --- The list ---


def test_trades_lists_what_each_came_to_and_their_sum(client, made):
    won = made(lambda: TradeFactory(deployment__version__skill__name="Dips"))
    made(lambda: TradeFactory(deployment=won.deployment, symbol="ETH", gross_pnl_usd=Decimal(-5), exit_kind="stop"))

    text = text_of(client.get(TRADES))

    for words in (
        "2 trades",
        "Net +$13.00 of 2 closed trades",
        "BTC long",
        "Dips",
        "+$19.00",
        "2 h",
        "-$6.00",
        "Stop price",
    ):
        assert words in text
    assert page_of(won) in client.get(TRADES).content.decode()


def test_trades_says_that_open_ones_count_as_far_as_realised(client, made):
    made(lambda: TradeFactory(still_open=True))

    text = text_of(client.get(TRADES))

    assert "1 still open, " in text
    assert "Still held" in text


def test_trades_says_what_is_estimated_and_what_is_missing(client, made):
    exact = text_of(client.get(TRADES))
    made(lambda: TradeFactory(reconciled="estimated"))
    made(lambda: TradeFactory.create_batch(2, reconciled="gap"))

    text = text_of(client.get(TRADES))

    assert "1 of them is partly estimated : where fills are missing" in text
    assert "2 of them have a gap : part of the history is missing" in text
    assert "Partly estimated" in text
    assert "of them" not in exact
    body = client.get(TRADES, {"side": "long"}).content.decode()
    assert '<a href="/trades/?side=long&amp;reconciled=estimated">1 of them</a>' in body
    assert '<a href="/trades/?side=long&amp;reconciled=gap">2 of them</a>' in body
    gaps = client.get(TRADES, {"reconciled": "gap"})
    assert "2 trades fit" in text_of(gaps)
    assert ">2 of them</a>" not in gaps.content.decode()


@pytest.mark.parametrize(
    ("query", "values"),
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
def test_trades_keeps_those_that_fit(client, made, query, values):
    made(lambda: TradeFactory.create_batch(2))
    fitting = made(lambda: TradeFactory(**values))

    response = client.get(TRADES, query)

    assert "1 trade fits" in text_of(response)
    assert page_of(fitting) in response.content.decode()


def test_trades_keeps_those_of_a_skill_or_a_deployment(client, made):
    trade = made(TradeFactory)
    made(TradeFactory)

    for query in ({"skill": trade.skill_id}, {"deployment": trade.deployment_id}):
        response = client.get(TRADES, query)
        assert "1 trade fits" in text_of(response)
        assert page_of(trade) in response.content.decode()


def test_trades_keeps_those_that_lessons_were_drawn_from(client, made, stranger):
    first, other = made(lambda: TradeFactory(symbol="ETH")), made(lambda: backtest_trade(symbol="SOL"))
    made(lambda: TradeFactory(symbol="DOGE", deployment=first.deployment))
    note = made(lambda: ReflectionNoteFactory(trade_ids=[str(first.pk), str(other.pk), str(uuid4())]))
    theirs = as_owner(stranger, lambda: ReflectionNoteFactory(trade_ids=[str(first.pk)]))

    text = text_of(client.get(TRADES, {"note": note.pk}))

    assert all(words in text for words in ("2 trades", "ETH long", "SOL long"))
    assert "DOGE long" not in text
    assert f'name="note" value="{note.pk}"' in client.get(TRADES, {"note": note.pk}).content.decode()
    assert "ETH long" not in text_of(client.get(TRADES, {"note": theirs.pk}))


def test_trades_leaves_backtests_out_unless_asked_for(client, made):
    plain = made(TradeFactory)
    played, other = made(backtest_trade), made(backtest_trade)
    run = made(lambda: played.deployment.backtest)

    def listed(**query):
        body = client.get(TRADES, query).content.decode()
        return [trade for trade in (plain, played, other) if page_of(trade) in body]

    assert listed() == [plain]
    assert listed(backtests="with") == [plain, played, other]
    assert listed(backtests=run.pk) == [played]


def test_trades_offers_an_old_backtest_that_the_address_names(client, made, monkeypatch):
    monkeypatch.setattr("trading.web.trades.RUNS_OFFERED", 1)
    old = made(lambda: BacktestRunFactory(created_at=MAY))
    trade = made(lambda: TradeFactory(deployment=old.deployment))
    made(lambda: BacktestRunFactory(created_at=JUNE))

    assert page_of(trade) in client.get(TRADES, {"backtests": old.pk}).content.decode()


@pytest.mark.parametrize(("sort", "first"), [("", "new"), ("oldest", "old"), ("best", "old"), ("worst", "new")])
def test_trades_stand_in_the_order_asked_for(client, made, sort, first):
    trades = {
        "old": made(lambda: TradeFactory(gross_pnl_usd=Decimal(25))),
        "new": made(lambda: TradeFactory(entry_tick_at=JUNE)),
    }

    body = client.get(TRADES, {"sort": sort}).content.decode()

    assert min(trades, key=lambda name: body.index(page_of(trades[name]))) == first


@pytest.mark.parametrize(
    "query",
    [
        "side=up",
        "since=x",
        "until=9999-12-31",
        "reconciled=x",
        "since=2026-04-02&until=2026-04-01&side=long",
        "page=x",
        "page=-1",
        "page=99999999999999999999",
        "sort=id",
        "q=%00",
        "q=%ED%A0%80",
        "skill=1",
        "deployment=x",
        "backtests=x",
        "symbol=%27%22%3Cb%3E",
        "format=xml",
    ],
)
@pytest.mark.parametrize("address", [TRADES, EXPORT])
def test_trades_bear_any_address(client, made, address, query):
    trade = made(TradeFactory)

    response = client.get(f"{address}?{query}")

    assert response.status_code == 200
    # What makes no sense filters nothing.
    body = b"".join(response).decode()
    assert str(trade.pk) in body or "q=" in query


def test_trades_says_which_value_it_does_not_know(client, made):
    made(TradeFactory)

    page = client.get(TRADES, {"side": "up"})
    piece = client.get(TRADES, {"side": "up"}, headers=into("results", TRADES))

    assert "Select a valid choice. up is not one of" in text_of(page)
    assert "Side. Select a valid choice. up is not one of" in text_of(piece).replace(" .", ".")


def test_trades_from_a_day_after_the_last_are_refused_in_words(client, made):
    made(TradeFactory)

    assert "The last day is before the first one." in text_of(
        client.get(TRADES, {"since": "2026-05-02", "until": "2026-05-01"})
    )


def test_trades_turn_pages(client, made, monkeypatch):
    monkeypatch.setattr("trading.record.trade_queries.PAGE_SIZE", 1)
    old, new = made(TradeFactory), made(lambda: TradeFactory(entry_tick_at=JUNE))

    first, second = (client.get(TRADES, {"page": number}).content.decode() for number in (1, 2))

    assert [page_of(trade) in body for trade in (old, new) for body in (first, second)] == [False, True, True, False]


def test_trades_take_as_many_queries_for_many_as_for_one(client, made, django_assert_max_num_queries):
    for symbol in ("BTC", "ETH", "SOL"):
        made(lambda symbol=symbol: TradeFactory.create_batch(20, symbol=symbol))
        made(lambda symbol=symbol: backtest_trade(symbol=symbol))

    with django_assert_max_num_queries(18):  # twelve, session and user, and the four of the scope on PostgreSQL
        client.get(TRADES, {"backtests": "with"})


def test_filters_get_the_list_alone_and_a_short_address(client, made):
    made(TradeFactory)

    response = client.get(TRADES, {"side": "long", "q": "", "page": ""}, headers=into("results", TRADES))
    typed = client.get(TRADES, {"q": "brea"}, headers=into("results", f"{TRADES}?q=bre"))

    assert not is_page(response)
    assert response["HX-Push-Url"] == f"{TRADES}?side=long"
    assert typed["HX-Replace-Url"] == f"{TRADES}?q=brea"
    assert "1 trade fits" in text_of(typed)


def test_trades_of_a_simulated_market_say_so(client, made):
    made(TradeFactory)
    plain = text_of(client.get(TRADES))
    BarFactory(opened_at=MAY - HOUR, is_simulated=True)

    assert "Simulated market. The prices of BTC are made by a seeded model" in text_of(client.get(TRADES))
    assert "Simulated market" not in plain


# --- The file ---


def exported(client, **query) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(b"".join(client.get(EXPORT, query)).decode())))


def test_export_holds_the_whole_selection(client, made, monkeypatch):
    monkeypatch.setattr("trading.web.views.exports._ROWS_AT_ONCE", 20)
    deployment = made(DeploymentFactory)
    for number in range(PAGE_SIZE + 10):
        made(lambda at=MAY + number * HOUR: TradeFactory(deployment=deployment, entry_tick_at=at))
    made(lambda: TradeFactory(symbol="ETH"))

    rows = exported(client, symbol="BTC", page=2)

    assert len({row["id"] for row in rows}) == PAGE_SIZE + 10
    assert [row["entry_at"] for row in rows] == sorted((row["entry_at"] for row in rows), reverse=True)


def test_export_as_json_and_as_a_file(client, made):
    trade = made(TradeFactory)

    response = client.get(EXPORT, {"format": "json"})

    (row,) = json.loads(b"".join(response))
    assert (row["id"], row["realized_pnl_usd"]) == (str(trade.pk), "19")
    assert response["Content-Type"].startswith("application/json")
    assert response["Content-Disposition"].startswith('attachment; filename="keel-trades-')


def test_export_takes_a_query_for_some_hundred_trades(client, made, django_assert_max_num_queries):
    made(lambda: TradeFactory.create_batch(30, deployment=DeploymentFactory()))

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


def test_trade_shows_both_ends_and_what_it_came_to(client, made):
    trade = made(
        lambda: TradeFactory(
            exit_kind="stop",
            exit_reason="Stop was hit",
            entry_leverage=Decimal("2.5"),
            entry_regime_tag="trend",
            funding_usd=Decimal("-0.25"),
            exit_skill_version=1,
            deployment__version__skill__name="Dips",
        )
    )

    text = text_of(client.get(page_of(trade)))

    for words in (
        *("BTC long", "Closed: Stop price", "Complete", "+$19.00", "+9.5% of the size", "+$20.00", "$1.00"),
        *("-$0.25", "+$30.00", "MFE", "-$8.00", "MAE", "2.5×", "Trend", "2 h", "Dips, version 1"),
        *("Breakout above the prior swing high", "Stop was hit"),
    ):
        assert words in text


def test_trade_shows_reasons_as_text(client, made):
    trade = made(lambda: TradeFactory(entry_reason="<script>alert(1)</script>"))

    body = client.get(page_of(trade)).content.decode()

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in body
    assert "<script>alert" not in body


def test_trade_that_is_open_says_what_is_held(client, made):
    trade = made(lambda: TradeFactory(still_open=True, entry_regime_tag="unknown"))

    text = text_of(client.get(page_of(trade)))

    assert "Outcome so far" in text
    assert "Still held: 2 BTC" in text
    assert "at the entry, from closed hourly bars: too few hourly bars to tell" in text


@pytest.mark.parametrize(
    ("state", "words"),
    [("estimated", "the price at the decision replaces theirs"), ("gap", "history is missing"), ("exact", "Complete")],
)
def test_trade_says_how_far_it_is_explained(client, made, state, words):
    trade = made(lambda: TradeFactory(reconciled=state))

    assert words in text_of(client.get(page_of(trade)))


def test_trade_lists_its_fills(client, made):
    trade = made(TradeFactory)
    made(lambda: FillFactory(deployment=trade.deployment, quantity=Decimal(2), fee_usd=Decimal("0.5")))
    made(lambda: FillFactory(deployment=trade.deployment, quantity=Decimal(-2), at=MAY + HOUR, is_liquidation=True))
    made(lambda: FillFactory(deployment=trade.deployment, at=MAY + 3 * HOUR, price=Decimal(777)))
    made(lambda: FillFactory(deployment=trade.deployment, symbol="ETH", price=Decimal(888)))

    text = text_of(client.get(page_of(trade)))

    for words in ("Fills 2", "Bought", "$200.00", "$0.50", "Sold", "Liquidation"):
        assert words in text
    assert "777" not in text
    assert "888" not in text


def test_trade_without_fills_says_so(client, made):
    trade = made(TradeFactory)

    assert "The trade was read from the position alone" in text_of(client.get(page_of(trade)))


def test_trade_leads_to_its_decisions_and_versions(client, made):
    deployment = made(DeploymentFactory)
    entry, exit_ = (
        made(lambda tick=tick: DecisionSnapshotFactory(deployment=deployment, tick=tick)) for tick in (4, 9)
    )
    trade = made(lambda: TradeFactory(deployment=deployment, entry_snapshot=entry, exit_snapshot=exit_))

    body = client.get(page_of(trade)).content.decode()

    for snapshot in (entry, exit_):
        assert reverse("trading:decision", args=[deployment.pk, snapshot.tick]) in body
    assert reverse("trading:version", args=[trade.skill_id, 1]) in body


def test_trade_of_a_backtest_leads_to_its_run(client, made):
    trade = made(backtest_trade)

    assert reverse("trading:backtest", args=[made(lambda: trade.deployment.backtest).pk]) in (
        client.get(page_of(trade)).content.decode()
    )


def test_trade_tells_the_time_in_the_readers_zone(client, trader, made):
    trader.time_zone = "Pacific/Auckland"
    trader.save(update_fields=["time_zone"])
    trade = made(TradeFactory)

    body = client.get(page_of(trade)).content.decode()

    assert re.search(r'title="2026-05-01 12:00 UTC"\s*>2 May 2026, 00:00</time>', body)
    assert "Pacific/Auckland" in body
