import pytest

from tests.factories.memory import JUNE
from tests.factories.record import BacktestRunFactory, DeploymentFactory, SkillFactory, SkillVersionFactory
from trading.skills.queries import SkillNotFound, compare_versions, get_version, list_skills


def test_list_skills_shows_deployments_and_backtests(as_trader):
    deployment = DeploymentFactory()
    run = BacktestRunFactory(done=True, deployment__version=deployment.version)
    SkillFactory(archived_at=JUNE)

    (listed,) = list_skills()

    assert (listed.skill, listed.running, listed.backtest) == (deployment.skill, 1, run)
    assert listed.deployed_at == deployment.created_at


def test_list_of_skills_takes_as_many_queries_for_many(as_trader, django_assert_max_num_queries):
    for _ in range(5):
        BacktestRunFactory(done=True, deployment__version=DeploymentFactory().version)

    with django_assert_max_num_queries(5):
        assert len(list_skills()) == 5


def test_versions_are_compared_field_by_field(as_trader):
    version = SkillVersionFactory()
    risk = {**version.payload["risk"], "max_leverage": 5.0}
    SkillVersionFactory(skill=version.skill, version=2, payload={**version.payload, "risk": risk})

    assert compare_versions(version.skill_id, 1, 2) == [("risk.max_leverage", 3.0, 5.0)]
    with pytest.raises(SkillNotFound):
        get_version(version.skill_id, 3)
