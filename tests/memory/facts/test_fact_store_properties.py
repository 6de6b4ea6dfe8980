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
from django.test import override_settings
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.text import normal_form
from memory.facts.limits import enforce_token_limit
from memory.facts.queries import list_links
from memory.facts.review import accept_proposal, dismiss_proposal, propose_fact, propose_merge
from memory.facts.services import (
    archive_fact,
    confirm_fact,
    delete_fact,
    demote_fact,
    forget_fact,
    link_facts,
    merge_facts,
    promote_fact,
    remember_fact,
    render_coach_block,
    restore_fact,
    supersede_fact,
    unlink_facts,
)
from memory.facts.undo import UndoRefused, undo_batch, undo_event
from memory.facts.versions import FactAmbiguous, FactChanged, FactNotFound, FactWrite, Origin
from memory.learning.writes import FactForgotten, TrustRefused, learn_fact
from memory.models import (
    ArchivedReason,
    Confidence,
    FactCategory,
    FactLink,
    FactSource,
    MemoryEvent,
    MemoryProposal,
    ProposalKind,
    ProposalStatus,
    UserFact,
    WriteKind,
)
from tests.factories.memory import MAY, UserFactFactory
from tests.properties import examples

# Few words, so that facts meet: some equal another in normal form, some hold another.
WORDS = ["Max 5x leverage", "max 5X  leverage!", "leverage", "Never trades alts"]
DAY = timedelta(days=1)
T = TypeVar("T")
COLUMNS = [field.attname for field in UserFact._meta.concrete_fields]
# Nothing else of a closed row ever changes: it may go into the trash and come back.
CLOSED = [name for name in COLUMNS if name not in {"trashed_at", "left_document_at"}]
BESIDE = {WriteKind.CONFIRM, WriteKind.LINK, WriteKind.UNLINK, WriteKind.EVICT}  # they write no version
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
WRITES = ["remember", "edit", "confirm", "promote", "demote", "archive", "restore", "forget_id", "delete", "merge"]
OTHERS = [
    *("remember", "edit", "forget_words", "learn", "learn_anew", "plant_ended", "plant_later", "wait", "start_a_chat"),
    *("link", "unlink", "archive_many", "propose", "propose_twin", "accept", "dismiss", "evict"),
]
UNDOS = ["undo_some", "undo_any", "undo_many"]
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
        self.known_at: dict[datetime, dict[datetime, set[UUID]]] = {}
        self.batches: list[tuple[UUID, list[UUID]]] = []
        self.proposals: list[UUID] = []
        self.stacks: dict[UUID, list[UUID | None]] = defaultdict(list)  # None: what is below is out of reach
        self.undone: dict[UUID, datetime] = {}
        self.windowed: set[UUID] = set()  # lineages with a beginning or an end of their own
        # The last writes, each with what was believed before it, as long as they are undone in reverse.
        self.trail: list[tuple[UUID, list[UserFact]]] = []

    def teardown(self) -> None:
        """Check that what was known at each moment can still be told, and leave no row."""
        for moment, known in self.known_at.items():
            assert {valid_at: self.as_of(valid_at, moment) for valid_at in known} == known
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
            probes = (self.now, self.now - time, self.now - 3 * time, MAY)
            self.known_at[self.now] = {valid_at: self.as_of(valid_at, self.now) for valid_at in probes}
            assert self.known_at[self.now][self.now] == {row.pk for row in self.current()}
        self.now += time

    def as_of(self, valid_at: datetime, known_at: datetime) -> set[UUID]:
        return set(UserFact.objects.as_of(valid_at, known_at).values_list("pk", flat=True))

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
        is_gone = last.gone_at is not None and last.gone_at < self.now  # in the trash for more than 30 days
        refusal = FactNotFound if is_gone else None if last.is_archived else FactChanged

        written = self.write(lambda: restore_fact(fact_id=fact.pk, now=self.now), refusal=refusal)

        assert written is None or written.fact.normalised == last.normalised

    def forget_words(self, step: Step) -> None:
        wanted = normal_form(step.content)
        self.forget(step.content, [row for row in self.open() if wanted in row.normalised])

    def forget_id(self, step: Step) -> None:
        if self.rows:
            fact = self.pick(self.rows, step)
            self.forget(str(fact.pk), [row for row in self.open() if row.lineage == fact.lineage])

    def forget(self, reference: str, meant: list[UserFact]) -> None:
        refusal = {0: FactNotFound, 1: None}.get(len(meant), FactAmbiguous)
        written = self.write(lambda: forget_fact(id_or_substring=reference, now=self.now), refusal=refusal)
        assert written is None or [written.fact] == meant

    def delete(self, step: Step) -> None:
        if self.rows:
            fact = self.pick(self.rows, step)
            self.write(lambda: delete_fact(fact_id=fact.pk, now=self.now))
            assert UserFact.objects.in_trash().filter(lineage=fact.lineage).exists()

    def merge(self, step: Step) -> None:
        if (pair := self.pair(step)) is not None:
            self.write(lambda: merge_facts(fact_id=pair[0].pk, into_id=pair[1].pk, now=self.now))

    def pair(self, step: Step) -> tuple[UserFact, UserFact] | None:
        """Return two believed facts."""
        facts = self.standing()
        one, other = (self.pick(facts, step), next(iter(facts.values()))) if facts else (None, None)
        return None if one is other else (one, other)

    def learn(self, step: Step) -> None:
        facts = self.standing()
        self.extract(step, self.pick(facts, step) if facts else None)

    def learn_anew(self, step: Step) -> None:
        self.extract(step, None)

    def extract(self, step: Step, target: UserFact | None) -> None:
        """Let a chat teach words that were said some days ago; what was said outright stands, whatever it aims at."""
        explicit = {row.pk for row in self.believed() if row.score is None}
        origin = Origin(quotes=({"message_id": step.place, "start": 0, "end": 4},))
        said_at = {step.place: self.now - step.place * DAY}
        values = {"content": step.content, "topic": step.topic, "category": None, "score": 0.3 + step.place / 20}
        target_id = target.pk if target else None
        self.write_any(
            lambda: learn_fact(**values, said_at=said_at, target_id=target_id, origin=origin, now=self.now),
            FactForgotten,
            TrustRefused,
        )
        self.load()
        assert explicit <= {row.pk for row in self.believed()}

    def says(self, content: str) -> bool:
        return normal_form(content) in {row.normalised for row in self.believed()}

    def archive_many(self, step: Step) -> None:
        """Do one thing to several facts at once, as the page does."""
        batch = Origin(batch_id=UUID(int=len(self.batches) + 1))
        act = {"asserted": archive_fact, "inferred": delete_fact}[step.confidence]
        for fact in list(self.standing().values())[: 1 + step.place]:
            self.write(lambda fact=fact: act(fact_id=fact.pk, origin=batch, now=self.now))
            self.load()
        self.note_batch(batch.batch_id)

    def note_batch(self, batch_id: UUID) -> None:
        events = list(MemoryEvent.objects.filter(batch_id=batch_id).values_list("pk", flat=True))
        if events:
            self.batches.append((batch_id, events))

    def propose(self, step: Step) -> None:
        target = self.pick(self.rows, step).pk if self.rows and step.category else None
        values = {"kind": ProposalKind.UNTRUSTED, "content": step.content, "target_id": target, "why": "a test"}
        proposal = propose_fact(**values, origin=Origin(), now=self.now)
        assert proposal is None or not self.says(step.content)
        self.proposals += [proposal.pk] if proposal else []

    def propose_twin(self, step: Step) -> None:
        if (pair := self.pair(step)) is not None:
            proposal = propose_merge(fact_id=pair[0].pk, into_id=pair[1].pk, why="a test", now=self.now)
            self.proposals += [proposal.pk] if proposal else []

    def accept(self, step: Step) -> None:
        proposal = self.waiting(step)
        if proposal is None:
            return
        accepted = self.write_any(lambda: accept_proposal(proposal_id=proposal.pk, now=self.now), FactChanged)
        assert accepted is not None or proposal.kind == ProposalKind.MERGE
        if accepted is not None and accepted.batch_id is not None:
            self.note_batch(accepted.batch_id)

    def dismiss(self, step: Step) -> None:
        if (proposal := self.waiting(step)) is not None:
            dismiss_proposal(proposal_id=proposal.pk, now=self.now)

    def waiting(self, step: Step) -> MemoryProposal | None:
        rows = MemoryProposal.objects.in_bulk(self.proposals)
        found = {pk: rows[pk] for pk in self.proposals if rows[pk].status == ProposalStatus.PENDING}
        return self.pick(found, step) if found else None

    def link(self, step: Step) -> None:
        facts = {row.pk: row for row in self.current()}
        if len(facts) > 1:
            one, other = self.pick(facts, step), next(iter(facts.values()))
            if one is not other:
                link_facts(from_id=str(one.pk), to_id=str(other.pk), relation=step.topic or "with", now=self.now)

    def unlink(self, step: Step) -> None:
        arrived = list(self.rows)
        links = list(FactLink.objects.all())
        links.sort(key=lambda link: (arrived.index(link.from_fact_id), arrived.index(link.to_fact_id), link.relation))
        if links:
            unlink_facts(link_id=links[step.place % len(links)].pk, now=self.now)

    def evict(self, step: Step) -> None:
        """Let the document be too long for all that it has."""
        inside = {row.pk for row in self.open() if row.left_document_at is None}
        with override_settings(MEMORY_TOKEN_LIMIT=10):
            left = enforce_token_limit(now=self.now)
        self.may_change = True
        assert {fact.pk for fact in left} == inside

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

    def undo_many(self, step: Step) -> None:
        """Undo a batch: all of it, or nothing if a later write stands on any of it."""
        if not self.batches:
            return
        batch_id, events = self.batches[-1 - step.place % len(self.batches)]
        self.trail.clear()
        standing = [self.events[pk] for pk in events if pk not in self.undone]
        if not all(self.is_free(event, events) for event in standing):
            with pytest.raises(UndoRefused):
                undo_batch(batch_id=batch_id, now=self.now)
            return
        assert {event.pk for event in undo_batch(batch_id=batch_id, now=self.now)} == {event.pk for event in standing}
        for event in standing:
            self.forget_event(event)
        self.load()
        for event in standing:
            self.check_undone(event)

    def is_free(self, event: MemoryEvent, batch: list[UUID]) -> bool:
        stack = self.stacks[event.lineage]
        return set(stack[stack.index(event.pk) :]) <= set(batch)

    def forget_event(self, event: MemoryEvent) -> None:
        self.undone[event.pk] = self.now
        for stack in self.stacks.values():
            stack[:] = [pk for pk in stack if pk != event.pk]
        self.may_change = True

    def undo_some(self, step: Step) -> None:
        for event_id, before in reversed(self.trail[-1 - step.place :]):
            self.undo(self.events[event_id])
            assert [seen(row) for row in self.believed()] == [seen(row) for row in before]
            assert [self.is_current(row) for row in self.believed()] == [self.is_current(row) for row in before]
        del self.trail[-1 - step.place :]

    def write_to(self, step: Step, work: Callable[[UserFact], FactWrite]) -> FactWrite | None:
        if not self.rows:
            return None
        fact = self.pick(self.rows, step)
        return self.write(lambda: work(fact), refusal=FactChanged if fact.is_archived else None)

    def write(self, work: Callable[[], FactWrite], refusal: type[DomainError] | None = None) -> FactWrite | None:
        """Do it, and note on the stacks what it wrote; without an event, nothing may have changed."""
        if refusal is not None:
            with pytest.raises(refusal):
                work()
            return None
        before = self.believed()
        written = work()
        new = self.note()
        if new:
            assert written.event in new
            self.trail.append((written.event.pk, before))
            self.may_change = True
        if len(new) > 1:
            self.trail.clear()  # a merge into words that had ended lets them hold again: two writes
        assert new or (written.event is None and written.fact.pk in self.rows)
        return written

    def write_any(self, work: Callable[[], T], *refusals: type[DomainError]) -> T | None:
        """Do what may be refused, or write more than one event; a refusal changes nothing."""
        try:
            done = work()
        except refusals:
            assert not self.note()
            return None
        if self.note():
            self.trail.clear()
            self.may_change = True
        return done

    def note(self) -> list[MemoryEvent]:
        """Put what was written on the stacks."""
        new = list(MemoryEvent.objects.exclude(pk__in=self.events).select_related("after"))
        for event in sorted(new, key=lambda event: event.kind == WriteKind.MERGE):
            if event.kind not in BESIDE:
                self.stacks[event.lineage].append(event.pk)
            if event.kind == WriteKind.MERGE:
                self.stacks[event.after.lineage].append(event.pk)
        return new

    def undo_link(self, event: MemoryEvent) -> None:
        try:
            undo_event(event_id=event.pk, now=self.now)
        except UndoRefused:
            return
        self.undone[event.pk] = self.now
        self.may_change = event.kind == WriteKind.EVICT  # the fact is in the document again

    def undo(self, event: MemoryEvent) -> None:
        is_done = event.pk in self.undone
        if event.kind == WriteKind.CONFIRM and not is_done:
            self.undo_confirm(event)
        elif event.kind in BESIDE and not is_done:
            self.undo_link(event)
        elif is_done or self.stacks[event.lineage][-1] != event.pk:
            self.undo_in_vain(event, is_done)
        else:
            undo_event(event_id=event.pk, now=self.now)
            self.forget_event(event)
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
        if event.kind in {WriteKind.SAVE, WriteKind.RESTORE}:
            assert last.is_archived
            return
        assert event.kind != WriteKind.DELETE or last.trashed_at is None
        if event.detail.get("was_archived"):
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

    def standing(self) -> dict[UUID, UserFact]:
        """Return what is believed, in the order in which it came."""
        return {pk: row for pk, row in self.rows.items() if not row.is_archived}

    def believed(self) -> list[UserFact]:
        return sorted((row for row in self.rows.values() if not row.is_archived), key=lambda row: row.lineage)

    def is_current(self, row: UserFact) -> bool:
        is_over = row.valid_until is not None and row.valid_until <= self.now
        return not row.is_archived and row.valid_from <= self.now and not is_over

    def open(self) -> list[UserFact]:
        """Return what holds now or later."""
        return [row for row in self.believed() if row.valid_until is None or row.valid_until > self.now]

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
        lineages = list(dict.fromkeys(row.lineage for row in self.rows.values()))

        def place(lineage: UUID) -> int:
            return lineages.index(lineage) if lineage in lineages else len(lineages)

        rows = {row.pk: row for row in sorted(UserFact.objects.all(), key=lambda row: place(row.lineage))}
        self.rows = {pk: rows[pk] for pk in dict.fromkeys([*self.rows, *rows])}
        events = {e.pk: e for e in sorted(MemoryEvent.objects.all(), key=lambda e: (e.kind, place(e.lineage)))}
        self.events = {pk: events[pk] for pk in dict.fromkeys([*self.events, *events])}

    @invariant()
    def keeps_its_promises(self) -> None:
        before = self.rows
        self.load()
        for pk, row in before.items():
            if row.is_archived or not self.may_change:
                columns = CLOSED if self.may_change else COLUMNS
                assert {name: getattr(row, name) for name in columns} == {
                    name: getattr(self.rows[pk], name) for name in columns
                }
        assert self.may_change or len(before) == len(self.rows)
        self.may_change = False
        believed = self.believed()
        assert len({row.lineage for row in believed}) == len({row.normalised for row in believed}) == len(believed)
        assert all(row.source == FactSource.EXTRACTED for row in believed if row.score is not None)
        assert {pk: event.undone_at for pk, event in self.events.items() if event.undone_at} == self.undone
        self.let_pass(self.pace)

    @invariant()
    def links_join_the_newest_rows_and_show_believed_ones(self) -> None:
        last = set(UserFact.objects.last_of_lineage().values_list("pk", flat=True))
        links = list(FactLink.objects.all())
        assert {link.from_fact_id for link in links} | {link.to_fact_id for link in links} <= last
        believed = {row.pk for row in self.believed()}
        shown = [link for row in self.believed() for link in list_links(row)]
        assert {pk for link in shown for pk in (link.from_fact_id, link.to_fact_id)} <= believed

    @invariant()
    def trash_holds_newest_rows_that_are_archived(self) -> None:
        trashed = [row for row in self.rows.values() if row.trashed_at is not None]
        assert all(row.is_archived and self.line(row.lineage)[-1].pk == row.pk for row in trashed)

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
def test_fact_store_keeps_invariants_under_random_acts(trader):
    run_state_machine_as_test(
        lambda: FactStore(trader),
        settings=settings(
            max_examples=examples(15),
            stateful_step_count=25,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
