"""The companion's one tool, as seed 004 names it."""

import re

import pytest

from chat.tools.facts import manage_user_memory
from memory.facts.undo import undo_event
from memory.models import MemoryEvent, Place, PlaceMention, UserFact
from tests.chat.tools.talking import NOW, Toolbox, row
from tests.factories.memory import UserFactFactory


@pytest.fixture
def box(as_trader) -> Toolbox:
    """The companion's tool in a chat where the user has typed a line."""
    return Toolbox(as_trader, "companion", "My name is Alex, and home is 123 Main St.")


def manage(box, operation, **arguments):
    return box.call("manage_user_memory", operation=operation, **arguments)


def test_description_tells_when_to_use_it_and_what_to_store():
    """In the words of seed 004; `tools.json` has the whole."""
    description = manage_user_memory.schema["function"]["description"]

    assert "store and retrieve persistent facts about the user that should be remembered across" in description
    assert re.findall(r"^[A-Z ]+:$", description, re.MULTILINE) == ["WHEN TO USE:", "WHAT TO STORE:", "DO NOT STORE:"]
    assert description.count("\n- ") == 11


def test_add_fact_saves_it_and_tells_the_memory_line(box):
    result = manage(box, "add_fact", content="User's name is Alex")

    fact, event = UserFact.objects.get(), MemoryEvent.objects.get()
    assert (result["fact_id"], result["content"]) == (str(fact.pk), "User's name is Alex")
    assert result["memoryEvent"] == {"id": str(event.pk), "kind": "save", "before": None, "after": row(fact)}
    assert (fact.confidence, fact.category, fact.conversation_id) == ("asserted", "fact", box.conversation.pk)


@pytest.mark.parametrize("reference", ["id", "words"])
def test_deactivate_fact_takes_an_id_or_words(as_trader, reference):
    box = Toolbox(as_trader, "companion", "I don't live in Seattle any more.")
    fact = UserFactFactory(content="User lives in Seattle")

    result = manage(box, "deactivate_fact", fact_id=str(fact.pk) if reference == "id" else "seattle")

    fact.refresh_from_db()
    assert (result["fact_id"], fact.archived_reason) == (str(fact.pk), "agent_forget")
    assert result["memoryEvent"]["kind"] == "forget"


def test_deactivate_fact_with_words_of_several_facts_gives_the_candidates(box):
    facts = [UserFactFactory(content=content) for content in ("Lives in Seattle", "Works in Seattle, too")]

    result = manage(box, "deactivate_fact", fact_id="seattle")

    assert result["candidates"] == [{"fact_id": str(fact.pk), "fact": fact.content} for fact in facts]


def test_add_poi_saves_the_place_and_notes_the_message(box):
    result = manage(box, "add_poi", place_id="home", place_name="Home", notes="123 Main St")

    place, mention = Place.objects.get(), PlaceMention.objects.get()
    assert result["place_id"] == "home"
    assert (place.name, place.notes) == ("Home", "123 Main St")
    assert (mention.conversation_ref, mention.message_ref) == (str(box.conversation.pk), str(box.messages[-1].pk))
    shown = {"place_id": "home", "place": "Home", "notes": "123 Main St", "text": "Home: 123 Main St"}
    assert result["memoryEvent"]["after"] == shown


def test_add_poi_on_a_known_place_updates_its_notes_and_can_be_undone(box):
    manage(box, "add_poi", place_id="home", place_name="Home", notes="123 Main St")

    event = manage(box, "add_poi", place_id="home", place_name="Home", notes="5 Side St")["memoryEvent"]

    assert Place.objects.get().notes == "5 Side St"
    assert PlaceMention.objects.count() == 1
    undo_event(event_id=event["id"], now=NOW)
    assert Place.objects.get().notes == "123 Main St"


def test_get_memory_gives_the_document(box):
    fact = UserFactFactory(content="User lives in Seattle")
    manage(box, "add_poi", place_id="home", place_name="Home")

    document = manage(box, "get_memory")

    assert list(document) == ["facts", "placer_user_datapoints", "metadata"]
    assert [entry["id"] for entry in document["facts"]] == [str(fact.pk)]
    assert [place["place_id"] for place in document["placer_user_datapoints"]] == ["home"]


@pytest.mark.parametrize(
    ("operation", "arguments", "missing"),
    [
        ("add_fact", {}, "content"),
        ("add_fact", {"content": "  "}, "content"),
        ("deactivate_fact", {"content": "Seattle"}, "fact_id"),
        ("add_poi", {"place_name": "Home"}, "place_id"),
        ("add_poi", {"place_id": "home"}, "place_name"),
    ],
)
def test_what_an_operation_needs_is_named(box, operation, arguments, missing):
    assert manage(box, operation, **arguments) == {"error": f"{operation} needs {missing}."}
    assert not MemoryEvent.objects.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        {"operation": "add_fact", "content": "My password is hunter2"},
        {"operation": "add_poi", "place_id": "bank", "place_name": "Bank", "notes": "password: hunter2"},
        {"operation": "add_poi", "place_id": "bank", "place_name": "x" * 121},
        {"operation": "delete_everything"},
    ],
    ids=str,
)
def test_what_may_not_be_kept_is_refused(box, arguments):
    assert "error" in box.call("manage_user_memory", **arguments)
    assert not UserFact.objects.exists()
    assert not Place.objects.exists()


def test_a_save_into_a_full_document_names_what_left(box, settings):
    settings.MEMORY_TOKEN_LIMIT = 200
    facts = [UserFactFactory(content=f"Fact {number} {'gold and silver ' * 4}") for number in range(2)]

    result = manage(box, "add_fact", content="I trade in the morning")

    assert set(result["left_document"]) <= {fact.content for fact in facts}
    assert result["left_document"]
    assert "return when there is room" in result["left_document_note"]
