from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.urls import reverse

from config.lib.llm import door
from config.lib.owned import owned, owned_tx
from config.lib.proofs import OPERATOR
from config.lib.work.jobs import Key, get_task
from config.lib.work.models import SiteDay
from config.lib.work.runs import run_rows
from tests.factories.memory import JUNE, MINUTE
from tests.factories.record import DeploymentFactory
from tests.fakes import ScriptedModel
from tests.owners import as_owner
from tests.trading.ticking import Desk, at, bar, list_due, long, run_due, store_prices
from trading.models import AT_ONCE, Bar, Deployment, Trade
from trading.record.deployments import TICK, claim_deployment, request_command
from trading.runs.due import PATIENCE, find_due_instant, run_deployment
from trading.runs.runner import TickOutcome
from trading.skills.schemas import PayloadInvalid, Schedule, parse_payload

pytestmark = pytest.mark.django_db


def look(desk, now):
    """Run the deployment as its task does."""
    return run_deployment(Key(desk.user.pk, desk.deployment_id), now=now)


def test_last_instant_of_a_schedule():
    def on(day, time):
        return datetime.fromisoformat(f"2026-06-0{day}T{time}").replace(tzinfo=UTC)

    for kind, value, now, expected in (
        ("interval", "15m", "12:14:59", on(2, "12:00")),
        ("interval", "15m", "12:15:00", on(2, "12:15")),
        ("interval", "4h", "03:59:00", on(2, "00:00")),
        ("daily", "13:30", "13:30:00", on(2, "13:30")),
        ("daily", "13:30", "13:29:59", on(1, "13:30")),
    ):
        assert Schedule(type=kind, value=value).find_last(on(2, now)) == expected


def test_tick_waits_for_its_bar_but_not_for_ever(desk):
    store_prices(*[100] * 2)

    def due(now):
        deployment = Deployment.objects.select_related("version").get()
        return find_due_instant(deployment, parse_payload(deployment.version.payload), now)

    assert desk.ask(lambda: due(at(1) + PATIENCE / 2)) is None
    assert desk.ask(lambda: due(at(1) + PATIENCE)) == at(1)
    Bar.objects.bulk_create([bar(at(1) - timedelta(minutes=5), 100, 100, 100, 100)])
    assert desk.ask(lambda: due(at(1))) == at(1)


def test_list_due_leaves_out_ticks_that_wait_for_their_bars(trader, stranger):
    store_prices(*[100] * 3)
    early, late = Desk(trader), Desk(stranger, context={"symbols": ["ETH"]})
    for desk in (early, late):
        desk.ask(lambda: Deployment.objects.update(due_at=at(1)))

    assert [key.row_id for key in list_due(at(1))] == [early.deployment_id]
    assert {key.row_id for key in list_due(at(1) + PATIENCE)} == {early.deployment_id, late.deployment_id}


def test_run_deployment_schedules_the_next_look(desk):
    store_prices(*[100] * 30)

    assert desk.row.due_at == AT_ONCE
    assert look(desk, at(0.9)).ticked is None
    assert desk.row.due_at == at(1)
    assert look(desk, at(5.5)).ticked.at == at(5)
    assert desk.row.due_at == at(6)
    assert list_due(at(5.9)) == []
    assert look(desk, at(5.9)).ticked is None


def test_run_deployment_looks_again_at_the_instant_whose_bars_are_missing(desk):
    store_prices(*[100] * 3)

    assert look(desk, at(2) + MINUTE).ticked is None
    assert desk.row.due_at == at(2)
    assert look(desk, at(2) + PATIENCE).ticked.at == at(2)


def test_run_deployment_never_looks_again_at_a_deployment_without_ticks(trader):
    for fields in ({"broker_kind": "live"}, {"status": "stopped"}, {"status": "paused"}):
        desk = Desk(trader, **fields)
        assert look(desk, at(5)).ticked is None
        assert (desk.row.due_at, list_due(at(99))) == (None, [])


def test_command_makes_a_deployment_due_until_it_is_carried_out(trader):
    desk = Desk(trader, status="paused")
    look(desk, at(1))
    desk.ask(lambda: request_command(deployment_id=desk.deployment_id, kind="resume", proof=OPERATOR, now=at(1.5)))

    assert [key.row_id for key in list_due(at(1.5))] == [desk.deployment_id]
    (command,) = look(desk, at(1.5)).commands
    assert (command.kind, desk.row.status, desk.row.due_at) == ("resume", "running", at(2))


