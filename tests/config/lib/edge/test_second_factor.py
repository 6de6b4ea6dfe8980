"""The second factor: set-up, sign-in, recovery, secrets at rest, hostile answers."""

import base64
import json
import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from allauth.socialaccount.models import SocialAccount
from django.core.cache import cache
from django.test import Client, override_settings
from django.urls import reverse

from chat.endings.erasure import erase_user
from config.lib.edge.second_factor import SecondFactorAdapter
from tests.config.lib.edge.identities import WITH_PROVIDER, come_back
from tests.factories.trading import TraderFactory
from trading.models import Trader

pytestmark = pytest.mark.django_db

PASSWORD = "a long and quiet night"

ENDING = base64.urlsafe_b64encode(b"x" * 36 + b"\x40" + b"\xff" * 9).decode()
CLIENT_DATA = base64.urlsafe_b64encode(b'{"type": "webauthn.get", "challenge": "YQ", "origin": "http://x"}').decode()
RESPONSES = (
    *("{}", "[]", "null", '{"clientDataJSON": 1}', '{"clientDataJSON": "e30", "authenticatorData": "YQ"}'),
    '{"clientDataJSON": "YQ", "attestationObject": "YQ"}',
    '{"clientDataJSON": "e30", "attestationObject": "oA"}',
    *(
        f'{{"clientDataJSON": "{data}", "authenticatorData": "{ENDING}", "signature": "{sign}", "userHandle": "{who}"}}'
        for data, sign, who in ((CLIENT_DATA, "YQ", "MQ"), (CLIENT_DATA, "*", "//"), ("e30", "YQ", "YWJj"))
    ),
)


@pytest.fixture
def ann():
    user = TraderFactory(email="ann@example.com")
    user.set_password(PASSWORD)
    user.save()
    cache.clear()  # counters of sign-in limits, and the codes that were used
    return user


def enter_password(user) -> Client:
    client = Client()
    client.post(reverse("account_login"), {"login": user.email, "password": PASSWORD})
    return client


def is_signed_in(client: Client) -> bool:
    return client.get(reverse("trading:profile")).status_code == 200


def code_of(secret: str) -> str:
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30))


def wrong_code_of(secret: str) -> str:
    return str((int(code_of(secret)) + 1) % 1_000_000).zfill(6)


def give_app(user) -> str:
    secret = generate_totp_secret()
    TOTP.activate(user, secret)
    return secret


def test_set_up_asks_for_the_password_then_for_a_code_and_makes_recovery_codes(ann):
    client = enter_password(ann)
    assert client.get(reverse("mfa_activate_totp")).url.startswith(reverse("account_reauthenticate"))
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    page = client.get(reverse("mfa_activate_totp")).content.decode()
    secret = re.search(r'id="totp-secret" value="(\w+)"', page)[1]

    refused = client.post(reverse("mfa_activate_totp"), {"code": wrong_code_of(secret)})
    done = client.post(reverse("mfa_activate_totp"), {"code": code_of(secret)}, follow=True)

    assert "data:image/svg+xml" in page
    assert (refused.status_code, Authenticator.objects.filter(type="totp").count()) == (200, 1)
    assert len(re.findall(r"<li><code>", done.content.decode())) == 10


def test_sign_in_stops_at_the_second_step_until_the_right_code(ann):
    secret = give_app(ann)
    client = enter_password(ann)
    assert not is_signed_in(client)

    client.post(reverse("mfa_authenticate"), {"code": wrong_code_of(secret)})
    assert not is_signed_in(client)
    client.post(reverse("mfa_authenticate"), {"code": code_of(secret)})

    assert is_signed_in(client)


def make_recovery_code(user) -> str:
    give_app(user)
    return RecoveryCodes.activate(user).generate_codes()[0]


@pytest.mark.parametrize(
    "make_code", [lambda user: code_of(give_app(user)), make_recovery_code], ids=["of the app", "of recovery"]
)
def test_code_that_was_used_opens_no_second_session(ann, make_code):
    code = make_code(ann)
    first, second = enter_password(ann), enter_password(ann)

    for client in (first, second):
        client.post(reverse("mfa_authenticate"), {"code": code})

    assert (is_signed_in(first), is_signed_in(second)) == (True, False)


def test_secrets_in_the_database_are_encrypted_and_open_with_an_old_key(ann, settings):
    secret = give_app(ann)
    codes = RecoveryCodes.activate(ann).generate_codes()
    stored = json.dumps([row.data for row in Authenticator.objects.all()])

    assert secret not in stored
    assert not any(code in stored for code in codes)
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another key " * 5
    assert SecondFactorAdapter().decrypt(Authenticator.objects.get(type="totp").data["secret"]) == secret


