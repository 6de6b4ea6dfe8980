"""Save, propose or drop each candidate of an extraction.

An extraction replaces only extracted facts. The user decides about candidates that contradict an explicit fact, that
word what they typed otherwise, or that have no support in it (seed 001; settled 9, 11, 13).
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.claims.judge import excludes
from memory.facts.queries import is_learning, list_topics
from memory.facts.review import close_fulfilled, propose_fact
from memory.facts.versions import FactChanged, FactNotFound, Origin
from memory.learning.answers import Candidate
from memory.learning.writes import FactForgotten, TrustRefused, compare_learned, learn_fact, refuse_forgotten
from memory.models import ProposalKind, UserFact
from memory.wording import FactRefused, filter_topic

MAX_KNOWN: Final = 200  # facts given to the extractor, the most recently referenced first
CONFLICTS: Final = "You said something else outright."
OTHER_WORDS: Final = "You said this in other words, which the chat shows. Is this what you meant?"
NOT_YOURS: Final = "This came up in a chat with news or other text in view, and not in your own words."


@dataclass(frozen=True, slots=True)
class ReconcileCounts:
    saved: int = 0  # new facts
    updated: int = 0  # extracted facts that were replaced
    proposed: int = 0  # pending for the user
    known: int = 0  # already known
    dropped: int = 0  # unsupported, forgotten, refused or changed since

    def __add__(self, other: "ReconcileCounts") -> "ReconcileCounts":
        return ReconcileCounts(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))


@dataclass(frozen=True, slots=True)
class _Scene:
    """The context of one extraction's candidates."""

    said_at: Mapping[int, datetime]
    is_tainted: bool
    origin: Origin
    now: datetime
    topics: frozenset[str]  # in use
    said_since: tuple[UserFact, ...]  # explicit facts since the last message, which the extractor may not know


def list_known_facts(now: datetime) -> list[UserFact]:
    """Return the current facts to compare an extraction with."""
    return list(UserFact.objects.current(now).by_reference()[:MAX_KNOWN])


def reconcile_candidates(
    candidates: Iterable[Candidate], *, said_at: Mapping[int, datetime], is_tainted: bool, origin: Origin, now: datetime
) -> ReconcileCounts:
    """Save, propose or drop each candidate; never refuse.

    Call it inside `owned_tx(user)`. `said_at` has the time of each quotable message; `is_tainted` means that text of
    others was in view; only the conversation of `origin` counts. It is idempotent. While learning is off, all are
    dropped.
    """
    if not is_learning():
        return ReconcileCounts(dropped=sum(1 for _ in candidates))
    last_said_at = max(said_at.values(), default=now)
    scene = _Scene(
        said_at=said_at,
        is_tainted=is_tainted,
        origin=origin,
        now=now,
        topics=frozenset(list_topics()),
        said_since=tuple(UserFact.objects.current(now).filter(score__isnull=True, created_at__gte=last_said_at)),
    )
    total = ReconcileCounts()
    for candidate in candidates:
        try:
            total += _reconcile_candidate(candidate, scene)
        except (FactForgotten, FactRefused, FactNotFound, FactChanged):
            total += ReconcileCounts(dropped=1)
    close_fulfilled(conversation_id=origin.conversation_id, now=now)
    return total


def _reconcile_candidate(candidate: Candidate, scene: _Scene) -> ReconcileCounts:
    if candidate.op == "skip":
        return ReconcileCounts(known=1)
    if not candidate.is_supported and not candidate.said and not scene.is_tainted:
        return ReconcileCounts(dropped=1)  # the model invented it
    candidate = replace(candidate, topic=filter_topic(candidate.topic, candidate.content, scene.topics))
    quotes = tuple(
        {"message_id": q.message_id, "start": q.start, "end": q.end} for q in candidate.quotes or candidate.said
    )
    origin = replace(scene.origin, message_id=None, quotes=quotes)
    conflicts = (fact.pk for fact in scene.said_since if excludes(fact.content, candidate.content))
    against = candidate.conflicts_with or next(conflicts, None)
    found = compare_learned(candidate.content, quotes, scene.said_at, scene.now)
    known = None if candidate.target_id or found.is_twin else found.fact
    if known is not None and found.verdict == "same":
        return ReconcileCounts(known=1)
    if known is not None and against is None and known.score is None:
        against = known.pk
    elif known is not None and found.verdict == "replaces":
        candidate = replace(candidate, op="update", target_id=known.pk)
    if not candidate.is_supported:
        return _propose_candidate(candidate, ProposalKind.UNTRUSTED, against or candidate.target_id, origin, scene)
    if against is not None:
        return _propose_candidate(candidate, ProposalKind.CONFLICT, against, origin, scene)
    try:
        written = learn_fact(
            content=found,
            topic=candidate.topic,
            category=candidate.category,
            score=candidate.confidence,
            said_at=scene.said_at,
            target_id=candidate.target_id,
            origin=origin,
            now=scene.now,
        )
    except TrustRefused:
        # The target became explicit after the extraction began.
        return _propose_candidate(candidate, ProposalKind.CONFLICT, candidate.target_id, origin, scene)
    if written.event is None:
        return ReconcileCounts(known=1)
    return ReconcileCounts(updated=1) if written.event.before_id else ReconcileCounts(saved=1)


def _propose_candidate(
    candidate: Candidate, kind: ProposalKind, target_id: UUID | None, origin: Origin, scene: _Scene
) -> ReconcileCounts:
    refuse_forgotten(candidate.content, (candidate.category, candidate.topic), origin.quotes, scene.said_at)
    proposal = propose_fact(
        kind=kind,
        content=candidate.content,
        topic=candidate.topic,
        category=candidate.category,
        target_id=target_id,
        why=CONFLICTS if kind == ProposalKind.CONFLICT else NOT_YOURS if scene.is_tainted else OTHER_WORDS,
        origin=origin,
        now=scene.now,
    )
    return ReconcileCounts(proposed=1) if proposal is not None else ReconcileCounts(known=1)
