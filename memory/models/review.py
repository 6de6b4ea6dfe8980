"""The queue of writes that need the owner's decision."""

from typing import Any, Final
from uuid import uuid4

from django.db import models
from django.db.models import Q

from config.lib.owned import OwnedModel
from memory.models.facts import UserFact


class ProposalKind(models.TextChoices):
    """Why a write needs the owner's decision."""

    CONFLICT = "conflict", "Conflicts with what you said"
    UNTRUSTED = "untrusted", "Not in your own words"
    MERGE = "merge", "Says the same twice"
    IMPORT = "import", "Brought from elsewhere"


class ProposalStatus(models.TextChoices):
    PENDING = "pending", "Waiting"
    ACCEPTED = "accepted", "Accepted"
    DISMISSED = "dismissed", "Dismissed"


# The columns of a proposal that waits for a decision, or waits again.
REOPENED: Final[dict[str, Any]] = {
    **{"status": ProposalStatus.PENDING, "is_decided_by_staff": False},
    **dict.fromkeys(("decided_at", "batch_id")),
}


class MemoryProposal(OwnedModel):
    """A write that only its owner's click applies; prompts never contain it."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    kind = models.CharField(max_length=10, choices=ProposalKind)
    status = models.CharField(max_length=10, choices=ProposalStatus, default=ProposalStatus.PENDING)
    payload = models.JSONField()  # {"content", "category", "topic", "confidence", ...}; of a merge: {"fact_ids"}
    target = models.ForeignKey(UserFact, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    evidence = models.JSONField(default=dict, blank=True)  # {"why": str, "quotes": [...]}
    fingerprint = models.CharField(max_length=64)  # prevents proposing the same twice
    conversation_id = models.UUIDField(null=True, blank=True)
    batch_id = models.UUIDField(null=True, blank=True)  # of the events written on acceptance
    created_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)
    is_decided_by_staff = models.BooleanField(default=False)

    class Meta(OwnedModel.Meta):
        db_table = "memory_proposals"
        indexes = (models.Index(fields=("user", "status", "-created_at"), name="memory_proposals_by_status"),)
        constraints = (
            models.UniqueConstraint(fields=("user", "kind", "fingerprint"), name="memory_proposal_made_once"),
            models.CheckConstraint(condition=Q(kind__in=ProposalKind.values), name="memory_proposal_kind_known"),
            models.CheckConstraint(condition=Q(status__in=ProposalStatus.values), name="memory_proposal_status_known"),
            models.CheckConstraint(
                condition=Q(status="pending", decided_at__isnull=True)
                | ~Q(status="pending") & Q(decided_at__isnull=False),
                name="memory_proposal_decided_once",
            ),
        )

    def __str__(self) -> str:
        return str(self.payload.get("content", self.get_kind_display()))
