"""Signed-in devices: one ends alone, its socket with it, and nobody ends another user's."""

import asyncio

import pytest
from allauth.usersessions.models import UserSession
from asgiref.sync import sync_to_async
from django.test import Client
from django.urls import reverse

from chat.endings.erasure import erase_user
from tests.chat.tabs import open_tab

pytestmark = pytest.mark.django_db(transaction=True)

DEVICES = reverse("usersessions_list")
PASSWORD = "a long and quiet night"


def sign_in(user, browser: str = "Firefox") -> Client:
    """Sign in by the login form, as a device does."""
    if not user.has_usable_password():
        user.set_password(PASSWORD)
        user.save(update_fields=["password"])
    client = Client(headers={"User-Agent": browser})
    assert client.post(reverse("account_login"), {"login": user.email, "password": PASSWORD}).status_code == 302
    return client


def is_signed_in(client: Client) -> bool:
    return client.get(reverse("trading:profile")).status_code == 200


def session_of(client: Client) -> int:
    return UserSession.objects.get(session_key=client.session.session_key).pk


@pytest.fixture
def laptop(trader):
    return sign_in(trader, "Laptop")


@pytest.fixture
def phone(trader, laptop):
    return sign_in(trader, "Phone")


def test_devices_page_lists_each_device_and_marks_this_one(laptop, phone):
    html = laptop.get(DEVICES).content.decode()

    assert html.index("Laptop") < html.index("This device") < html.index("Phone")
    assert html.count("This device") == 1


def test_end_of_one_session_of_all_others_and_of_the_own_signs_those_devices_out_alone(laptop, phone, trader):
    tablet = sign_in(trader, "Tablet")

    response = laptop.post(DEVICES, {"session": session_of(phone)})

    assert (response.status_code, response.url) == (302, DEVICES)
    assert [is_signed_in(client) for client in (laptop, phone, tablet)] == [True, False, True]
    laptop.post(DEVICES)  # all others
    assert [is_signed_in(client) for client in (laptop, phone, tablet)] == [True, False, False]
    laptop.post(DEVICES, {"session": session_of(laptop)})
    assert not is_signed_in(laptop)


def test_end_of_a_strangers_session_changes_nothing(laptop, stranger):
    theirs = sign_in(stranger)

    response = laptop.post(DEVICES, {"session": session_of(theirs)})
    nobody = laptop.post(DEVICES, {"session": "999999999999999999999"})

    assert (response.status_code, response.url) == (nobody.status_code, nobody.url)
    assert is_signed_in(theirs)


async def test_socket_closes_at_once_when_another_device_ends_its_session(trader, talk):
    laptop = await sync_to_async(sign_in)(trader, "Laptop")
    phone = await sync_to_async(sign_in)(trader, "Phone")
    async with open_tab(phone, talk.conversation_id) as tab, open_tab(laptop, talk.conversation_id) as mine:
        await tab.next()
        await mine.next()
        await sync_to_async(laptop.post)(DEVICES, {"session": await sync_to_async(session_of)(phone)})

        assert await asyncio.wait_for(tab.closed_with(), 5) == 4401
        assert await mine.hears_nothing()


def test_erase_of_the_user_removes_the_sessions(laptop, trader):
    erase_user(user_id=trader.pk)

    assert UserSession.objects.count() == 0
    assert not is_signed_in(laptop)
