"""Erase trashed facts for good, after 30 days or at once."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Q

from config.lib.fields import content_key
from config.lib.owned import OwnedQuerySet
from memory.facts.versions import FactChanged, get_last_version, lock_memory
from memory.models import TRASH_KEPT, MemoryEvent, MemoryProposal, UserFact, WriteKind

_LINKINGS: Final = (WriteKind.LINK, WriteKind.UNLINK)


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
    return _describe_erasure(_add_same_words({get_last_version(fact_id).lineage}))[0].message_ids


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
    erased, events = _describe_erasure(lineages := _add_same_words(lineages))
    rows = UserFact.objects.filter(lineage__in=lineages)
    keys, ids = set(rows.values_list("content_key", flat=True)), set(map(str, erased.fact_ids))
    for proposal in MemoryProposal.objects.all():
        named = {proposal.payload.get("fact_id"), proposal.payload.get("into_id"), str(proposal.target_id)}
        content = proposal.payload.get("content", "")
        if named & ids or (content and content_key(content) in keys):
            proposal.delete()
    events.delete()
    rows.delete()
    return erased


def _add_same_words(lineages: set[UUID]) -> set[UUID]:
    """Add archived lineages that were merged into these or say the same."""
    found = set(lineages)
    words = set(UserFact.objects.filter(lineage__in=lineages).values_list("content_key", flat=True))
    ended = UserFact.objects.last_of_lineage().filter(archived_at__isnull=False)
    while True:
        merged = MemoryEvent.objects.filter(
            kind=WriteKind.MERGE, undone_at__isnull=True, after__in=UserFact.objects.filter(lineage__in=found)
        )
        more = ended.filter(Q(content_key__in=words) | Q(lineage__in=merged.values("lineage")))
        grown = found | set(more.values_list("lineage", flat=True))
        if grown == found:
            return found
        found = grown


def _describe_erasure(lineages: set[UUID]) -> tuple[Erasure, OwnedQuerySet[MemoryEvent]]:
    """Return what the erasure of lineages erases, and the events about them."""
    quotes = dict(UserFact.objects.filter(lineage__in=lineages).values_list("pk", "quotes"))
    ids, texts = list(quotes), list(map(str, quotes))
    is_of_link = Q(kind__in=_LINKINGS, detail__to__in=texts)
    events = MemoryEvent.objects.filter(Q(before__in=ids) | Q(after__in=ids) | Q(lineage__in=lineages) | is_of_link)
    asked = dict(events.values_list("pk", "message_id"))
    messages = {quote["message_id"] for row in quotes.values() for quote in row}
    messages |= {message_id for message_id in asked.values() if message_id is not None}
    return Erasure(frozenset(quotes), frozenset(asked), frozenset(messages)), events
