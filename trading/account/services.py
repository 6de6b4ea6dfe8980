"""What a trader sets and keeps: experience tier, token budget, saved filters; and the staff log that they read."""

from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import F, Q, QuerySet

from config.lib.errors import DomainError, NotFound
from config.lib.owned import owner_id
from config.lib.text import one_line
from trading.models import ExperienceTier, SavedFilter, StaffEntry, Trader
from trading.models.filters import MAX_NAME, MAX_QUERY

MAX_FILTERS: Final = 30


class TierUnknown(DomainError):
    """There is no such tier of experience."""


def choose_tier(*, tier: str) -> None:
    """Set the owner's experience tier. Raises TierUnknown."""
    if tier not in ExperienceTier.values:
        raise TierUnknown(f"There is no tier {tier}. Take one of {', '.join(ExperienceTier.values)}.")
    Trader.objects.filter(pk=owner_id()).update(experience_tier=tier)


def set_token_budget(*, tokens: int | None) -> None:
    """Set the owner's tokens per day; None follows the setting."""
    Trader.objects.filter(pk=owner_id()).update(daily_token_budget=tokens)


def skip_first_steps(*, steps: Collection[str]) -> None:
    """Leave first steps out of the owner's page, beside those left out before."""
    row = Trader.objects.select_for_update().get(pk=owner_id())
    row.skipped_steps = sorted({*row.skipped_steps, *steps})
    row.save(update_fields=["skipped_steps"])


# --- Filters of the trades page, kept under a name ---


class FilterNotFound(NotFound):
    """The user has no such filter."""


class FilterRefused(DomainError):
    """The filter cannot be saved; the message says why."""


def save_filter(*, name: str, query: str, now: datetime) -> SavedFilter:
    """Keep a selection, in place of one with the same name, inside `owned_tx(user)`. Raises FilterRefused."""
    name = one_line(name)[:MAX_NAME]
    if not name or not query:
        raise FilterRefused("Give the filter a name, and choose at least one filter or column.")
    if len(query) > MAX_QUERY:
        raise FilterRefused("These are too many filters to save.")
    if SavedFilter.objects.exclude(name=name).count() >= MAX_FILTERS:
        raise FilterRefused(f"At most {MAX_FILTERS} filters can be saved. Delete one first.")
    values = {"query": query, "created_at": now}
    return SavedFilter.objects.update_or_create(name=name, defaults=values)[0]


def list_filters() -> list[SavedFilter]:
    """Return the saved filters by name."""
    return list(SavedFilter.objects.order_by("name"))


def delete_filter(filter_id: UUID) -> None:
    """Delete a saved filter, inside `owned_tx(user)`. Raises FilterNotFound."""
    if not SavedFilter.objects.filter(pk=filter_id).delete()[0]:
        raise FilterNotFound("You have no such filter.")


# --- The staff log, for the user whom it concerns ---


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
