"""Find the facts that a statement repeats, replaces or may contradict, and settle with them.

A single-valued subject has one fact at a time. A fact that begins later, "From Monday I trade on Kraken", is a plan:
what is said of the time before holds until then.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations
from typing import Any, Final
from uuid import UUID, uuid4

from django.db.models import Count, Q

from config.lib.errors import DomainError
from memory.claims.judge import Verdict, judge_change
from memory.claims.subjects import read_subject
from memory.facts import versions
from memory.facts.periods import begin_fact, find_validity
from memory.facts.versions import FactWrite, Origin
from memory.models import EventKind, MemoryEvent, UserFact

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


def find_conflict(content: str, *, now: datetime) -> Conflict | None:
    """Return the known fact that concerns a statement most; None if all are apart. Its words say when it holds."""
    dates = begin_fact(content, None, now=now)
    return choose_conflict(list_conflicts(content, **dates, now=now), dates["valid_from"], now)


def choose_conflict(conflicts: Iterable[Conflict], begins: datetime, now: datetime) -> Conflict | None:
    """Return the conflict that concerns a statement most. A plan that it leaves standing is no conflict."""
    found = [one for one in conflicts if one.verdict != "replaces" or not _is_plan(one.fact, max(begins, now))]
    return min(found, key=lambda one: _STRONGEST.index(one.verdict), default=None)


def list_conflicts(
    content: str, *, valid_from: datetime, valid_until: datetime | None, lineage: UUID | None = None, now: datetime
) -> list[Conflict]:
    """Return the facts of other lineages that concern a statement in its period."""
    key, begins = read_subject(content).key, max(valid_from, now)
    if not key or (valid_until is not None and valid_until <= begins):
        return []
    rows = UserFact.objects.open(begins).filter(subject=key)
    rows = rows.exclude(lineage=lineage) if lineage else rows
    rows = rows.filter(valid_from__lt=valid_until) if valid_until else rows
    judged = ((fact, judge_change(fact.content, content)) for fact in rows.order_by("-created_at", "id")[:MAX_COMPARED])
    return [Conflict(fact, verdict) for fact, verdict in judged if verdict != "apart"]


def list_clashes(now: datetime) -> list[tuple[UserFact, UserFact]]:
    """Return pairs of current facts of one subject that repeat or exclude each other, the newest pairs first."""
    # Of all believed facts, because their index has the subjects; whether a fact is current stands in its row.
    believed = UserFact.objects.believed().exclude(subject="")
    shared = believed.order_by().values("subject").annotate(number=Count("pk")).filter(number__gt=1)
    rows = (
        UserFact.objects.current(now)
        .filter(subject__in=shared.values("subject"))
        .order_by("-created_at", "id")[:MAX_COMPARED]
    )
    pairs = [(newer, older) for newer, older in combinations(rows, 2) if newer.subject == older.subject]
    return [pair for pair in pairs if judge_change(pair[1].content, pair[0].content) != "apart"][:MAX_CLASHES]


def list_rivals(
    content: str, *, begins: datetime, ends: datetime | None, lineage: UUID | None = None, now: datetime
) -> list[UserFact]:
    """Return the facts of other lineages that cannot hold beside a statement in its period."""
    found = list_conflicts(content, valid_from=begins, valid_until=ends, lineage=lineage, now=now)
    return [one.fact for one in found if one.verdict == "replaces"]


def write_with_rivals(
    content: str,
    write: Callable[[Origin, datetime | None], FactWrite],
    *,
    begins: datetime,
    ends: datetime | None,
    lineage: UUID | None = None,
    rivals: list[UserFact] | None = None,
    origin: Origin,
    now: datetime,
) -> FactWrite:
    """Write a fact by `write(origin, ends)`, in one batch with the end of what it excludes: `rivals`, if known.

    It ends where a plan begins. Its other rivals end when it begins.
    """
    if rivals is None:
        rivals = list_rivals(content, begins=begins, ends=ends, lineage=lineage, now=now)
    plans = [rival for rival in rivals if _is_plan(rival, max(begins, now))]
    ends = min([moment for moment in (ends, *(plan.valid_from for plan in plans)) if moment], default=None)
    rivals = [rival for rival in rivals if rival not in plans and (ends is None or rival.valid_from < ends)]
    origin = replace(origin, batch_id=origin.batch_id or uuid4()) if rivals else origin
    written = write(origin, ends)
    into = written.fact
    for rival in rivals:
        if rival.lineage != into.lineage and into.valid_from > max(now, rival.valid_from):
            dates = {"valid_until": into.valid_from}
            versions.supersede_version(rival, EventKind.UPDATE, dates, origin=origin, now=now)
        elif rival.lineage != into.lineage:
            versions.merge_versions(rival, into, origin=origin, now=now)
    return written


def supersede_with_rivals(
    old: UserFact,
    kind: EventKind,
    changes: dict[str, Any],
    *,
    origin: Origin,
    is_statement: bool = False,
    now: datetime,
) -> FactWrite:
    """Replace a row with `changes`, in one batch with what it excludes (`versions.supersede_version`)."""
    begins, ends = versions.plan_dates(old, changes, now)

    def write(origin: Origin, until: datetime | None) -> FactWrite:
        wanted = changes if until == ends else {**changes, "valid_until": until}
        return versions.supersede_version(old, kind, wanted, origin=origin, is_statement=is_statement, now=now)

    text = changes.get("content", old.content)
    written = write_with_rivals(text, write, begins=begins, ends=ends, lineage=old.lineage, origin=origin, now=now)
    if written.event is not None and (moved := move_ends(old, written.fact, origin=origin, now=now)):
        written.event.detail["released"] = [str(event_id) for event_id in moved]
        written.event.save(update_fields=["detail"])
    return written


def insert_with_rivals(
    values: dict[str, Any],
    *,
    insert: Callable[..., FactWrite] = versions.save_version,
    rivals: list[UserFact] | None = None,
    origin: Origin,
    now: datetime,
) -> FactWrite:
    """Insert a fact with `values`, in one batch with what it excludes."""

    def write(origin: Origin, until: datetime | None) -> FactWrite:
        return insert({**values, "valid_until": until}, origin=origin, now=now)

    period = {"begins": values["valid_from"], "ends": values["valid_until"]}
    return write_with_rivals(values["content"], write, **period, rivals=rivals, origin=origin, now=now)


def move_ends(plan: UserFact, successor: UserFact | None, *, origin: Origin, now: datetime) -> list[UUID]:
    """Move the ends that an archived plan had set, to their own or the next plan's; return the undoable events."""
    if not _is_plan(plan, now):
        return []
    if successor is not None and successor.lineage != plan.lineage:
        successor = None  # the plan was merged into another fact
    rows = list(UserFact.objects.filter(lineage=plan.lineage))
    later = MemoryEvent.objects.filter(detail__later__in=[str(row.pk) for row in rows], undone_at__isnull=True)
    put_off = {event.lineage for event in later}
    bounded = UserFact.objects.open(now).filter(valid_until=plan.valid_from).exclude(lineage=plan.lineage)
    apart, moved = replace(origin, batch_id=None), []
    for fact in bounded.filter(Q(subject=plan.subject) | Q(lineage__in=put_off)):
        if fact.subject == plan.subject and judge_change(fact.content, plan.content) != "replaces":
            continue
        follower = successor if fact.lineage in put_off else None
        if follower is not None and follower.valid_from <= now:
            moved.append(versions.merge_versions(fact, follower, origin=apart, now=now))
            continue
        ends = _find_own_end(fact, {row.valid_from for row in rows})
        rivals = list_rivals(fact.content, begins=plan.valid_from, ends=ends, lineage=fact.lineage, now=now)
        starts = [one.valid_from for one in (*rivals, follower) if one is not None and one.valid_from > fact.valid_from]
        ends = min(filter(None, [ends, *starts]), default=None)
        if ends != fact.valid_until:
            dates = {"valid_until": ends}
            moved.append(versions.supersede_version(fact, EventKind.UPDATE, dates, origin=apart, now=now))
    return [write.event.pk for write in moved if write.event is not None]


def _find_own_end(fact: UserFact, begins: Collection[datetime]) -> datetime | None:
    """Return when a fact ended before a plan with these beginnings bounded it: by its versions, or its words."""
    row = fact
    while row.supersedes is not None and row.supersedes.content_key == fact.content_key:
        row = row.supersedes
        if row.valid_until not in begins:
            return row.valid_until
    return find_validity(fact.content, said_at=fact.learned_at).ends


def _is_plan(fact: UserFact, begins: datetime) -> bool:
    """Tell whether a fact was said to begin after a statement does. One that resumes after an exception was not."""
    if fact.valid_from <= max(begins, fact.created_at):
        return False
    events = MemoryEvent.objects.filter(detail__later=str(fact.pk), undone_at__isnull=True).select_related("before")
    return not any(event.before is not None and event.before.content_key == fact.content_key for event in events)