def test_command_during_a_tick_is_looked_at_at_once(desk, monkeypatch):
    store_prices(*[100] * 30)
    ticked = desk.tick(4)

    def tick_and_command(self, instant):
        desk.ask(lambda: request_command(deployment_id=desk.deployment_id, kind="pause", proof=OPERATOR, now=at(5.1)))
        return ticked

    monkeypatch.setattr("trading.runs.due.Ticker.tick", tick_and_command)
    look(desk, at(5))

    assert desk.row.due_at == at(5.1)


def test_task_on_all_due_deployments_continues_after_a_failing_one(trader, stranger):
    store_prices(*[100] * 30)
    good, broken = Desk(trader), Desk(stranger)
    broken.ask(lambda: Deployment.objects.update(account={"cash_usd": "nonsense"}))

    ran = {Key.parse(run.key).row_id: run.has_failed for run in run_rows(get_task(TICK), at(5))}

    assert ran == {broken.deployment_id: True, good.deployment_id: False}
    assert (good.row.lease, broken.row.lease) == (None, None)
    assert good.decision(1).model == "offline/keel"


def test_interrupted_tick_is_decided_at_the_next_try(desk, monkeypatch):
    store_prices(*[100] * 30)

    def dies(*_, **__):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("trading.runs.runner.decide", dies)
        with pytest.raises(MemoryError):
            run_due(at(5))
    (again,) = run_due(at(5) + 2 * MINUTE)

    assert (again.ticked.at, again.ticked.number, again.ticked.outcome) == (at(5), 1, TickOutcome.DECIDED)
    assert list_due(at(5) + 3 * MINUTE) == []


def test_tick_without_tokens_of_the_site_settles_decides_nothing_and_says_why(trader, client, settings):
    settings.TRADING_AGENT_MODEL, settings.SITE_DAILY_TOKEN_BUDGET = "scripted/model", 1
    model = ScriptedModel()
    door.register_provider("scripted", lambda: model)
    SiteDay.objects.create(day=at(3).date(), tokens=1)
    store_prices(*[100] * 30)
    desk = Desk(trader)
    desk.tick(1, long())
    desk.tick(2)

    look(desk, at(3))

    decision = desk.decision(3)
    assert (decision.verdict, decision.proposal, model.requests) == ("failed", None, [])
    assert decision.verdict_text.startswith("The tokens that this site has for all its users today are used up")
    assert desk.row.last_tick == 3
    with owned(trader):
        assert Trade.objects.get().status == "open"
    client.force_login(trader)
    page = client.get(reverse("trading:deployment", args=[desk.deployment_id])).content.decode()
    assert "for all its users today are used up" in page


def test_list_due_leaves_out_backtests_and_deployments_of_who_may_not_sign_in(trader):
    desk = Desk(trader)
    Desk(trader, broker_kind="backtest")
    store_prices(*[100] * 30)
    assert [key.row_id for key in list_due(at(5))] == [desk.deployment_id]

    trader.is_active = False
    trader.save()
    assert list_due(at(5)) == []


def test_deployment_that_cannot_be_read_fails_alone(trader, stranger):
    store_prices(*[100] * 30)
    good = Desk(trader)
    broken = as_owner(stranger, lambda: DeploymentFactory(version__payload={"nonsense": True}, created_at=JUNE))

    assert {key.row_id for key in list_due(at(5))} == {good.deployment_id, broken.pk}
    with pytest.raises(PayloadInvalid):
        run_deployment(Key(stranger.pk, broken.pk), now=at(5))


def test_deployment_that_another_runner_holds_is_left_alone_until_the_lease_ends(desk):
    store_prices(*[100] * 30)
    with owned_tx(desk.user):
        claim_deployment(deployment_id=desk.deployment_id, lease=uuid4(), until=at(6), now=at(5))

    assert list_due(at(5)) == []
    assert look(desk, at(5)).ticked is None
    (freed,) = run_due(at(6))
    assert freed.ticked.at == at(6)


def test_tick_that_closes_a_trade_defers_the_reflection(desk, monkeypatch):
    store_prices(*[100] * 30)
    desk.tick(1, long())
    desk.tick(2)
    desk.ask(lambda: request_command(deployment_id=desk.deployment_id, kind="flatten", proof=OPERATOR, now=at(2)))
    deferred = []
    monkeypatch.setattr("trading.runs.due.defer", lambda *task: deferred.append(task))

    look(desk, at(3))
    look(desk, at(4))

    assert deferred == [("reflect", Key(desk.user.pk, desk.deployment_id))]


def test_list_due_takes_the_same_queries_for_one_and_for_thirty_deployments(trader, django_assert_max_num_queries):
    store_prices(*[100] * 6)
    for _ in range(30):
        Desk(trader)
    as_owner(trader, lambda: Deployment.objects.update(due_at=at(1)))

    with django_assert_max_num_queries(6):  # two, and the scope on PostgreSQL
        assert len(list_due(at(1))) == 30
