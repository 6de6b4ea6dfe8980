"""The staff log, for the user whom it concerns."""

from datetime import datetime

from django.db.models import F, Q, QuerySet

from config.lib.owned import owner_id
from trading.models import StaffEntry, Trader


def list_entries() -> QuerySet[StaffEntry]:
    """Return the looks and acts that concern the owner, newest first."""
    return StaffEntry.objects.with_staff().order_by("-created_at", "id")


def list_new_entries() -> QuerySet[StaffEntry]:
    """Return the looks and acts of others since the owner last read the log."""
    seen = F("user__staff_log_seen_at")
    since = Q(user__staff_log_seen_at__isnull=True) | Q(created_at__gt=seen)
    return StaffEntry.objects.filter(since).exclude(staff_id=F("user_id"))


def mark_entries_seen(*, now: datetime) -> None:
    """Note that the owner reads the log."""
    Trader.objects.filter(pk=owner_id()).update(staff_log_seen_at=now)
