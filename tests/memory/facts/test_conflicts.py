"""A single-valued subject has one current fact, whatever writes, ends and returns facts."""

from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from itertools import combinations
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from config.lib.owned import owned_tx
from memory.claims.judge import judge_change
from memory.claims.validity import Validity
from memory.facts.conflicts import list_conflicts
from memory.facts.document import build_document, dump_document
from memory.facts.periods import Period
from memory.facts.services import archive_fact, delete_fact, forget_fact, remember_fact, restore_fact, supersede_fact
from memory.facts.undo import UndoRefused, undo_batch, undo_event
from memory.facts.versions import PAGE, FactNotFound, Origin
from memory.models import MemoryEvent, UserFact, WriteKind
from memory.transfer.documents import import_document, parse_document
from tests.factories.memory import JUNE, MAY, UserFactFactory
from tests.properties import examples

TEXTS = st.sampled_from(
    [
        *(
            "My max leverage is 5x",
            "I never use more than 3x leverage",
            "Max leverage: 5x",
            "Max leverage on BTC is 2x",
        ),
        *("My base currency is EUR", "I moved from EUR to USD", "My exchange is GBP"),
        *("I live in Berlin", "I moved to Lisbon", "I only trade BTC", "I only trade BTC and ETH", "Trades gold"),
        *("Until July my max leverage is 2x", "My max leverage is 10x for two weeks", "Max leverage: 5x until August"),
        *(
            "From Monday my base currency is USD",
            "My base currency is GBP until the 20th",
            "From June my base currency is EUR",
        ),
        *(
            "From 10 June until 20 July my base currency is CHF",
            "I live in Berlin until July",
            "From July I live in Rome",
        ),
    ]
)
PLACES = st.integers(0, 5)
# Undated words of a chat, of a page and of another turn of the chat write differently.
ORIGINS = st.sampled_from([PAGE, Origin(conversation_id=UUID(int=1), message_id=1)])
PAUSES = st.sampled_from(
    [timedelta(0), timedelta(seconds=1), timedelta(days=3), timedelta(days=12), timedelta(days=40)]
)


class OneMemory(RuleBasedStateMachine):
    """What tools, page, undo and import do to one memory while time passes, beyond the dates that its words name."""

    def __init__(self, trader) -> None:
        super().__init__()
        self.doors = ExitStack()
        self.doors.enter_context(owned_tx(trader))
        self.now = MAY
        self.documents: list[str] = []
        self.was_current: set[UUID] = set()

    def teardown(self) -> None:
        """Leave no row."""
        transaction.set_rollback(True)
        self.doors.close()

    @rule(pause=PAUSES)
    def pass_time(self, pause: timedelta) -> None:
        self.now += pause

    @rule(text=TEXTS, origin=ORIGINS)
    def remember(self, text: str, origin: Origin) -> None:
        remember_fact(content=text, confidence="asserted", origin=origin, now=self.now)

    @rule(place=PLACES, text=TEXTS, origin=ORIGINS)
    def change(self, place: int, text: str, origin: Origin) -> None:
        if fact := self.pick(place):
            supersede_fact(fact_id=fact.pk, content=text, origin=origin, now=self.now)

    @rule(place=PLACES, days=st.sampled_from([-5, 3, 20]))
    def move(self, place: int, days: int) -> None:
        if fact := self.pick(place):
            begins = max(self.now, fact.valid_from + timedelta(days=days))
            ends = fact.valid_until if fact.valid_until and fact.valid_until > begins else None
            supersede_fact(fact_id=fact.pk, content=fact.content, validity=Validity(begins, ends), now=self.now)

    @rule(place=PLACES, end=st.sampled_from([archive_fact, delete_fact]))
    def end(self, place: int, end) -> None:
        if fact := self.pick(place):
            end(fact_id=fact.pk, now=self.now)

    @rule(place=PLACES, origin=ORIGINS)
    def forget(self, place: int, origin: Origin) -> None:
        if fact := self.pick(place):
            forget_fact(id_or_substring=str(fact.pk), origin=origin, now=self.now)

    @rule(place=PLACES)
    def restore(self, place: int) -> None:
        ended = list(UserFact.objects.last_of_lineage().filter(archived_at__isnull=False).order_by("-created_at", "id"))
        if ended:
            with suppress(FactNotFound):  # it was deleted more than 30 days ago
                restore_fact(fact_id=ended[place % len(ended)].pk, now=self.now)

    @rule(place=PLACES)
    def undo(self, place: int) -> None:
        events = list(MemoryEvent.objects.filter(undone_at__isnull=True).order_by("-created_at", "id"))
        if events:
            event = events[place % len(events)]
            try:
                with transaction.atomic():
                    if event.batch_id:
                        undo_batch(batch_id=event.batch_id, now=self.now)
                    else:
                        undo_event(event_id=event.pk, now=self.now)
            except UndoRefused:
                pass

    @rule()
    def export(self) -> None:
        self.documents.append(dump_document(build_document(now=self.now)))

    @rule(place=PLACES)
    def bring_in(self, place: int) -> None:
        if self.documents:
            import_document(parse_document(self.documents[place % len(self.documents)]), now=self.now)

    @invariant()
    def as_of_now_is_the_current_set(self) -> None:
        current = set(UserFact.objects.current(self.now).values_list("pk", flat=True))
        assert set(UserFact.objects.as_of(self.now, self.now).values_list("pk", flat=True)) == current

    @invariant()
    def no_two_current_facts_exclude_each_other(self) -> None:
        facts = UserFact.objects.current(self.now).order_by("created_at", "id")
        for one, other in combinations(facts, 2):
            assert judge_change(one.content, other.content) != "replaces"

    @invariant()
    def each_fact_that_left_says_why(self) -> None:
        assert not UserFact.objects.filter(archived_at__isnull=False, archived_reason="").exists()
        left = UserFact.objects.filter(archived_at__isnull=False).exclude(archived_reason="undone")
        logged = set(MemoryEvent.objects.values_list("before", flat=True))
        logged |= set(MemoryEvent.objects.filter(kind=WriteKind.IMPORT).values_list("after", flat=True))
        assert set(left.values_list("pk", flat=True)) <= logged

    @invariant()
    def each_fact_that_left_the_block_was_archived_or_has_ended(self) -> None:
        current = set(UserFact.objects.current(self.now).values_list("pk", flat=True))
        for fact in UserFact.objects.filter(pk__in=self.was_current - current):
            assert fact.archived_reason or fact.valid_until <= self.now
        self.was_current = current

    def pick(self, place: int) -> UserFact | None:
        """Return a fact that holds now or later."""
        facts = list(UserFact.objects.open(self.now).order_by("-created_at", "id"))
        return facts[place % len(facts)] if facts else None


