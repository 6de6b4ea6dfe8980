import pytest

from config.lib.owned import owned_tx
from tests.factories.memory import UserFactFactory
from tests.factories.trading import TraderFactory
from tests.owners import as_trader, stranger, trader

__all__ = ["as_trader", "stranger", "trader"]


@pytest.fixture
def ann():
    return TraderFactory(email="ann@example.com")


@pytest.fixture
def bob():
    return TraderFactory(email="bob@example.com")


@pytest.fixture
def anns(ann):
    with owned_tx(ann):
        return UserFactFactory(content="Ann trades bitcoin")


@pytest.fixture
def bobs(bob):
    with owned_tx(bob):
        return UserFactFactory(content="Bob hoards gold")
