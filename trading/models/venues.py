"""Where a user's own trades come from: accounts at venues, and files on their way in."""

from typing import Any
from uuid import uuid4

from django.db import models
from django.db.models import Q

from config.lib.owned import OwnedModel


class VenueAccount(OwnedModel):
    """An account at a venue that Keel reads: by its public address, or by a key that only reads."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    venue = models.CharField(max_length=20)  # a key of `intake.feeds.SOURCES`
    name = models.CharField(max_length=20, blank=True)  # tells several accounts at a venue, and their records, apart
    address = models.CharField(max_length=64, blank=True)
    sealed_key = models.TextField(blank=True)  # encrypted: `intake.keys`
    key_hint = models.CharField(max_length=12, blank=True)  # how the key begins, to tell keys apart
    markets: "models.JSONField[Any, Any]" = models.JSONField(default=list, blank=True)  # where a venue has to be told
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()  # of the next sync
    read_from = models.DateTimeField(null=True, blank=True)  # what is known begins and ends here
    read_until = models.DateTimeField(null=True, blank=True)
    gaps: "models.JSONField[Any, Any]" = models.JSONField(default=list, blank=True)  # sentences on what is missing
    error = models.CharField(max_length=280, blank=True)  # of the last sync

    class Meta(OwnedModel.Meta):
        db_table = "venue_accounts"
        indexes = (
            models.Index(fields=("user", "-created_at"), name="venue_accounts_by_time"),
            models.Index(fields=("due_at",), name="venue_accounts_due"),
        )
        constraints = (
            models.CheckConstraint(
                condition=(Q(address="") & ~Q(sealed_key="")) | (~Q(address="") & Q(sealed_key="")),
                name="venue_account_has_one_way_in",
            ),
            models.UniqueConstraint(
                fields=("user", "venue", "address"), condition=~Q(address=""), name="venue_account_once"
            ),
            models.UniqueConstraint(fields=("user", "venue", "name"), name="venue_account_has_its_record"),
        )

    def __str__(self) -> str:
        return f"{self.venue} {self.address or self.key_hint}…"


class TradeFile(OwnedModel):
    """A file that waits for its import; deleted with it, or after a day."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    name = models.CharField(max_length=200)
    content = models.BinaryField()  # packed
    mapping: "models.JSONField[Any, Any]" = models.JSONField(default=dict)  # `intake.formats.FillMapping`
    created_at = models.DateTimeField()

    class Meta(OwnedModel.Meta):
        db_table = "trade_files"
        indexes = (models.Index(fields=("user", "-created_at"), name="trade_files_by_time"),)

    def __str__(self) -> str:
        return self.name
