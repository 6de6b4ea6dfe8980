from datetime import UTC, datetime
from decimal import Decimal
from uuid import uuid4

import pytest
from django.urls import reverse

from tests.factories.memory import DAY, HOUR, JUNE, MAY
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
from tests.tables import each_case
from tests.trading.browsing import assert_shows, into, is_page, text_of
from trading.models import BacktestRun, Bar
from trading.record.decisions import DECISIONS_PER_PAGE

pytestmark = pytest.mark.usefixtures("in_june")

BACKTESTS = "/backtests/"
POLLS = 'hx-trigger="every'


def page_of(run: BacktestRun) -> str:
    return reverse("trading:backtest", args=[run.pk])


def bars(symbol: str, first: datetime, count: int, **values) -> None:
    Bar.objects.bulk_create(
        BarFactory.build(symbol=symbol, opened_at=first + number * HOUR, **values) for number in range(count)
    )


@pytest.fixture
def version(as_trader):
    """A skill on BTC and ETH, by the hour."""
    return SkillVersionFactory()


@pytest.fixture
def given(version) -> dict[str, str]:
    """What the form sends for the first two days of May."""
    days = {"first_day": "2026-05-01", "last_day": "2026-05-02", "starting_equity_usd": "5000"}
    costs = {"fee_bps": "4", "slippage_bps": "2.5", "volume_pct": "5"}
    return {"skill": str(version.skill_id), **days, **costs, "reflects": "on"}


# --- The list ---


def test_backtests_lists_runs_with_results(client):
    done = BacktestRunFactory(done=True, is_simulated=True, deployment__version__skill__name="Dips")
    TradeFactory(deployment=done.deployment)

    response = client.get(BACKTESTS)

    days = ("1 Apr 2026", "1 May 2026, 12:00")
    assert_shows(response, "Dips", "version 1, simulated market", "Done", "+$19.00", *days)
    assert page_of(done) in response.content.decode()
    assert POLLS not in response.content.decode()


def test_pages_poll_while_a_run_is_active(client):
    run = BacktestRunFactory(status="running", ticks_done=30, ticks_total=120)

    for address, name in ((BACKTESTS, "backtest-runs"), (page_of(run), "backtest-run")):
        piece = client.get(address, headers=into(name, address))
        for response in (client.get(address), piece):
            assert_shows(response, "30 of 120 decisions", "Cancel" if address != BACKTESTS else "")
            assert '<progress max="120" value="30"' in response.content.decode()
            assert POLLS in response.content.decode()
        assert not is_page(piece)


def test_backtests_without_rows_explains_why_and_bears_any_address(client):
    assert_shows(client.get(BACKTESTS), "Nothing was played yet", "No skill to backtest yet")

    SkillVersionFactory()
    pages, days = ("page=x", "page=-1", "page=99999999999999999999"), ("first_day=x", "last_day=9999-12-31")
    for query in (*pages, *days, "skill=1", "q=%00"):
        assert client.get(f"{BACKTESTS}?{query}").status_code == 200, query


def test_backtests_take_as_many_queries_for_many_as_for_one(client, version, django_assert_max_num_queries):
    for _ in range(10):
        run = BacktestRunFactory(done=True)
        TradeFactory(deployment=run.deployment)

    with django_assert_max_num_queries(20):  # sixteen, and the four by which PostgreSQL enters and leaves the scope
        client.get(BACKTESTS)


def test_backtests_turn_pages(client, monkeypatch):
    monkeypatch.setattr("trading.record.backtests.RUNS_ON_A_PAGE", 2)
    oldest, *_ = [BacktestRunFactory(done=True, created_at=MAY + day * DAY) for day in range(3)]

    assert page_of(oldest) not in client.get(BACKTESTS).content.decode()
    assert page_of(oldest) in client.get(BACKTESTS, {"page": 2}).content.decode()


# --- The form ---


