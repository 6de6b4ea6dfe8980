"""Who may sign up; mails that wait for a server that is away or silent."""

import re
import socket
import threading
from datetime import timedelta
from smtplib import SMTPRecipientsRefused

import pytest
from allauth.account.models import EmailAddress
from django.conf import settings as site_settings
from django.contrib.auth import SESSION_KEY
from django.core import mail
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from chat.endings.erasure import erase_user
from config.lib.edge.accounts import MAX_EMAIL
from config.lib.edge.mails import KEPT
from config.lib.owned import system_tx
from config.lib.work.jobs import Key
from config.lib.work.leases import LEASE
from config.lib.work.models import Mail
from config.lib.work.runs import FIRST_RETRY, run_task
from tests.factories.trading import TraderFactory
from tests.mails import count_mails, send_mails
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
    send_mails()

    [mail] = mailoutbox
    assert ("/accounts/signup/" in mail.body) == (state == "open")


def test_closed_site_takes_no_new_account_of_single_sign_on_either(rf, closed):
    from allauth.socialaccount.adapter import get_adapter  # noqa: PLC0415
    from allauth.socialaccount.models import SocialLogin  # noqa: PLC0415

    assert not get_adapter().is_open_for_signup(rf.get("/"), SocialLogin(user=Trader(), email_addresses=[]))


def test_open_site_offers_an_account(client):
    for path in ("/", "/accounts/login/"):
        assert "/accounts/signup/" in client.get(path).content.decode()


@pytest.mark.limit("config.lib.edge.accounts.MAX_EMAIL")
def test_address_that_no_column_holds_is_refused(client):
    email = f"{'x' * 60}@{'y' * 60}.{'z' * 60}.{'a' * 60}.example"
    assert len(f"abc{email}") == MAX_EMAIL

    for one, answer in ((f"abcd{email}", (200, True)), (f"abc{email}", (302, False))):
        page = client.post("/accounts/signup/", {"email": one, "password1": PASSWORD, "time_zone": "UTC"})
        assert (page.status_code, "at most 254 characters" in page.content.decode()) == answer

    assert [user.email for user in Trader.objects.all()] == [f"abc{email}"]


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


OUTBOX = "django.core.mail.backends.locmem.EmailBackend"
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
def test_page_that_mails_answers_at_once_and_the_mail_comes_later(no_mail, zoe, client, settings, case):
    path, fields = MAILING[case]

    page = client.post(path, fields, follow=True)
    waiting = count_mails()
    failed = send_mails()

    assert page.status_code == 200
    assert "is on its way" in page.content.decode()
    assert waiting == 1  # the page left it to the worker
    assert [run.has_failed for run in failed] == [True]
    assert "The mail cannot be sent" in failed[0].summary
    assert send_mails() == []  # it waits for its next try
    settings.EMAIL_BACKEND = OUTBOX
    assert [run.summary for run in send_mails(after=FIRST_RETRY)] == ["sent"]
    [sent] = mail.outbox
    assert sent.to == [fields.get("email", "zoe@example.com")]
    assert count_mails() == 0


def test_change_of_address_mails_later_too(no_mail, zoe, client, settings):
    client.force_login(zoe)

    page = client.post("/accounts/email/", {"email": "zoe@example.org", "action_add": ""}, follow=True)
    settings.EMAIL_BACKEND = OUTBOX
    send_mails()

    assert page.status_code == 200
    assert ["zoe@example.org"] in [sent.to for sent in mail.outbox]


@pytest.mark.parametrize("pair", [("sign-up", "sign-up, known"), ("reset", "reset, unknown")])
def test_known_and_unknown_addresses_get_the_same_answer(zoe, settings, pair):
    settings.HAS_MAIL, settings.ACCOUNT_EMAIL_VERIFICATION = True, "mandatory"

    pages = [Client().post(*MAILING[case], follow=True) for case in pair]

    assert plain(pages[0]) == plain(pages[1])
    assert pages[0].redirect_chain == pages[1].redirect_chain


