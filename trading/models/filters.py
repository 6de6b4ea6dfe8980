"""Filters of the trades page, kept under a name."""

from uuid import uuid4

from django.db import models

from config.lib.owned import OwnedModel

MAX_NAME = 60
MAX_QUERY = 1_000


class SavedFilter(OwnedModel):
    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    name = models.CharField(max_length=MAX_NAME)
    query = models.CharField(max_length=MAX_QUERY)  # of the trades page, without its question mark
    created_at = models.DateTimeField()

    class Meta(OwnedModel.Meta):
        db_table = "saved_filters"
        constraints = (models.UniqueConstraint(fields=("user", "name"), name="saved_filter_once_per_name"),)

    def __str__(self) -> str:
        return self.name