def test_form_begins_with_the_last_days_that_have_bars_and_names_symbols_without(client, version):
    bars("BTC", MAY, 30 * 24)

    response = client.get(BACKTESTS)

    assert 'value="2026-05-31"' in response.content.decode()  # the last bar ends on the 31st at noon
    assert 'value="2026-05-02"' in response.content.decode()
    assert_shows(response, "sees no price of ETH and cannot trade it")


def test_form_begins_with_the_last_changed_skill_and_offers_no_archived_one(client):
    skills = [SkillVersionFactory(skill__updated_at=MAY + day * DAY).skill for day in (1, 4, 6, 2, 5, 3)]
    SkillFactory(name="Old one", archived_at=MAY)

    response = client.get(BACKTESTS)

    assert f'<option value="{skills[2].pk}" selected>' in response.content.decode()
    assert_shows(response, *(f"{skill.name}, version 1" for skill in skills), lacks=("Old one",))


def test_form_counts_the_bars_of_each_symbol(client, version):
    bars("BTC", datetime(2026, 5, 1, tzinfo=UTC), 50)
    bars("ETH", datetime(2026, 5, 2, tzinfo=UTC), 5, is_simulated=True)
    bars("BTC", datetime(2026, 5, 1, tzinfo=UTC), 9, interval="5m")
    days = {"skill": version.skill_id, "first_day": "2026-05-01", "last_day": "2026-05-02"}

    piece = client.get(BACKTESTS, days, headers=into("backtest-bars", BACKTESTS))

    assert_shows(piece, "Bars of 1h: 48 of BTC, 5 of ETH.", "Simulated market")
    assert not is_page(piece)
    assert_shows(client.get(BACKTESTS, days), "48 of BTC")


def test_start_queues_a_run_and_leads_to_it(client, given):
    bars("BTC", datetime(2026, 5, 1, tzinfo=UTC), 48, is_simulated=True)

    response = client.post(BACKTESTS, given)

    run = BacktestRun.objects.select_related("deployment").get()
    assert (response.status_code, response.url) == (302, page_of(run))
    assert (run.starts_at, run.ends_at) == (datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 5, 3, tzinfo=UTC))
    assert (run.fee_bps, run.slippage_bps, run.volume_pct) == (4, Decimal("2.5"), 5)
    assert run.deployment.starting_equity_usd == 5000
    assert (run.reflects, run.is_simulated, run.status) == (True, True, "pending")


def test_start_without_reflection_and_up_to_now(client, given):
    bars("BTC", JUNE - DAY, 24)
    del given["reflects"]

    client.post(BACKTESTS, {**given, "first_day": "2026-05-31", "last_day": "2026-06-01"})

    run = BacktestRun.objects.get()
    assert (run.reflects, run.ends_at) == (False, JUNE)


@each_case(
    "changes, words",
    [
        ({}, "There are no 1h bars for BTC, ETH on these days"),
        ({"skill": str(uuid4())}, "You have no such skill."),
        ({"skill": ""}, "Choose a skill."),
        ({"last_day": "2026-04-30"}, "The last day is before the first one."),
        ({"first_day": "2026-07-01", "last_day": "2026-07-02"}, "ends in the past"),
        ({"last_day": "9999-12-31"}, "less than or equal"),
        ({"starting_equity_usd": "0"}, "greater than or equal to 10"),
        ({"first_day": "2020-01-01"}, "three years at most"),
    ],
)
def test_start_refuses_with_the_reason(client, given, changes, words):
    if "three years" in words:
        bars("BTC", MAY, 1)

    response = client.post(BACKTESTS, {**given, **changes})

    assert response.status_code == 422
    assert_shows(response, words)
    assert BacktestRun.objects.count() == 0


# --- One run ---


