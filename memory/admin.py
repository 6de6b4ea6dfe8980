"""The admin of memory."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config.lib.admin import Act, LookOnly, LookOnlyAdmin, register_rows
from memory import models
from memory.facts.history import list_events, list_versions
from memory.facts.review import accept_proposal, dismiss_proposal
from memory.facts.services import archive_fact, demote_fact, promote_fact, restore_fact
from memory.facts.versions import STAFF


def _as_staff(write: Callable[..., object], **values: object) -> Callable[[Any, datetime], object]:
    return lambda fact, now: write(fact_id=fact.pk, origin=STAFF, now=now, **values)


def _decide_as_staff(decide: Callable[..., object]) -> Callable[[Any, datetime], object]:
    return lambda proposal, now: decide(proposal_id=proposal.pk, is_staff=True, now=now)


def _list_versions(fact: models.UserFact) -> SafeString:
    """Return the lineage as links, this version bold."""
    rows = (
        (
            reverse("admin:memory_userfact_change", args=[version.pk]),
            format_html("<b>{}</b>", version.content) if version.pk == fact.pk else version.content,
            f"{version.created_at:%Y-%m-%d %H:%M} UTC",
            version.get_archived_reason_display() or "in use",
        )
        for version in list_versions(fact.lineage)
    )
    return format_html("<ol>{}</ol>", format_html_join("", '<li><a href="{}">{}</a> ({}, {})</li>', rows))


def _list_events(fact: models.UserFact) -> SafeString:
    rows = ((str(event), "undone" if event.undone_at else "") for event in list_events(fact.lineage))
    return format_html("<ul>{}</ul>", format_html_join("", "<li>{} {}</li>", rows))


# One row per version of a fact.
register_rows(
    models.UserFact,
    newest="created_at",
    list_display=(
        *("content", "topic", "category", "user", "source", "confidence", "score"),
        admin.display(lambda fact: not fact.is_archived, boolean=True, description="in use"),
        "created_at",
    ),
    list_filter=(
        *("source", "confidence", "category", ("archived_at", admin.EmptyFieldListFilter)),
        *("archived_reason", ("trashed_at", admin.EmptyFieldListFilter)),
    ),
    search_fields=("content", "topic"),
    readonly_fields=(
        admin.display(_list_versions, description="versions, oldest first"),
        admin.display(_list_events, description="events, newest first"),
    ),
    exclude=("search_terms",),
    acts=(
        Act("archive", "Archive", _as_staff(archive_fact, reason=models.ArchivedReason.STAFF_ARCHIVED)),
        Act("restore", "Restore", _as_staff(restore_fact)),
        Act("promote", "Mark as said by the user", _as_staff(promote_fact)),
        Act("demote", "Mark as inferred", _as_staff(demote_fact)),
    ),
)
register_rows(
    models.MemoryEvent,
    newest="created_at",
    list_display=("created_at", "kind", "user", "before", "after", "place", "batch_id", "undone_at"),
    list_filter=("kind", ("undone_at", admin.EmptyFieldListFilter), ("batch_id", admin.EmptyFieldListFilter)),
    search_fields=("before__content", "after__content", "place__name", "batch_id"),
)
register_rows(
    models.FactLink,
    newest="created_at",
    list_display=("from_fact", "relation", "to_fact", "user", "created_at"),
    list_filter=("relation",),
    search_fields=("from_fact__content", "to_fact__content", "relation"),
)
register_rows(
    models.MemoryProposal,
    newest="created_at",
    list_display=("__str__", "kind", "status", "user", "target", "created_at", "decided_at"),
    list_filter=("kind", "status"),
    search_fields=("payload", "target__content"),
    acts=(
        Act("accept", "Accept", _decide_as_staff(accept_proposal)),
        Act("dismiss", "Dismiss", _decide_as_staff(dismiss_proposal)),
    ),
)
register_rows(
    models.Tombstone,
    newest="created_at",
    list_display=("created_at", "category", "user", "event"),
    list_filter=("category",),
    search_fields=(),
)


class PlaceMentionInline(LookOnly, admin.TabularInline):
    """The messages that mention a place."""

    model = models.PlaceMention
    fields = ("conversation_ref", "message_ref", "mentioned_at")
    ordering = ("-mentioned_at", "id")
    extra = 0
    can_delete = False


register_rows(
    models.Place,
    newest="added_at",
    list_display=("name", "place_id", "notes", "user", "added_at", "removed_at"),
    list_filter=(("removed_at", admin.EmptyFieldListFilter),),
    search_fields=("name", "place_id", "notes"),
    inlines=(PlaceMentionInline,),
)
# It contains no text.
register_rows(
    models.MemorySwitches,
    LookOnlyAdmin,
    list_display=("user", "uses_facts", "learns", "decay_reported_at"),
    list_filter=("uses_facts", "learns"),
    search_fields=(),
    ordering=("user",),
)
