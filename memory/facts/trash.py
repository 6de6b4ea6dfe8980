"""Erase trashed facts for good, after 30 days or at once."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from config.lib.fields import content_key
from memory.facts.versions import FactChanged, get_last_version, lock_memory
from memory.models import TRASH_KEPT, EventKind, MemoryEvent, MemoryProposal, UserFact

_LINKINGS: Final = (EventKind.LINK, EventKind.UNLINK)


@dataclass(frozen=True, slots=True)
class Erasure:
    """The erased ids, and the messages that the erased text came from."""

    fact_ids: frozenset[UUID] = frozenset()
    event_ids: frozenset[UUID] = frozenset()
    message_ids: frozenset[int] = frozenset()


def erase_fact(*, fact_id: UUID) -> Erasure:
    """Erase a trashed fact: all versions, merged facts and equal texts. Raises FactNotFound, FactChanged."""
    lock_memory()
    last = get_last_version(fact_id)
    if last.trashed_at is None:
        raise FactChanged("Only a fact in the trash can be deleted for good.")
    return _erase_lineages({last.lineage})


def list_sources(*, fact_id: UUID) -> frozenset[int]:
    """Return the messages that `erase_fact` would name. Raises FactNotFound."""
    lineages = _add_same_words({get_last_version(fact_id).lineage})
    rows = UserFact.objects.filter(lineage__in=lineages)
    return _list_messages(rows, _events_about(frozenset(rows.values_list("pk", flat=True)), lineages))


def purge_facts(*, now: datetime) -> Erasure:
    """Erase the owner's facts that were in the trash for 30 days."""
    lock_memory()
    due = UserFact.objects.in_trash().filter(trashed_at__lte=now - TRASH_KEPT)
    return _erase_lineages(set(due.values_list("lineage", flat=True)))


def list_owners_of_old_trash(*, now: datetime) -> set[int]:
    """Return the users with facts to purge; call it in `system_tx`."""
    due = UserFact.objects.in_trash().filter(trashed_at__lte=now - TRASH_KEPT)
    return set(due.values_list("user_id", flat=True))


def drop_quotes(*, message_ids: Collection[int]) -> None:
    """Drop the quotes of messages about to be deleted."""
    if not message_ids:
        return
    lock_memory()
    gone = set(message_ids)
    for fact in UserFact.objects.exclude(quotes=[]).only("pk", "user_id", "quotes"):
        kept = [quote for quote in fact.quotes if quote["message_id"] not in gone]
        if kept != fact.quotes:
            UserFact.objects.filter(pk=fact.pk).update(quotes=kept)
    for proposal in MemoryProposal.objects.only("pk", "user_id", "evidence"):
        quotes = proposal.evidence.get("quotes", [])
        kept = [quote for quote in quotes if quote["message_id"] not in gone]
        if kept != quotes:
            MemoryProposal.objects.filter(pk=proposal.pk).update(evidence={**proposal.evidence, "quotes": kept})


def _erase_lineages(lineages: set[UUID]) -> Erasure:
    if not lineages:
        return Erasure()
    lineages = _add_same_words(lineages)
    rows = UserFact.objects.filter(lineage__in=lineages)
    fact_ids = frozenset(rows.values_list("pk", flat=True))
    about = _events_about(fact_ids, lineages)
    erased = Erasure(fact_ids, frozenset(about.values_list("pk", flat=True)), _list_messages(rows, about))
    _erase_proposals(set(rows.values_list("content_key", flat=True)), fact_ids)
    about.delete()
    rows.delete()
    return erased


def _add_same_words(lineages: set[UUID]) -> set[UUID]:
    """Add archived lineages that were merged into these or say the same."""
    found = set(lineages)
    words = set(UserFact.objects.filter(lineage__in=lineages).values_list("content_key", flat=True))
    ended = UserFact.objects.last_of_lineage().filter(archived_at__isnull=False)
    while True:
        merged = MemoryEvent.objects.filter(
            kind=EventKind.MERGE, undone_at__isnull=True, after__in=UserFact.objects.filter(lineage__in=found)
        )
        more = ended.filter(Q(content_key__in=words) | Q(lineage__in=merged.values("lineage")))
        grown = found | set(more.values_list("lineage", flat=True))
        if grown == found:
            return found
        found = grown


def _erase_proposals(keys: set[str], fact_ids: frozenset[UUID]) -> None:
    ids = {str(fact_id) for fact_id in fact_ids}
    for proposal in MemoryProposal.objects.all():
        named = {proposal.payload.get("fact_id"), proposal.payload.get("into_id"), str(proposal.target_id)}
        content = proposal.payload.get("content", "")
        if named & ids or (content and content_key(content) in keys):
            proposal.delete()


def _events_about(fact_ids: Collection[UUID], lineages: Collection[UUID]) -> Any:
    return MemoryEvent.objects.filter(
        Q(before__in=fact_ids)
        | Q(after__in=fact_ids)
        | Q(lineage__in=lineages)
        | Q(kind__in=_LINKINGS, detail__to__in=[str(fact_id) for fact_id in fact_ids])
    )


def _list_messages(rows: Iterable[UserFact], about: Any) -> frozenset[int]:
    """Return the messages that rows quote and that events came from."""
    quoted = {quote["message_id"] for row in rows for quote in row.quotes}
    asked = about.filter(message_id__isnull=False).values_list("message_id", flat=True)
    return frozenset(quoted | set(asked))