def test_backtest_that_is_done_shows_its_numbers_and_how_it_was_played(client):
    run = BacktestRunFactory(done=True, deployment__version__skill__name="Dips", reflects=False)
    for number in range(6):
        TradeFactory(deployment=run.deployment, gross_pnl_usd=Decimal(20 if number else -7))
    for number in range(30):
        equity = Decimal(10_000 + 10 * number - 50 * (number % 2))
        EquityPointFactory(deployment=run.deployment, at=MAY + number * DAY, equity_usd=equity)
    DecisionSnapshotFactory(deployment=run.deployment, model="offline/keel")

    response = client.get(page_of(run))

    assert_shows(
        response,
        *("Done", "+$87.00", "6 closed, 5 won", "83.3%", "11.88 won over lost", "90% between", "Sharpe ratio"),
        *("Deepest drawdown", "$6.00 paid", "$10,240.00", "4 bps", "2 bps", "Off", "Dips, version 1", "$10,000.00"),
        *("Decided by offline/keel", "No line under Entry is understood.", "no entry: regime is shock"),
        lacks=("Too few",),
    )
    assert f"/trades/?backtests={run.pk}" in response.content.decode()
    assert POLLS not in response.content.decode()


def test_backtest_with_few_trades_explains_missing_numbers_and_a_failed_one_its_error(client):
    run = BacktestRunFactory(done=True, is_simulated=True)
    TradeFactory(deployment=run.deployment)

    words = ("Too few days to say", "No equity on record", "Simulated market.")
    assert assert_shows(client.get(page_of(run)), *words).count("Too few to say 1 trade, of at least 5") == 4

    run = BacktestRunFactory(status="failed", finished_at=MAY, error="No <model> answered")

    assert "No &lt;model&gt; answered" in client.get(page_of(run)).content.decode()


def test_backtest_lists_its_decisions_and_lessons(client):
    run = BacktestRunFactory(done=True)
    ReflectionNoteFactory(deployment=run.deployment, lessons_text="- Wait for the close")
    for tick in range(1, DECISIONS_PER_PAGE + 2):
        DecisionSnapshotFactory(deployment=run.deployment, tick=tick)
    DecisionSnapshotFactory(deployment=run.deployment, tick=90, verdict="failed", verdict_text="Too late")

    page, second = client.get(page_of(run)), client.get(page_of(run), {"page": 2})
    failed = client.get(page_of(run), {"verdict": "failed"})

    body = page.content.decode()
    assert_shows(page, "Wait for the close", "Page 1 of 2", "Too late")
    assert "Keep for the skill" not in body
    assert reverse("trading:decision", args=[run.deployment_id, 90]) in body
    assert f'href="{page_of(run)}?page=2#decisions"' in body
    assert reverse("trading:decision", args=[run.deployment_id, 1]) in second.content.decode()
    assert "1 as a file" in text_of(failed)
    export = reverse("trading:export_decisions", args=[run.deployment_id])
    assert f"{export}?verdict=failed&amp;format=csv" in failed.content.decode()


def test_backtest_under_way_brings_its_record_when_it_is_over(client):
    run = BacktestRunFactory(status="running", ticks_done=3, ticks_total=9)
    DecisionSnapshotFactory(deployment=run.deployment, tick=1)
    asks = {"headers": into("backtest-run", page_of(run))}

    page, piece = client.get(page_of(run)), client.get(page_of(run), **asks)
    BacktestRun.objects.update(status="done", finished_at=JUNE)
    last = client.get(page_of(run), **asks)

    assert_shows(page, "Decision 1 ", "Still running.")
    assert_shows(piece, lacks=("Decision 1 ",))
    assert 'id="backtest-record" hx-swap-oob="true"' in last.content.decode()
    assert_shows(last, "Decision 1 ")


# --- Cancel ---


@pytest.mark.parametrize("status", ["pending", "running"])
def test_cancel_ends_a_run_that_is_under_way(client, status):
    lease = {"lease": uuid4(), "lease_until": JUNE} if status == "running" else {}
    run = BacktestRunFactory(status=status, ticks_done=3, ticks_total=9, **lease)
    address = reverse("trading:cancel_backtest", args=[run.pk])

    response = client.post(address, follow=True)

    run.refresh_from_db()
    assert (run.status, run.finished_at, run.lease, run.lease_until) == ("cancelled", JUNE, None, None)
    assert_shows(response, "It was ended after 3 of 9 decisions")
    assert_shows(client.post(address, follow=True), "This backtest is over: cancelled.")
