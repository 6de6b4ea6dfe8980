"""Undo one event or a batch; no archived row is reopened."""

from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from memory import models
from memory.facts.conflicts import list_rivals
from memory.facts.history import list_versions
from memory.facts.periods import Period
from memory.facts.places import undo_mention, undo_place
from memory.facts.versions import (
    INHERITED,
    PAGE,
    FactNotFound,
    UndoRefused,
    archive_version,
    find_twin,
    get_last_version,
    insert_version,
    lock_memory,
    take_from_trash,
)
from memory.models import ArchivedReason, MemoryEvent, UserFact, WriteKind

# These change no version, so they never block another undo.
_BESIDE_VERSIONS: Final = (WriteKind.CONFIRM, WriteKind.LINK, WriteKind.UNLINK, WriteKind.EVICT)
_ENDINGS: Final = (WriteKind.FORGET, WriteKind.ARCHIVE, WriteKind.MERGE, WriteKind.DELETE)
_CHANGED_SINCE: Final = "This fact was changed since; undo the later change first."


def undo_event(*, event_id: UUID, now: datetime) -> MemoryEvent:
    """Undo one write; idempotent. Raises FactNotFound, UndoRefused.

    The previous content returns as a new row on the lineage, and the proposal behind the write reopens.
    """
    lock_memory()
    event = MemoryEvent.objects.filter(pk=event_id).first_or(FactNotFound("There is nothing to undo."))
    if event.undone_at is None:
        _undo_events([event], now)
        if event.batch_id is not None:
            _reopen_proposal(event.batch_id)
    return event


def undo_batch(*, batch_id: UUID, now: datetime) -> list[MemoryEvent]:
    """Undo a whole batch or nothing. Raises FactNotFound, UndoRefused."""
    lock_memory()
    events = list(MemoryEvent.objects.filter(batch_id=batch_id).order_by("created_at", "id"))
    if not events:
        raise FactNotFound("There is nothing to undo.")
    standing = [event for event in events if event.undone_at is None]
    _undo_events(standing, now)
    _reopen_proposal(batch_id)
    return standing


def _reopen_proposal(batch_id: UUID) -> None:
    """Reopen the proposal once its writes are undone; evictions may stay."""
    standing = MemoryEvent.objects.filter(batch_id=batch_id, undone_at__isnull=True).exclude(kind=WriteKind.EVICT)
    if not standing.exists():
        accepted = models.MemoryProposal.objects.filter(batch_id=batch_id, status=models.ProposalStatus.ACCEPTED)
        accepted.update(**models.REOPENED)


@transaction.atomic  # a refusal must roll back the events undone so far
def _undo_events(events: list[MemoryEvent], now: datetime) -> None:
    """Undo all of these events, in any possible order, since they share their time. Raises UndoRefused."""
    waiting = events
    while waiting:
        refused: list[MemoryEvent] = []
        for event in waiting:
            try:
                _undo_event(event, now)
            except UndoRefused:
                # Each undo refuses before its first write, so a retry is safe.
                refused.append(event)
                if len(refused) == len(waiting):
                    raise
        waiting = refused
    _refuse_rivals(events, now)


def _undo_event(event: MemoryEvent, now: datetime) -> None:
    # A plan that ended or moved had moved the ends of other facts.
    for moved in MemoryEvent.objects.filter(pk__in=event.detail.get("released", []), undone_at__isnull=True):
        _undo_event(moved, now)
    _UNDO[WriteKind(event.kind)](event, now)
    event.undone_at = now
    event.save(update_fields=["undone_at"])


def _get_last_row(event: MemoryEvent) -> UserFact:
    """Return the lineage's last row. Raises UndoRefused if changed since."""
    assert event.lineage is not None, "only a place's event has no lineage"
    versions = list_versions(event.lineage)
    places = {version.pk: number for number, version in enumerate(versions)}
    standing = MemoryEvent.objects.filter(Q(before__in=places) | Q(after__in=places), undone_at__isnull=True)
    later = standing.exclude(pk=event.pk).exclude(kind__in=_BESIDE_VERSIONS)
    last = versions[-1]
    left_archived = event.kind in _ENDINGS or event.detail.get("is_ended", False)
    if (
        any(_event_position(other, places) > _event_position(event, places) for other in later)
        or last.is_archived != left_archived
    ):
        raise UndoRefused(_CHANGED_SINCE)
    return last


def _event_position(event: MemoryEvent, places: dict[UUID, int]) -> tuple[int, int]:
    """Return an event's position on its lineage; a turn's events share their time."""
    if event.kind in _ENDINGS and event.before_id in places:
        # A fact can be deleted after it was archived.
        return places[event.before_id], 3 if event.detail.get("was_archived") else 2
    assert event.after_id is not None, "whatever ends nothing leaves a row"
    is_on_row = event.kind in (WriteKind.CONFIRM, WriteKind.MERGE)
    return places[event.after_id], 1 if is_on_row else 0


def _refuse_rivals(events: list[MemoryEvent], now: datetime) -> None:
    """Raise UndoRefused if another fact excludes one that the undo of these events returned."""
    lineages = {event.lineage for event in events if event.before_id is not None}
    for fact in UserFact.objects.open(now).filter(lineage__in=lineages):
        rivals = list_rivals(fact.content, Period.of(fact), lineage=fact.lineage, now=now)
        if rivals:
            raise UndoRefused(f"Since then “{rivals[0].content}” holds. Change or forget that first.")


