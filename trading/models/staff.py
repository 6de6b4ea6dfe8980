"""The staff log: one row for each look at a user's rows and each act."""

from typing import Self
from uuid import uuid4

from django.contrib.auth import get_user_model
from django.db import models
from django.db.models import OuterRef, Subquery

from config.lib.owned import OwnedManager, OwnedModel, OwnedQuerySet


class StaffEntryQuerySet(OwnedQuerySet["StaffEntry"]):
    def with_staff(self) -> Self:
        """Add `staff_email`, None for an erased account."""
        staff = get_user_model()._default_manager.filter(pk=OuterRef("staff_id"))
        return self.annotate(staff_email=Subquery(staff.values("email")[:1]))


_LABELS = {"open": "opened your data for 30 minutes", "read": "looked at", "budget": "set the token budget"}


class StaffEntry(OwnedModel):
    """A look or an act of staff; its owner is the user it concerns.

    An act that concerns no user, or ends one, belongs to the staff member. It names rows by kind and id and holds none
    of their text, so that erasing a fact leaves nothing here.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    staff_id = models.BigIntegerField()  # a plain id: the row stays when the staff member's account is erased
    act = models.CharField(max_length=40)
    subject = models.CharField(max_length=200)
    reason = models.CharField(max_length=280)
    created_at = models.DateTimeField()

    objects = OwnedManager.from_queryset(StaffEntryQuerySet)()  # type: ignore[misc]  # a manager with verbs of its own

    class Meta(OwnedModel.Meta):
        db_table = "staff_entries"
        verbose_name = "staff log entry"
        verbose_name_plural = "staff log"
        indexes = (models.Index(fields=("user", "-created_at"), name="staff_entries_by_time"),)
        constraints = (models.CheckConstraint(condition=models.Q(reason__gt=""), name="staff_entry_has_a_reason"),)

    @property
    def label(self) -> str:
        return _LABELS.get(self.act, self.act)

    def __str__(self) -> str:
        return f"{self.act}: {self.subject}"
