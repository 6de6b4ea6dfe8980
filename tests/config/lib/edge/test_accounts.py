"""Who may sign up, and what a mail server that is away or silent costs."""

import re
import socket
import threading

import pytest
from allauth.account.models import EmailAddress
from django.conf import settings as site_settings
from django.contrib.auth import SESSION_KEY
from django.core import mail
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client

from config.lib.edge.accounts import MAIL_AWAY
from tests.factories.trading import TraderFactory
from trading.models import Trader

PASSWORD = "a-harbour-in-the-north-9"

pytestmark = pytest.mark.django_db


# --- Sign-up ---


@pytest.fixture
def closed(settings):
    settings.SIGN_UP = "closed"


def test_closed_site_makes_no_account_and_offers_none(client, closed):
    fields = {"email": "zoe@example.com", "password1": PASSWORD}

    pages = [client.post("/accounts/signup/", fields), client.get("/accounts/signup/")]

    assert ["No new accounts for now" in page.content.decode() for page in pages] == [True, True]
    assert not Trader.objects.exists()
    for path in ("/", "/accounts/login/", "/accounts/password/reset/"):
        assert "/accounts/signup/" not in client.get(path).content.decode()


@pytest.mark.parametrize("state", ["open", "closed"])
def test_mail_to_an_unknown_address_offers_an_account_on_an_open_site_only(client, settings, mailoutbox, state):
    settings.SIGN_UP = state

    client.post("/accounts/password/reset/", {"email": "nobody@example.com"})

    [mail] = mailoutbox
    assert ("/accounts/signup/" in mail.body) == (state == "open")


def test_closed_site_takes_no_new_account_of_single_sign_on_either(rf, closed):
    from allauth.socialaccount.adapter import get_adapter  # noqa: PLC0415

    assert not get_adapter().is_open_for_signup(rf.get("/"), None)


def test_open_site_offers_an_account(client):
    for path in ("/", "/accounts/login/"):
        assert "/accounts/signup/" in client.get(path).content.decode()


# --- Mail ---


def refusing() -> int:
    """Return a port where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def silent():
    """The port of a server that accepts and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def accept():
            while True:
                try:
                    held.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        for one in held:
            one.close()


@pytest.fixture(params=["refusing", "silent"])
def no_mail(request, settings, silent):
    """A site that confirms addresses by a mail server that is away."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", silent if request.param == "silent" else refusing()
    settings.EMAIL_TIMEOUT = 0.2
    settings.HAS_MAIL, settings.ACCOUNT_EMAIL_VERIFICATION = True, "mandatory"


@pytest.fixture
def zoe():
    """A trader whose address nobody has verified."""
    zoe = TraderFactory(email="zoe@example.com")
    zoe.set_password(PASSWORD)
    zoe.save()
    return zoe


MAILING = {
    "sign-up": ("/accounts/signup/", {"email": "new@example.com", "password1": PASSWORD}),
    "sign-up, known": ("/accounts/signup/", {"email": "zoe@example.com", "password1": PASSWORD}),
    "sign-in": ("/accounts/login/", {"login": "zoe@example.com", "password": PASSWORD}),
    "reset": ("/accounts/password/reset/", {"email": "zoe@example.com"}),
    "reset, unknown": ("/accounts/password/reset/", {"email": "nobody@example.com"}),
}


def plain(page) -> str:
    return re.sub(r"[A-Za-z0-9]{64}|(?:new|zoe|nobody)@", "", page.content.decode())


@pytest.mark.parametrize("case", MAILING)
def test_page_that_mails_says_so_when_the_mail_cannot_go_out(no_mail, zoe, client, case):
    path, fields = MAILING[case]

    page = client.post(path, fields, follow=True)

    shown = page.content.decode()
    assert page.status_code == 200
    assert MAIL_AWAY.replace("'", "&#x27;") in shown
    assert "The mail could not be sent" in shown
    assert "is on its way" not in shown
    assert "Confirmation e" not in shown


@pytest.mark.parametrize("pair", [("sign-up", "sign-up, known"), ("reset", "reset, unknown")])
def test_failed_mail_answers_alike_for_known_and_unknown_addresses(no_mail, zoe, pair):
    pages = [Client().post(*MAILING[case], follow=True) for case in pair]

    assert plain(pages[0]) == plain(pages[1])
    assert pages[0].redirect_chain == pages[1].redirect_chain


def test_next_mail_that_goes_out_is_promised_again(zoe, client, settings):
    backend = settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.HAS_MAIL = "127.0.0.1", refusing(), True
    path, fields = MAILING["reset"]
    assert "could not be sent" in client.post(path, fields, follow=True).content.decode()

    settings.EMAIL_BACKEND = backend
    cache.clear()
    again = client.post(path, fields, follow=True).content.decode()

    assert "is on its way" in again
    assert "could not be sent" not in again
    assert len(mail.outbox) == 1


def test_site_has_a_time_limit_for_mail():
    assert 0 < site_settings.EMAIL_TIMEOUT <= 10


def test_account_of_an_operator_signs_in_on_a_closed_site_without_a_mail(no_mail, closed, client):
    call_command("createuser", "ann@example.com", "--password", PASSWORD)

    client.post("/accounts/login/", {"login": "ann@example.com", "password": PASSWORD})

    assert client.session[SESSION_KEY] == str(Trader.objects.get().pk)
    assert EmailAddress.objects.get().verified