def _undo_arrival(event: MemoryEvent, now: datetime) -> None:
    """Take a fact out of use that was saved, imported or restored; what came from the trash returns to it."""
    last = _get_last_row(event)
    if not last.is_archived:
        archive_version(last, ArchivedReason.UNDONE, now)
    # A fact imported as archived cannot be archived again, so undo moves all imports to the trash.
    trashed_at = now if event.kind == WriteKind.IMPORT else event.detail.get("trashed_at")
    UserFact.objects.filter(pk=last.pk).update(trashed_at=trashed_at)


def _undo_change(event: MemoryEvent, now: datetime) -> None:
    """Let the content before a change or an ending hold again."""
    last, before = _get_last_row(event), event.before
    assert before is not None, "a change has a row before it"
    _end_later_part(event, now)
    if event.kind not in _ENDINGS:
        archive_version(last, ArchivedReason.UNDONE, now)
    if event.kind == WriteKind.DELETE:
        UserFact.objects.filter(lineage=last.lineage).update(trashed_at=None)
    models.Tombstone.objects.filter(event=event).delete()
    models.FactLink.objects.filter(event=event).delete()  # copies of a merged fact's
    if not event.detail.get("was_archived"):
        _bring_back(before, last, now)


def _bring_back(before: UserFact, last: UserFact, now: datetime) -> None:
    """Let a row's content hold again in a new row on top of `last`, unless another fact says it."""
    if find_twin(before) is not None:
        return
    # A superseded version stays true until its successor began (`as_of`), so the content resumes where the last of them
    # stopped, unless it had ended by then. A row that was put off was never true: it resumes from its own beginning.
    told = [
        Period.of(row).cut(Period(after.valid_from, None))
        for row, after in pairwise(list_versions(last.lineage))
        if row.archived_reason == ArchivedReason.SUPERSEDED
    ]
    valid_from = max([before.valid_from, *(period.ends for period in told if period and period.ends)])
    has_ended = before.valid_until is not None and before.valid_until <= valid_from
    values = {name: getattr(before, name) for name in INHERITED}
    values["valid_from"] = before.valid_from if has_ended else valid_from
    # Times never move back: keep the references and confirmations since `before` was written.
    values["last_referenced_at"] = last.last_referenced_at
    if last.content_key == before.content_key:
        values["last_confirmed_at"] = last.last_confirmed_at
    take_from_trash(last)
    insert_version(now=now, origin=PAGE, supersedes=last, **values)


def _end_later_part(event: MemoryEvent, now: datetime) -> None:
    """End the part of a change that is a fact of its own. Raises UndoRefused if changed since."""
    later = UserFact.objects.filter(pk=event.detail["later"]).first() if "later" in event.detail else None
    if later is None:
        return
    if later.is_archived:
        raise UndoRefused(_CHANGED_SINCE)
    archive_version(later, ArchivedReason.UNDONE, now)


def _undo_confirm(event: MemoryEvent, now: datetime) -> None:
    last = _get_last_row(event)
    if last.last_confirmed_at != event.created_at:
        raise UndoRefused("This fact was confirmed again since; there is nothing left to undo.")
    last.last_confirmed_at = event.previous_confirmed_at
    last.save(update_fields=["last_confirmed_at"])


def _undo_eviction(event: MemoryEvent, now: datetime) -> None:
    """Put a fact back into the document, until it is too long again."""
    assert event.lineage is not None, "only a place's event has no lineage"
    UserFact.objects.filter(lineage=event.lineage).update(left_document_at=None)


def _undo_link(event: MemoryEvent, now: datetime) -> None:
    rows = models.FactLink.objects.select_related("from_fact", "to_fact").filter(event=event)
    link = rows.first_or(UndoRefused("This link was removed since; undo that first."))
    if ArchivedReason.MERGED in (link.from_fact.archived_reason, link.to_fact.archived_reason):
        raise UndoRefused(_CHANGED_SINCE)  # the other fact has taken the link
    link.delete()


def _undo_unlink(event: MemoryEvent, now: datetime) -> None:
    made_by = None
    if event.detail.get("event"):
        made_by = MemoryEvent.objects.filter(pk=event.detail["event"], undone_at__isnull=True).first_or(
            UndoRefused("What made this link was itself undone since.")
        )
    from_fact, to_fact = (get_last_version(UUID(event.detail[end])) for end in ("from", "to"))
    models.FactLink.objects.get_or_create(
        from_fact=from_fact,
        to_fact=to_fact,
        relation=event.detail["relation"],
        defaults={"event": made_by, "created_at": now},
    )


_UNDO: Final[dict[WriteKind, Callable[[MemoryEvent, datetime], None]]] = {
    **dict.fromkeys((WriteKind.SAVE, WriteKind.IMPORT, WriteKind.RESTORE), _undo_arrival),
    **dict.fromkeys((WriteKind.UPDATE, WriteKind.PROMOTE, WriteKind.DEMOTE, *_ENDINGS), _undo_change),
    WriteKind.CONFIRM: _undo_confirm,
    WriteKind.EVICT: _undo_eviction,
    WriteKind.LINK: _undo_link,
    WriteKind.UNLINK: _undo_unlink,
    WriteKind.PLACE: undo_place,
    WriteKind.MENTION: undo_mention,
}
