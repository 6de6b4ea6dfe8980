"""Reads for the pages of memory, for the owner in scope."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import F

from config.lib.llm.tokens import count_tokens
from config.lib.paging import NumberedPage, cut_page, locate_page
from config.lib.text import WordRun, list_word_changes
from memory import models
from memory.facts.queries import get_block, get_next_block, read_block_facts
from memory.models import EventKind, FactCategory, MemoryEvent, MemoryProposal, ProposalKind, UserFact, UserFactQuerySet
from memory.recall.blocks import Explanation, explain_facts

FORGOTTEN_FOR: Final = timedelta(days=30)  # a fact counts as recently forgotten for that long
FORGOTTEN_SHOWN: Final = 10
ASKED_AT_ONCE: Final = 20  # inferred facts per page of the review
PROPOSALS_SHOWN: Final = 50
DECIDED_SHOWN: Final = 10
SEEN_SHOWN: Final = 50  # facts per table of the preview
_FORGOTTEN: Final = (
    models.ArchivedReason.AGENT_FORGET,
    models.ArchivedReason.USER_ARCHIVED,
    models.ArchivedReason.STAFF_ARCHIVED,
    models.ArchivedReason.USER_CORRECTED,
)


_PAST: Final = {
    EventKind.SAVE: "saved",
    EventKind.UPDATE: "corrected",
    EventKind.CONFIRM: "confirmed",
    EventKind.FORGET: "forgotten",
    EventKind.PROMOTE: "marked as said by you",
    EventKind.DEMOTE: "marked as inferred",
    EventKind.ARCHIVE: "archived",
    EventKind.RESTORE: "restored",
    EventKind.MERGE: "merged into another",
    EventKind.DELETE: "moved to the trash",
    EventKind.LINK: "linked",
    EventKind.UNLINK: "unlinked",
    EventKind.EVICT: "left out for space",
    EventKind.IMPORT: "imported",
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
    target: UserFact | None  # the fact to replace; of a merge the fact that stays
    words: list[WordRun]
    why: str
    in_view: Sequence[str]  # what brought text of others
    message_id: int | None


def count_waiting_proposals() -> int:
    """Return the number of proposals that wait for a decision."""
    return MemoryProposal.objects.filter(status=models.ProposalStatus.PENDING).count()


def find_batch(batch_id: UUID) -> Batch | None:
    """Return the batch with this id, or None."""
    rows = list(MemoryEvent.objects.filter(batch_id=batch_id).values_list("kind", "undone_at"))
    if not rows:
        return None
    counts = Counter(EventKind(kind) for kind, _ in rows)
    parts = [f"{counts[kind]} {_PAST.get(kind, kind.label.lower())}" for kind in EventKind if kind in counts]
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


def list_review_facts(page: int, now: datetime) -> NumberedPage[UserFact]:
    """Return a page of inferred facts, never affirmed ones first."""
    rows = UserFact.objects.current(now).filter(confidence=models.Confidence.INFERRED)
    ordered = rows.order_by(F("last_confirmed_at").asc(nulls_first=True), "-learned_at", "id")
    return cut_page(ordered, page, size=ASKED_AT_ONCE)


def list_with_last_versions(fact_ids: Iterable[UUID]) -> list[tuple[UserFact, UserFact]]:
    """Return each existing row with its lineage's newest row, in id order."""
    wanted = list(fact_ids)
    rows = {row.pk: row for row in UserFact.objects.filter(pk__in=wanted)}
    lineages = {row.lineage for row in rows.values()}
    lasts = {row.lineage: row for row in UserFact.objects.last_of_lineage().filter(lineage__in=lineages)}
    return [(rows[fact_id], lasts[rows[fact_id].lineage]) for fact_id in wanted if fact_id in rows]


def list_proposals() -> list[ShownProposal]:
    """Return up to 50 pending proposals by kind, the newest first."""
    rows = MemoryProposal.objects.filter(status=models.ProposalStatus.PENDING).select_related("target")
    waiting = rows.order_by("-created_at", "id")[:PROPOSALS_SHOWN]
    return _describe_proposals(sorted(waiting, key=lambda row: ProposalKind.values.index(row.kind)))


def list_decided_proposals() -> list[ShownProposal]:
    """Return the last ten decided proposals, the newest first."""
    rows = MemoryProposal.objects.exclude(status=models.ProposalStatus.PENDING).select_related("target")
    return _describe_proposals(rows.order_by("-decided_at", "id")[:DECIDED_SHOWN])


def list_decisions_at(moment: datetime) -> list[tuple[UUID, str]]:
    """Return the ids and decisions of proposals decided at that moment."""
    rows = MemoryProposal.objects.filter(decided_at=moment).order_by("created_at", "id")
    return list(rows.values_list("pk", "status"))


def find_proposal(proposal_id: UUID) -> ShownProposal | None:
    """Return one proposal in words, or None."""
    return next(iter(_describe_proposals(MemoryProposal.objects.filter(pk=proposal_id).select_related("target"))), None)


def get_preview(*, assistant: str, page: int, now: datetime) -> dict[str, Any]:
    """Return an assistant's next block, its facts, and a page of those it omits with the reason."""
    block = get_next_block(assistant=assistant, now=now)
    chosen = frozenset(get_block(assistant, now).fact_ids)
    current = UserFact.objects.current(now).by_reference()
    used, left_out = current.filter(pk__in=chosen), current.exclude(pk__in=chosen)
    left_out_total = left_out.count()
    place = locate_page(page, total=left_out_total, size=SEEN_SHOWN)

    def see(facts: UserFactQuerySet) -> list[Explanation]:
        return explain_facts(read_block_facts(facts), chosen=chosen, assistant=assistant, now=now)

    return {
        "text": block.text,
        "tokens": count_tokens(block.text) if block.text else 0,
        "used": see(used[:SEEN_SHOWN]),
        "used_total": len(chosen),
        "left_out": see(left_out[place.rows]),
        "left_out_total": left_out_total,
        "number": place.number,
        "pages": place.pages,
    }


def _describe_proposals(proposals: Iterable[MemoryProposal]) -> list[ShownProposal]:
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
        target=row.target,
        words=list_word_changes(row.target.content, content) if row.target and not merged else [],
        why=row.evidence.get("why", ""),
        in_view=row.evidence.get("in_view", ()),
        message_id=row.evidence.get("message_id"),
    )
