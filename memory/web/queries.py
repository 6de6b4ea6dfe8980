"""Reads for the pages of memory, for the owner in scope."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from config.lib.text import WordRun, list_word_changes
from memory import models
from memory.models import FactCategory, MemoryEvent, MemoryProposal, ProposalKind, UserFact, WriteKind

FORGOTTEN_FOR: Final = timedelta(days=30)  # a fact counts as recently forgotten for that long
FORGOTTEN_SHOWN: Final = 10
_FORGOTTEN: Final = (
    models.ArchivedReason.AGENT_FORGET,
    models.ArchivedReason.USER_ARCHIVED,
    models.ArchivedReason.STAFF_ARCHIVED,
    models.ArchivedReason.USER_CORRECTED,
)
# What was done to facts, where the label says it otherwise.
_PAST: Final = {
    WriteKind.UPDATE: "corrected",
    WriteKind.PROMOTE: "marked as said by you",
    WriteKind.MERGE: "merged into another",
    WriteKind.DELETE: "moved to the trash",
}


@dataclass(frozen=True, slots=True)
class Batch:
    """Writes of one batch."""

    id: UUID
    said: str  # what was done, such as "3 facts archived, 1 corrected"
    is_undone: bool


@dataclass(frozen=True, slots=True)
class ShownProposal:
    """A proposal in words."""

    proposal: MemoryProposal
    content: str
    topic: str
    category: str  # its label
    words: list[WordRun]  # the difference to the fact to replace


def count_waiting_proposals() -> int:
    """Return the number of proposals that wait for a decision."""
    return MemoryProposal.objects.filter(status=models.ProposalStatus.PENDING).count()


def find_batch(batch_id: UUID) -> Batch | None:
    """Return the batch with this id, or None."""
    rows = list(MemoryEvent.objects.filter(batch_id=batch_id).values_list("kind", "undone_at"))
    if not rows:
        return None
    counts = Counter(WriteKind(kind) for kind, _ in rows)
    acts = {kind: kind.label.lower().removeprefix("memory ").removeprefix("memories ") for kind in WriteKind} | _PAST
    parts = [f"{counts[kind]} {done}" for kind, done in acts.items() if kind in counts]
    number, _, rest = parts[0].partition(" ")
    said = ", ".join([f"{number} {'fact' if number == '1' else 'facts'} {rest}", *parts[1:]])
    is_undone = all(undone_at for _, undone_at in rows)
    return Batch(batch_id, f"Undone: {said}" if is_undone else said, is_undone)


def list_forgotten_facts(now: datetime) -> list[UserFact]:
    """Return the last ten facts ended within 30 days, untrashed."""
    rows = UserFact.objects.last_of_lineage().filter(
        archived_at__gt=now - FORGOTTEN_FOR, archived_reason__in=_FORGOTTEN, trashed_at__isnull=True
    )
    return list(rows.order_by("-archived_at", "id")[:FORGOTTEN_SHOWN])


def find_message(fact: UserFact) -> int | None:
    """Return the message a fact came from, if known."""
    if fact.conversation_id is None:
        return None
    if fact.quotes:
        return int(fact.quotes[0]["message_id"])
    events = MemoryEvent.objects.filter(
        lineage=fact.lineage, conversation_id=fact.conversation_id, message_id__isnull=False
    )
    return events.order_by("created_at", "id").values_list("message_id", flat=True).first()


def describe_proposals(proposals: Iterable[MemoryProposal]) -> list[ShownProposal]:
    """Return proposals in words."""
    rows = list(proposals)
    merged = [row.payload["fact_id"] for row in rows if row.kind == ProposalKind.MERGE]
    facts = {str(fact.pk): fact for fact in UserFact.objects.filter(pk__in=merged)} if merged else {}
    return [_describe_proposal(row, facts.get(row.payload.get("fact_id", ""))) for row in rows]


def _describe_proposal(row: MemoryProposal, merged: UserFact | None) -> ShownProposal:
    """Describe a proposal; `merged` is the fact that a merge would end."""
    content = merged.content if merged else row.payload["content"]
    return ShownProposal(
        proposal=row,
        content=content,
        topic=merged.topic if merged else row.payload.get("topic", ""),
        category=FactCategory(merged.category if merged else row.payload["category"]).label,
        words=list_word_changes(row.target.content, content) if row.target and not merged else [],
    )
