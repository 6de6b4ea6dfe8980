"""A site that asks for the second factor asks at each door of an act that counts, not for cards alone."""

from datetime import timedelta

import pytest
import time_machine
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.urls import reverse

from config.lib.proofs import OPERATOR
from tests.factories.memory import JUNE
from tests.factories.record import DeploymentFactory
from tests.tables import each_case
from tests.trading.browsing import Browser
from trading.account.tokens import create_token
from trading.models import ApiToken, Deployment, DeploymentCommand

pytestmark = pytest.mark.django_db


@pytest.fixture
def noon():
    with time_machine.travel(JUNE, tick=False) as traveller:
        yield traveller


@pytest.fixture(autouse=True)
def careful(settings):
    settings.CONFIRM_NEEDS_SECOND_FACTOR = True


@pytest.fixture
def client(as_trader, noon) -> Browser:
    """A browser that is signed in and has never shown the factor, such as one with a stolen cookie."""
    client = Browser()
    client.force_login(as_trader)
    return client


@pytest.fixture
def deployment(as_trader):
    return DeploymentFactory()


def pause(client, deployment):
    return client.post(reverse("trading:command", args=[deployment.pk]), {"kind": "pause"})


def pause_over_api(client, deployment, **headers):
    address = f"/api/deployments/{deployment.pk}/commands/"
    return client.post(address, {"kind": "pause"}, content_type="application/json", headers=headers)


def make_token(client, deployment):
    return client.post(
        reverse("trading:add_token"), {"name": "bot", "scope": "write", "areas": ["agents"], "days": "90"}
    )


def deploy(client, deployment):
    return client.post(reverse("trading:deploy", args=[deployment.skill_id]), {"starting_equity_usd": "5000"})


def deploy_over_api(client, deployment):
    address = f"/api/skills/{deployment.skill_id}/deploy/"
    return client.post(address, {"starting_equity_usd": "5000"}, content_type="application/json")


def add_live_over_api(client, deployment):
    content = {"skill_id": str(deployment.skill_id)}
    return client.post("/api/deployments/", content, content_type="application/json")


DOORS = {
    "page of commands": pause,
    "API of commands": pause_over_api,
    "page of tokens": make_token,
    "page of skills": deploy,
    "API of skills": deploy_over_api,
    "API of deployments": add_live_over_api,
}


def done() -> int:
    """Return how many acts were done; the deployment of the fixture is none."""
    return sum(model.objects.count() for model in (DeploymentCommand, ApiToken, Deployment)) - 1


def show_factor(client, secret: str) -> None:
    code = format_hotp_value(hotp_value(secret, int(JUNE.timestamp()) // 30))
    assert client.post(reverse("mfa_reauthenticate"), {"code": code, "next": "/"}).status_code == 302


@each_case("door", DOORS)
def test_session_without_the_factor_does_nothing_and_is_led_to_it_or_its_set_up(client, trader, deployment, door):
    is_api = door.startswith("API")
    response = DOORS[door](client, deployment)
    assert response.status_code == 403 if is_api else response.url.startswith(f"{reverse('mfa_index')}?")

    factor = TOTP.activate(trader, generate_totp_secret())
    response = DOORS[door](client, deployment)
    if is_api:
        assert response.status_code == 403
        assert response.json()["code"] == "second_factor_needed"
    else:
        assert response.url.startswith(f"{reverse('mfa_reauthenticate')}?next=")
    factor.instance.delete()
    assert done() == 0


@pytest.mark.parametrize("door", DOORS)
def test_session_that_showed_the_factor_acts_for_five_minutes(client, trader, deployment, noon, door):
    TOTP.activate(trader, secret := generate_totp_secret())
    show_factor(client, secret)

    assert DOORS[door](client, deployment).status_code in (200, 201, 302)
    assert done() == 1

    noon.shift(timedelta(minutes=5, seconds=1))
    refused = DOORS[door](client, deployment)
    assert refused.status_code == 403 or "reauthenticate" in refused.url
    assert done() == 1


def test_token_acts_by_its_scope(deployment, noon):
    _, token = create_token(name="bot", scope="write", proof=OPERATOR, now=JUNE)

    response = pause_over_api(Browser(), deployment, Authorization=f"Bearer {token}")

    assert response.status_code == 201
    assert DeploymentCommand.objects.count() == 1


@pytest.mark.parametrize("door", DOORS)
def test_site_that_asks_for_no_factor_lets_a_session_act(client, deployment, settings, door):
    settings.CONFIRM_NEEDS_SECOND_FACTOR = False

    DOORS[door](client, deployment)

    assert done() == 1
