import json
import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
import time_machine
from django.contrib.auth.models import Permission
from django.db import IntegrityError, connection, transaction
from django.urls import reverse

from config.lib.owned import ScopeError
from config.lib.proofs import OPERATOR, Door, Proof, SecondFactorNeeded
from tests.factories.memory import HOUR
from tests.factories.trading import TraderFactory
from tests.owners import as_owner, open_data
from tests.tables import each_case
from tests.trading.browsing import Browser, assert_shows, browser_of_trader
from trading.account.tokens import MAX_TOKENS, TokenRefused, create_token, list_tokens, revoke_token
from trading.models import ApiToken, Trader
from trading.models.tokens import token_owner

__all__ = ["browser_of_trader"]

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def clock():
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


@pytest.fixture
def make(as_trader):
    """Make a token of the trader and return it as a client sends it."""
    return lambda **fields: create_token(**{"name": "bot", "proof": OPERATOR, "now": NOW, **fields})[1]


def ask(token: str, method: str = "get", address: str = "/api/me/", scheme: str = "Bearer"):
    return getattr(Browser(), method)(address, headers={"Authorization": f"{scheme} {token}"})


# --- Making and revoking ---


def test_token_is_kept_as_a_digest_only_under_a_name_of_one_clean_line(as_trader):
    row, token = create_token(name="  my\n\x00bot \u202e", proof=OPERATOR, now=NOW)

    assert row.name == "my bot"
    assert re.fullmatch(rf"keel_{as_trader.pk}_[\w-]{{43}}", token)
    assert row.digest == sha256(token.encode()).hexdigest()
    assert row.prefix == token[: len(f"keel_{as_trader.pk}_") + 4]
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM api_tokens WHERE user_id = %s", [as_trader.pk])
        assert token.removeprefix(row.prefix) not in str(cursor.fetchall())


@pytest.mark.limit("trading.models.tokens.MAX_TOKEN_NAME")
@each_case(
    "fields",
    [{"areas": ()}, {"name": ""}, {"name": " \n"}, {"name": "x" * 61}, {"expires_at": NOW}, {"expires_at": NOW - HOUR}],
)
def test_token_that_makes_no_sense_is_refused(as_trader, fields):
    with pytest.raises(TokenRefused):
        create_token(**{"name": "bot", "proof": OPERATOR, "now": NOW, **fields})
    assert list_tokens() == []


def test_token_needs_the_second_factor_where_the_site_asks_for_it(as_trader, settings):
    settings.CONFIRM_NEEDS_SECOND_FACTOR = True

    with pytest.raises(SecondFactorNeeded):
        create_token(name="bot", proof=Proof(Door.SESSION), now=NOW)
    assert list_tokens() == []


@pytest.mark.limit("trading.account.tokens.MAX_TOKENS")
def test_tokens_are_limited_but_for_those_that_open_nothing(as_trader):
    create_token(name="expired", expires_at=NOW + HOUR, proof=OPERATOR, now=NOW)
    for number in range(MAX_TOKENS - 1):
        row, _ = create_token(name=f"{number}", proof=OPERATOR, now=NOW)

    with pytest.raises(TokenRefused):
        create_token(name="one more", proof=OPERATOR, now=NOW)
    revoke_token(token_id=row.pk, now=NOW)
    create_token(name="instead", proof=OPERATOR, now=NOW)
    create_token(name="when one is expired", proof=OPERATOR, now=NOW + HOUR)


def test_revoked_token_stays_revoked_as_of_then(as_trader):
    row, _ = create_token(name="bot", proof=OPERATOR, now=NOW)

    revoke_token(token_id=row.pk, now=NOW)
    again = revoke_token(token_id=row.pk, now=NOW + HOUR)

    assert again.revoked_at == NOW
    assert list_tokens() == []


def test_token_digest_and_prefix_never_change_and_the_database_refuses_what_makes_no_sense(as_trader):
    create_token(name="bot", proof=OPERATOR, now=NOW)

    for column in ("digest", "prefix", "scope", "areas", "created_at"):
        with pytest.raises(ScopeError):
            ApiToken.objects.update(**{column: "write"})
    row = {"name": "bot", "digest": "d", "prefix": "p", "scope": "read", "created_at": NOW}
    for fields in ({"scope": "admin"}, {"areas": ""}, {"areas": "chats facts"}, {"name": ""}, {"expires_at": NOW}):
        with pytest.raises(IntegrityError), transaction.atomic():
            ApiToken.objects.create(**row | fields)


