"""Strangers lock out places, never the devices on which an account signed in before."""

import pytest
from django.contrib.auth import SESSION_KEY
from django.core import mail
from django.core.cache import cache
from django.test import Client

from config.lib.edge.devices import COOKIE
from tests.factories.trading import TraderFactory
from tests.mails import send_mails

PASSWORD = "a-harbour-in-the-north-9"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_counts():
    cache.clear()


@pytest.fixture
def zoe():
    zoe = TraderFactory(email="zoe@example.com")
    zoe.set_password(PASSWORD)
    zoe.save()
    return zoe


def enter(client: Client, email: str, password: str, *, ip: str = "192.0.2.1") -> bool:
    client.post("/accounts/login/", {"login": email, "password": password}, REMOTE_ADDR=ip)
    return SESSION_KEY in client.session


def guess(email: str, *, client: Client | None = None, ip: str = "198.51.100.7") -> None:
    for _ in range(6):
        assert not enter(client or Client(), email, "wrong-one-9999", ip=ip)


def test_owner_signs_in_while_a_stranger_is_locked_out(zoe):
    guess(zoe.email)

    assert not enter(Client(), zoe.email, PASSWORD, ip="198.51.100.7")
    assert enter(Client(), zoe.email, PASSWORD)


def test_device_of_an_earlier_sign_in_is_counted_alone_also_in_a_locked_place(zoe):
    device = Client()
    assert enter(device, zoe.email, PASSWORD)
    cookie = device.cookies[COOKIE].value
    guess(zoe.email, ip="192.0.2.1")

    device = Client()
    device.cookies[COOKIE] = cookie
    for forged in (cookie[:-1], cookie.replace(":", "::"), "x"):
        stranger = Client()
        stranger.cookies[COOKIE] = forged
        assert not enter(stranger, zoe.email, PASSWORD, ip="192.0.2.1")
    assert enter(device, zoe.email, PASSWORD, ip="192.0.2.1")


def test_cookie_of_one_account_opens_no_count_for_another_and_has_its_own_limit(zoe):
    other = TraderFactory(email="other@example.com")
    other.set_password(PASSWORD)
    other.save()
    device = Client()
    assert enter(device, other.email, PASSWORD)
    cookie = device.cookies[COOKIE].value
    guess(zoe.email, ip="192.0.2.9")

    device = Client()
    device.cookies[COOKIE] = cookie
    assert not enter(device, zoe.email, PASSWORD, ip="192.0.2.9")
    guess(other.email, client=device, ip="192.0.2.10")
    assert not enter(device, other.email, PASSWORD, ip="192.0.2.11")


def test_owner_gets_one_mail_a_day_and_unknown_addresses_none(zoe, settings):
    settings.HAS_MAIL = True
    for ip in ("198.51.100.7", "198.51.100.8"):
        guess(zoe.email, ip=ip)
        guess("nobody@example.com", ip=ip.replace("100", "101"))
    send_mails()

    assert [one.to for one in mail.outbox] == [["zoe@example.com"]]
