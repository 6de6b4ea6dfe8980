"""Places over REST."""

import pytest

from memory.models import Place
from tests.owners import as_owner

pytestmark = pytest.mark.django_db


def test_places_are_saved_listed_removed_and_brought_back(api, trader):
    made = api("post", "places/", {"place_id": "home", "name": "Home", "notes": "123 Main St"}, status=201)
    api("post", "places/", {"place_id": "home", "name": "Home"}, status=200)

    [place] = api("get", "places/")["places"]
    assert (place["id"], place["name"], place["notes"], place["conversations"]) == (
        made["id"],
        "Home",
        "123 Main St",
        0,
    )
    removed = api("delete", f"places/{made['id']}/")
    assert api("get", "places/")["places"] == []
    api("post", f"memory/events/{removed['event_id']}/undo/", {})
    assert as_owner(trader, lambda: Place.objects.get().removed_at) is None