def test_token_names_its_owner():
    for text, owner in {
        f"keel_12_{'x' * 43}": 12,
        f"keel_{'9' * 18}_{'x' * 43}": int("9" * 18),
        f"keel_{'9' * 19}_{'x' * 43}": None,
        f"keel_0_{'x' * 43}": None,
        f"keel_-1_{'x' * 43}": None,
        f"keel_\u0661_{'x' * 43}": None,
        f"keel_12_{'x' * 42}": None,
        f"keel_12_{'x' * 43}\n": None,
        "": None,
    }.items():
        assert token_owner(text) == owner, text


# --- Asking with one ---


def test_token_signs_its_owner_in(trader, make):
    token = make()
    for scheme in ("Bearer", "bearer", "BEARER  "):
        response = ask(token, scheme=scheme)
        assert response.status_code == 200
        assert response.json() == {"email": trader.email, "experience_tier": None, "time_zone": "UTC"}
        assert response.cookies == {}
    for scheme in ("Basic", "Token", ""):
        assert ask(token, scheme=scheme).status_code == 401


def test_malformed_token_and_one_of_another_owner_is_401(make, stranger):
    token = make()
    changed = token[:-1] + ("A" if token[-1] != "A" else "B")
    others = [re.sub(r"\d+", owner, token, count=1) for owner in ("987654", str(stranger.pk))]
    for spoilt in (changed, token.upper(), token[5:], "", *others):
        response = ask(spoilt)
        assert (response.status_code, response.json()["code"]) == (401, "authentication_failed")
        assert response["WWW-Authenticate"] == 'Bearer realm="Keel"'


def test_token_works_until_it_expires(make, clock):
    token = make(expires_at=NOW + HOUR)

    clock.shift(HOUR - timedelta(seconds=1))
    assert ask(token).status_code == 200
    clock.shift(1)
    assert ask(token).status_code == 401


def test_token_of_a_deactivated_user_is_401(trader, make):
    token = make()
    trader.is_active = False
    trader.save()

    assert ask(token).status_code == 401


