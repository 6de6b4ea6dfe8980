"""Find the facts that a statement repeats, replaces or may contradict.

A single-valued subject has one fact at a time. A fact that begins later, "From Monday I trade on Kraken", is a plan:
what is said of the time before holds until then.
"""

from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Final
from uuid import UUID

from django.db.models import Count

from config.lib.errors import DomainError
from config.lib.fields import content_key
from memory.claims.judge import Verdict, judge_change, may_turn
from memory.claims.subjects import read_subject
from memory.facts.periods import Period, Statement, begin_fact
from memory.facts.versions import lock_memory
from memory.models import MemoryEvent, MemoryProposal, ProposalKind, ProposalStatus, UserFact

MAX_CLASHES: Final = 5  # pairs shown at a time
MAX_COMPARED: Final = 50  # facts of one subject, the newest first
_STRONGEST: Final[tuple[Verdict, ...]] = ("same", "replaces", "unsure")


class FactDisputed(DomainError):
    """A statement may contradict `fact`; the user has to be asked."""

    def __init__(self, fact: UserFact) -> None:
        self.fact = fact
        super().__init__(f"This may contradict “{fact.content}”. Does it replace that, or do both hold?")


@dataclass(frozen=True, slots=True)
class Conflict:
    """A known fact beside a statement."""

    fact: UserFact
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """A statement beside what is known, listed once for the write of it."""

    statement: Statement
    period: Period  # of a new fact
    verdict: Verdict = "apart"  # on `fact`, which it concerns most; a plan that it leaves standing does not
    fact: UserFact | None = None
    is_twin: bool = False  # `fact` has the same text, held now or not; then no conflicts are listed
    conflicts: tuple[Conflict, ...] = ()


def compare_statement(statement: Statement, *, said_at: datetime | None = None, now: datetime) -> Comparison:
    """Compare a statement with what is known, under the lock of its write. Raises FactRefused for an early end."""
    lock_memory()
    period = begin_fact(statement, said_at=said_at or now, now=now)
    twin = UserFact.objects.believed().filter(content_key=statement.key).first()
    if twin is not None:
        return Comparison(statement, period, "same", twin, is_twin=True)
    conflicts = tuple(list_conflicts(statement.text, period, now=now))
    near = [one for one in conflicts if one.verdict != "replaces" or not is_plan(one.fact, max(period.begins, now))]
    if not near:
        return Comparison(statement, period, conflicts=conflicts)
    nearest = min(near, key=lambda one: _STRONGEST.index(one.verdict))
    return Comparison(statement, period, nearest.verdict, nearest.fact, conflicts=conflicts)


def list_conflicts(text: str, period: Period, *, lineage: UUID | None = None, now: datetime) -> list[Conflict]:
    """Return the facts of other lineages that concern a text in its period."""
    subject, begins = read_subject(text), max(period.begins, now)
    if not subject.key or (period.ends is not None and period.ends <= begins):
        return []
    rows = UserFact.objects.open(begins).order_by("-created_at", "id")
    rows = rows.exclude(lineage=lineage) if lineage else rows
    rows = rows.filter(valid_from__lt=period.ends) if period.ends else rows
    judged = ((fact, judge_change(fact.content, text)) for fact in rows.filter(subject=subject.key)[:MAX_COMPARED])
    found = [Conflict(fact, verdict) for fact, verdict in judged if verdict != "apart"]
    if found or not (subject.is_turn or subject.is_change):
        return found
    return [Conflict(fact, "unsure") for fact in rows[:MAX_COMPARED] if may_turn(fact.content, text)]


def list_rivals(text: str, period: Period, *, lineage: UUID | None = None, now: datetime) -> list[UserFact]:
    """Return the facts of other lineages that cannot hold beside a text in its period."""
    conflicts = list_conflicts(text, period, lineage=lineage, now=now)
    return [one.fact for one in conflicts if one.verdict == "replaces"]


def list_clashes(now: datetime) -> list[tuple[UserFact, UserFact]]:
    """Return pairs of current facts of one subject that repeat or exclude each other, the newest pairs first.

    A pair of which the user has said that both hold is none.
    """
    # Of all believed facts, because their index has the subjects; whether a fact is current stands in its row.
    believed = UserFact.objects.believed().exclude(subject="")
    shared = believed.order_by().values("subject").annotate(number=Count("pk")).filter(number__gt=1)
    rows = (
        UserFact.objects.current(now)
        .filter(subject__in=shared.values("subject"))
        .order_by("-created_at", "id")[:MAX_COMPARED]
    )
    pairs = [(newer, older) for newer, older in combinations(rows, 2) if newer.subject == older.subject]
    clashes = [pair for pair in pairs if judge_change(pair[1].content, pair[0].content) != "apart"]
    # The texts of which the user was asked and did not say that one replaces the other.
    texts = UserFact.objects.filter(content_key__in={fact.content_key for pair in clashes for fact in pair})
    asked = MemoryProposal.objects.filter(kind=ProposalKind.CONFLICT, target__in=texts).select_related("target")
    decided = asked.exclude(status=ProposalStatus.PENDING)
    answered = {
        frozenset((content_key(one.payload["content"]), one.target.content_key)) for one in decided if one.target
    }
    return [pair for pair in clashes if frozenset(fact.content_key for fact in pair) not in answered][:MAX_CLASHES]


def is_plan(fact: UserFact, begins: datetime) -> bool:
    """Tell whether a fact was said to begin after a statement does. One that resumes after an exception was not."""
    if fact.valid_from <= max(begins, fact.created_at):
        return False
    events = MemoryEvent.objects.filter(detail__later=str(fact.pk), undone_at__isnull=True).select_related("before")
    return not any(event.before is not None and event.before.content_key == fact.content_key for event in events)
