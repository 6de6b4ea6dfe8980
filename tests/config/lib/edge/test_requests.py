"""The client's address behind N proxies is the Nth from the right; only a trusted proxy gives a request its id."""

import re
from io import BytesIO

import pytest
from allauth.account.adapter import get_adapter
from asgiref.sync import async_to_sync
from django.contrib.auth import SESSION_KEY
from django.core.cache import cache
from django.core.handlers.asgi import ASGIRequest
from django.test import Client

from config.lib.edge.requests import AccessLog, ClientAddress, NameUserMiddleware, RequestId
from config.lib.observe.logs import request_id
from tests.factories.trading import TraderFactory


def ask(forwarded: list[str], *, proxies: int = 1, path: str = "/accounts/login/", kind: str = "http"):
    """Return the scope that the application saw, or None, and what was sent to the client."""
    seen, sent = [], []

    async def application(scope, receive, send):
        seen.append(scope)

    async def send(message):
        sent.append(message)

    headers = [(b"x-forwarded-for", line.encode()) for line in forwarded]
    scope = {"type": kind, "path": path, "method": "GET", "headers": headers, "client": ("10.0.0.1", 4711)}
    async_to_sync(ClientAddress(application, proxies=proxies))(scope, None, send)
    return (seen[0] if seen else None), sent


@pytest.mark.parametrize(
    ("forwarded", "proxies", "address"),
    [
        (["198.51.100.7"], 1, "198.51.100.7"),
        (["203.0.113.6, 198.51.100.7"], 1, "198.51.100.7"),  # the first was written by the client
        (["203.0.113.6, 198.51.100.7, 10.0.0.2"], 2, "198.51.100.7"),
        (["203.0.113.6", "198.51.100.7"], 1, "198.51.100.7"),  # two header lines are one list
        (["198.51.100.7:4711"], 1, "198.51.100.7"),
        (["2001:db8::1"], 1, "2001:db8::1"),
        (["[2001:db8::1]:4711"], 1, "2001:db8::1"),
        (["203.0.113.6"], 0, "10.0.0.1"),  # no proxy is trusted
    ],
)
def test_address_is_the_one_that_the_outermost_trusted_proxy_wrote(forwarded, proxies, address):
    scope, _ = ask(forwarded, proxies=proxies)

    assert scope["client"][0] == address
    assert get_adapter().get_client_ip(ASGIRequest(scope, None)) == address


@pytest.mark.parametrize(("forwarded", "proxies"), [([], 1), ([""], 1), (["203.0.113.6"], 2), (["unknown"], 1)])
def test_request_that_did_not_pass_the_proxies_is_refused(forwarded, proxies):
    scope, sent = ask(forwarded, proxies=proxies)

    assert (scope, sent[0]["status"]) == (None, 400)
    assert ask(forwarded, proxies=proxies, kind="websocket") == (None, [{"type": "websocket.close"}])


def test_health_check_of_the_machine_itself_needs_no_proxy():
    assert ask([], path="/healthz/")[0]["client"] == ("10.0.0.1", 4711)


@pytest.mark.django_db
def test_strangers_behind_the_proxy_lock_out_nobody_else():
    cache.clear()
    zoe = TraderFactory(email="zoe@example.com")
    zoe.set_password("a-harbour-in-the-north-9")
    zoe.save()

    def sign_in(forwarded, login, password):
        scope, _ = ask([forwarded])
        client = Client(REMOTE_ADDR=scope["client"][0])
        client.post("/accounts/login/", {"login": login, "password": password})
        return SESSION_KEY in client.session

    for number in range(12):  # the stranger writes another address in front each time
        sign_in(f"192.0.2.{number}, 203.0.113.6", f"stranger-{number}@example.com", "wrong-one-9999")

    assert not sign_in("203.0.113.6", zoe.email, "a-harbour-in-the-north-9")
    assert sign_in("198.51.100.7", zoe.email, "a-harbour-in-the-north-9")
    cache.clear()


# --- Ids ---

GIVEN = "0123456789abcdef"


def ask_id(*, trusts_header: bool, header: str | None = None) -> tuple[str, str]:
    """Return the id inside the application, and the one in the answer."""
    inside, sent = [], []

    async def app(scope, receive, send):
        inside.append(request_id.get())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def send(message):
        sent.append(message)

    headers = [(b"x-request-id", header.encode())] if header is not None else []
    async_to_sync(RequestId(app, trusts_header=trusts_header))({"type": "http", "headers": headers}, None, send)
    return inside[0], dict(sent[0]["headers"])[b"x-request-id"].decode()


def test_request_gets_an_id_of_its_own():
    first, second = ask_id(trusts_header=False), ask_id(trusts_header=False)

    assert first[0] == first[1] != second[0]
    assert re.fullmatch("[0-9a-f]{32}", first[0])


def test_id_of_a_trusted_proxy_is_kept():
    assert ask_id(trusts_header=True, header=GIVEN) == (GIVEN, GIVEN)


@pytest.mark.parametrize(
    ("trusts_header", "header"),
    [(False, GIVEN), (True, "short"), (True, "x" * 65), (True, "a b c d e f g"), (True, ""), (True, "öööööööö")],
)
def test_id_of_a_browser_or_of_another_form_is_ignored(trusts_header, header):
    assert ask_id(trusts_header=trusts_header, header=header)[0] != header


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/trades/", "/trades/"),
        ("/chat/0b7c1f5e-8d51-4b0e-9d0e-1f2a3b4c5d6e/", "/chat/0b7c1f5e-8d51-4b0e-9d0e-1f2a3b4c5d6e/"),
        ("/accounts/password/reset/key/1-d2k3xq-0123456789abcdef0123456789abcdef/", "/accounts/password/reset/key/…/"),
        ("/accounts/confirm-email/MQ:1tXyZ0:Qm9vY2FuYXJ5/", "/accounts/confirm-email/…/"),
    ],
)
def test_line_of_a_request_says_who_and_from_where_and_no_key(db, client, caplog, path, shown):
    async def application(scope, receive, send):
        NameUserMiddleware(lambda request: None)(request_of(scope))
        await send({"type": "http.response.start", "status": 302, "headers": []})

    def request_of(scope):
        request = ASGIRequest(scope, BytesIO())
        request._cached_user = user
        return request

    async def send(message):
        pass

    user = TraderFactory()
    scope = {"type": "http", "path": path, "method": "GET", "headers": [], "client": ("203.0.113.9", 1)}
    scope["query_string"] = b"q=canary"
    with caplog.at_level("INFO", logger="keel.access"):
        async_to_sync(AccessLog(application))(scope, None, send)

    (line,) = caplog.records
    assert line.getMessage() == f"GET {shown} 302 in {line.ms} ms, user {user.pk}, 203.0.113.9"
    assert (line.status, line.user, line.address, line.path) == (302, user.pk, "203.0.113.9", shown)


def test_application_that_breaks_is_logged_as_500(caplog):
    async def application(scope, receive, send):
        raise ValueError

    scope = {"type": "http", "path": "/trades/", "method": "POST", "headers": []}
    with caplog.at_level("INFO", logger="keel.access"), pytest.raises(ValueError):  # noqa: PT011 - the test's own
        async_to_sync(AccessLog(application))(scope, None, None)

    assert caplog.records[0].getMessage().startswith("POST /trades/ 500 in ")
