"""A backtest's curve, months, distribution and exposure, and two backtests side by side."""

import json
import re
from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import time_machine

from tests.factories.memory import DAY, HOUR, MAY
from tests.factories.record import BacktestRunFactory, BarFactory, DecisionSnapshotFactory, TradeFactory
from tests.trading.browsing import assert_shows, text_of
from trading.models import BacktestRun, Bar, EquityPoint

PAIR = "/backtests/compare/"


def page_of(run: BacktestRun) -> str:
    return f"/backtests/{run.pk}/"


def play(returns=(0.01, -0.02, 0.03), *, trades: int = 6, **values) -> BacktestRun:
    """Write a finished run of April that made these returns, a day each."""
    run = BacktestRunFactory(done=True, ticks_done=30, ticks_total=30, **values)
    equity, points = Decimal(10_000), []
    for number, value in enumerate(returns):
        equity *= 1 + Decimal(str(value))
        at = run.starts_at + number * DAY + 20 * HOUR
        mark = {"tick": number + 1, "at": at, "equity_usd": equity.quantize(Decimal("1.00"))}
        points.append(EquityPoint(deployment=run.deployment, user_id=run.user_id, **mark))
    EquityPoint.objects.bulk_create(points)
    for number in range(trades):
        gross = Decimal(20 if number % 3 else -7)
        TradeFactory(deployment=run.deployment, entry_tick_at=run.starts_at + number * DAY, gross_pnl_usd=gross)
    DecisionSnapshotFactory(deployment=run.deployment, model="offline/keel", tick_at=run.starts_at)
    return run


def store_bars(symbol: str, run: BacktestRun, days: int, **values) -> None:
    Bar.objects.bulk_create(
        BarFactory.build(
            symbol=symbol, opened_at=run.starts_at + number * HOUR, open=100, close=100 + number, high=2_000, **values
        )
        for number in range(days * 24)
    )


def curve_of(client, address: str) -> dict:
    body = client.get(address).content.decode()
    found = re.search(r'data-chart="equity"\s+data-values="([^"]*)"', body)
    assert found is not None, "the page has a curve"
    return json.loads(found[1].replace("&quot;", '"'))


def test_backtest_page_draws_equity_against_buy_and_hold(client):
    run = play()
    store_bars("BTC", run, 30)

    curve, text = curve_of(client, page_of(run)), text_of(client.get(page_of(run)))

    assert [line["name"] for line in curve["lines"]] == ["Equity", "Buy and hold"]
    assert curve["lines"][0]["values"] == [10_100.0, 9_898.0, 10_194.94]
    assert min(curve["falls"]) == -2.0
    assert "Return +1.9% in 3 days; buy and hold +719.0%, before costs" in text  # the last close is 819
    assert "Return by month" in text
    assert "6 values; median +$19.00" in text.replace("median $19.00", "median +$19.00")
    assert "In the market 1.7%" in text  # six times two hours of thirty days
    assert "test" in text  # where the bars come from


def test_backtest_page_explains_what_is_missing(client):
    bare = client.get(page_of(play((), trades=0)))
    many = client.get(page_of(play(trades=30)))

    no_points = "There are fewer than two points to connect."
    assert_shows(bare, no_points, "no bars to compare with", "0 closed trades are few")
    assert_shows(many, "Funding is not on record for these bars", lacks=("are few",))


def test_backtest_under_way_says_how_long_the_rest_takes(client):
    run = BacktestRunFactory(status="running", ticks_done=20, ticks_total=80, started_at=MAY)

    with time_machine.travel(MAY + timedelta(minutes=10), tick=False):
        assert_shows(client.get(page_of(run)), "About 30 min left.")
        BacktestRun.objects.update(ticks_done=0)
        assert_shows(client.get(page_of(run)), lacks=("left.",))


def test_backtest_page_takes_few_queries_and_little_html(client, django_assert_max_num_queries):
    run = play([0.001, -0.001] * 400, trades=60)
    store_bars("BTC", run, 30)

    with django_assert_max_num_queries(18):  # twelve, session and user, and the scope on PostgreSQL
        response = client.get(page_of(run))
    assert len(response.content) < 150_000


def test_pair_compares_the_days_of_both(client):
    returns = [0.01, -0.02, 0.005, 0.0, 0.012, -0.004]
    first = play(returns)
    second = play([value + 0.002 + 0.0001 * number for number, value in enumerate(returns)])

    response = client.get(PAIR, {"first": first.pk, "second": second.pk})

    absent = ("the days do not tell them apart", "Not the same conditions")
    assert_shows(response, "Second less first, a day +0.22", "mean of 6 days of both", lacks=absent)
    curve = curve_of(client, f"{PAIR}?first={first.pk}&second={second.pk}")
    assert [line["values"][0] for line in curve["lines"]] == [101.0, 101.2]


def test_pair_names_what_differs_beside_the_skill(client):
    first = play()
    second = play(fee_bps=Decimal(9), starts_at=MAY - 20 * DAY)

    response = client.get(PAIR, {"first": first.pk, "second": second.pk})

    assert_shows(response, "These differ, too: days, fee.", "Too few to say")


def test_pair_asks_for_two(client):
    own, running = play(), BacktestRunFactory(status="running")

    for query in ({}, {"first": "x"}, {"first": "", "second": ""}):
        assert_shows(client.get(PAIR, query), "Choose two backtests")
    for other in (uuid4(), running.pk):
        assert client.get(PAIR, {"first": own.pk, "second": other}).status_code == 404


def test_pair_takes_few_queries(client, django_assert_max_num_queries):
    first, second = play(), play()

    with django_assert_max_num_queries(24):  # eighteen at most, session and user, and the scope on PostgreSQL
        client.get(PAIR, {"first": first.pk, "second": second.pk})
