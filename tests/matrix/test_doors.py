"""The matrix of acts that count: no address acts for a session without the second factor where the site asks for it."""

import pytest
from django.test import Client

from config.lib.owned import owned, owned_tx
from config.lib.proofs import OPERATOR
from tests.factories.memory import JULY
from tests.matrix.asks import API, OURS, Ask, asks, undone
from tests.matrix.test_routes import ROUTES
from tests.source import calls, code, place_of
from tests.strangers import Person
from trading.account.tokens import create_token
from trading.models import ApiToken, BacktestRun, Deployment, DeploymentCommand, TokenArea

pytestmark = pytest.mark.django_db

# Addresses, and what in the code tells a service who asks.
RECENT = {  # for a session that signed in a moment ago
    "api:chat:export": ("get", "chat.api.account.ExportView.get"),
    "api:memory:memory-document": ("get", "memory.api.memory.MemoryViewSet.document"),
    "chat:export_everything": ("get", "chat.web.views.account.export_everything"),
    "memory:export": ("get", "memory.web.views.settings.export_memory"),
    "trading:add_token": ("post", "trading.web.views.account.add_token"),
    "trading:start_reading": ("post", "trading.web.views.imports.start_reading"),
}
ACTS = {  # with the second factor, where the site asks for it
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

    assert sorted(places) == sorted({*(place for _, place in RECENT.values()), *ACTS.values()}), (
        "add its address to RECENT or ACTS"
    )


@pytest.mark.parametrize("name", ACTS)
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


@pytest.mark.parametrize(("name", "method"), [(name, method) for name, (method, _) in RECENT.items()])
def test_door_opens_for_a_session_that_signed_in_a_moment_ago_alone(name, method, ann, as_ann, client):
    client.force_login(ann.user)
    for person, is_open in ((as_ann, True), (client, False)):
        answers = []
        for ask in asks(OURS[name], ROUTES[name]):
            for names in ask.telling_names(ann) if ask.method == method else ():
                with undone():
                    answers.append(ask.send(person, names))
        led = [one for one in answers if one.status_code == 403 or one.get("Location", "").startswith("/accounts/")]
        assert bool(led) is not is_open
        done = {one.status_code for one in answers if one not in led} & {200, 201, 302}
        assert bool(done) is is_open, done


@pytest.mark.parametrize("area", TokenArea.values)
def test_operations_open_to_tokens_of_their_areas_alone(area, ann):
    with owned_tx(ann.user):
        ApiToken.objects.update(revoked_at=JULY)
        token = create_token(name="one area", scope="write", areas=[area], proof=OPERATOR, now=JULY)[1]
    client = Client(headers={"Authorization": f"Bearer {token}"})
    for name in sorted(API):
        needed = OURS[name].callback.cls.areas
        for ask in (Ask("get", OURS[name].path), Ask("post", OURS[name].path, json="{}")):
            with undone():
                status = ask.send(client, ann.names()[0]).status_code
            assert (status == 403) is not (needed <= {area}), (ask, status)


def count_acts(person: Person) -> int:
    """Return how many rows acts that count have written; a backtest without a card is none of them."""
    with owned(person.user):
        rows = sum(model.objects.count() for model in (ApiToken, Deployment, DeploymentCommand))
        return rows - BacktestRun.objects.count()
