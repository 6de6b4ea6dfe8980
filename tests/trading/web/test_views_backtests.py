from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.urls import reverse

from tests.factories.memory import JUNE, MAY
from tests.factories.record import (
    BacktestRunFactory,
    BarFactory,
    DecisionSnapshotFactory,
    EquityPointFactory,
    ReflectionNoteFactory,
    SkillFactory,
    SkillVersionFactory,
    TradeFactory,
)
from tests.trading.browsing import into, is_page, text_of
from trading.models import BacktestRun, Bar
from trading.record.decisions import DECISIONS_PER_PAGE

pytestmark = pytest.mark.usefixtures("in_june")

BACKTESTS = "/backtests/"
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
POLLS = 'hx-trigger="every'


def page_of(run: BacktestRun) -> str:
    return reverse("trading:backtest", args=[run.pk])


def bars(symbol: str, first: datetime, count: int, **values) -> None:
    Bar.objects.bulk_create(
        BarFactory.build(symbol=symbol, opened_at=first + number * HOUR, **values) for number in range(count)
    )


@pytest.fixture
def version(made):
    """A skill on BTC and ETH, by the hour."""
    return made(SkillVersionFactory)


@pytest.fixture
def given(version) -> dict[str, str]:
    """What the form sends for the first two days of May."""
    return {
        "skill": str(version.skill_id),
        "first_day": "2026-05-01",
        "last_day": "2026-05-02",
        "starting_equity_usd": "5000",
        "fee_bps": "4",
        "slippage_bps": "2.5",
        "volume_pct": "5",
        "reflects": "on",
    }


# --- The list ---


def test_backtests_lists_runs_with_results(client, made):
    done = made(lambda: BacktestRunFactory(done=True, is_simulated=True, deployment__version__skill__name="Dips"))
    made(lambda: TradeFactory(deployment=done.deployment))

    response = client.get(BACKTESTS)

    text = text_of(response)
    for words in ("Dips", "version 1, simulated market", "1 Apr 2026", "Done", "+$19.00", "1 May 2026, 12:00"):
        assert words in text
    assert page_of(done) in response.content.decode()
    assert POLLS not in response.content.decode()


def test_backtests_polls_while_a_run_is_active(client, made):
    made(lambda: BacktestRunFactory(status="running", ticks_done=30, ticks_total=120))

    page = client.get(BACKTESTS)
    piece = client.get(BACKTESTS, headers=into("backtest-runs", BACKTESTS))

    assert "30 of 120 decisions" in text_of(page)
    assert '<progress max="120" value="30"' in piece.content.decode()
    assert POLLS in piece.content.decode()
    assert not is_page(piece)


def test_backtests_without_rows_explains_why(client):
    text = text_of(client.get(BACKTESTS))

    assert "Nothing was played yet" in text
    assert "No skill to backtest yet" in text


def test_backtests_take_as_many_queries_for_many_as_for_one(client, made, version, django_assert_max_num_queries):
    for _ in range(10):
        run = made(lambda: BacktestRunFactory(done=True))
        made(lambda run=run: TradeFactory(deployment=run.deployment))

    with django_assert_max_num_queries(20):  # sixteen, and the four by which PostgreSQL enters and leaves the scope
        client.get(BACKTESTS)


def test_backtests_turn_pages(client, made, monkeypatch):
    monkeypatch.setattr("trading.record.backtests.RUNS_ON_A_PAGE", 2)
    oldest, *_ = [made(lambda day=day: BacktestRunFactory(done=True, created_at=MAY + day * DAY)) for day in range(3)]

    assert page_of(oldest) not in client.get(BACKTESTS).content.decode()
    assert page_of(oldest) in client.get(BACKTESTS, {"page": 2}).content.decode()


@pytest.mark.parametrize(
    "query",
    ["page=x", "page=-1", "page=99999999999999999999", "skill=1", "first_day=x", "last_day=9999-12-31", "q=%00"],
)
def test_backtests_bear_any_address(client, version, query):
    assert client.get(f"{BACKTESTS}?{query}").status_code == 200


# --- The form ---


def test_form_begins_with_the_last_days_that_have_bars(client, version):
    bars("BTC", MAY, 30 * 24)

    body = client.get(BACKTESTS).content.decode()

    assert 'value="2026-05-31"' in body  # the last bar ends on the 31st at noon
    assert 'value="2026-05-02"' in body


def test_form_begins_with_the_last_changed_skill(client, made):
    days = (1, 4, 6, 2, 5, 3)
    skills = {day: made(lambda: SkillVersionFactory(skill__updated_at=MAY + day * DAY)).skill_id for day in days}  # noqa: B023

    assert f'<option value="{skills[6]}" selected>' in client.get(BACKTESTS).content.decode()


