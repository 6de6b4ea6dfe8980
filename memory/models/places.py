"""Places and their mentions."""

from datetime import datetime
from uuid import uuid4

from django.db import models
from django.db.models import Q

from config.lib.owned import OwnedModel
from memory.wording import MAX_PLACE_ID, MAX_PLACE_NAME, MAX_PLACE_NOTES

MAX_REFERENCE = 64


class Place(OwnedModel):
    """A place of interest with notes (seed 004's datapoint)."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    place_id = models.CharField(max_length=MAX_PLACE_ID)  # its id in tools and documents
    name = models.CharField(max_length=MAX_PLACE_NAME)
    notes = models.CharField(max_length=MAX_PLACE_NOTES, blank=True)
    added_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True, blank=True)

    # Annotated by `list_places`.
    conversations: int  # number that mention it
    last_mentioned_at: datetime | None

    class Meta(OwnedModel.Meta):
        db_table = "memory_places"
        constraints = (
            models.UniqueConstraint(fields=("user", "place_id"), name="memory_place_known_once"),
            models.CheckConstraint(condition=Q(place_id__gt="", name__gt=""), name="memory_place_has_a_name"),
        )

    def __str__(self) -> str:
        return self.name


class PlaceMention(OwnedModel):
    """A place's mention; its ids are text, as imports need."""

    place = models.ForeignKey(Place, on_delete=models.CASCADE, related_name="mentions")
    conversation_ref = models.CharField(max_length=MAX_REFERENCE)
    message_ref = models.CharField(max_length=MAX_REFERENCE)
    mentioned_at = models.DateTimeField()

    class Meta(OwnedModel.Meta):
        db_table = "memory_place_mentions"
        indexes = (models.Index(fields=("user", "conversation_ref"), name="place_mentions_by_chat"),)
        constraints = (
            models.UniqueConstraint(
                fields=("user", "place", "conversation_ref", "message_ref"), name="memory_place_mentioned_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.conversation_ref} ({self.mentioned_at:%Y-%m-%d})"