def test_bad_token_is_401_beside_a_good_session_and_the_description_of_the_api_tells_of_tokens(client):
    assert client.get("/api/me/").status_code == 200
    assert client.get("/api/me/", headers={"Authorization": "Bearer keel_nonsense"}).status_code == 401

    described = json.loads(client.get("/api/schema/").content)

    assert described["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert {"token": []} in described["paths"]["/api/me/"]["get"]["security"]


def test_token_needs_no_csrf_token_and_opens_no_page(make):
    client = Browser(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {make(scope='write')}"})

    assert client.post("/api/me/").status_code == 405
    assert client.get("/profile/").status_code == 302


@pytest.mark.parametrize(("scope", "status"), [("read", 403), ("write", 405)])
def test_token_writes_only_if_it_may(make, scope, status):
    token = make(scope=scope)
    for method in ("post", "put", "patch", "delete"):
        response = ask(token, method)
        assert response.status_code == status
        if status == 403:
            assert response.json()["detail"] == "This token may only read."


def test_use_is_noted_once_an_hour(make, clock):
    token = make()
    assert ApiToken.objects.get().last_used_at is None

    for later, noted in ((timedelta(0), NOW), (HOUR - timedelta(seconds=1), NOW), (timedelta(seconds=1), NOW + HOUR)):
        clock.shift(later)
        ask(token)
        assert ApiToken.objects.get().last_used_at == noted


@pytest.mark.sqlite
def test_reading_with_a_token_takes_one_query_and_no_lock(make, django_assert_num_queries):
    token = make()
    ask(token)

    with django_assert_num_queries(1):
        ask(token)


# --- On the profile page ---


def test_page_shows_a_new_token_once(client, trader):
    made = client.post("/profile/tokens/", {"name": "My <bot>", "scope": "write", "areas": ["record"], "days": "30"})
    later = client.get("/profile/").content.decode()

    assert made.status_code == 201
    assert "no-store" in made["Cache-Control"]
    [token] = re.findall(r"keel_\d+_[\w-]{43}", made.content.decode())
    assert ask(token).json()["email"] == trader.email
    assert token not in later
    assert "My &lt;bot&gt;" in later
    row = list_tokens()[0]
    assert f"{row.prefix}…" in later
    assert (row.scope, row.areas, row.expires_at) == ("write", "record", NOW + timedelta(days=30))


def test_page_makes_a_token_without_an_end_and_refuses_one_that_makes_no_sense(client):
    for data in (
        {},
        {"name": "\u200b", "scope": "read", "areas": ["facts"], "days": "30"},
        {"name": "bot", "scope": "read", "areas": [], "days": "30"},
        {"name": "bot", "scope": "admin", "days": "31"},
    ):
        response = client.post("/profile/tokens/", data)
        assert response.status_code == 422
        assert list_tokens() == []
        assert "error" in response.content.decode()

    client.post("/profile/tokens/", {"name": "bot", "scope": "read", "areas": ["facts"], "days": "never"})
    assert list_tokens()[0].expires_at is None


def test_page_shows_the_state_of_each_token_and_revokes_one(client, make):
    token = make(name="old bot", expires_at=NOW + HOUR)
    row = list_tokens()[0]
    body = client.get("/profile/").content.decode()
    assert f"/profile/tokens/{row.pk}/revoke/" in body
    assert ask(token).status_code == 200

    response = client.post(f"/profile/tokens/{row.pk}/revoke/")

    assert (response.status_code, response.url) == (302, "/profile/#tokens")
    assert "The token “old bot” opens nothing any more." in client.get("/profile/").content.decode()
    assert ask(token).status_code == 401

    make(name="fresh")
    make(name="short", expires_at=NOW + timedelta(minutes=1))
    with time_machine.travel(NOW + HOUR, tick=False):
        assert_shows(client.get("/profile/"), "never used · until it is revoked", "never used · expired 12:01")


def test_page_revokes_all_tokens_of_its_owner_with_one_click(client, make, stranger):
    tokens = [make(name=f"{number}") for number in range(2)]
    theirs = as_owner(stranger, lambda: create_token(name="theirs", proof=OPERATOR, now=NOW)[1])

    response = client.post("/profile/tokens/revoke/")

    assert response.url == "/profile/#tokens"
    assert [ask(token).status_code for token in [*tokens, theirs]] == [401, 401, 200]
    assert "Ended: 2 tokens." in client.get("/profile/").content.decode()


def test_page_asks_a_session_that_signed_in_long_ago_for_the_password_first(client, trader, clock):
    clock.shift(timedelta(minutes=6))
    fields = {"name": "bot", "scope": "read", "areas": ["facts"], "days": "30"}
    trader.set_password("a long and quiet night")
    trader.save()
    client.force_login(trader, signs_in=False)

    response = client.post("/profile/tokens/", fields)
    assert response.url == "/accounts/reauthenticate/?next=%2Fprofile%2F%23tokens"
    assert list_tokens() == []

    client.post("/accounts/reauthenticate/", {"password": "a long and quiet night"})
    assert client.post("/profile/tokens/", fields).status_code == 201


def test_changed_password_leads_to_the_tokens(client, trader, make):
    make(name="old bot")
    trader.set_password("a long and quiet night")
    trader.save()
    client.force_login(trader)

    fields = {
        "oldpassword": "a long and quiet night",
        "password1": "a-harbour-in-the-north-9",
        "password2": "a-harbour-in-the-north-9",
    }
    response = client.post("/accounts/password/change/", fields, follow=True)

    assert_shows(response, "Tokens for the API work on", "old bot", "Revoke all")


# --- In the admin ---


def staff(*permissions: str, opens: Trader) -> Browser:
    user = TraderFactory(email=f"staff{len(permissions)}@example.com", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    open_data(user, opens)
    client = Browser()
    client.force_login(user)
    return client


def test_staff_look_at_tokens_never_at_their_digests_and_revoke_one_if_they_may(make, trader):
    token = make(name="their bot")
    row = list_tokens()[0]
    looks, changes = staff("view_apitoken", opens=trader), staff("view_apitoken", "change_apitoken", opens=trader)
    changelist = reverse("admin:trading_apitoken_changelist")

    for address in (changelist, reverse("admin:trading_apitoken_change", args=[row.pk])):
        response = looks.get(address)
        assert response.status_code == 200
        assert "their bot" in response.content.decode()
        assert row.digest not in response.content.decode()
    sent = {"_selected_action": [str(row.pk)], "confirmed": "yes", "reason": "It was published."}
    for browser, status in ((looks, 200), (changes, 401)):
        browser.post(changelist, {"action": "revoke", **sent})
        assert ask(token).status_code == status


def test_description_of_the_api_tells_which_areas_an_operation_needs(client):
    described = client.get("/api/schema/").json()

    assert {"token": []} in described["paths"]["/api/me/"]["get"]["security"]
    assert {"token": ["facts"]} in described["paths"]["/api/facts/"]["get"]["security"]
