from datetime import timedelta

import pytest

from tests.factories.memory import JULY, JUNE, MAY
from tests.trading.drafting import SOON, save_skill
from trading.ledger.services import DeploymentNotFound, get_deployment
from trading.models import Deployment
from trading.record.backtests import (
    MAX_BACKTEST,
    MAX_BACKTEST_TICKS,
    MAX_COST_BPS,
    BacktestRefused,
    count_ticks,
    start_backtest,
)
from trading.skills.schemas import parse_payload


def test_backtest_has_a_deployment_of_its_own_that_no_list_shows(as_trader):
    version = save_skill()

    run = start_backtest(skill_id=version.skill_id, starts_at=MAY, ends_at=JUNE, now=SOON)

    assert (run.status, run.deployment.broker_kind, run.deployment.version) == ("pending", "backtest", version)
    with pytest.raises(DeploymentNotFound):
        get_deployment(run.deployment_id)


def test_backtest_of_an_impossible_range_is_refused(as_trader):
    skill_id = save_skill().skill_id

    for starts_at, ends_at in ((JUNE, MAY), (MAY, MAY), (MAY, JULY)):
        with pytest.raises(BacktestRefused):
            start_backtest(skill_id=skill_id, starts_at=starts_at, ends_at=ends_at, now=JUNE)
    assert not Deployment.objects.exists()


@pytest.mark.limit("trading.record.backtests.MAX_BACKTEST")
def test_backtest_covers_so_much_time(as_trader):
    payload = parse_payload(save_skill().payload)

    with pytest.raises(BacktestRefused, match="three years at most"):
        count_ticks(payload, MAY - MAX_BACKTEST - timedelta(days=1), MAY, JUNE)
    assert count_ticks(payload, MAY - MAX_BACKTEST, MAY, JUNE) < MAX_BACKTEST_TICKS


@pytest.mark.limit("trading.record.backtests.MAX_BACKTEST_TICKS")
def test_backtest_has_so_many_ticks(as_trader):
    often = parse_payload(save_skill(schedule={"type": "interval", "value": "1m"}).payload)
    longest = timedelta(minutes=MAX_BACKTEST_TICKS)

    assert count_ticks(often, MAY - longest, MAY, JUNE) == MAX_BACKTEST_TICKS
    with pytest.raises(BacktestRefused, match="more than 110,000 ticks"):
        count_ticks(often, MAY - longest - timedelta(minutes=1), MAY, JUNE)


@pytest.mark.limit("trading.record.backtests.MAX_COST_BPS")
@pytest.mark.parametrize(
    "costs", [{"fee_bps": MAX_COST_BPS}, {"fee_bps": -MAX_COST_BPS}, {"slippage_bps": MAX_COST_BPS}]
)
def test_costs_of_a_backtest_are_bounded(as_trader, costs):
    with pytest.raises(BacktestRefused, match="below 1000 basis points"):
        start_backtest(skill_id=save_skill().skill_id, starts_at=MAY, ends_at=JUNE, now=SOON, **costs)
