"""The client's address behind N proxies is the Nth from the right; what the client wrote itself does not count."""

import pytest
from allauth.account.adapter import get_adapter
from asgiref.sync import async_to_sync
from django.contrib.auth import SESSION_KEY
from django.core.cache import cache
from django.core.handlers.asgi import ASGIRequest
from django.test import Client

from config.lib.edge.requests import ClientAddress
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

    for number in range(30):  # the stranger writes another address in front each time
        sign_in(f"192.0.2.{number}, 203.0.113.6", f"stranger-{number}@example.com", "wrong-one-9999")

    assert not sign_in("203.0.113.6", zoe.email, "a-harbour-in-the-north-9")
    assert sign_in("198.51.100.7", zoe.email, "a-harbour-in-the-north-9")
    cache.clear()
