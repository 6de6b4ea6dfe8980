from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from memory.facts.places import add_place
from memory.facts.versions import Origin
from memory.models import MemoryEvent, Place
from tests.memory.browsing import FACTS, SECRET, act, into, is_page, text_of
from tests.owners import as_owner

PLACES = f"{FACTS}places/"


@pytest.fixture
def gym(trader) -> Place:
    """A place of the trader."""
    return as_owner(
        trader, lambda: add_place(place_id="gym", name="Ironworks", notes="on 5th", now=timezone.now()).place
    )


def edit(place) -> str:
    return reverse("memory:edit_place", args=[getattr(place, "pk", place)])


def remove(place) -> str:
    return reverse("memory:remove_place", args=[getattr(place, "pk", place)])


def test_places_shows_each_with_its_notes_and_how_many_conversations_mention_it(client, trader, gym):
    for conversation_id, message_id in ((uuid4(), 1), (uuid4(), 2)):
        origin = Origin(conversation_id, message_id)
        as_owner(
            trader, lambda origin=origin: add_place(place_id="gym", name=gym.name, origin=origin, now=timezone.now())
        )

    words = text_of(client.get(PLACES))

    assert "Ironworks on 5th Mentioned in 2 conversations Last mentioned" in words


@pytest.mark.parametrize(("name", "place_id"), [("Blue Bottle!", "blue-bottle"), ("ร้านกาแฟ", "ร้านกาแฟ"), ("☕", "☕")])
def test_add_saves_a_place_under_an_id_made_of_its_name_and_undo_removes_it(client, trader, name, place_id):
    response = client.post(PLACES, {"name": f" {name} ", "notes": "coffee"}, follow=True)

    place = as_owner(trader, Place.objects.get)
    assert (place.place_id, place.name, place.notes) == (place_id, name, "coffee")
    assert f"Place saved “ {name} ”" in text_of(response)
    event = as_owner(trader, MemoryEvent.objects.get)
    undone = client.post(act("undo", event), {"next": PLACES}, follow=True)
    assert "Undone: Place saved" in text_of(undone)
    assert "Keel knows no place yet" in text_of(undone)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"name": "", "notes": "coffee"}, "Name the place first."),
        ({"name": "Desk", "notes": SECRET}, "Keel never keeps those"),
        ({"name": "x" * 121, "notes": "coffee"}, "at most 120 characters"),
    ],
    ids=["no name", "a secret", "too long"],
)
def test_add_refuses_and_keeps_what_was_typed(client, trader, data, words):
    page, piece = client.post(PLACES, data), client.post(PLACES, data, headers=into("places", at=PLACES))

    assert (is_page(page), is_page(piece)) == (True, False)
    for response in (page, piece):
        assert response.status_code == 422
        assert words in text_of(response)
        assert f'value="{data["notes"]}"' in response.content.decode()
    assert not as_owner(trader, Place.objects.exists)


def test_edit_corrects_in_place_and_undo_takes_it_back(client, trader, gym):
    form = client.get(PLACES, {"edit": str(gym.pk)}, headers=into("places", at=PLACES))
    assert 'value="Ironworks"' in form.content.decode()

    response = client.post(edit(gym), {"name": "Ironworks", "notes": ""}, headers=into("places", at=PLACES))

    assert not is_page(response)
    assert as_owner(trader, Place.objects.get).notes == ""
    event = as_owner(trader, lambda: MemoryEvent.objects.order_by("-created_at").first())
    client.post(act("undo", event))
    assert as_owner(trader, Place.objects.get).notes == "on 5th"


def test_remove_takes_a_place_away_and_undo_brings_it_back(client, gym):
    removed = client.post(remove(gym), {"next": PLACES}, follow=True)
    event_id = removed.redirect_chain[0][0].partition("event=")[2].partition("#")[0]

    undone = client.post(act("undo", event_id), headers=into("places", at=PLACES))

    assert "Place removed “ Ironworks ”" in text_of(removed)
    assert "Keel knows no place yet" in text_of(removed)
    assert "Ironworks on 5th" in text_of(undone)


def test_undo_that_something_stands_on_is_refused_with_the_places_as_they_are(client, trader, gym):
    event = as_owner(trader, MemoryEvent.objects.get)
    client.post(edit(gym), {"name": "Ironworks", "notes": "on 6th"})

    response = client.post(act("undo", event))

    assert response.status_code == 409
    assert "undo the later change first" in text_of(response)
    assert "on 6th" in text_of(response)


def test_undo_from_a_chat_answers_with_the_line_of_the_place(client, trader, gym):
    event = as_owner(trader, MemoryEvent.objects.get)

    response = client.post(act("undo", event), headers=into("memory-1", at="/chat/"))

    assert "Undone: Place saved Ironworks" in text_of(response)
    assert f'href="{PLACES}"' in response.content.decode()
    assert as_owner(trader, Place.objects.get).removed_at is not None


def test_the_undo_line_of_a_place_stands_on_its_own_page_alone(client, trader, gym):
    event = as_owner(trader, MemoryEvent.objects.get)

    assert "Place saved" in text_of(client.get(PLACES, {"event": str(event.pk)}))
    assert "Place saved" not in text_of(client.get(FACTS, {"event": str(event.pk)}))
