"""The matrix of acts that count: no address acts for a session without the second factor where the site asks for it."""

import pytest

from config.lib.owned import owned
from tests.matrix.asks import OURS, asks, undone
from tests.matrix.test_routes import ROUTES
from tests.source import calls, code, place_of
from tests.strangers import Person
from trading.models import ApiToken, BacktestRun, Deployment, DeploymentCommand

pytestmark = pytest.mark.django_db

DOORS = {  # addresses, and what in the code tells a service who asks
    "api:trading:deployments-commands": "trading.api.deployments.DeploymentViewSet.add_command",
    "api:trading:deployments-list": "trading.api.deployments.DeploymentViewSet.create",
    "api:trading:skills-deploy": "trading.api.skills.SkillViewSet.deploy",
    "chat:confirm_card": "chat.web.views.cards.confirm",
    "trading:add_token": "trading.web.views.account.add_token",
    "trading:command": "trading.web.views.deployments.send_command",
    "trading:deploy": "trading.web.views.skills.deploy",
}


def test_matrix_has_each_door():
    places = {place_of(call, name, tree) for name, tree in code() for way, call in calls(tree) if way == "read_proof"}

    assert sorted(places) == sorted(DOORS.values()), "add its address to DOORS"


@pytest.mark.parametrize("name", DOORS)
def test_door_acts_for_a_session_that_showed_the_factor_alone(name, settings, ann, as_ann):
    written = []
    for is_careful in (False, True):
        settings.CONFIRM_NEEDS_SECOND_FACTOR = is_careful
        before = count_acts(ann)
        for ask in asks(OURS[name], ROUTES[name]):
            for names in ask.telling_names(ann) if ask.method == "post" else ():
                with undone():
                    ask.send(as_ann, names)
                    written.append((is_careful, count_acts(ann) - before))

    assert {(is_careful, count > 0) for is_careful, count in written} == {(False, False), (False, True), (True, False)}


def count_acts(person: Person) -> int:
    """Return how many rows acts that count have written; a backtest without a card is none of them."""
    with owned(person.user):
        rows = sum(model.objects.count() for model in (ApiToken, Deployment, DeploymentCommand))
        return rows - BacktestRun.objects.count()
