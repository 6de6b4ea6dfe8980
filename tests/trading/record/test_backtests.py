from datetime import timedelta

import pytest

from tests.factories.memory import JULY, JUNE, MAY
from tests.trading.drafting import SOON, save_skill
from trading.ledger.services import DeploymentNotFound, get_deployment
from trading.models import Deployment
from trading.record.backtests import BacktestRefused, start_backtest


def test_backtest_has_a_deployment_of_its_own_that_no_list_shows(as_trader):
    version = save_skill()

    run = start_backtest(skill_id=version.skill_id, starts_at=MAY, ends_at=JUNE, now=SOON)

    assert (run.status, run.deployment.broker_kind, run.deployment.version) == ("pending", "backtest", version)
    with pytest.raises(DeploymentNotFound):
        get_deployment(run.deployment_id)


def test_backtest_of_an_impossible_range_is_refused(as_trader):
    skill_id = save_skill().skill_id

    for starts_at, ends_at in ((JUNE, MAY), (MAY, MAY), (MAY, JULY), (MAY - timedelta(days=1200), MAY)):
        with pytest.raises(BacktestRefused):
            start_backtest(skill_id=skill_id, starts_at=starts_at, ends_at=ends_at, now=JUNE)
    assert not Deployment.objects.exists()
