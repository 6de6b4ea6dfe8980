from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest

from config.lib.owned import owned_tx
from tests.factories.memory import JUNE
from tests.factories.record import DeploymentFactory
from tests.owners import as_owner
from tests.trading.ticking import Desk, at, bar, store_prices
from trading.models import Bar, Deployment
from trading.record.deployments import claim_deployment, request_command
from trading.runs.due import PATIENCE, Due, Ran, find_due_instant, find_last_instant, list_due, run_due
from trading.runs.runner import Outcome
from trading.skills.schemas import Schedule

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("kind", "value", "now", "last"),
    [
        ("interval", "15m", "12:14:59", "12:00"),
        ("interval", "15m", "12:15:00", "12:15"),
        ("interval", "4h", "03:59:00", "00:00"),
        ("daily", "13:30", "13:30:00", "13:30"),
        ("daily", "13:30", "13:29:59", "13:30 before"),
    ],
)
def test_last_instant_of_a_schedule(kind, value, now, last):
    def on(day, time):
        return datetime.fromisoformat(f"2026-06-0{day}T{time}").replace(tzinfo=UTC)

    expected = on(1, last.removesuffix(" before")) if last.endswith("before") else on(2, last)

    assert find_last_instant(Schedule(type=kind, value=value), on(2, now)) == expected


def test_tick_waits_for_its_bar_but_not_for_ever(desk):
    store_prices(*[100] * 2)

    def due(now):
        return as_owner(desk.user, lambda: find_due_instant(Deployment.objects.select_related("version").get(), now))

    assert due(at(1) + PATIENCE / 2) is None
    assert due(at(1) + PATIENCE) == at(1)
    Bar.objects.bulk_create([bar(at(1) - timedelta(minutes=5), 100, 100, 100, 100)])
    assert due(at(1)) == at(1)


def test_of_missed_ticks_the_last_is_due_and_none_twice(desk):
    store_prices(*[100] * 30)

    assert [due.at for due in list_due(at(0.9))] == []
    assert [due.at for due in list_due(at(5.5))] == [at(5)]
    desk.tick(5)
    assert list_due(at(5.9)) == []


def test_backtests_and_stopped_and_foreign_bots_are_never_due(trader):
    store_prices(*[100] * 30)
    for fields in ({"broker_kind": "backtest"}, {"broker_kind": "live"}, {"status": "stopped"}, {"status": "paused"}):
        Desk(trader, **fields)

    assert list_due(at(5)) == []


def test_run_due_continues_after_a_failing_deployment(trader, stranger):
    store_prices(*[100] * 30)
    good, broken = Desk(trader), Desk(stranger)
    broken.ask(lambda: Deployment.objects.update(account={"cash_usd": "nonsense"}))

    ran = {one.due.deployment_id: one for one in run_due(at(5))}

    assert ran[broken.deployment_id].has_failed
    assert ran[good.deployment_id].ticked.outcome == Outcome.DECIDED
    assert good.row.lease is None
    assert broken.row.lease_until > at(5), "it is not tried again at once"
    assert good.decision(1).model == "offline/keel"


def test_interrupted_tick_is_decided_after_the_lease(desk, monkeypatch):
    store_prices(*[100] * 30)

    def dies(*_, **__):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("trading.runs.runner.decide", dies)
        (first,) = run_due(at(5))
    assert first.has_failed
    (held,) = run_due(at(5) + timedelta(minutes=1))
    assert held.ticked is None
    desk.ask(lambda: Deployment.objects.update(lease_until=at(5)))
    (again,) = run_due(at(5) + timedelta(minutes=2))

    assert (again.ticked.at, again.ticked.number, again.ticked.outcome) == (at(5), 1, Outcome.DECIDED)
    assert list_due(at(5) + timedelta(minutes=3)) == []


def test_deployments_of_who_may_not_sign_in_rest(desk):
    store_prices(*[100] * 30)
    desk.user.is_active = False
    desk.user.save()

    assert list_due(at(5)) == []


def test_one_that_cannot_be_read_keeps_no_other_from_its_tick(trader, stranger):
    store_prices(*[100] * 30)
    good = Desk(trader)
    as_owner(stranger, lambda: DeploymentFactory(version__payload={"nonsense": True}, created_at=JUNE))

    assert [due.deployment_id for due in list_due(at(5))] == [good.deployment_id]


def test_several_workers_share_due_deployments(trader, monkeypatch):
    ran = []
    due = [Due(uuid4(), trader.pk, at(1)) for _ in range(7)]
    monkeypatch.setattr("trading.runs.due.list_due", lambda *_, **__: due)
    monkeypatch.setattr("trading.runs.due._run_safely", lambda one, clock: ran.append(one) or Ran(one))
    monkeypatch.setattr("trading.runs.due.connections", SimpleNamespace(close_all=lambda: None))

    done = list(run_due(at(1), workers=3))

    assert {one.due.deployment_id for one in done} == {one.deployment_id for one in due}
    assert len(ran) == 7


def test_only_one_users_are_run_on_request(trader, stranger):
    store_prices(*[100] * 30)
    mine = Desk(trader)
    Desk(stranger)

    assert [one.due.deployment_id for one in run_due(at(5), user_id=trader.pk)] == [mine.deployment_id]


def test_deployment_that_another_runner_holds_is_left_alone_until_the_lease_ends(desk):
    store_prices(*[100] * 30)
    with owned_tx(desk.user):
        claim_deployment(deployment_id=desk.deployment_id, lease=uuid4(), until=at(6), now=at(5))

    (held,) = run_due(at(5))
    assert held.ticked is None
    (freed,) = run_due(at(6))
    assert freed.ticked.at == at(6)


def test_commands_are_carried_out_between_ticks(desk):
    store_prices(*[100] * 30)
    desk.tick(5)
    desk.ask(lambda: request_command(deployment_id=desk.deployment_id, kind="pause", now=at(5)))

    (ran,) = run_due(at(5.1))

    assert ([one.kind for one in ran.commands], ran.ticked) == (["pause"], None)
    assert desk.row.status == "paused"