@pytest.mark.parametrize(("case", "is_owned"), [("sign-up, known", True), ("reset", True), ("reset, unknown", False)])
def test_waiting_mail_is_encrypted_and_belongs_to_the_user_of_its_address(zoe, client, settings, case, is_owned):
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"

    client.post(*MAILING[case])

    with system_tx("test"):
        waiting = Mail.objects.get()
    assert waiting.user_id == (zoe.pk if is_owned else None)
    assert "example" not in waiting.sealed


def test_waiting_mail_is_erased_with_its_user(zoe, client):
    client.post(*MAILING["reset"])

    erase_user(user_id=zoe.pk)

    assert count_mails() == 0
    assert send_mails() == []


@pytest.mark.parametrize("why", ["old", "other key"])
def test_mail_that_cannot_go_out_is_given_up_when_its_links_have_ended(zoe, client, settings, why):
    client.post(*MAILING["reset"])
    settings.SECRET_KEY = "another-" * 8 if why == "other key" else settings.SECRET_KEY

    [first] = send_mails(after=KEPT + FIRST_RETRY if why == "old" else timedelta(0))

    assert first.summary == ("given up" if why == "old" else "failed: The mail cannot be sent: InvalidToken.")
    assert (count_mails() == 1) == (why == "other key")
    assert not mail.outbox


def test_refusal_that_names_the_address_reaches_no_log(zoe, client, monkeypatch, caplog):
    def refuse(self):
        raise SMTPRecipientsRefused({"zoe@example.com": (550, b"no such box")})

    monkeypatch.setattr("django.core.mail.EmailMessage.send", refuse)
    client.post(*MAILING["reset"])

    [failed] = send_mails()

    assert failed.summary == "failed: The mail cannot be sent: SMTPRecipientsRefused."
    assert "zoe@example.com" not in caplog.text


def test_mail_that_a_worker_sends_is_left_to_it(zoe, client):
    client.post(*MAILING["reset"])
    with system_tx("test"):
        Mail.objects.update(lease_until=timezone.now() + LEASE)
        [key] = [Key(row.user_id, row.pk) for row in Mail.objects.all()]

    assert send_mails() == []
    assert run_task("send_mail", key, timezone.now()).summary == "nothing to send"
    assert [run.summary for run in send_mails(after=LEASE)] == ["sent"]


def test_mail_that_is_sent_again_after_a_kill_is_the_same_message(zoe, client):
    client.post(*MAILING["reset"])
    with system_tx("test"):
        row = Mail.objects.get()

    send_mails()
    with system_tx("test"):
        row.save(force_insert=True)  # as if the worker had died before it deleted the row
    send_mails()

    first, second = (sent.message()["Message-ID"] for sent in mail.outbox)
    assert first == second


def test_site_has_a_time_limit_for_mail():
    assert 0 < site_settings.EMAIL_TIMEOUT <= 10


@pytest.mark.parametrize("command", ["createuser", "createsuperuser"])
def test_account_of_an_operator_signs_in_on_a_closed_site_without_a_mail(no_mail, closed, client, command, monkeypatch):
    if command == "createuser":
        call_command(command, "ann@example.com", "--password", PASSWORD)
    else:
        monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
        call_command(command, "--noinput", "--email", "ann@example.com")

    client.post("/accounts/login/", {"login": "ann@example.com", "password": PASSWORD})

    assert client.session[SESSION_KEY] == str(Trader.objects.get().pk)
    assert EmailAddress.objects.get().verified


# --- The log ---


def test_sign_ins_and_wrong_passwords_are_logged_without_what_was_typed(client, caplog):
    user = TraderFactory()
    user.set_password(PASSWORD)
    user.save()
    with caplog.at_level("INFO", logger="keel.sign_in"):
        for email, password in (
            (user.email, "wrong-canary"),
            ("nobody@example.com", "wrong-canary"),
            (user.email, PASSWORD),
        ):
            client.post("/accounts/login/", {"login": email, "password": password})

    lines = [record.getMessage() for record in caplog.records if record.name == "keel.sign_in"]
    assert lines == [
        f"wrong password: user {user.pk}, 127.0.0.1",
        "wrong password: user None, 127.0.0.1",
        f"signed in: user {user.pk}, 127.0.0.1",
    ]
