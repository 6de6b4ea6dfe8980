"""The interval rule: how a fact is written for its period.

What excludes a new fact is cut: it holds on outside of the new period only (SQL:2011, "for portion of"). An open end
stops where a fact begins that was said to begin later. All that one write changes is undone with it: by its batch, and
by its event, whose detail names the fact that holds `later` and the ends that it `released`.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.db.models import Q

from memory.claims.judge import judge_change
from memory.facts.conflicts import Conflict, is_plan, list_conflicts, list_rivals
from memory.facts.periods import Period, find_validity, is_same_but_dates
from memory.facts.versions import (
    INHERITED,
    FactWrite,
    Origin,
    archive_version,
    copy_links,
    insert_version,
    log_event,
    note_detail,
)
from memory.models import ArchivedReason, MemoryEvent, UserFact, WriteKind


def write_fact(
    values: dict[str, Any],
    *,
    kind: WriteKind = WriteKind.SAVE,
    old: UserFact | None = None,
    is_portion: bool = False,
    conflicts: Iterable[Conflict] | None = None,
    origin: Origin,
    now: datetime,
) -> FactWrite:
    """Write a fact with these columns for its period, and cut what excludes it: `conflicts`, if they were listed.

    It takes the place of `old`, believed or not; with `is_portion` in its period alone.
    """
    lineage, period = old.lineage if old else None, Period(values["valid_from"], values["valid_until"])
    if conflicts is None:
        conflicts = list_conflicts(values["content"], period, lineage=lineage, now=now)
    rivals = [one.fact for one in conflicts if one.verdict == "replaces" and one.fact.lineage != lineage]
    if period.ends is None:
        plans = [rival for rival in rivals if is_plan(rival, max(period.begins, now))]
        period = Period(period.begins, min((plan.valid_from for plan in plans), default=None))
    rivals = [rival for rival in rivals if period.overlaps(Period.of(rival))]
    origin = replace(origin, batch_id=origin.batch_id or uuid4()) if rivals else origin
    values = {**values, **period.columns}
    written = _write_rows(values, old, kind, is_portion=is_portion, origin=origin, now=now)
    for rival in rivals:
        _cut(rival, written.fact, origin=origin, now=now)
    return written


def change_fact(
    old: UserFact,
    changes: dict[str, Any],
    *,
    kind: WriteKind = WriteKind.UPDATE,
    is_portion: bool = False,
    conflicts: Iterable[Conflict] | None = None,
    origin: Origin,
    now: datetime,
) -> FactWrite:
    """Replace a fact by `changes`; no other fact has their text.

    A correction stands for the whole fact. A statement says what holds in a period (`is_portion`): the old words hold
    until it begins, or again after its end.
    """
    values = list_inherited(old) | changes | plan_period(old, changes, now).columns
    is_portion = is_portion and not is_same_but_dates(old.content, values["content"])
    writing: dict[str, Any] = {"conflicts": conflicts, "origin": origin, "now": now}
    written = write_fact(values, kind=kind, old=old, is_portion=is_portion, **writing)
    return release_ends(written, old, written.fact, origin=origin, now=now)


def merge_fact(old: UserFact, into: UserFact, *, origin: Origin, now: datetime) -> FactWrite:
    """End a fact in favour of another, which takes its links and holds at least as early."""
    return release_ends(_merge(old, into, None, origin=origin, now=now), old, origin=origin, now=now)


def plan_period(old: UserFact, changes: dict[str, Any], now: datetime) -> Period:
    """Return when the successor of a row holds: a future fact keeps its beginning, an ended one has no end any more."""
    begins: datetime = changes.get("valid_from", max(now, old.valid_from))
    ends: datetime | None = changes.get("valid_until", old.valid_until)
    return Period(begins, None if ends is not None and ends <= begins else ends)


def list_inherited(fact: UserFact) -> dict[str, Any]:
    """Return the columns that a successor inherits."""
    return {name: getattr(fact, name) for name in INHERITED}


def release_ends(
    written: FactWrite, plan: UserFact, successor: UserFact | None = None, *, origin: Origin, now: datetime
) -> FactWrite:
    """Move the ends that an archived plan had set, to their own or the next plan's; the event of `written` notes it."""
    if not is_plan(plan, now):
        return written
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
            moved.append(_merge(fact, follower, None, origin=apart, now=now))
            continue
        own = Period(plan.valid_from, _find_own_end(fact, {row.valid_from for row in rows}))
        rivals = list_rivals(fact.content, own, lineage=fact.lineage, now=now)
        starts = [one.valid_from for one in (*rivals, follower) if one is not None and one.valid_from > fact.valid_from]
        ends = min(filter(None, [own.ends, *starts]), default=None)
        if ends != fact.valid_until:
            moved.append(change_fact(fact, {"valid_until": ends}, conflicts=(), origin=apart, now=now))
    if moved:
        note_detail(written.event, released=[str(write.event.pk) for write in moved if write.event is not None])
    return written


