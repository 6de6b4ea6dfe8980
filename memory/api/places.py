"""Places over REST."""

from typing import Any
from uuid import UUID

from django.utils import timezone

from config.lib.rest.operations import NEW_OR_KNOWN, read, write
from config.lib.rest.views import ApiView
from memory.api.serializers import PlaceInput, PlacesSerializer, PlaceWrittenSerializer
from memory.facts.places import add_place, remove_place
from memory.facts.queries import list_places


class PlacesView(ApiView):
    @read("list_places", "places", PlacesSerializer)
    def get(self) -> Any:
        """List all places, by name."""
        return {"places": list_places("name")}

    @write("save_place", "places", PlaceWrittenSerializer, PlaceInput, status=NEW_OR_KNOWN)
    def post(self, **fields: Any) -> Any:
        """Save or update a place; 200 when nothing changed."""
        written = add_place(**fields, now=timezone.now())
        return written, written.event is not None


class PlaceView(ApiView):
    @write("remove_place", "places", PlaceWrittenSerializer)
    def delete(self, place_id: UUID) -> Any:
        """Remove a place; undoing the event restores it."""
        return remove_place(id=place_id, now=timezone.now())
