"""Find the facts that a statement repeats, replaces or may contradict."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

from config.lib.errors import DomainError
from memory.claims.subjects import Verdict, judge_change, read_subject
from memory.facts import versions
from memory.facts.versions import Origin
from memory.models import UserFact

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


def find_conflict(content: str, *, lineage: UUID | None = None, now: datetime) -> Conflict | None:
    """Return the known fact that concerns a statement most, other than the lineage's; None if all are apart."""
    found = list(_iter_conflicts(content, lineage, now))
    return min(found, key=lambda conflict: _STRONGEST.index(conflict.verdict), default=None)


def list_rivals(content: str, *, lineage: UUID | None, now: datetime) -> list[UserFact]:
    """Return the facts of other lineages that cannot hold beside a statement."""
    return [conflict.fact for conflict in _iter_conflicts(content, lineage, now) if conflict.verdict == "replaces"]


def plan_merges(content: str, *, lineage: UUID, origin: Origin, now: datetime) -> tuple[list[UserFact], Origin]:
    """Return the rivals of a fact about to be written, and an origin with a batch for both writes."""
    rivals = list_rivals(content, lineage=lineage, now=now)
    return rivals, replace(origin, batch_id=origin.batch_id or uuid4()) if rivals else origin


def merge_rivals(rivals: list[UserFact], into: UserFact, *, origin: Origin, now: datetime) -> None:
    """End the facts that a written one excludes, in its favour."""
    for rival in rivals:
        if rival.pk != into.supersedes_id and rival.lineage != into.lineage:
            versions.merge_versions(rival, into, origin=origin, now=now)


def _iter_conflicts(content: str, lineage: UUID | None, now: datetime) -> Iterator[Conflict]:
    key = read_subject(content).key
    if not key:
        return
    rows = UserFact.objects.current(now).filter(subject=key)
    rows = rows.exclude(lineage=lineage) if lineage else rows
    for fact in rows.order_by("-created_at", "id")[:MAX_COMPARED]:
        verdict = judge_change(fact.content, content)
        if verdict != "apart":
            yield Conflict(fact, verdict)