@pytest.mark.timeout(600)  # when it fails, it looks for the shortest way there
def test_one_memory_keeps_its_laws_under_random_acts(trader):
    run_state_machine_as_test(
        lambda: OneMemory(trader),
        settings=settings(
            max_examples=examples(15),
            stateful_step_count=25,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )


def test_undo_event_is_refused_while_a_later_fact_excludes_the_old_one(as_trader):
    old = remember_fact(content="My base currency is EUR", now=MAY).fact
    event = forget_fact(id_or_substring=str(old.pk), now=MAY).event
    remember_fact(content="My base currency is USD", now=MAY)

    with pytest.raises(UndoRefused, match="My base currency is USD"):
        undo_event(event_id=event.pk, now=JUNE)


def test_import_document_proposes_what_contradicts_a_known_fact(as_trader):
    UserFactFactory(content="My max leverage is 5x")
    text = dump_document(build_document(now=JUNE))
    supersede_fact(fact_id=UserFact.objects.get().pk, content="My max leverage is 3x", now=JUNE)
    UserFact.objects.all().delete()
    remember_fact(content="My max leverage is 3x", now=datetime(2026, 6, 2, tzinfo=JUNE.tzinfo))

    result = import_document(parse_document(text), now=datetime(2026, 6, 3, tzinfo=JUNE.tzinfo))

    assert result.added == 0
    assert "contradicts" in result.refused[0]


def _list_open(now):
    rows = UserFact.objects.open(now).order_by("valid_from", "id")
    return [(row.content, row.valid_until) for row in rows]


@pytest.mark.parametrize("origin", [PAGE, Origin(conversation_id=UUID(int=1), message_id=1)], ids=["page", "chat"])
@pytest.mark.parametrize("end", [forget_fact, archive_fact, delete_fact])
@pytest.mark.parametrize("first", ["now", "plan"])
def test_ending_a_plan_removes_the_end_that_it_set(as_trader, origin, end, first):
    texts = ["My base currency is EUR", "From 1 July my base currency is USD"]
    for text in texts if first == "now" else texts[::-1]:
        remember_fact(content=text, origin=origin, now=MAY)
    [(_, ends), (planned, _)] = _list_open(MAY)
    assert (ends, planned) == (datetime(2026, 7, 1, tzinfo=UTC), texts[1])
    plan = UserFact.objects.believed().get(content=texts[1])

    given = {"id_or_substring": str(plan.pk)} if end is forget_fact else {"fact_id": plan.pk}
    event = end(**given, now=JUNE).event
    assert _list_open(JUNE) == [("My base currency is EUR", None)]

    undo_event(event_id=event.pk, now=JUNE + timedelta(days=1))
    assert _list_open(JUNE) == [("My base currency is EUR", ends), (texts[1], None)]


def test_ending_a_plan_keeps_an_end_of_its_own(as_trader):
    for text in ("My base currency is EUR until 1 July", "From 1 July my base currency is USD"):
        remember_fact(content=text, now=MAY)
    [(_, ends), _] = _list_open(MAY)

    forget_fact(id_or_substring="USD", now=JUNE)

    assert _list_open(JUNE) == [("My base currency is EUR until 1 July", ends)]


def test_ending_what_resumes_after_an_exception_keeps_the_exception(as_trader):
    origin = Origin(conversation_id=UUID(int=1), message_id=1)
    for text in ("My base currency is EUR", "My base currency is GBP until 20 July"):
        remember_fact(content=text, origin=origin, when_unsure="replace", now=JUNE)
    [(_, ends), (resumed, _)] = _list_open(JUNE)

    forget_fact(id_or_substring="EUR", now=JUNE)

    assert resumed == "My base currency is EUR"
    assert _list_open(JUNE) == [("My base currency is GBP until 20 July", ends)]


CHAT = Origin(conversation_id=UUID(int=1), message_id=1)
DAYS = {name: datetime(2026, 7, day, tzinfo=UTC) for name, day in (("1", 1), ("10", 10), ("20", 20))}


def _move_on_page(plan, begins):
    return supersede_fact(fact_id=plan.pk, content=plan.content, validity=Validity(begins, None), now=JUNE)


def _move_in_chat(plan, begins):
    return remember_fact(
        content=f"From {begins.day} July my base currency is USD", confidence="asserted", origin=CHAT, now=JUNE
    )


@pytest.mark.parametrize("move", [_move_on_page, _move_in_chat])
@pytest.mark.parametrize("origin", [PAGE, CHAT], ids=["page", "chat"])
@pytest.mark.parametrize(("first", "second"), [("1", "10"), ("10", "1"), ("10", "20")])
def test_moving_a_plan_moves_the_end_of_the_fact_before_it(as_trader, move, origin, first, second):
    remember_fact(content="My base currency is EUR", origin=origin, now=MAY)
    remember_fact(content=f"From {first} July my base currency is USD", confidence="asserted", origin=origin, now=MAY)
    before = _list_open(MAY)

    moved = move(UserFact.objects.believed().get(content__contains="USD"), DAYS[second])

    [(old, ends), (plan, _)] = _list_open(JUNE)
    assert (old, ends) == ("My base currency is EUR", DAYS[second])
    assert UserFact.objects.open(JUNE).get(content=plan).valid_from == DAYS[second]
    if moved.event.batch_id:
        undo_batch(batch_id=moved.event.batch_id, now=JUNE)
    else:
        undo_event(event_id=moved.event.pk, now=JUNE)
    assert _list_open(JUNE) == before
    assert UserFact.objects.open(JUNE).get(content=before[1][0]).valid_from == DAYS[first]


def test_moving_a_plan_twice_keeps_an_end_of_its_own(as_trader):
    for text in ("My base currency is EUR until 15 July", "From 1 July my base currency is USD"):
        remember_fact(content=text, confidence="asserted", now=MAY)

    for day in ("10", "20"):
        _move_on_page(UserFact.objects.believed().get(content__contains="USD"), DAYS[day])

    assert _list_open(JUNE)[0] == ("My base currency is EUR until 15 July", datetime(2026, 7, 15, tzinfo=UTC))


def test_moving_a_plan_before_another_plan_ends_nothing_after_that(as_trader):
    texts = ("My base currency is EUR", "From 1 July my base currency is USD", "From 10 July my base currency is GBP")
    for text in texts:
        remember_fact(content=text, confidence="asserted", origin=CHAT, now=MAY)

    forget_fact(id_or_substring="USD", now=JUNE)

    assert _list_open(JUNE) == [("My base currency is EUR", DAYS["10"]), ("From 10 July my base currency is GBP", None)]


def test_moving_a_plan_in_other_words_moves_the_end_too(as_trader):
    half = remember_fact(content="I trade half size", confidence="asserted", origin=CHAT, now=MAY).fact
    text = "From 1 July I use the whole account"
    supersede_fact(fact_id=half.pk, content=text, origin=CHAT, now=MAY)
    assert _list_open(MAY)[0] == ("I trade half size", DAYS["1"])

    _move_on_page(UserFact.objects.believed().get(content=text), DAYS["10"])

    assert _list_open(JUNE)[0] == ("I trade half size", DAYS["10"])


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL keeps its own statistics")
def test_facts_of_a_subject_are_found_by_its_index_without_statistics(as_trader):
    with CaptureQueriesContext(connection) as queries:
        list_conflicts("My max leverage is 5x", Period(JUNE, None), now=JUNE)

    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {queries[-1]['sql']}")
        steps = [step for *_, step in cursor.fetchall()]
    assert ["user_facts_by_subject" in step for step in steps] == [True]
