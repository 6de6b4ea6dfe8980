"""Filters of the trades page, kept under a name."""

from datetime import datetime
from typing import Final
from uuid import UUID

from config.lib.errors import DomainError, NotFound
from config.lib.text import one_line
from trading.models import SavedFilter
from trading.models.remarks import MAX_NAME, MAX_QUERY

MAX_FILTERS: Final = 30


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
