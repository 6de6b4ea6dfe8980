import re

import pytest
from django.contrib.auth import SESSION_KEY
from django.core import mail
from django.test import Client

from tests.factories.trading import TraderFactory
from tests.mails import send_mails
from tests.tables import each_case
from trading.models import Trader

PASSWORD = "a-harbour-in-the-north-9"

pytestmark = pytest.mark.django_db


@pytest.fixture
def zoe():
    """A trader who can sign in."""
    zoe = TraderFactory(email="zoe@example.com")
    zoe.set_password(PASSWORD)
    zoe.save()
    return zoe


def sign_up(client, **data):
    """Post the sign-up form."""
    fields = {"email": "Zoe@Example.com", "password1": PASSWORD}
    return client.post("/accounts/signup/", fields | data)


def test_sign_up_makes_a_trader_and_signs_in(client):
    response = sign_up(client, time_zone="Asia/Bangkok")

    trader = Trader.objects.get()
    assert (response.status_code, response.url) == (302, "/")
    assert (trader.email, trader.time_zone, trader.experience_tier) == ("zoe@example.com", "Asia/Bangkok", None)
    assert client.session[SESSION_KEY] == str(trader.pk)


def test_sign_up_answers_known_and_unknown_addresses_alike_where_mail_is_sent(client, zoe, settings):
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    other = Client()

    known, unknown = sign_up(client), sign_up(other, email="new@example.com")

    assert (known.status_code, known.url) == (unknown.status_code, unknown.url) == (302, "/accounts/confirm-email/")
    pages = [browser.get(known.url).content.decode() for browser in (client, other)]
    shown = [re.sub(r"[A-Za-z0-9]{64}", "", page).replace("new@", "zoe@") for page in pages]
    assert shown[0] == shown[1]
    send_mails()
    assert [message.to for message in mail.outbox] == [["zoe@example.com"], ["new@example.com"]]
    assert Trader.objects.count() == 2


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../etc/passwd", "x" * 64])
def test_sign_up_with_an_odd_clock_falls_back_to_utc(client, zone):
    sign_up(client, time_zone=zone)

    assert Trader.objects.get().time_zone == "UTC"


@each_case("data", [{"password1": "short"}, {"password1": "1234567890123"}, {"email": "no address"}])
def test_sign_up_refuses_invalid_input_and_keeps_it(client, data):
    response = sign_up(client, **data)

    assert response.status_code == 200
    assert response.context["form"].errors
    assert response.context["form"]["email"].value() == data.get("email", "Zoe@Example.com")
    assert not Trader.objects.exists()


def test_sign_in_locks_out_after_five_wrong_passwords_for_one_account(client, zoe):
    for _ in range(5):
        client.post("/accounts/login/", {"login": zoe.email, "password": "wrong-one-9999"})

    response = client.post("/accounts/login/", {"login": zoe.email, "password": PASSWORD})

    assert SESSION_KEY not in client.session
    assert response.status_code in {200, 429}


def test_password_reset_by_mail_sets_a_new_password_once_and_answers_alike_for_unknown_addresses(client, zoe):
    known, unknown = (
        client.post("/accounts/password/reset/", {"email": email}) for email in (zoe.email, "nobody@example.com")
    )
    assert (known.status_code, known.url) == (unknown.status_code, unknown.url)
    send_mails()
    link = re.search(r"http://\S+(/accounts/password/reset/key/\S+)", mail.outbox[0].body)[1]
    form = client.get(link, follow=True)
    new = "another-harbour-in-the-south-7"

    client.post(form.redirect_chain[-1][0], {"password1": new, "password2": new})

    zoe.refresh_from_db()
    assert zoe.check_password(new)
    assert mail.outbox[0].subject.startswith("Keel: ")
    assert "token_fail" in client.get(link, follow=True).context


@pytest.mark.parametrize(
    ("has_mail", "reset", "signed_up"),
    [(True, "is on its way", "is on its way to zoe@"), (False, "console of the server", "on the server’s console")],
)
def test_pages_tell_where_their_message_is(client, settings, has_mail, reset, signed_up):
    settings.HAS_MAIL = has_mail

    assert reset in client.get("/accounts/password/reset/done/").content.decode()
    sign_up(client)
    assert signed_up in client.get("/").content.decode()


def test_staff_sign_in_to_the_admin_by_the_same_door(client):
    response = client.get("/admin/", follow=True)

    assert response.redirect_chain[-1][0].startswith("/accounts/login/")
