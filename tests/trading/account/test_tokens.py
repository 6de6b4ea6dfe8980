import json
import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
import time_machine
from django.contrib.auth.models import Permission
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from config.lib.owned import ScopeError
from tests.factories.trading import TraderFactory
from tests.owners import as_owner, open_data
from trading.account.tokens import MAX_TOKENS, TokenRefused, create_token, list_tokens, revoke_token
from trading.models import ApiToken, Trader
from trading.models.tokens import token_owner

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def clock():
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


@pytest.fixture
def make(trader):
    """Make a token of the trader and return it as a client sends it."""
    return lambda **fields: as_owner(trader, lambda: create_token(**{"name": "bot", "now": NOW, **fields}))[1]


def ask(token: str, method: str = "get", address: str = "/api/me/", scheme: str = "Bearer"):
    return getattr(Client(), method)(address, headers={"Authorization": f"{scheme} {token}"})


# --- Making and revoking ---


def test_token_is_kept_as_a_digest_only(as_trader):
    row, token = create_token(name="bot", now=NOW)

    assert re.fullmatch(rf"keel_{as_trader.pk}_[\w-]{{43}}", token)
    assert row.digest == sha256(token.encode()).hexdigest()
    assert row.prefix == token[: len(f"keel_{as_trader.pk}_") + 4]
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM api_tokens WHERE user_id = %s", [as_trader.pk])
        assert token.removeprefix(row.prefix) not in str(cursor.fetchall())


def test_name_is_one_clean_line(as_trader):
    assert create_token(name="  my\n\x00bot \u202e", now=NOW)[0].name == "my bot"


@pytest.mark.parametrize(
    "fields",
    [{"name": ""}, {"name": " \n"}, {"name": "x" * 61}, {"expires_at": NOW}, {"expires_at": NOW - HOUR}],
    ids=str,
)
def test_token_that_makes_no_sense_is_refused(as_trader, fields):
    with pytest.raises(TokenRefused):
        create_token(**{"name": "bot", "now": NOW, **fields})
    assert list_tokens() == []


def test_tokens_are_limited_but_for_those_that_open_nothing(as_trader):
    create_token(name="expired", expires_at=NOW + HOUR, now=NOW)
    for number in range(MAX_TOKENS - 1):
        row, _ = create_token(name=f"{number}", now=NOW)

    with pytest.raises(TokenRefused):
        create_token(name="one more", now=NOW)
    revoke_token(token_id=row.pk, now=NOW)
    create_token(name="instead", now=NOW)
    create_token(name="when one is expired", now=NOW + HOUR)


def test_revoked_token_stays_revoked_as_of_then(as_trader):
    row, _ = create_token(name="bot", now=NOW)

    revoke_token(token_id=row.pk, now=NOW)
    again = revoke_token(token_id=row.pk, now=NOW + HOUR)

    assert again.revoked_at == NOW
    assert list_tokens() == []


@pytest.mark.parametrize("column", ["digest", "prefix", "scope", "created_at"])
def test_token_digest_and_prefix_never_change(as_trader, column):
    create_token(name="bot", now=NOW)

    with pytest.raises(ScopeError):
        ApiToken.objects.update(**{column: "write"})


@pytest.mark.parametrize("fields", [{"scope": "admin"}, {"name": ""}, {"expires_at": NOW}], ids=str)
def test_database_refuses_a_token_that_makes_no_sense(as_trader, fields):
    row = {"name": "bot", "digest": "d", "prefix": "p", "scope": "read", "created_at": NOW, **fields}

    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.create(**row)


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        (f"keel_12_{'x' * 43}", 12),
        (f"keel_{'9' * 18}_{'x' * 43}", int("9" * 18)),
        (f"keel_{'9' * 19}_{'x' * 43}", None),
        (f"keel_0_{'x' * 43}", None),
        (f"keel_-1_{'x' * 43}", None),
        (f"keel_\u0661_{'x' * 43}", None),
        (f"keel_12_{'x' * 42}", None),
        (f"keel_12_{'x' * 43}\n", None),
        ("", None),
    ],
)
def test_token_names_its_owner(text, owner):
    assert token_owner(text) == owner


# --- Asking with one ---


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER  "])
def test_token_signs_its_owner_in(trader, make, scheme):
    response = ask(make(), scheme=scheme)

    assert response.status_code == 200
    assert response.json() == {"email": trader.email, "experience_tier": None, "time_zone": "UTC"}
    assert response.cookies == {}


def changed(token: str) -> str:
    return token[:-1] + ("A" if token[-1] != "A" else "B")


@pytest.mark.parametrize(
    "spoil",
    [
        changed,
        str.upper,
        lambda token: token[5:],
        lambda token: "",
        lambda token: re.sub(r"\d+", "987654", token, count=1),
    ],
    ids=["changed", "upper", "cut", "none", "owner"],
)
def test_malformed_token_is_401(make, spoil):
    response = ask(spoil(make()))

    assert (response.status_code, response.json()["code"]) == (401, "authentication_failed")
    assert response["WWW-Authenticate"] == 'Bearer realm="Keel"'


def test_token_with_another_owners_id_is_401(make, stranger):
    assert ask(re.sub(r"\d+", str(stranger.pk), make(), count=1)).status_code == 401


@pytest.mark.parametrize("scheme", ["Basic", "Token", ""])
def test_other_schemes_are_not_read(make, scheme):
    assert ask(make(), scheme=scheme).status_code == 401


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