def test_form_counts_the_bars_of_each_symbol(client, version):
    bars("BTC", datetime(2026, 5, 1, tzinfo=UTC), 50)
    bars("ETH", datetime(2026, 5, 2, tzinfo=UTC), 5, is_simulated=True)
    bars("BTC", datetime(2026, 5, 1, tzinfo=UTC), 9, interval="5m")
    days = {"skill": version.skill_id, "first_day": "2026-05-01", "last_day": "2026-05-02"}

    piece = client.get(BACKTESTS, days, headers=into("backtest-bars", BACKTESTS))

    assert "Bars of 1h: 48 of BTC, 5 of ETH." in text_of(piece)
    assert "Simulated market" in text_of(piece)
    assert not is_page(piece)
    assert "48 of BTC" in text_of(client.get(BACKTESTS, days))


def test_form_names_symbols_without_bars(client, version):
    bars("BTC", MAY, 5)

    assert "sees no price of ETH and cannot trade it" in text_of(client.get(BACKTESTS))


def test_form_offers_no_archived_skill(client, made, version):
    made(lambda: SkillFactory(name="Old one", archived_at=MAY))

    text = text_of(client.get(BACKTESTS))

    assert f"{made(lambda: version.skill.name)}, version 1" in text
    assert "Old one" not in text


def test_start_queues_a_run_and_leads_to_it(client, made, given):
    bars("BTC", datetime(2026, 5, 1, tzinfo=UTC), 48, is_simulated=True)

    response = client.post(BACKTESTS, given)

    run = made(lambda: BacktestRun.objects.select_related("deployment").get())
    assert (response.status_code, response.url) == (302, page_of(run))
    assert (run.starts_at, run.ends_at) == (datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 5, 3, tzinfo=UTC))
    assert (run.fee_bps, run.slippage_bps, run.volume_pct, run.deployment.starting_equity_usd) == (
        4,
        Decimal("2.5"),
        5,
        5000,
    )
    assert (run.reflects, run.is_simulated, run.status) == (True, True, "pending")


def test_start_without_reflection_and_up_to_now(client, made, given):
    bars("BTC", JUNE - DAY, 24)
    del given["reflects"]

    client.post(BACKTESTS, {**given, "first_day": "2026-05-31", "last_day": "2026-06-01"})

    run = made(BacktestRun.objects.get)
    assert (run.reflects, run.ends_at) == (False, JUNE)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "There are no 1h bars for BTC, ETH on these days"),
        ({"skill": str(uuid4())}, "You have no such skill."),
        ({"skill": ""}, "Choose a skill."),
        ({"last_day": "2026-04-30"}, "The last day is before the first one."),
        ({"first_day": "2026-07-01", "last_day": "2026-07-02"}, "ends in the past"),
        ({"first_day": "2020-01-01"}, "three years at most"),
        ({"last_day": "9999-12-31"}, "less than or equal"),
        ({"starting_equity_usd": "0"}, "greater than or equal to 10"),
    ],
)
def test_start_refuses_with_the_reason(client, made, given, changes, words):
    if "three years" in words:
        bars("BTC", MAY, 1)

    response = client.post(BACKTESTS, {**given, **changes})

    assert response.status_code == 422
    assert words in text_of(response)
    assert made(BacktestRun.objects.count) == 0


# --- One run ---


def test_backtest_under_way_shows_progress_and_asks_again(client, made):
    run = made(lambda: BacktestRunFactory(status="running", ticks_done=30, ticks_total=120))

    page, piece = client.get(page_of(run)), client.get(page_of(run), headers=into("backtest-run", page_of(run)))

    for response in (page, piece):
        assert "30 of 120 decisions" in text_of(response)
        assert POLLS in response.content.decode()
        assert "Cancel" in text_of(response)
    assert not is_page(piece)


def test_backtest_that_is_done_shows_its_numbers_and_how_it_was_played(client, made):
    run = made(lambda: BacktestRunFactory(done=True, deployment__version__skill__name="Dips", reflects=False))
    for number in range(6):
        gross = Decimal(20 if number else -7)
        made(lambda gross=gross: TradeFactory(deployment=run.deployment, gross_pnl_usd=gross))
    for number in range(30):
        equity = Decimal(10_000 + 10 * number - 50 * (number % 2))
        made(
            lambda at=MAY + number * DAY, equity=equity: EquityPointFactory(
                deployment=run.deployment, at=at, equity_usd=equity
            )
        )

    response = client.get(page_of(run))

    text = text_of(response)
    for words in (
        *("Done", "+$87.00", "6 closed, 5 won", "83.3%", "11.88 won over lost", "90% between", "Sharpe ratio"),
        *("Deepest drawdown", "$6.00 paid", "$10,240.00", "4 bps", "2 bps", "Off", "Dips, version 1", "$10,000.00"),
    ):
        assert words in text, words
    assert "Too few" not in text
    assert f"/trades/?backtests={run.pk}" in response.content.decode()
    assert POLLS not in response.content.decode()


