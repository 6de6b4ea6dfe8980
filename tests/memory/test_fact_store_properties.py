from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.text import normal_form
from memory.models import ArchivedReason, Confidence, EventKind, FactCategory, FactSource, MemoryEvent, UserFact
from memory.services import (
    FactAmbiguous,
    FactChanged,
    FactNotFound,
    UndoRefused,
    Written,
    archive_fact,
    confirm_fact,
    demote_fact,
    forget_fact,
    promote_fact,
    remember_fact,
    render_coach_block,
    restore_fact,
    supersede_fact,
    undo_event,
)
from tests.factories.memory import MAY, UserFactFactory

# Few words, so that facts meet: some equal another in normal form, some hold another.
WORDS = ["Max 5x leverage", "max 5X  leverage!", "leverage", "Never trades alts"]
DAY = timedelta(days=1)
COLUMNS = [field.attname for field in UserFact._meta.concrete_fields]
VISIBLE = ("lineage", "category", "topic", "content", "summary", "body", "source", "confidence", "score", "valid_until")

words = st.sampled_from(WORDS)
topics = st.sampled_from(["", "risk", "style"])
places = st.integers(0, 9)  # counted from the newest, modulo how many there are


def seen(row: UserFact) -> dict[str, Any]:
    return {name: getattr(row, name) for name in VISIBLE}


