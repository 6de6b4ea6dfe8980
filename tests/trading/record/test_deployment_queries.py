import pytest

from tests.factories.memory import HOUR, JUNE
from tests.factories.record import BacktestRunFactory, DecisionSnapshotFactory, DeploymentFactory, TradeFactory
from trading.ledger.services import DeploymentNotFound
from trading.record.deployment_queries import list_deployments


def test_list_of_deployments_holds_positions_and_refusals_but_no_backtest(as_trader, django_assert_max_num_queries):
    stopped, running = DeploymentFactory(status="stopped", created_at=JUNE), DeploymentFactory()
    BacktestRunFactory()
    TradeFactory(deployment=running)
    position = TradeFactory(deployment=running, still_open=True, symbol="ETH")
    DecisionSnapshotFactory(deployment=running, tick=1, tick_at=JUNE - 30 * HOUR, verdict="refused", verdict_code="R1")
    refused = DecisionSnapshotFactory(deployment=running, tick=2, tick_at=JUNE, verdict="refused", verdict_code="R1")

    with django_assert_max_num_queries(4):
        listed = list_deployments(JUNE)

    assert [one.deployment for one in listed] == [running, stopped]
    assert (listed[0].positions, listed[0].refusals, listed[0].decided_at) == ([position], [refused], JUNE)
    assert (listed[0].totals.closed_trades, listed[0].totals.net_usd) == (1, 19)
    assert (listed[1].positions, listed[1].totals.net_usd) == ([], 0)


def test_list_of_deployments_can_be_of_one(as_trader):
    deployment, other = DeploymentFactory(), DeploymentFactory()
    for one in (deployment, other):
        TradeFactory(deployment=one)
        TradeFactory(deployment=one, still_open=True)
        DecisionSnapshotFactory(deployment=one, tick_at=JUNE, verdict="refused", verdict_code="R1")

    (listed,) = list_deployments(JUNE, deployment_id=deployment.pk)

    assert (listed.deployment, listed.totals.closed_trades, listed.totals.net_usd) == (deployment, 1, 19)
    assert [one.deployment_id for one in (*listed.positions, *listed.refusals)] == [deployment.pk] * 2
    with pytest.raises(DeploymentNotFound):
        list_deployments(JUNE, deployment_id=BacktestRunFactory().deployment_id)
