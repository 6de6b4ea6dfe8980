"""The history of a fact: its versions, events and word changes."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.utils import timezone

from config.lib.text import WordRun, list_word_changes
from memory.models import MemoryEvent, UserFact

CHANGES_SHOWN: Final = 50  # on a page of the timeline


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    at: datetime
    label: str
    event: MemoryEvent | None = None
    version: UserFact | None = None  # the version written then, or None
    # The difference to the version before; empty for the first one and for equal words.
    words: list[WordRun] = field(default_factory=list)
    changes: list[tuple[str, str, str]] = field(default_factory=list)  # other changes: name, before, after


def list_versions(lineage: UUID) -> list[UserFact]:
    """Return a lineage's rows, oldest first, by `supersedes`."""
    successors = {row.supersedes_id: row for row in UserFact.objects.filter(lineage=lineage)}
    versions: list[UserFact] = []
    while row := successors.get(versions[-1].pk if versions else None):
        versions.append(row)
    return versions


def list_events(lineage: UUID) -> list[MemoryEvent]:
    """Return the events of a lineage, newest first."""
    return list(MemoryEvent.objects.filter(lineage=lineage).order_by("-created_at", "id"))


def get_timeline(number: int) -> "Page[Any]":
    """Return a page of the writes to facts, newest first, at most the last page."""
    rows = MemoryEvent.objects.filter(lineage__isnull=False).select_related("before", "after")
    page: Page[Any] = Paginator(rows.order_by("-created_at", "id"), CHANGES_SHOWN).get_page(number)
    page.object_list = [HistoryEntry(event.created_at, event.label, event, **compare_event(event)) for event in page]
    return page


def list_history(lineage: UUID) -> list[HistoryEntry]:
    """Return the versions and other events of a fact, oldest first."""
    versions = list_versions(lineage)
    by_id: dict[UUID | None, UserFact] = {version.pk: version for version in versions}
    events = list(MemoryEvent.objects.filter(lineage=lineage).select_related("after").order_by("created_at", "id"))
    wrote = {event.after_id: event for event in events if event.after_id in by_id and event.after_id != event.before_id}
    entries = []
    for version in versions:
        before, event = by_id.get(version.supersedes_id), wrote.get(version.pk)
        label = event.label if event else "Brought back by an undo" if before else "Memory saved"
        entries.append(HistoryEntry(version.created_at, label, event, version, **_compare_rows(before, version)))
    acts = (event for event in events if wrote.get(event.after_id) is not event)
    entries += [HistoryEntry(event.created_at, event.label, event) for event in acts]
    return sorted(entries, key=lambda entry: entry.at)


def compare_event(event: MemoryEvent) -> dict[str, Any]:
    """Return the `words` that a write changed, and the other `changes`: name, before, after."""
    return _compare_rows(event.before, event.after)


def _compare_rows(before: UserFact | None, after: UserFact | None) -> dict[str, Any]:
    if before is None or after is None:
        return {"words": [], "changes": []}
    words = list_word_changes(before.content, after.content) if before.content != after.content else []
    return {"words": words, "changes": _list_changes(before, after)}


def _list_changes(before: UserFact, after: UserFact) -> list[tuple[str, str, str]]:
    pairs = (
        ("Topic", before.topic or "none", after.topic or "none"),
        ("Category", before.get_category_display(), after.get_category_display()),
        ("Confidence", before.get_confidence_display(), after.get_confidence_display()),
        ("Source", before.get_source_display(), after.get_source_display()),
        ("Shorter line", before.summary or "none", after.summary or "none"),
        ("Detail", before.body or "none", after.body or "none"),
        ("True until", _format_day(before.valid_until), _format_day(after.valid_until)),
    )
    return [pair for pair in pairs if pair[1] != pair[2]]


def _format_day(moment: datetime | None) -> str:
    return "no end" if moment is None else f"{timezone.localtime(moment):%Y-%m-%d}"
