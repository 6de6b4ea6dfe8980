"""Fixtures of who owns the rows; the conftest of each folder that needs them imports them."""

import time
from collections.abc import Callable
from contextvars import Context
from typing import TypeVar

import pytest
from allauth.account.internal.flows.login import AUTHENTICATION_METHODS_SESSION_KEY
from django.test import Client
from django.utils import timezone

from config.lib.owned import owned_tx
from config.lib.threads import run_in_thread
from tests.factories.memory import MemoryEventFactory, UserFactFactory
from tests.factories.trading import StaffEntryFactory, TraderFactory
from trading.models import Trader

T = TypeVar("T")


@pytest.fixture
def trader(db):
    """The user whose test it is."""
    return TraderFactory()


@pytest.fixture
def stranger(db):
    """Somebody else."""
    return TraderFactory(email="stranger@example.com")


@pytest.fixture
def as_trader(trader):
    """Run the test as one trader: their scope, their rows."""
    with owned_tx(trader):
        yield trader


@pytest.fixture
def strangers_fact(stranger):
    """A fact of somebody else, whoever is in scope."""
    return as_owner(stranger, lambda: UserFactFactory(content="The stranger trades gold only"))


@pytest.fixture
def strangers_event(stranger):
    """A save of somebody else, whoever is in scope."""
    return as_owner(stranger, MemoryEventFactory)


def open_data(staff: Trader, user: Trader) -> None:
    """Open a user's data to a staff member, as the act in the admin does."""
    now = timezone.now()
    as_owner(user, lambda: StaffEntryFactory(staff_id=staff.pk, created_at=now))


def note_sign_in(client: Client, user: Trader) -> None:
    """Note in the session of a browser that its user typed the password a moment ago."""
    session = client.session
    records = [{"method": "password", "at": time.time()}]
    session.update({AUTHENTICATION_METHODS_SESSION_KEY: records, "account_authentication_methods_user": str(user.pk)})
    session.save()


def as_owner(user: Trader | int, work: Callable[[], T]) -> T:
    """Do something as a user, whoever is in scope: one user's scope cannot be entered from another's."""

    def inside() -> T:
        with owned_tx(user):
            return work()

    return Context().run(inside)


async def do_as(user: Trader | int, work: Callable[[], T]) -> T:
    """Do something as a user in a thread, from a coroutine."""
    return await run_in_thread(as_owner, user, work)
