"""What the tests of the record's pages share: a browser in which the trader is signed in, and rows of theirs."""

from collections.abc import Callable
from typing import TypeVar

import pytest
from django.test import Client

from tests.memory.browsing import into, is_page, text_of
from tests.owners import as_owner

__all__ = ["browser_of_trader", "into", "is_page", "made", "text_of"]

T = TypeVar("T")


@pytest.fixture(name="client")
def browser_of_trader(trader):
    """A browser in which the trader is signed in."""
    client = Client()
    client.force_login(trader)
    return client


@pytest.fixture
def made(trader) -> Callable[[Callable[[], T]], T]:
    """A function that does something in the trader's name, such as calling a factory."""
    return lambda work: as_owner(trader, work)
