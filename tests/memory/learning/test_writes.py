from datetime import timedelta
from uuid import uuid4

import pytest

from memory.facts.places import add_place, remove_place
from memory.facts.queries import is_learning
from memory.facts.services import (
    archive_fact,
    confirm_fact,
    delete_fact,
    forget_fact,
    link_facts,
    promote_fact,
    remember_fact,
    restore_fact,
    set_switches,
    supersede_fact,
)
from memory.facts.undo import undo_event
from memory.facts.versions import MemoryPaused, Origin
from memory.learning.writes import FactForgotten, learn_fact, refuse_forgotten
from memory.models import MemoryEvent, Tombstone, UserFact, WriteKind
from tests.factories.memory import JULY, JUNE, MAY, MemorySwitchesFactory, PlaceFactory, UserFactFactory, believed
from tests.memory.facts.test_links import ENDINGS
from tests.owners import as_owner

SECOND = timedelta(seconds=1)
CHAT = uuid4()
# When each message was sent: 1 and 2 in May, 3 at the moment of now, 4 after it.
SAID_AT = {1: MAY, 2: MAY + timedelta(days=1), 3: JUNE, 4: JUNE + SECOND}


def quoting(*message_ids: int) -> Origin:
    quotes = tuple({"message_id": number, "start": 0, "end": 9} for number in message_ids)
    return Origin(conversation_id=CHAT, quotes=quotes)


def learn(content: str = "Trades from Lisbon", *, messages=(1,), now=JUNE, **values):
    given = {"topic": "", "category": None, "score": 0.8, **values}
    return learn_fact(content=content, said_at=SAID_AT, origin=quoting(*messages), now=now, **given)


# --- Trust tiers ---
def test_learning_never_lets_explicit_words_that_ended_hold_again(as_trader):
    ended = UserFactFactory(content="Trades from Lisbon", ended=True)
    old = learn("Trades from Porto").fact

    written = learn("Trades from Lisbon", target_id=old.pk, messages=(2,))

    assert (written.fact, written.event) == (ended, None)
    assert believed() == ["Trades from Lisbon", "Trades from Porto"]


# --- Tombstones ---


@pytest.fixture
def fact(as_trader):
    return learn("Retires at 50", topic="goal", messages=(1,), now=MAY).fact


@pytest.mark.parametrize("messages", [(4,), (1, 4)], ids=["newer", "one newer"])
def test_newer_quotes_of_the_same_topic_are_learned(fact, messages):
    ENDINGS["forget"](fact)

    assert learn("Retires at 55", topic="goal", messages=messages, now=JULY).event.kind == WriteKind.SAVE


def test_tombstone_holds_a_digest_keyed_by_the_user_and_no_words(stranger, fact):
    ENDINGS["forget"](fact)

    def forget_the_same():
        ENDINGS["forget"](UserFactFactory(content="Retires at 50", topic="goal"))
        return Tombstone.objects.values().get()

    mine, theirs = Tombstone.objects.values().get(), as_owner(stranger, forget_the_same)
    assert "Retires" not in str(mine)
    assert mine["digest"] != theirs["digest"]
    assert "goal" not in str(mine)
    assert (mine["category"], mine["message_ids"]) == ("profile", [1])


LIFTS = {
    "saying it again": lambda fact, event: remember_fact(content="retires at 50.", now=JUNE),
    "saying it in another fact's place": lambda fact, event: supersede_fact(
        fact_id=UserFactFactory(content="Retires at 60").pk, content="Retires at 50", now=JUNE
    ),
    "restore": lambda fact, event: restore_fact(fact_id=fact.pk, now=JUNE),
    "undo of the forget": lambda fact, event: undo_event(event_id=event.pk, now=JUNE),
}


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("lift", LIFTS)
def test_tombstone_is_lifted_by(fact, how, lift):
    event = ENDINGS[how](fact).event
    assert Tombstone.objects.count() == 1

    LIFTS[lift](fact, event)

    assert not Tombstone.objects.exists()


def test_without_quotes_only_the_words_themselves_are_buried(fact):
    ENDINGS["forget"](fact)

    refuse_forgotten("Stops working at fifty", ("profile", "goal"), [], {})
    with pytest.raises(FactForgotten):
        refuse_forgotten("Retires at 50", ("profile", "goal"), [], {})


# --- The switches ---


def test_set_switches_leaves_what_is_not_given(as_trader):
    set_switches(learns=False)
    assert (is_learning(), set_switches(uses_facts=False).learns) == (False, False)

    switches = set_switches(learns=True)

    assert (switches.uses_facts, switches.learns, is_learning()) == (False, True, True)


WRITES = {
    "save": lambda origin: remember_fact(content="Retires at 55", origin=origin, now=JUNE),
    "the same words": lambda origin: remember_fact(content="Funds only", topic="risk", origin=origin, now=JUNE),
    "update": lambda origin: supersede_fact(fact_id=pk("Funds only"), content="Bonds only", origin=origin, now=JUNE),
    "confirm": lambda origin: confirm_fact(fact_id=pk("Funds only"), origin=origin, now=JUNE),
    "link": lambda origin: link_facts(
        from_id="Funds only", to_id="Gold only", relation="relates_to", origin=origin, now=JUNE
    ),
    "place": lambda origin: add_place(place_id="work", name="Work", origin=origin, now=JUNE),
    "known place": lambda origin: add_place(place_id="home", name="My home", origin=origin, now=JUNE),
}
FORGETTINGS = {
    "forget": lambda origin: forget_fact(id_or_substring="Funds only", origin=origin, now=JUNE),
    "archive": lambda origin: archive_fact(fact_id=pk("Funds only"), origin=origin, now=JUNE),
    "delete": lambda origin: delete_fact(fact_id=pk("Funds only"), origin=origin, now=JUNE),
}


def pk(content: str):
    return UserFact.objects.believed().get(content=content).pk


@pytest.fixture
def paused(as_trader):
    MemorySwitchesFactory(learns=False)
    UserFactFactory(content="Funds only")
    UserFactFactory(content="Gold only")
    PlaceFactory(place_id="home", name="Home")


@pytest.mark.parametrize("write", [*WRITES, "mention"])
def test_paused_memory_takes_nothing_from_a_chat(paused, write):
    mention = {"mention": lambda origin: add_place(place_id="home", name="Home", origin=origin, now=JUNE)}

    with pytest.raises(MemoryPaused, match="paused"):
        (WRITES | mention)[write](Origin(conversation_id=uuid4(), message_id=1))

    assert believed() == ["Funds only", "Gold only"]
    assert not MemoryEvent.objects.exists()


@pytest.mark.parametrize("write", WRITES)
def test_paused_memory_takes_writes_of_the_page(paused, write):
    WRITES[write](Origin())

    assert MemoryEvent.objects.count() == 1


@pytest.mark.parametrize("forgetting", FORGETTINGS)
def test_paused_memory_lets_a_chat_forget(paused, forgetting):
    FORGETTINGS[forgetting](Origin(conversation_id=uuid4()))

    assert believed() == ["Gold only"]


def test_paused_memory_can_be_undone_and_tidied_from_the_page(paused):
    event = forget_fact(id_or_substring="Funds only", now=JUNE).event
    undo_event(event_id=event.pk, now=JUNE)
    remove_place(id=PlaceFactory().pk, now=JUNE)
    promote_fact(fact_id=UserFactFactory(inferred=True).pk, now=JUNE)

    assert "Funds only" in believed()