@pytest.mark.parametrize("url", ["mfa_login_webauthn", "mfa_authenticate"])
@pytest.mark.parametrize(
    "credential",
    [
        *("", "x", "{}", "[]", "null", "1", '"x"', '{"id": 1}', '{"id": "YQ"}', "[[]]", "{" * 2000),
        *(f'{{"id": "YQ", "rawId": "YQ", "type": "public-key", "response": {part}}}' for part in RESPONSES),
    ],
)
def test_hostile_passkey_answer_is_refused_without_an_error(ann, url, credential):
    give_app(ann)
    client = enter_password(ann) if url == "mfa_authenticate" else Client()
    client.get(reverse(url), headers={"Accept": "application/json"})

    response = client.post(reverse(url), {"credential": credential})

    assert response.status_code < 500
    assert not is_signed_in(client)


@pytest.mark.parametrize("credential", ['{"id": 1}', *RESPONSES])
def test_hostile_new_key_is_refused_without_an_error(ann, credential):
    client = enter_password(ann)
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    client.get(reverse("mfa_add_webauthn"))
    sent = credential if credential.startswith('{"id') else f'{{"id": "YQ", "rawId": "YQ", "response": {credential}}}'

    response = client.post(reverse("mfa_add_webauthn"), {"name": "Mine", "credential": sent})

    assert response.status_code == 200
    assert Authenticator.objects.count() == 0


def test_key_of_a_stranger_can_be_neither_renamed_nor_removed(ann):
    bob = TraderFactory(email="bob@example.com")
    key = Authenticator.objects.create(user=bob, type="webauthn", data={"name": "Bob's", "credential": {}})
    client = enter_password(ann)
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})

    for page in ("mfa_edit_webauthn", "mfa_remove_webauthn"):
        assert client.get(reverse(page, args=[key.pk])).status_code == 404
        assert client.post(reverse(page, args=[key.pk]), {"name": "Mine"}).status_code == 404
    assert Authenticator.objects.get(pk=key.pk).data["name"] == "Bob's"


def test_pages_of_the_second_factor_run_no_inline_script(ann):
    client = enter_password(ann)
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    give_app(ann)
    RecoveryCodes.activate(ann)
    pages = ["mfa_index", "mfa_view_recovery_codes", "mfa_generate_recovery_codes", "mfa_list_webauthn"]
    pages += ["mfa_add_webauthn", "mfa_deactivate_totp", "mfa_reauthenticate"]
    answers = [client.get(reverse(page)) for page in (*pages, "usersessions_list", "socialaccount_connections")]
    answers += [Client().get(reverse("account_login")), enter_password(ann).get(reverse("mfa_authenticate"))]
    for answer in answers:
        html = answer.content.decode()
        assert answer.status_code == 200, answer.request["PATH_INFO"]
        scripts = re.findall(r"<script\b([^>]*)>", html)
        assert scripts
        assert all("src=" in script or 'type="application/json"' in script for script in scripts), html
        assert not re.search(r"\son\w+=|style=", html)


def test_erase_of_the_user_removes_the_factors(ann):
    give_app(ann)

    erase_user(user_id=ann.pk)

    assert Authenticator.objects.count() == 0


# --- A provider of identities ---


def test_login_page_without_a_provider_names_none(client):
    assert "Sign in with a passkey" in (html := client.get(reverse("account_login")).content.decode())
    assert "openid" not in html
    assert client.get("/accounts/oidc/oidc/login/").status_code == 404


def test_provider_signs_a_new_user_up_and_later_in(provider, client):
    come_back(client)
    come_back(again := Client())

    assert is_signed_in(client)
    assert is_signed_in(again)
    assert [user.email for user in Trader.objects.all()] == ["zoe@example.com"]


def test_provider_does_not_open_the_account_of_a_known_address(provider, ann, client):
    provider["email"] = ann.email

    come_back(client)

    assert not is_signed_in(client)
    assert Trader.objects.count() == 1


def test_answer_of_the_provider_without_its_state_signs_nobody_in(provider, client):
    client.get("/accounts/oidc/oidc/login/callback/", {"code": "c", "state": "guessed"})

    assert not is_signed_in(client)


def test_erase_of_the_user_removes_the_connection(provider, client):
    come_back(client)

    erase_user(user_id=Trader.objects.get().pk)

    assert SocialAccount.objects.count() == 0


@override_settings(SOCIALACCOUNT_PROVIDERS=WITH_PROVIDER)
def test_login_page_offers_the_provider_of_the_settings(client):
    assert "Sign in with Acme" in client.get(reverse("account_login")).content.decode()
    assert "Continue" in client.get("/accounts/oidc/oidc/login/").content.decode()
