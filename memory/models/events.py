"""The undo log."""

from uuid import uuid4

from django.db import models
from django.db.models import Q

from config.lib.owned import OwnedModel
from memory.models.facts import UserFact
from memory.models.places import Place


class WriteKind(models.TextChoices):
    """The kind of a write to memory, with the text of the memory line."""

    SAVE = "save", "Memory saved"
    UPDATE = "update", "Memory updated"
    CONFIRM = "confirm", "Memory confirmed"
    FORGET = "forget", "Memory forgotten"
    PROMOTE = "promote", "Memory confirmed as yours"
    DEMOTE = "demote", "Memory marked as inferred"
    ARCHIVE = "archive", "Memory archived"
    RESTORE = "restore", "Memory restored"
    MERGE = "merge", "Memory merged"
    DELETE = "delete", "Memory deleted"
    LINK = "link", "Memories linked"
    UNLINK = "unlink", "Memories unlinked"
    PLACE = "place", "Place saved"
    MENTION = "mention", "Place mentioned"
    EVICT = "evict", "Memory left out for space"
    IMPORT = "import", "Memory imported"


class MemoryEvent(OwnedModel):
    """A write to memory with rows before and after."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    kind = models.CharField(max_length=10, choices=WriteKind)
    lineage = models.UUIDField(null=True)  # of the changed fact; None for a place
    before = models.ForeignKey(UserFact, on_delete=models.CASCADE, null=True, related_name="+")
    after = models.ForeignKey(UserFact, on_delete=models.CASCADE, null=True, related_name="+")
    place = models.ForeignKey(Place, on_delete=models.CASCADE, null=True, related_name="+")
    detail = models.JSONField(default=dict)  # more data for the undo, by kind
    batch_id = models.UUIDField(null=True)  # events undone together
    is_by_staff = models.BooleanField(default=False)
    previous_confirmed_at = models.DateTimeField(null=True)  # the value before a confirmation
    conversation_id = models.UUIDField(null=True)
    message_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField()
    undone_at = models.DateTimeField(null=True)

    class Meta(OwnedModel.Meta):
        db_table = "memory_events"
        indexes = (
            models.Index(fields=("user", "lineage", "created_at"), name="memory_events_by_lineage"),
            models.Index(fields=("user", "-created_at"), name="memory_events_by_time"),
            models.Index(
                fields=("user", "batch_id"), name="memory_events_by_batch", condition=Q(batch_id__isnull=False)
            ),
        )
        constraints = (
            models.CheckConstraint(condition=Q(kind__in=WriteKind.values), name="memory_event_kind_known"),
            models.CheckConstraint(
                condition=Q(before__isnull=False) | Q(after__isnull=False) | Q(place__isnull=False),
                name="memory_event_has_a_row",
            ),
        )

    @property
    def label(self) -> str:
        return f"{self.get_kind_display()}{', by staff' if self.is_by_staff else ''}"

    def __str__(self) -> str:
        return f"{self.label} ({self.created_at:%Y-%m-%d %H:%M})"