def test_bad_token_is_401_beside_a_good_session(trader):
    client = Client()
    client.force_login(trader)

    assert client.get("/api/me/").status_code == 200
    assert client.get("/api/me/", headers={"Authorization": "Bearer keel_nonsense"}).status_code == 401


def test_token_needs_no_csrf_token_and_opens_no_page(make):
    client = Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {make(scope='write')}"})

    assert client.post("/api/me/").status_code == 405
    assert client.get("/profile/").status_code == 302


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
@pytest.mark.parametrize(("scope", "status"), [("read", 403), ("write", 405)])
def test_token_writes_only_if_it_may(make, method, scope, status):
    response = ask(make(scope=scope), method)

    assert response.status_code == status
    if status == 403:
        assert response.json()["detail"] == "This token may only read."


def test_use_is_noted_once_an_hour(trader, make, clock, django_assert_num_queries):
    token = make()

    def noted():
        return as_owner(trader, lambda: ApiToken.objects.get().last_used_at)

    assert noted() is None
    ask(token)
    assert noted() == NOW
    clock.shift(HOUR - timedelta(seconds=1))
    ask(token)
    assert noted() == NOW
    clock.shift(1)
    ask(token)
    assert noted() == NOW + HOUR


@pytest.mark.sqlite
def test_reading_with_a_token_takes_one_query_and_no_lock(make, django_assert_num_queries):
    token = make()
    ask(token)

    with django_assert_num_queries(1):
        ask(token)


# --- On the profile page ---


@pytest.fixture
def visitor(trader):
    client = Client(enforce_csrf_checks=False)
    client.force_login(trader)
    return client


def test_page_shows_a_new_token_once(visitor, trader):
    made = visitor.post("/profile/tokens/", {"name": "My <bot>", "scope": "write", "days": "30"})
    later = visitor.get("/profile/").content.decode()

    assert made.status_code == 201
    assert "no-store" in made["Cache-Control"]
    [token] = re.findall(r"keel_\d+_[\w-]{43}", made.content.decode())
    assert ask(token).json()["email"] == trader.email
    assert token not in later
    assert "My &lt;bot&gt;" in later
    row = as_owner(trader, list_tokens)[0]
    assert f"{row.prefix}…" in later
    assert (row.scope, row.expires_at) == ("write", NOW + timedelta(days=30))


def test_page_makes_a_token_without_an_end(visitor, trader):
    visitor.post("/profile/tokens/", {"name": "bot", "scope": "read", "days": "never"})

    assert as_owner(trader, list_tokens)[0].expires_at is None


@pytest.mark.parametrize(
    "data", [{}, {"name": "\u200b", "scope": "read", "days": "30"}, {"name": "bot", "scope": "admin", "days": "31"}]
)
def test_page_refuses_a_token_that_makes_no_sense(visitor, trader, data):
    response = visitor.post("/profile/tokens/", data)

    assert response.status_code == 422
    assert as_owner(trader, list_tokens) == []
    assert "error" in response.content.decode()


def test_page_revokes_a_token(visitor, trader, make):
    token = make(name="old bot")
    row = as_owner(trader, list_tokens)[0]
    assert f"/profile/tokens/{row.pk}/revoke/" in visitor.get("/profile/").content.decode()

    response = visitor.post(f"/profile/tokens/{row.pk}/revoke/")

    assert (response.status_code, response.url) == (302, "/profile/#tokens")
    assert "The token “old bot” opens nothing any more." in visitor.get("/profile/").content.decode()
    assert ask(token).status_code == 401


def test_profile_shows_the_state_of_each_token(visitor, make):
    make(name="fresh")
    make(name="short", expires_at=NOW + timedelta(minutes=1))
    with time_machine.travel(NOW + HOUR, tick=False):
        text = re.sub(r"\s+", " ", visitor.get("/profile/").content.decode())

    assert "never used · until it is revoked" in text
    assert "never used · expired 12:01" in text


# --- In the admin ---


def staff(*permissions: str, opens: Trader | None = None) -> Client:
    user = TraderFactory(email="staff@example.com", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    if opens is not None:
        open_data(user, opens)
    client = Client()
    client.force_login(user)
    return client


def test_staff_look_at_tokens_and_never_at_their_digests(make, trader):
    make(name="their bot")
    row = as_owner(trader, list_tokens)[0]
    client = staff("view_apitoken", opens=trader)

    pages = [
        client.get(reverse(f"admin:trading_apitoken_{name}", args=args))
        for name, args in (("changelist", ()), ("change", (row.pk,)))
    ]

    for response in pages:
        assert response.status_code == 200
        assert "their bot" in response.content.decode()
        assert row.digest not in response.content.decode()


@pytest.mark.parametrize(
    ("permissions", "is_revoked"),
    [(["view_apitoken"], False), (["view_apitoken", "change_apitoken"], True)],
    ids=["may look", "may change"],
)
def test_staff_revoke_a_token_if_they_may(make, trader, permissions, is_revoked):
    token = make()
    row = as_owner(trader, list_tokens)[0]

    staff(*permissions, opens=trader).post(
        reverse("admin:trading_apitoken_changelist"),
        {"action": "revoke", "_selected_action": [str(row.pk)], "confirmed": "yes", "reason": "It was published."},
    )

    assert (ask(token).status_code == 401) is is_revoked


def test_description_of_the_api_tells_of_tokens(visitor):
    described = json.loads(visitor.get("/api/schema/").content)

    assert described["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert {"token": []} in described["paths"]["/api/me/"]["get"]["security"]
