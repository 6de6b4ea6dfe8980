from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from config.lib.owned import owned
from tests.factories.record import BarFactory
from tests.factories.trading import TraderFactory
from trading.demo import NEWS_SOURCE, Lengths, seed_demo
from trading.models import (
    BacktestRun,
    Bar,
    DecisionSnapshot,
    Deployment,
    DeploymentStatus,
    Fill,
    MarketEvent,
    NewsItem,
    NoteStatus,
    ReflectionNote,
    Skill,
    SkillDraft,
    Trade,
    WorkStatus,
)
from trading.runs.due import find_due_instant
from trading.skills.queries import compare_versions
from trading.skills.schemas import parse_payload

NOW = datetime(2026, 3, 7, 6, 42, 17, tzinfo=UTC)
SHORT = Lengths(
    history=timedelta(days=13),
    past=timedelta(0),
    backtest=timedelta(days=11),
    breakout=timedelta(days=9),
    funding=timedelta(hours=80),
)
# By one worker, which makes it once.
pytestmark = [pytest.mark.django_db, pytest.mark.computing, pytest.mark.xdist_group("demo")]


def clock():
    return NOW


class Demo:
    """The demo's user, and what the seeding said and told."""

    def __init__(self):
        self.user = TraderFactory(email="demo@example.com")
        self.told = []
        self.made = self.seed()

    def seed(self, at=NOW):
        return seed_demo(self.user.pk, clock=lambda: at, report=self.told.append, lengths=SHORT)

    def counts(self):
        models = (Skill, SkillDraft, Deployment, BacktestRun, DecisionSnapshot, Trade, Fill, ReflectionNote)
        with owned(self.user):
            owned_rows = [model.objects.count() for model in models]
        return owned_rows + [model.objects.count() for model in (Bar, NewsItem, MarketEvent)]


@pytest.fixture(scope="module")
def demo(django_db_setup, django_db_blocker):
    """The demo, made once for all tests here, which only read."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield Demo()
        transaction.set_rollback(True)


@pytest.fixture
def scope(demo):
    with owned(demo.user):
        yield


def deployed(name):
    return Deployment.objects.select_related("version").get(skill__name=name, broker_kind="paper")


def test_there_are_two_skills_one_with_two_versions_that_differ_and_a_draft(demo, scope):
    assert demo.made["skills"] == 2
    assert dict(Skill.objects.values_list("name", "latest_version")) == {"Breakout on majors": 2, "Funding fade": 1}
    changed = {name for name, _, _ in compare_versions(Skill.objects.get(latest_version=2).pk, 1, 2)}
    assert {"strategy.exit", "strategy.avoid", "risk.max_position_pct"} <= changed
    draft = SkillDraft.objects.get(status="editing")
    assert (draft.base_skill, draft.payload["name"]) == (None, "Weekend range")


def test_both_versions_have_been_played_over_the_same_bars_and_lessons_were_superseded(scope):
    first, last = BacktestRun.objects.order_by("created_at")

    assert [run.deployment.version.version for run in (first, last)] == [1, 2]
    assert (first.starts_at, first.ends_at) == (last.starts_at, last.ends_at)
    for run in (first, last):
        assert (run.status, run.ticks_done, run.error) == (WorkStatus.DONE, run.ticks_total, "")
        assert run.ticks_total == 12
        assert run.is_simulated
        assert {"trades", "net_usd", "max_drawdown"} <= run.summary.keys()

    notes = ReflectionNote.objects.order_by("generated_at")

    assert {note.status for note in notes} == {NoteStatus.ACTIVE, NoteStatus.SUPERSEDED}
    assert all(note.generated_at <= NOW for note in notes)


def test_both_skills_run_on_paper_and_have_ticked_at_every_instant(scope):
    breakout, funding = deployed("Breakout on majors"), deployed("Funding fade")

    assert (breakout.last_tick, funding.last_tick) == (54, 80)
    assert breakout.version.version == 2
    assert {breakout.status, funding.status} == {DeploymentStatus.RUNNING}
    assert {breakout.lease, funding.lease} == {None}
    assert DecisionSnapshot.objects.filter(deployment=breakout).count() == breakout.last_tick
    assert set(DecisionSnapshot.objects.values_list("model", flat=True)) == {"offline/keel"}


def test_trades_were_closed_and_one_is_open(demo, scope):
    trades = Trade.objects.filter(deployment=deployed("Breakout on majors"))

    assert trades.closed().count() >= 5
    assert trades.open().exists()
    assert demo.made["trades"] == Trade.objects.exclude(deployment__broker_kind="backtest").count()
    for trade in trades.closed():
        assert trade.realized_pnl_usd == pytest.approx(trade.gross_pnl_usd - trade.fees_usd + trade.funding_usd)
        assert trade.reconciled == "exact"
        assert trade.entry_reason


def test_it_goes_on_live_on_a_market_that_is_marked_as_simulated(demo):
    with owned(demo.user):
        live = deployed("Funding fade")
        payload = parse_payload(live.version.payload)
        assert find_due_instant(live, payload, NOW) is None
        later = NOW + timedelta(hours=1, minutes=5)
        assert find_due_instant(live, payload, later) == NOW.replace(hour=7, minute=0, second=0)

    assert not Bar.objects.filter(is_simulated=False).exists()
    assert set(NewsItem.objects.values_list("source", "is_simulated")) == {(NEWS_SOURCE, True)}
    assert not NewsItem.objects.filter(published_at__gt=NOW).exists()
    assert MarketEvent.objects.filter(kind="fomc", is_simulated=False).exists()


def test_seed_demo_reports_its_progress_and_run_twice_creates_rows_once(demo):
    assert demo.told[0].endswith("bars simulated, up to 2026-02-22")
    assert any(line.startswith("Funding fade on paper: 80 of 80 ticks") for line in demo.told)
    assert any(line.startswith("Backtest: 12 of 12 ticks") for line in demo.told)
    before = demo.counts()

    assert demo.seed(NOW + timedelta(hours=5)) == {"skills": 0}
    assert demo.counts() == before


def test_where_the_market_is_real_nothing_is_played(trader, monkeypatch):
    monkeypatch.setattr("trading.demo._find_breakout_seed", lambda now: 1)  # a search of seconds
    told = []
    Bar.objects.all().delete()  # those of the demo above, if it stands
    BarFactory(symbol="BTC", opened_at=NOW - timedelta(days=1))

    made = seed_demo(trader.pk, clock=clock, report=told.append, lengths=Lengths(history=timedelta(hours=1)))

    assert made == {"skills": 2, "trades": 0}
    assert told[-1].startswith("BTC have a market from elsewhere")
    with owned(trader):
        assert not Deployment.objects.exists()
