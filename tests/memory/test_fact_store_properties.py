from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, TypeVar
from uuid import UUID

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
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
T = TypeVar("T")
COLUMNS = [field.attname for field in UserFact._meta.concrete_fields]
VISIBLE = ("lineage", "category", "topic", "content", "summary", "body", "source", "confidence", "score", "valid_until")


@dataclass(frozen=True)
class Step:
    """One thing to do, with all that any act may need."""

    act: str  # a method of FactStore
    place: int  # of the fact or the event, counted from the newest, modulo how many there are
    content: str
    topic: str
    category: str | None
    confidence: str


# A third of the acts undo, mostly what was done last: long chains of writes and their undoing are where things break.
WRITES = ["remember", "edit", "confirm", "promote", "demote", "archive", "restore", "forget_id"]
OTHERS = ["remember", "edit", "forget_words", "plant_learned", "plant_ended", "plant_later", "wait", "start_a_chat"]
UNDOS = ["undo_some", "undo_any"]
NEAR = [0, 0, 0, 0, 1, 1, 2, 3, 5, 8]

STEPS = st.builds(
    Step,
    act=st.sampled_from(WRITES) | st.sampled_from(OTHERS) | st.sampled_from(UNDOS),
    place=st.sampled_from(NEAR),
    content=st.sampled_from(WORDS),
    topic=st.sampled_from(["", "risk", "style"]),
    category=st.sampled_from([None, *FactCategory.values]),
    confidence=st.sampled_from(Confidence.values),
)


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

    @rule(step=STEPS)
    def do(self, step: Step) -> None:
        getattr(self, step.act)(step)

    def wait(self, step: Step) -> None:
        self.let_pass(31 * DAY)

    def let_pass(self, time: timedelta) -> None:
        if time:
            self.believed_at[self.now] = {row.pk for row in self.believed()}
        self.now += time

    def remember(self, step: Step) -> None:
        values = {"content": step.content, "topic": step.topic, "confidence": step.confidence}
        written = self.write(lambda: remember_fact(**values, now=self.now))

        assert self.is_current(written.fact)
        assert written.fact.normalised == normal_form(step.content)
        assert written.fact.score is None
        again = remember_fact(**values, now=self.now)
        assert (again.fact, again.event) == (written.fact, None)

    def edit(self, step: Step) -> None:
        values = {"content": step.content, "topic": step.topic or None, "category": step.category}
        written = self.write_to(step, lambda fact: supersede_fact(fact_id=fact.pk, **values, now=self.now))
        assert written is None or written.fact.normalised == normal_form(step.content)

    def confirm(self, step: Step) -> None:
        self.write_to(step, lambda fact: confirm_fact(fact_id=fact.pk, now=self.now))

    def promote(self, step: Step) -> None:
        self.write_to(step, lambda fact: promote_fact(fact_id=fact.pk, now=self.now))

    def demote(self, step: Step) -> None:
        self.write_to(step, lambda fact: demote_fact(fact_id=fact.pk, now=self.now))

    def archive(self, step: Step) -> None:
        self.write_to(step, lambda fact: archive_fact(fact_id=fact.pk, now=self.now))

    def restore(self, step: Step) -> None:
        if not self.rows:
            return
        fact = self.pick(self.rows, step)
        last = self.line(fact.lineage)[-1]
        refusal = None if last.is_archived else FactChanged

        written = self.write(lambda: restore_fact(fact_id=fact.pk, now=self.now), refusal=refusal)

        assert written is None or written.fact.normalised == last.normalised

    def forget_words(self, step: Step) -> None:
        wanted = normal_form(step.content)
        self.forget(step.content, [row for row in self.current() if wanted in row.normalised])

    def forget_id(self, step: Step) -> None:
        if self.rows:
            fact = self.pick(self.rows, step)
            self.forget(str(fact.pk), [row for row in self.current() if row.lineage == fact.lineage])

    def forget(self, reference: str, meant: list[UserFact]) -> None:
        refusal = {0: FactNotFound, 1: None}.get(len(meant), FactAmbiguous)
        written = self.write(lambda: forget_fact(id_or_substring=reference, now=self.now), refusal=refusal)
        assert written is None or [written.fact] == meant

    def plant_learned(self, step: Step) -> None:
        self.plant(step.content, learned=True)

    def plant_ended(self, step: Step) -> None:
        self.plant(step.content, valid_until=self.now)

    def plant_later(self, step: Step) -> None:
        self.plant(step.content, valid_from=self.now + 3 * DAY)

    def plant(self, content: str, **values: Any) -> None:
        """Put a row there that no service of today writes: learned, or of another time."""
        if normal_form(content) in {row.normalised for row in self.believed()}:
            return
        fact = UserFactFactory(content=content, created_at=self.now, **{"valid_from": self.now - DAY, **values})
        self.windowed |= set() if fact.score else {fact.lineage}
        self.trail.clear()
        self.may_change = True

    def start_a_chat(self, step: Step) -> None:
        render_coach_block(now=self.now)
        self.may_change = True

    def undo_any(self, step: Step) -> None:
        if self.events:
            self.trail.clear()
            self.undo(self.pick(self.events, step))

    def undo_some(self, step: Step) -> None:
        for event_id, before in reversed(self.trail[-1 - step.place :]):
            self.undo(self.events[event_id])
            assert [seen(row) for row in self.believed()] == [seen(row) for row in before]
            assert [self.is_current(row) for row in self.believed()] == [self.is_current(row) for row in before]
        del self.trail[-1 - step.place :]

    def write_to(self, step: Step, work: Callable[[UserFact], Written]) -> Written | None:
        if not self.rows:
            return None
        fact = self.pick(self.rows, step)
        return self.write(lambda: work(fact), refusal=FactChanged if fact.is_archived else None)

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

    def pick(self, among: dict[UUID, T], step: Step) -> T:
        return list(among.values())[-1 - step.place % len(among)]

    def believed(self) -> list[UserFact]:
        return sorted((row for row in self.rows.values() if not row.is_archived), key=lambda row: row.lineage)

    def is_current(self, row: UserFact) -> bool:
        is_over = row.valid_until is not None and row.valid_until <= self.now
        return not row.is_archived and row.valid_from <= self.now and not is_over

    def current(self) -> list[UserFact]:
        return [row for row in self.rows.values() if self.is_current(row)]

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


@pytest.mark.timeout(600)  # when it fails, it looks for the shortest way there
def test_fact_store_keeps_its_promises_whatever_is_done_to_it(trader):
    run_state_machine_as_test(
        lambda: FactStore(trader),
        settings=settings(
            max_examples=25,
            stateful_step_count=25,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
