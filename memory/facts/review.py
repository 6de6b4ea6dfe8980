"""The queue of writes that need the owner's click."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

from django.db.models import Q

from config.lib.errors import NotFound, StateConflict
from config.lib.fields import content_key
from memory.claims.claims import read_claims
from memory.claims.judge import judge_change
from memory.claims.validity import ALWAYS, Validity
from memory.facts.periods import find_validity
from memory.facts.services import merge_facts, remember_fact, supersede_fact
from memory.facts.undo import undo_batch, undo_event
from memory.facts.versions import (
    FactChanged,
    FactWrite,
    Origin,
    UndoRefused,
    get_last_version,
    is_about_same,
    list_forgotten,
    lock_memory,
)
from memory.models import (
    REOPENED,
    Confidence,
    FactSource,
    MemoryEvent,
    MemoryProposal,
    ProposalKind,
    ProposalStatus,
    UserFact,
)
from memory.wording import find_category, parse_content, parse_detail, parse_topic


class ProposalNotFound(NotFound):
    """The owner has no such proposal."""


class ProposalDecided(StateConflict):
    """The proposal was already accepted or dismissed."""


UNACCEPTED: Final = (ProposalStatus.PENDING, ProposalStatus.DISMISSED)
_HELD: Final = (ProposalKind.UNTRUSTED, ProposalKind.CONFLICT)  # of chats

# The source of an accepted fact; imported text was not typed here.
_SOURCE: Final = {ProposalKind.IMPORT: FactSource.IMPORTED}


def propose_fact(
    *,
    kind: ProposalKind,
    content: str,
    detail: str = "",
    topic: str = "",
    category: str | None = None,
    target_id: UUID | None = None,
    said_at: datetime | None = None,
    ends_at: datetime | None = None,
    why: str,
    in_view: Sequence[str] = (),
    origin: Origin,
    now: datetime,
) -> MemoryProposal | None:
    """Queue a text to save; None if known. Raises FactRefused, FactNotFound.

    `in_view` names what had words of others in view of the model.
    """
    text, tag = parse_content(content), parse_topic(topic)
    lock_memory()
    key = content_key(text)
    if UserFact.objects.believed().filter(content_key=key).exists():
        return None
    target = get_last_version(target_id) if target_id else None
    payload = {"content": text, "topic": tag, "category": category or find_category(tag, text)}
    if detail:
        payload["detail"] = parse_detail(detail)
    dates = {"said_at": said_at, "ends_at": ends_at}
    payload |= {name: at.isoformat() for name, at in dates.items() if at is not None}
    evidence: dict[str, Any] = {"why": why, "quotes": list(origin.quotes), "message_id": origin.message_id}
    evidence |= {"in_view": list(in_view)} if in_view else {}
    columns = {"target": target, "conversation_id": origin.conversation_id, "created_at": now}
    return _insert_proposal(kind, fingerprint_text(text, target), payload=payload, evidence=evidence, **columns)


def hold_fact(
    *,
    kind: ProposalKind,
    content: str,
    topic: str = "",
    target_id: UUID | None = None,
    is_change: bool = False,
    origin: Origin,
    now: datetime,
    **words: Any,
) -> list[UserFact]:
    """Queue a write of a chat until the owner decides. Raises FactRefused, FactNotFound.

    To forget a fact and to state its subject anew in one turn is one decision (settled 3): what the turn has forgotten
    of the subject holds again until this write is accepted, and is what it replaces. Returns those facts. `is_change`:
    the user asked to forget nothing, so that whatever the turn forgot made room for this write.
    """
    lock_memory()
    facts: list[UserFact] = []
    for event in list_forgotten(content, topic, origin, is_change=is_change):
        with suppress(UndoRefused):  # something else holds in its place
            undo_event(event_id=event.pk, now=now)
            facts += [event.before] if event.before is not None else []
    # Of several that have other subjects it is not known which one this write replaces.
    known = len(facts) == 1 or any(is_about_same(fact, content, topic) for fact in facts)
    target_id = target_id or (facts[0].pk if known else None)
    target = get_last_version(target_id) if target_id else None
    held = find_proposal(kind, content, target, UNACCEPTED, conversation_id=origin.conversation_id)
    if held is None:
        propose_fact(kind=kind, content=content, topic=topic, target_id=target_id, origin=origin, now=now, **words)
        return facts
    # Asked again, in this chat or another, perhaps after it was dismissed: it belongs to the acts of this turn.
    evidence = held.evidence | {"message_id": origin.message_id}
    chat = {"evidence": evidence, "conversation_id": origin.conversation_id}
    _set_columns(held, **chat, target=held.target or target, **REOPENED)
    return facts


def find_held(fact: UserFact, origin: Origin, *, is_change: bool) -> MemoryProposal | None:
    """Return the write of this turn that waits and states the fact's subject anew; it then names what it replaces."""
    if origin.conversation_id is None or origin.message_id is None:
        return None
    waiting = MemoryProposal.objects.filter(status=ProposalStatus.PENDING, conversation_id=origin.conversation_id)
    of_turn = waiting.filter(kind__in=_HELD, evidence__message_id=origin.message_id).select_related("target")
    every = list(of_turn.order_by("created_at", "id"))
    for held in every:
        words = held.payload["content"], held.payload["topic"]
        if held.target is not None and held.target.lineage == fact.lineage:
            return held
        if is_about_same(fact, *words):
            if held.target is None or not is_about_same(held.target, *words):
                _set_columns(held, target=fact)
            return held
    free = [held for held in every if held.target is None]
    if not is_change or not free:
        return None
    if len(free) == 1:
        _set_columns(free[0], target=fact)
    return free[0]