def _find_own_end(fact: UserFact, begins: Collection[datetime]) -> datetime | None:
    """Return when a fact ended before a plan with these beginnings bounded it: by its versions, or its words."""
    row = fact
    while row.supersedes is not None and row.supersedes.content_key == fact.content_key:
        row = row.supersedes
        if row.valid_until not in begins:
            return row.valid_until
    return find_validity(fact.content, said_at=fact.learned_at).ends


def _write_rows(
    values: dict[str, Any], old: UserFact | None, kind: WriteKind, *, is_portion: bool, origin: Origin, now: datetime
) -> FactWrite:
    """Insert a row, also in place of another: of the new row and what is left of the old one the first succeeds it."""
    period, left = Period(values["valid_from"], values["valid_until"]), _find_left(old, now) if old else None
    rest = left.cut(period) if left is not None and is_portion else None
    is_later = left is not None and left.begins < period.begins
    if old is not None and not old.is_archived:
        # A fact that was put off by a correction has not been true so far.
        is_put_off = is_later and rest is None
        archive_version(old, ArchivedReason.USER_CORRECTED if is_put_off else ArchivedReason.SUPERSEDED, now)
    later: UserFact | None
    if old is not None and rest is not None and is_later:
        first = insert_version(now=now, origin=origin, supersedes=old, **list_inherited(old) | rest.columns)
        new = later = insert_version(now=now, origin=origin, is_apart=True, **values | {"learned_at": now})
    else:
        first = new = insert_version(now=now, origin=origin, supersedes=old, **values)
        later = _keep_rest(old, rest, origin=origin, now=now)
    return FactWrite(new, log_event(kind, before=old, after=first, later=later, origin=origin, now=now))


def _merge(old: UserFact, into: UserFact, rest: Period | None, *, origin: Origin, now: datetime) -> FactWrite:
    """End a row in favour of another, except for what is left of it later."""
    archive_version(old, ArchivedReason.MERGED, now)
    begins = max(now, old.valid_from)
    if into.is_over(now) or into.valid_from > max(begins, into.created_at):
        into = change_fact(into, {"valid_from": begins}, origin=origin, now=now).fact
    later = _keep_rest(old, rest, origin=origin, now=now)
    event = log_event(WriteKind.MERGE, before=old, after=into, later=later, origin=origin, now=now)
    copy_links(old, into, event)
    return FactWrite(into, event)


def _cut(rival: UserFact, by: UserFact, *, origin: Origin, now: datetime) -> None:
    """Let a fact hold outside of the period of another one only, which takes its links if it begins first."""
    left, period = _find_left(rival, now), Period.of(by)
    if left is not None and left.begins < period.begins:
        change_fact(rival, {"valid_until": period.begins}, conflicts=(), origin=origin, now=now)
    else:
        _merge(rival, by, left.cut(period) if left is not None else None, origin=origin, now=now)


def _find_left(fact: UserFact, now: datetime) -> Period | None:
    """Return when a fact holds from now on; None if it has ended."""
    return None if fact.is_over(now) else Period(max(now, fact.valid_from), fact.valid_until)


def _keep_rest(old: UserFact | None, rest: Period | None, *, origin: Origin, now: datetime) -> UserFact | None:
    """Insert what is left of an archived fact as one of its own."""
    if old is None or rest is None:
        return None
    return insert_version(now=now, origin=origin, is_apart=True, **list_inherited(old) | rest.columns)
