from datetime import timedelta
from uuid import uuid4

import pytest

from memory.facts.places import add_place, remove_place
from memory.facts.queries import list_places
from memory.facts.undo import UndoRefused, undo_event
from memory.facts.versions import FactNotFound, Origin
from memory.models import MemoryEvent, Place, PlaceMention, WriteKind
from memory.wording import FactRefused
from tests.factories.memory import JULY, JUNE, MAY, PlaceMentionFactory
from tests.owners import as_owner

DAY = timedelta(days=1)


def chat(message_id: int = 1, conversation_id=None) -> Origin:
    return Origin(conversation_id=conversation_id or uuid4(), message_id=message_id)


def home(**values):
    return add_place(**{"place_id": "home", "name": "Home", "now": JUNE, **values})


def state(place: Place) -> dict:
    return Place.objects.filter(pk=place.pk).values("name", "notes", "removed_at", "updated_at").get()


def test_add_place_saves_texts_and_logs_event(as_trader):
    origin = chat(message_id=7)

    written = home(name=" Home \u200b", notes="123 Main St,\nSeattle", origin=origin)

    place, mention = Place.objects.get(), PlaceMention.objects.get()
    assert (place.place_id, place.name, place.notes) == ("home", "Home", "123 Main St, Seattle")
    assert (place.added_at, place.updated_at, place.removed_at, place.user_id) == (JUNE, JUNE, None, as_trader.pk)
    assert (mention.place, mention.conversation_ref, mention.message_ref, mention.mentioned_at) == (
        place,
        str(origin.conversation_id),
        "7",
        JUNE,
    )
    assert (written.event.kind, written.event.place, written.event.lineage) == (WriteKind.PLACE, place, None)
    assert (written.event.conversation_id, written.event.message_id) == (origin.conversation_id, 7)


def test_add_place_on_a_known_place_updates_its_notes_and_adds_a_mention(as_trader):
    first = home(notes="123 Main St", origin=chat())

    second = home(notes="5 Side St", origin=chat(), now=JULY)

    place = Place.objects.get()
    assert (second.place, place.notes, place.added_at, place.updated_at) == (first.place, "5 Side St", JUNE, JULY)
    assert PlaceMention.objects.count() == 2


def test_add_place_keeps_notes_that_are_not_given_and_clears_them_when_given_empty(as_trader):
    home(notes="123 Main St")

    assert home(name="My home").place.notes == "123 Main St"
    assert home(notes="").place.notes == ""


def test_add_place_that_changes_nothing_counts_a_message_once_and_a_conversation_once(as_trader):
    here, there = uuid4(), uuid4()
    home(origin=chat(1, here))

    assert home(origin=chat(1, here)).event is home().event is None
    for origin in (chat(2, here), chat(3, there)):
        assert home(origin=origin).event.kind == WriteKind.MENTION

    assert MemoryEvent.objects.filter(kind=WriteKind.PLACE).count() == 1
    assert PlaceMention.objects.count() == 3
    assert [(place.name, place.conversations) for place in list_places("added_at")] == [("Home", 2)]


def test_remove_place_takes_it_out_of_what_assistants_see(as_trader):
    place = home(notes="123 Main St").place

    written = remove_place(id=place.pk, now=JULY)

    assert list_places("added_at") == []
    assert (written.event.kind, state(place)["removed_at"]) == (WriteKind.PLACE, JULY)
    with pytest.raises(FactNotFound):
        remove_place(id=place.pk, now=JULY)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"place_id": " "}, "place id is missing"),
        ({"name": "\u200b"}, "place name is missing"),
        ({"place_id": "x" * 101}, "at most 100"),
        ({"name": "x" * 121}, "at most 120"),
        ({"notes": "x" * 501}, "at most 500"),
        ({"place_id": "4111 1111 1111 1111"}, "never keeps those"),
        ({"name": "password: hunter2"}, "never keeps those"),
        ({"notes": "The alarm pin is 4711"}, "never keeps those"),
    ],
    ids=str,
)
def test_add_place_refuses_what_cannot_be_a_place(as_trader, values, says):
    with pytest.raises(FactRefused, match=says):
        home(**values)

    assert not Place.objects.exists()


def test_undo_of_each_write_of_a_place_brings_back_what_was_there(as_trader):
    """The last row: a mention alone, which leaves the place as it is."""
    here = chat()

    def look() -> list:
        return [*Place.objects.values("name", "notes", "removed_at", "updated_at"), PlaceMention.objects.count()]

    place = home(notes="123 Main St", origin=here).place
    writes = [
        lambda: home(name="My home", notes="5 Side St", origin=chat(), now=JULY),
        lambda: remove_place(id=place.pk, now=JULY),
        lambda: home(now=JULY + DAY),
        lambda: home(origin=chat(2, here.conversation_id), now=JULY + DAY),
    ]
    for number, write in enumerate(writes):
        before, written = look(), write()
        assert look() != before, number
        undo_event(event_id=written.event.pk, now=JULY + DAY)
        assert look() == before, number
        write()

    assert [(row.name, row.conversations) for row in list_places("added_at")] == [("Home", 2)]


@pytest.mark.parametrize("between", [timedelta(0), DAY], ids=["in one turn", "over days"])
def test_undo_of_a_place_is_refused_while_a_later_write_stands_on_it(as_trader, between):
    writes = [home(notes=notes, now=JUNE + number * between) for number, notes in enumerate(["a", "b", "a"])]
    writes.append(remove_place(id=writes[0].place.pk, now=JUNE + 3 * between))

    for written in writes[:-1]:
        with pytest.raises(UndoRefused, match="changed since"):
            undo_event(event_id=written.event.pk, now=JULY)
    states = []
    for written in reversed(writes):
        undo_event(event_id=written.event.pk, now=JULY)
        states.append((state(written.place)["notes"], state(written.place)["removed_at"] is None))

    assert states == [("a", True), ("b", True), ("a", True), ("a", False)]


def test_list_places_excludes_other_users(stranger, as_trader):
    foreign = as_owner(stranger, lambda: PlaceMentionFactory(place__place_id="home", place__name="Theirs").place)

    assert home().place.pk != foreign.pk
    with pytest.raises(FactNotFound):
        remove_place(id=foreign.pk, now=JUNE)
    assert [place.name for place in list_places("added_at")] == ["Home"]
    assert as_owner(stranger, lambda: Place.objects.get().updated_at) == MAY
