import pytest
from django.utils import timezone

from chat.conversations.services import start_conversation
from chat.turns import live
from chat.web import rooms
from config.lib.llm import door
from config.lib.owned import owned_tx
from tests.chat.desk import Desk
from tests.chat.tabs import signed_in
from tests.chat.talk import Outage, Talk
from tests.fakes import ScriptedModel
from tests.owners import as_trader, stranger, trader

__all__ = ["as_trader", "stranger", "trader"]


def new_talk(user) -> Talk:
    """Return an empty conversation of a user."""
    with owned_tx(user):
        return Talk(user.pk, start_conversation(now=timezone.now()).pk)


@pytest.fixture
def talk(trader):
    """An empty conversation of the trader's."""
    return new_talk(trader)


@pytest.fixture
def ann(trader):
    """The trader's browser, signed in."""
    return signed_in(trader)


@pytest.fixture
def model(settings):
    """The model that answers and extracts in this test; it says what the test wrote."""
    settings.EXTRACT_MODELS = ["scripted/extractor"]
    scripted = ScriptedModel()
    door.register_provider("scripted", lambda: scripted)
    return scripted


@pytest.fixture
def outage(monkeypatch):
    """A database that can be made to fail, on every thread."""
    return Outage(monkeypatch)


@pytest.fixture
def desk(as_trader):
    """What cards are drawn for, inside the trader's scope."""
    return Desk()


@pytest.fixture(autouse=True)
def _no_turn_left():
    """Fail the test that leaves a room or a turn behind in this process."""
    yield
    left = [*rooms._rooms, *live._turns]
    for known in (rooms._rooms, live._turns, live._viewers):
        known.clear()
    assert left == [], "a room or a turn was left behind"