def find_proposal(
    kind: ProposalKind,
    content: str,
    target: UserFact | None,
    statuses: Sequence[ProposalStatus] = (ProposalStatus.PENDING,),
    *,
    conversation_id: UUID | None = None,
) -> MemoryProposal | None:
    """Return the proposal of a text in place of `target`, or the one that waits in this chat whatever its target."""
    text = parse_content(content)
    is_same = Q(fingerprint=fingerprint_text(text, target))
    if conversation_id is not None:
        is_same |= Q(status=ProposalStatus.PENDING, conversation_id=conversation_id, payload__content=text)
    rows = MemoryProposal.objects.filter(is_same, kind=kind, status__in=statuses).select_related("target")
    return rows.order_by("-status", "id").first()  # a pending one before a dismissed one


def close_fulfilled(*, conversation_id: UUID | None, now: datetime) -> list[MemoryProposal]:
    """Close the proposals that the writes made at `now` in a chat, or on a page, have fulfilled; return them."""
    waiting = MemoryProposal.objects.filter(status=ProposalStatus.PENDING).exclude(kind=ProposalKind.MERGE)
    pending = list(waiting.select_related("target"))
    if not pending:
        return []
    events = MemoryEvent.objects.filter(conversation_id=conversation_id, created_at=now, after__isnull=False)
    written = [event.after for event in events.select_related("after") if event.after is not None]
    facts = [fact for fact in written if not fact.is_archived]
    done = {one: fact for one in pending for fact in facts if _fulfils(fact, one)}
    for proposal, fact in done.items():
        evidence = proposal.evidence | {"fulfilled_by": str(fact.pk)}
        _set_columns(proposal, status=ProposalStatus.ACCEPTED, decided_at=now, evidence=evidence)
    return list(done)


def _fulfils(fact: UserFact, proposal: MemoryProposal) -> bool:
    """Tell whether a fact says what a proposal would save, and holds in place of what that would replace.

    A chat's words for one message differ: the proposal has the model's, the fact the person's. Then each number and
    most words must be equal.
    """
    target, words = proposal.target, proposal.payload["content"]
    if target is not None and target.lineage != fact.lineage and not get_last_version(target.pk).is_archived:
        return False
    if fact.content_key == content_key(words) or judge_change(fact.content, words) == "same":
        return True
    quoted = {quote["message_id"] for quote in fact.quotes}
    sources = {proposal.evidence.get("message_id"), *(one["message_id"] for one in proposal.evidence.get("quotes", ()))}
    if quoted.isdisjoint(sources):
        return False
    said, wanted = read_claims(fact.content), read_claims(words)
    numbers = [{(term.key, term.unit) for term in one.of_kind("number")} for one in (said, wanted)]
    given, asked = ({(term.key, term.polarity) for term in one.of_kind("word")} for one in (said, wanted))
    return numbers[0] >= numbers[1] and 2 * len(given & asked) > len(asked)


def propose_merge(*, fact_id: UUID, into_id: UUID, why: str, now: datetime) -> MemoryProposal | None:
    """Propose a merge once, else None. Raises FactNotFound."""
    lock_memory()
    old, into = get_last_version(fact_id), get_last_version(into_id)
    payload, evidence = {"fact_id": str(old.pk), "into_id": str(into.pk)}, {"why": why}
    columns: dict[str, Any] = {"payload": payload, "target": into, "evidence": evidence, "created_at": now}
    return _insert_proposal(ProposalKind.MERGE, fingerprint_merge(old, into), **columns)


