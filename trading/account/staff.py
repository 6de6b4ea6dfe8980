"""The staff log, for the user whom it concerns."""

from django.db.models import QuerySet

from trading.models import StaffEntry


def list_entries() -> QuerySet[StaffEntry]:
    """Return the looks and acts that concern the owner, newest first."""
    return StaffEntry.objects.with_staff().order_by("-created_at", "id")