class FactStore(RuleBasedStateMachine):
    """All that a user, a model and the page can do to one memory, in any order, at times that are passed in.

    Beside the rows it keeps a plain model of the undo log: for each lineage the stack of writes that stand, of which
    the topmost alone can be undone. A merge lies on both lineages: undoing the other one's write would lose its words.
    """

    def __init__(self, trader) -> None:
        super().__init__()
        self.doors = ExitStack()
        self.doors.enter_context(owned_tx(trader))
        self.now = MAY
        self.pace = timedelta(0)
        self.rows: dict[UUID, UserFact] = {}  # as they were after the last step
        self.events: dict[UUID, MemoryEvent] = {}
        self.may_change = False  # the step under way
        self.believed_at: dict[datetime, set[UUID]] = {}
        self.stacks: dict[UUID, list[UUID | None]] = defaultdict(list)  # None: what is below is out of reach
        self.undone: dict[UUID, datetime] = {}
        self.windowed: set[UUID] = set()  # lineages with a beginning or an end of their own
        # The last writes, each with what was believed before it, as long as they are undone in reverse.
        self.trail: list[tuple[UUID, list[UserFact]]] = []

    def teardown(self) -> None:
        """Check that what was known at each moment can still be told, and leave no row."""
        for moment, ids in self.believed_at.items():
            known = UserFact.objects.filter(created_at__lte=moment).exclude(archived_at__lte=moment)
            assert set(known.values_list("pk", flat=True)) == ids
        transaction.set_rollback(True)
        self.doors.close()

    @initialize(pace=st.sampled_from([timedelta(0), timedelta(seconds=1), DAY]))
    def set_out(self, pace: timedelta) -> None:
        """Choose what lies between two steps: nothing, as in one turn, or time."""
        self.pace = pace

    @rule(step=st.sampled_from([timedelta(hours=1), 31 * DAY]))
    def wait(self, step: timedelta) -> None:
        self.let_pass(step)

    def let_pass(self, time: timedelta) -> None:
        if time:
            self.believed_at[self.now] = {row.pk for row in self.believed()}
        self.now += time

    @rule(
        content=words,
        topic=topics,
        confidence=st.sampled_from(Confidence.values),
        source=st.sampled_from(["chat", "profile"]),
    )
    def remember(self, **values: str) -> None:
        written = self.write(lambda: remember_fact(**values, now=self.now))

        assert self.is_current(written.fact)
        assert written.fact.normalised == normal_form(values["content"])
        again = remember_fact(**values, now=self.now)
        assert (again.fact, again.event) == (written.fact, None)

    @rule(place=places, content=words, topic=topics | st.none(), category=st.sampled_from([None, *FactCategory.values]))
    def supersede(self, place: int, **values: str | None) -> None:
        fact = self.pick(place)
        if fact is not None:
            written = self.write(
                lambda: supersede_fact(fact_id=fact.pk, **values, now=self.now),
                refusal=FactChanged if fact.is_archived else None,
            )
            assert written is None or written.fact.normalised == normal_form(values["content"])

    @rule(place=places, service=st.sampled_from([confirm_fact, promote_fact, demote_fact, archive_fact]))
    def act(self, place: int, service: Callable[..., Written]) -> None:
        fact = self.pick(place)
        if fact is not None:
            refusal = FactChanged if fact.is_archived else None
            self.write(lambda: service(fact_id=fact.pk, now=self.now), refusal=refusal)

    @rule(content=words)
    def forget_words(self, content: str) -> None:
        wanted = normal_form(content)
        self.forget(content, [row for row in self.rows.values() if self.is_current(row) and wanted in row.normalised])

    @rule(place=places)
    def forget_id(self, place: int) -> None:
        fact = self.pick(place)
        if fact is not None:
            rows = [row for row in self.believed() if row.lineage == fact.lineage and self.is_current(row)]
            self.forget(str(fact.pk), rows)

    def forget(self, reference: str, meant: list[UserFact]) -> None:
        refusal = {0: FactNotFound, 1: None}.get(len(meant), FactAmbiguous)
        written = self.write(lambda: forget_fact(id_or_substring=reference, now=self.now), refusal=refusal)
        assert written is None or [written.fact] == meant

    @rule(place=places)
    def restore(self, place: int) -> None:
        fact = self.pick(place)
        if fact is None:
            return
        line = self.line(fact.lineage)
        refusal = None if line[-1].is_archived else FactChanged

        written = self.write(lambda: restore_fact(fact_id=fact.pk, now=self.now), refusal=refusal)

        assert written is None or written.fact.normalised == line[-1].normalised

    @rule(content=words, state=st.sampled_from(["ended", "begins_later", "learned", "inferred"]))
    def plant(self, content: str, state: str) -> None:
        """Put a row there that no service of today writes: extracted, observed, or of another time."""
        if normal_form(content) in {row.normalised for row in self.believed()}:
            return
        windows = {"ended": {"valid_until": self.now}, "begins_later": {"valid_from": self.now + 3 * DAY}}
        values = {"valid_from": self.now - DAY, **windows.get(state, {state: True})}
        fact = UserFactFactory(content=content, created_at=self.now, **values)
        self.windowed |= {fact.lineage} if state in windows else set()
        self.trail.clear()
        self.may_change = True

    @rule()
    def start_a_chat(self) -> None:
        render_coach_block(now=self.now)
        self.may_change = True

    @precondition(lambda self: self.events)
    @rule(place=places)
    def undo_any(self, place: int) -> None:
        self.trail.clear()
        self.undo(list(self.events.values())[-1 - place % len(self.events)])

    @precondition(lambda self: self.trail)
    @rule()
    def undo_last(self) -> None:
        event_id, before = self.trail.pop()

        self.undo(self.events[event_id])

        assert [seen(row) for row in self.believed()] == [seen(row) for row in before]
        assert [self.is_current(row) for row in self.believed()] == [self.is_current(row) for row in before]

    def write(self, work: Callable[[], Written], refusal: type[DomainError] | None = None) -> Written | None:
        """Do it, and note on the stacks what it wrote; without an event, nothing may have changed."""
        if refusal is not None:
            with pytest.raises(refusal):
                work()
            return None
        before = self.believed()
        written = work()
        new = list(MemoryEvent.objects.exclude(pk__in=self.events).select_related("after"))
        for event in sorted(new, key=lambda event: event.kind == EventKind.MERGE):
            if event.kind != EventKind.CONFIRM:
                self.stacks[event.lineage].append(event.pk)
            if event.kind == EventKind.MERGE:
                self.stacks[event.after.lineage].append(event.pk)
        if new:
            assert written.event in new
            self.trail.append((written.event.pk, before))
            self.may_change = True
        if len(new) > 1:
            self.trail.clear()  # a merge into words that had ended lets them hold again: two writes
        assert new or (written.event is None and written.fact.pk in self.rows)
        return written

    def undo(self, event: MemoryEvent) -> None:
        is_done = event.pk in self.undone
        if event.kind == EventKind.CONFIRM and not is_done:
            self.undo_confirm(event)
        elif is_done or self.stacks[event.lineage][-1] != event.pk:
            self.undo_in_vain(event, is_done)
        else:
            undo_event(event_id=event.pk, now=self.now)
            self.undone[event.pk] = self.now
            for stack in self.stacks.values():
                stack[:] = [pk for pk in stack if pk != event.pk]
            self.may_change = True
            self.load()
            self.check_undone(event)

    def undo_in_vain(self, event: MemoryEvent, is_done: bool) -> None:
        if is_done:
            assert undo_event(event_id=event.pk, now=self.now).undone_at == self.undone[event.pk]
            return
        with pytest.raises(UndoRefused):
            undo_event(event_id=event.pk, now=self.now)

    def undo_confirm(self, event: MemoryEvent) -> None:
        fact = self.line(event.lineage)[-1]
        is_last = not fact.is_archived and fact.last_confirmed_at == event.created_at
        try:
            undo_event(event_id=event.pk, now=self.now)
        except UndoRefused:
            # Or a later write stands on it, of which the successor inherited the clock.
            assert not is_last or self.stacks[event.lineage]
            return
        assert is_last
        self.undone[event.pk] = self.now
        self.may_change = True
        self.load()
        assert self.line(event.lineage)[-1].last_confirmed_at == event.previous_confirmed_at

    def check_undone(self, event: MemoryEvent) -> None:
        last = self.line(event.lineage)[-1]
        if event.kind in {EventKind.SAVE, EventKind.RESTORE}:
            assert last.is_archived
            return
        before = self.rows[event.before_id]
        if last.is_archived:
            # Another fact says its words already; the writes before it cannot be reached any more.
            assert before.normalised in {row.normalised for row in self.believed()}
            self.stacks[event.lineage].append(None)
            return
        assert (seen(last), last.created_at) == (seen(before), self.now)

    def pick(self, place: int) -> UserFact | None:
        rows = list(self.rows.values())
        return rows[-1 - place % len(rows)] if rows else None

    def believed(self) -> list[UserFact]:
        return sorted((row for row in self.rows.values() if not row.is_archived), key=lambda row: row.lineage)

    def is_current(self, row: UserFact) -> bool:
        is_over = row.valid_until is not None and row.valid_until <= self.now
        return not row.is_archived and row.valid_from <= self.now and not is_over

    def line(self, lineage: UUID) -> list[UserFact]:
        rows = [row for row in self.rows.values() if row.lineage == lineage]
        successors = {row.supersedes_id: row for row in rows}
        line = [successors[None]]
        while line[-1].pk in successors:
            line.append(successors[line[-1].pk])
        assert (line[0].pk, len(line), len(successors)) == (lineage, len(rows), len(rows))
        return line

    def load(self) -> None:
        # In the order in which they came, which is the same in each run; ids are not.
        rows = {row.pk: row for row in UserFact.objects.all()}
        self.rows = {pk: rows[pk] for pk in dict.fromkeys([*self.rows, *rows])}
        events = {event.pk: event for event in MemoryEvent.objects.order_by("kind")}
        self.events = {pk: events[pk] for pk in dict.fromkeys([*self.events, *events])}

    @invariant()
    def keeps_its_promises(self) -> None:
        before = self.rows
        self.load()
        for pk, row in before.items():
            if row.is_archived or not self.may_change:
                assert {name: getattr(row, name) for name in COLUMNS} == {
                    name: getattr(self.rows[pk], name) for name in COLUMNS
                }
        assert self.may_change or len(before) == len(self.rows)
        self.may_change = False
        believed = self.believed()
        assert len({row.lineage for row in believed}) == len({row.normalised for row in believed}) == len(believed)
        assert all(row.source == FactSource.EXTRACTED for row in believed if row.score is not None)
        assert {pk: event.undone_at for pk, event in self.events.items() if event.undone_at} == self.undone
        self.let_pass(self.pace)

    @invariant()
    def lineages_are_unbroken_lines(self) -> None:
        for lineage in {row.lineage for row in self.rows.values()}:
            line = self.line(lineage)
            assert all(row.is_archived for row in line[:-1])
            assert {row.learned_at for row in line} == {line[0].created_at}
            if lineage not in self.windowed and not line[-1].is_archived:
                self.check_times(line)

    def check_times(self, line: list[UserFact]) -> None:
        """A believed fact without a window of its own was true in one version or another from its beginning on."""
        spans = [
            (row.valid_from, after.valid_from)
            for row, after in pairwise(line)
            if row.archived_reason == ArchivedReason.SUPERSEDED
        ]
        starts = [start for start, _ in spans] + [line[-1].valid_from]
        assert starts == sorted(starts)
        assert [end for _, end in spans] == starts[1:]


def test_fact_store_keeps_its_promises_whatever_is_done_to_it(trader):
    run_state_machine_as_test(
        lambda: FactStore(trader),
        settings=settings(
            max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )
