"""Whose word the site takes: headers that anybody can write change nothing, a trusted proxy's do."""

import runpy
from urllib.parse import urlsplit

import pytest
from asgiref.sync import async_to_sync
from django.core.management import call_command

from chat.management.commands import up
from config.lib.observe.logs import request_id
from tests.config.test_environment import run_settings
from tests.factories.trading import TraderFactory
from tests.mails import send_mails
from tests.source import ROOT

EVIL = "evil.example"
ID = "0123456789abcdef"
# Of which each could say who asks, from where, by which name or how.
FORGED = {
    "Forwarded": f"for=203.0.113.6;proto=https;host={EVIL}",
    "X-Forwarded-For": "203.0.113.6",
    "X-Forwarded-Host": EVIL,
    "X-Forwarded-Port": "444",
    "X-Forwarded-Proto": "https",
    "X-Real-IP": "203.0.113.6",
    "X-Request-ID": ID,
    "X-Original-URL": "/admin/",
    "X-HTTP-Method-Override": "DELETE",
    "Remote-User": "admin@example.com",
}
HEADERS = [(name.lower().encode(), value.encode()) for name, value in FORGED.items()]


def ask(application, path: str = "/accounts/login/"):
    """Return the scope that Django would see, with the id of its request."""
    scope = {"type": "http", "path": path, "method": "GET", "scheme": "http", "query_string": b"", "headers": HEADERS}
    async_to_sync(application)(scope | {"client": ("127.0.0.1", 4711), "server": ("127.0.0.1", 80)}, None, drop)
    return SEEN.pop()


SEEN: list[dict] = []


async def note(scope, receive, send):
    SEEN.append({**scope, "id": request_id.get()})


async def drop(message):
    pass


@pytest.fixture
def build_site(monkeypatch, settings):
    """A function that wires the site as its server does, in place of Django one that notes what comes."""
    monkeypatch.setattr("django.core.asgi.get_asgi_application", lambda: note)

    def build(proxies: str):
        settings.TRUSTED_PROXIES = run_settings(monkeypatch, BEHIND_PROXY=proxies)["TRUSTED_PROXIES"]
        return runpy.run_path(str(ROOT / "config/asgi.py"))["application"]

    return build


def test_address_and_id_are_taken_from_a_trusted_proxy_alone(build_site):
    open_site, proxied = ask(build_site("false")), ask(build_site("true"))

    assert (open_site["client"][0], open_site["id"] == ID) == ("127.0.0.1", False)
    assert (proxied["client"][0], proxied["id"]) == ("203.0.113.6", ID)


def test_server_itself_believes_no_header(db, monkeypatch):
    built = []

    class Server:
        def __init__(self, config, *rest) -> None:
            config.app = note
            built.append(config)

        def run(self, sockets) -> None:
            pass

    monkeypatch.setattr(up, "_Server", Server)
    monkeypatch.setattr(up, "work_until", lambda stopped, tell: None)
    call_command("up", port=0, migrate=False)
    built[0].load()

    seen = ask(built[0].loaded_app)

    assert (seen["client"][0], seen["scheme"], seen["path"]) == ("127.0.0.1", "http", "/accounts/login/")


@pytest.mark.parametrize(("proxies", "status"), [("false", 301), ("true", 200)])
def test_https_is_believed_of_a_trusted_proxy_alone(db, client, monkeypatch, settings, proxies, status):
    read = run_settings(monkeypatch, BEHIND_PROXY=proxies, ALLOWED_HOSTS="keel.example")
    for name in ("SECURE_PROXY_SSL_HEADER", "SECURE_SSL_REDIRECT"):
        setattr(settings, name, read[name])

    answer = client.get("/accounts/login/", headers=FORGED)

    assert (answer.status_code, EVIL in answer.headers.get("Location", "")) == (status, False)


def test_mail_leads_to_the_name_that_was_asked_for_and_only_names_of_the_site_are_answered(client, db, mailoutbox):
    user = TraderFactory()

    client.post("/accounts/password/reset/", {"email": user.email}, headers=FORGED)
    refused = client.post("/accounts/password/reset/", {"email": user.email}, headers={"Host": EVIL})
    send_mails()

    [mail] = mailoutbox
    [address] = [urlsplit(word) for word in mail.body.split() if "/password/reset/" in word]
    assert (address.scheme, address.netloc, refused.status_code) == ("http", "testserver", 400)
    assert EVIL not in mail.body


def test_no_header_signs_anybody_in(client, db):
    TraderFactory(email="admin@example.com", is_staff=True, is_superuser=True)

    answers = [client.get(path, headers=FORGED) for path in ("/trades/", "/api/me/", "/admin/")]

    assert [answer.status_code for answer in answers] == [302, 401, 302]