def test_backtest_with_few_trades_explains_missing_numbers(client, made):
    run = made(lambda: BacktestRunFactory(done=True))
    made(lambda: TradeFactory(deployment=run.deployment))

    text = text_of(client.get(page_of(run)))

    assert text.count("Too few to say 1 trade, of at least 5") == 4
    assert "Too few days to say" in text
    assert "No equity on record" in text


def test_backtest_lists_its_decisions_and_lessons(client, made):
    run = made(lambda: BacktestRunFactory(done=True))
    made(lambda: ReflectionNoteFactory(deployment=run.deployment, lessons_text="- Wait for the close"))
    for tick in range(1, DECISIONS_PER_PAGE + 2):
        made(lambda tick=tick: DecisionSnapshotFactory(deployment=run.deployment, tick=tick))
    made(lambda: DecisionSnapshotFactory(deployment=run.deployment, tick=90, verdict="failed", verdict_text="Too late"))

    page, second = client.get(page_of(run)), client.get(page_of(run), {"page": 2})
    failed = client.get(page_of(run), {"verdict": "failed"})

    body = page.content.decode()
    assert all(words in text_of(page) for words in ("Wait for the close", "Page 1 of 2", "Too late"))
    assert "Keep for the skill" not in body
    assert reverse("trading:decision", args=[run.deployment_id, 90]) in body
    assert f'href="{page_of(run)}?page=2#decisions"' in body
    assert reverse("trading:decision", args=[run.deployment_id, 1]) in second.content.decode()
    assert "1 as a file" in text_of(failed)
    export = reverse("trading:export_decisions", args=[run.deployment_id])
    assert f"{export}?verdict=failed&amp;format=csv" in failed.content.decode()


def test_backtest_under_way_brings_its_record_when_it_is_over(client, made):
    run = made(lambda: BacktestRunFactory(status="running", ticks_done=3, ticks_total=9))
    made(lambda: DecisionSnapshotFactory(deployment=run.deployment, tick=1))
    asks = {"headers": into("backtest-run", page_of(run))}

    page, piece = client.get(page_of(run)), client.get(page_of(run), **asks)
    made(lambda: BacktestRun.objects.update(status="done", finished_at=JUNE))
    last = client.get(page_of(run), **asks)

    assert "Decision 1 " in text_of(page)
    assert "Still running." in text_of(page)
    assert "Decision 1 " not in text_of(piece)
    assert 'id="backtest-record" hx-swap-oob="true"' in last.content.decode()
    assert "Decision 1 " in text_of(last)


def test_failed_backtest_shows_its_error(client, made):
    run = made(lambda: BacktestRunFactory(status="failed", finished_at=MAY, error="No <model> answered"))

    assert "No &lt;model&gt; answered" in client.get(page_of(run)).content.decode()


def test_backtest_of_a_simulated_market_is_labelled(client, made):
    run = made(lambda: BacktestRunFactory(is_simulated=True))

    assert "Simulated market." in text_of(client.get(page_of(run)))


# --- Cancel ---


@pytest.mark.parametrize("status", ["pending", "running"])
def test_cancel_ends_a_run_that_is_under_way(client, made, status):
    lease = {"lease": uuid4(), "lease_until": JUNE} if status == "running" else {}
    run = made(lambda: BacktestRunFactory(status=status, ticks_done=3, ticks_total=9, **lease))

    response = client.post(reverse("trading:cancel_backtest", args=[run.pk]), follow=True)

    made(run.refresh_from_db)
    assert (run.status, run.finished_at, run.lease, run.lease_until) == ("cancelled", JUNE, None, None)
    assert "It was ended after 3 of 9 decisions" in text_of(response)


def test_cancel_leaves_a_run_that_is_over_as_it_is(client, made):
    run = made(lambda: BacktestRunFactory(done=True))

    response = client.post(reverse("trading:cancel_backtest", args=[run.pk]), follow=True)

    assert "This backtest is over: done." in text_of(response)
    assert made(BacktestRun.objects.get).finished_at == MAY


def test_backtest_shows_who_decided_and_how_the_strategy_is_read(client, made):
    run = made(lambda: BacktestRunFactory(done=True))
    made(lambda: DecisionSnapshotFactory(deployment=run.deployment, model="offline/keel"))

    shown = text_of(client.get(page_of(run)))

    assert "Decided by offline/keel" in shown
    assert "No line under Entry is understood." in shown
    assert "no entry: regime is shock" in shown
