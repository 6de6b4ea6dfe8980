"""What the tests of the facts' pages share: a browser, a memory with facts in it, requests as htmx makes them."""

import re
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memory.facts.queries import find_last_version
from memory.facts.services import remember_fact
from memory.models import UserFact
from tests.owners import as_owner

FACTS = "/profile/facts/"
SECRET = "My password is hunter2hunter2"


@pytest.fixture
def client(trader):
    """A browser in which the trader is signed in."""
    client = Client()
    client.force_login(trader)
    return client


@pytest.fixture
def know(trader) -> Callable[..., UserFact]:
    """A function by which the trader's memory gains a fact, some days ago."""

    def remember(content: str = "trades BTC only", *, days_ago: int = 1, **values) -> UserFact:
        now = timezone.now() - timedelta(days=days_ago)
        return as_owner(trader, lambda: remember_fact(content=content, now=now, **values).fact)

    return remember


@pytest.fixture
def last(trader) -> Callable[[UserFact], UserFact]:
    """A function that looks up the last version of a fact of the trader."""
    return lambda fact: as_owner(trader, lambda: find_last_version(fact.lineage))


def into(element_id: str, at: str = FACTS) -> dict[str, str]:
    """Return the headers of a request of htmx, whose answer goes into an element of the page at an address."""
    return {"HX-Request": "true", "HX-Target": element_id, "HX-Current-URL": f"http://testserver{at}"}


def act(verb: str, fact: UserFact | UUID) -> str:
    return reverse(f"memory:{verb}", args=[getattr(fact, "pk", fact)])


def slot(fact: UserFact) -> str:
    return f"slot-{fact.pk}"


def open_menu(client: Client, fact: UserFact, at: str = FACTS):
    """Return the answer to opening the menu of a fact in the list."""
    return client.get(f"{act('fact', fact)}?menu", headers=into(f"menu-{fact.pk}", at=at))


def text_of(response) -> str:
    """Return what a reader of the answer sees, on one line."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def is_page(response) -> bool:
    return b"<html" in response.content


def contents(page: dict) -> list[str]:
    """Return the texts of a page of facts over REST."""
    return [item["content"] for item in page["items"]]
