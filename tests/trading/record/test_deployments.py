from decimal import Decimal
from functools import partial
from uuid import uuid4

import pytest

from config.lib.proofs import OPERATOR, Door, Proof, SecondFactorNeeded
from tests.factories.memory import JULY, JUNE
from tests.factories.record import DeploymentFactory, TradeFactory
from tests.trading.drafting import SOON, edit_skill, save_skill
from trading.ledger.services import DeploymentNotFound, get_deployment
from trading.models import Deployment
from trading.record.deployments import (
    CommandRefused,
    apply_command,
    claim_deployment,
    deploy_skill,
    find_next_command,
    finish_command,
    halt_deployment,
    lift_halt,
    release_deployment,
    request_command,
)
from trading.skills.services import save_draft

ask_now = partial(request_command, proof=OPERATOR, now=JUNE)


def test_deployment_runs_the_newest_version(as_trader):
    version = save_skill()

    deployment = deploy_skill(skill_id=version.skill_id, proof=OPERATOR, now=SOON)

    assert (deployment.version, deployment.broker_kind, deployment.status) == (version, "paper", "running")
    assert deployment.starting_equity_usd == Decimal(10_000)


def test_acts_need_the_second_factor_where_the_site_asks_for_it(as_trader, settings):
    settings.CONFIRM_NEEDS_SECOND_FACTOR = True
    deployment = DeploymentFactory()

    with pytest.raises(SecondFactorNeeded):
        deploy_skill(skill_id=deployment.skill_id, proof=Proof(Door.SESSION), now=JUNE)
    with pytest.raises(SecondFactorNeeded):
        ask_now(deployment_id=deployment.pk, kind="pause", proof=Proof(Door.SESSION))

    assert list(Deployment.objects.all()) == [deployment]
    assert find_next_command(deployment.pk) is None


def test_command_fits_the_state(as_trader):
    for status, kind, is_allowed in (
        ("running", "pause", True),
        ("paused", "pause", False),
        ("running", "resume", False),
        ("paused", "resume", True),
        ("stopped", "resume", False),
        ("paused", "stop", True),
        ("stopped", "stop", False),
        ("running", "flatten", False),
        ("running", "redeploy", False),
        ("stopped", "redeploy", False),
    ):
        ask = partial(ask_now, deployment_id=DeploymentFactory(status=status).pk, kind=kind)
        if is_allowed:
            assert ask().status == "pending"
            assert ask() == ask()  # two clicks are one command
        else:
            with pytest.raises(CommandRefused):
                ask()


def test_flatten_needs_a_position_and_works_even_when_stopped_but_not_of_a_backtest(as_trader):
    deployment, backtest = DeploymentFactory(status="stopped"), DeploymentFactory(broker_kind="backtest")
    TradeFactory(deployment=deployment, still_open=True)

    assert ask_now(deployment_id=deployment.pk, kind="flatten").kind == "flatten"
    with pytest.raises(DeploymentNotFound):
        ask_now(deployment_id=backtest.pk, kind="stop")


def test_finish_command_ends_the_oldest_waiting_one(as_trader):
    deployment = DeploymentFactory()
    pause = ask_now(deployment_id=deployment.pk, kind="pause")
    stop = ask_now(deployment_id=deployment.pk, kind="stop", now=SOON)

    assert find_next_command(deployment.pk) == pause
    finish_command(pause, "Done", has_failed=False, now=SOON)
    pause.refresh_from_db()
    assert (pause.status, pause.outcome, pause.finished_at) == ("done", "Done", SOON)
    assert find_next_command(deployment.pk) == stop


def test_carrying_out_a_command_changes_the_row(as_trader):
    for kind, before, after in (("pause", "running", "paused"), ("resume", "paused", "running")):
        deployment = DeploymentFactory(status=before)
        apply_command(command=ask_now(deployment_id=deployment.pk, kind=kind), now=SOON)
        assert get_deployment(deployment.pk).status == after
        apply_command(command=ask_now(deployment_id=deployment.pk, kind="stop"), now=SOON)
        assert get_deployment(deployment.pk).status == "stopped"


def test_redeploy_moves_to_the_newest_version_and_keeps_positions(as_trader):
    version = save_skill()
    deployment = deploy_skill(skill_id=version.skill_id, proof=OPERATOR, now=JUNE)
    trade = TradeFactory(deployment=deployment, still_open=True)
    newest = save_draft(draft_id=edit_skill(version, description="Better").pk, now=SOON)

    apply_command(command=ask_now(deployment_id=deployment.pk, kind="redeploy"), now=SOON)

    trade.refresh_from_db()
    assert get_deployment(deployment.pk).version == newest
    assert trade.status == "open"


def test_one_runner_holds_a_deployment(as_trader):
    deployment = DeploymentFactory()
    mine, theirs = uuid4(), uuid4()

    assert claim_deployment(deployment_id=deployment.pk, lease=mine, until=SOON, now=JUNE)
    assert not claim_deployment(deployment_id=deployment.pk, lease=theirs, until=SOON, now=JUNE)
    release_deployment(deployment_id=deployment.pk, lease=theirs)
    assert not claim_deployment(deployment_id=deployment.pk, lease=theirs, until=SOON, now=JUNE)
    assert claim_deployment(deployment_id=deployment.pk, lease=theirs, until=JULY, now=SOON)
    release_deployment(deployment_id=deployment.pk, lease=theirs)
    assert Deployment.objects.get().lease is None


def test_halt_ends_by_the_clock_and_is_never_shortened(as_trader):
    deployment = DeploymentFactory()
    halt_deployment(deployment_id=deployment.pk, code="R6_DAILY_LOSS_HALT", until=JULY)
    halt_deployment(deployment_id=deployment.pk, code="R6_DAILY_LOSS_HALT", until=SOON)

    assert not lift_halt(deployment_id=deployment.pk, now=SOON)
    assert get_deployment(deployment.pk).halted_until == JULY
    assert lift_halt(deployment_id=deployment.pk, now=JULY)
    assert get_deployment(deployment.pk).halt_code == ""