def accept_proposal(*, proposal_id: UUID, is_staff: bool = False, now: datetime) -> MemoryProposal:
    """Apply a proposal as the owner's own words, in one batch. Raises DomainError when its facts changed since."""
    proposal = _get_pending(proposal_id)
    origin = Origin(
        conversation_id=proposal.conversation_id,
        message_id=proposal.evidence.get("message_id"),
        quotes=tuple(proposal.evidence.get("quotes", ())),
        batch_id=uuid4(),
        is_click=True,
        is_staff=is_staff,
    )
    written = _apply_proposal(proposal, origin, now)
    decision = {"status": ProposalStatus.ACCEPTED, "batch_id": origin.batch_id if written.event else None}
    return _set_columns(proposal, **decision, decided_at=now, is_decided_by_staff=is_staff)


def dismiss_proposal(*, proposal_id: UUID, is_staff: bool = False, now: datetime) -> MemoryProposal:
    """Dismiss a proposal for good. Raises ProposalNotFound, ProposalDecided."""
    proposal = _get_pending(proposal_id)
    return _set_columns(proposal, status=ProposalStatus.DISMISSED, decided_at=now, is_decided_by_staff=is_staff)


def reopen_proposal(*, proposal_id: UUID, now: datetime) -> MemoryProposal:
    """Undo a decision and its writes; idempotent. Raises ProposalNotFound, UndoRefused."""
    lock_memory()
    proposal = _get_proposal(proposal_id)
    if proposal.batch_id is not None:
        undo_batch(batch_id=proposal.batch_id, now=now)
    return _set_columns(proposal, **REOPENED)


def _apply_proposal(proposal: MemoryProposal, origin: Origin, now: datetime) -> FactWrite:
    payload: Mapping[str, Any] = proposal.payload
    if proposal.kind == ProposalKind.MERGE:
        ends = [get_last_version(UUID(payload[end])) for end in ("fact_id", "into_id")]
        if any(end.is_archived for end in ends):
            raise FactChanged("One of the two facts is not held true any more.")
        return merge_facts(fact_id=ends[0].pk, into_id=ends[1].pk, origin=origin, now=now)
    source = _SOURCE.get(ProposalKind(proposal.kind), FactSource.PROFILE)
    words = {name: payload[name] for name in ("content", "topic", "category", "detail") if name in payload}
    if proposal.target is not None:
        target = get_last_version(proposal.target.pk)
        if not target.is_archived:
            return supersede_fact(fact_id=target.pk, **words, source=source, origin=origin, now=now)
    validity = _find_validity(payload)
    return remember_fact(
        **words, validity=validity, confidence=Confidence.ASSERTED, source=source, origin=origin, now=now
    )


def _find_validity(payload: Mapping[str, Any]) -> Validity | None:
    """Return when a fact of a dated list holds: from its date on and until its end, if its words name no others."""
    dates = {key: datetime.fromisoformat(payload[key]) for key in ("said_at", "ends_at") if key in payload}
    if not dates:
        return None
    said_at, ends_at = dates.get("said_at"), dates.get("ends_at")
    said = find_validity(payload["content"], said_at=said_at) if said_at else ALWAYS
    return Validity(said.begins or said_at, said.ends or ends_at)


def _insert_proposal(kind: ProposalKind, fingerprint: str, **columns: Any) -> MemoryProposal | None:
    proposal, is_new = MemoryProposal.objects.get_or_create(kind=kind, fingerprint=fingerprint, defaults=columns)
    return proposal if is_new else None


def _get_pending(proposal_id: UUID) -> MemoryProposal:
    lock_memory()
    proposal = _get_proposal(proposal_id)
    if proposal.status != ProposalStatus.PENDING:
        raise ProposalDecided("You decided about this before.")
    return proposal


def _get_proposal(proposal_id: UUID) -> MemoryProposal:
    rows = MemoryProposal.objects.select_related("target")
    return rows.filter(pk=proposal_id).first_or(ProposalNotFound("There is no such proposal."))


def _set_columns(proposal: MemoryProposal, **columns: Any) -> MemoryProposal:
    for name, value in columns.items():
        setattr(proposal, name, value)
    proposal.save(update_fields=columns)
    return proposal


def fingerprint_text(content: str, target: UserFact | None) -> str:
    """Return what makes the proposal of a text the same."""
    return _hash_parts(content_key(content), target.lineage if target else None)


def fingerprint_merge(one: UserFact, other: UserFact) -> str:
    """Return what makes the proposal of a merge the same."""
    return _hash_parts(*sorted([one.content_key, other.content_key]))


def _hash_parts(*parts: object) -> str:
    return hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()
