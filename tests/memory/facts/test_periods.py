"""Facts with a beginning or an end: written by every path, superseded for a time, undone."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from memory.claims.validity import Validity
from memory.facts.document import export_document
from memory.facts.periods import Period
from memory.facts.services import forget_fact, remember_fact, render_coach_block, restore_fact, supersede_fact
from memory.facts.undo import UndoRefused, undo_batch, undo_event
from memory.facts.versions import PAGE, Origin
from memory.learning.writes import TrustRefused, learn_fact
from memory.models import ArchivedReason, EventKind, MemoryEvent, Tombstone, UserFact
from memory.transfer.documents import import_document, parse_document
from memory.wording import FactRefused
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory

DAY = timedelta(days=1)
FIRST_OF_JULY = datetime(2026, 7, 1, tzinfo=UTC)
CHAT = Origin(conversation_id=uuid4(), message_id=1)


def current(now) -> list[str]:
    return sorted(UserFact.objects.current(now).values_list("content", flat=True))


def test_remember_fact_reads_the_end_from_the_words(as_trader):
    fact = remember_fact(content="I trade half size until July", now=JUNE).fact

    assert (fact.valid_from, fact.valid_until) == (JUNE, FIRST_OF_JULY)


def test_remember_fact_reads_the_words_in_the_owners_zone(trader, as_trader):
    trader.time_zone = "America/New_York"
    trader.save()

    assert remember_fact(content="I trade half size until July", now=JUNE).fact.valid_until == FIRST_OF_JULY.replace(
        hour=4
    )


def test_remember_fact_prefers_the_given_dates(as_trader):
    fact = remember_fact(content="I trade half size until July", validity=Validity(MAY, None), now=JUNE).fact

    assert (fact.valid_from, fact.valid_until) == (MAY, None)


def test_remember_fact_refuses_an_end_before_the_beginning(as_trader):
    with pytest.raises(FactRefused, match="end after it begins"):
        remember_fact(content="Trades half size", validity=Validity(JULY, JUNE), now=MAY)


def test_remember_fact_again_moves_the_end(as_trader):
    first = remember_fact(content="I trade half size for two weeks", now=JUNE).fact

    again = remember_fact(content="I trade half size for two weeks", now=JUNE + DAY)

    assert (again.fact.lineage, again.fact.valid_until) == (first.lineage, JUNE + 15 * DAY)
    assert remember_fact(content="I trade half size for two weeks", now=JUNE + DAY).event is None


def test_remember_fact_again_after_the_end_holds_for_the_next_period(as_trader):
    remember_fact(content="I trade half size for two weeks", now=MAY)

    again = remember_fact(content="I trade half size for two weeks", now=JULY).fact

    assert (again.valid_from, again.valid_until) == (JULY, JULY + 14 * DAY)


def test_fact_that_begins_later_enters_the_block_when_it_begins(as_trader):
    remember_fact(content="From July I trade half size", now=JUNE)

    assert "half size" not in render_coach_block(now=JUNE).text
    assert "half size" in render_coach_block(now=JULY).text


def test_expired_fact_leaves_the_block_and_is_still_believed(as_trader):
    remember_fact(content="I trade half size until July", now=JUNE)

    assert "half size until July" in render_coach_block(now=JUNE).text
    assert render_coach_block(now=JULY).text == ""
    assert UserFact.objects.believed().get().content == "I trade half size until July"


@pytest.mark.parametrize(
    ("content", "ends"),
    [("I trade half size until August", datetime(2026, 8, 1, tzinfo=UTC)), ("I trade half size", None)],
)
def test_supersede_fact_takes_the_end_of_the_new_words(as_trader, content, ends):
    old = remember_fact(content="I trade half size until July", now=MAY).fact

    assert supersede_fact(fact_id=old.pk, content=content, now=JUNE).fact.valid_until == ends


def test_supersede_fact_with_a_given_end_in_the_past_ends_the_fact_then(as_trader):
    old = UserFactFactory(content="Trades half size")

    new = supersede_fact(fact_id=old.pk, content=old.content, validity=Validity(None, JUNE), now=JULY).fact

    assert (new.valid_from, new.valid_until) == (MAY, JUNE)
    assert current(JULY) == []
    assert list(UserFact.objects.as_of(JUNE - DAY, JULY)) == [new]


def test_supersede_fact_put_off_by_the_page_has_not_been_true(as_trader):
    old = UserFactFactory(content="Trades half size")

    new = supersede_fact(fact_id=old.pk, content=old.content, validity=Validity(JULY, None), now=JUNE)

    assert (new.fact.valid_from, current(JUNE)) == (JULY, [])
    undo_event(event_id=new.event.pk, now=JUNE)
    assert current(JUNE) == ["Trades half size"]


def test_change_in_a_chat_that_begins_later_leaves_the_old_fact_until_then(as_trader):
    old = UserFactFactory(content="My base currency is EUR")

    written = supersede_fact(fact_id=old.pk, content="From July my base currency is USD", origin=CHAT, now=JUNE)

    assert written.fact.content == "From July my base currency is USD"
    assert current(JUNE) == ["My base currency is EUR"]
    assert current(JULY) == ["From July my base currency is USD"]
    undo_event(event_id=written.event.pk, now=JUNE)
    assert current(JUNE) == current(JULY) == ["My base currency is EUR"]


def test_change_in_a_chat_for_a_time_lets_the_old_fact_hold_again_after_it(as_trader):
    old = UserFactFactory(content="My max leverage is 5x")

    written = supersede_fact(fact_id=old.pk, content="Until July my max leverage is 3x", origin=CHAT, now=JUNE)

    assert current(JUNE) == ["Until July my max leverage is 3x"]
    assert current(JULY) == ["My max leverage is 5x"]
    undo_event(event_id=written.event.pk, now=JUNE)
    assert current(JUNE) == current(JULY) == ["My max leverage is 5x"]
    assert UserFact.objects.believed().count() == 1


def test_undo_of_a_change_for_a_time_is_refused_when_the_later_part_changed(as_trader):
    old = UserFactFactory(content="My max leverage is 5x")
    written = supersede_fact(fact_id=old.pk, content="Until July my max leverage is 3x", origin=CHAT, now=JUNE)
    later = UserFact.objects.get(pk=written.event.detail["later"])
    forget_fact(id_or_substring=str(later.pk), now=JUNE)

    with pytest.raises(UndoRefused):
        undo_event(event_id=written.event.pk, now=JUNE)


def test_an_end_added_in_a_chat_is_no_exception_to_the_fact(as_trader):
    old = UserFactFactory(content="I trade half size")

    supersede_fact(fact_id=old.pk, content="I trade half size until July", origin=CHAT, now=JUNE)

    assert current(JULY) == []


@pytest.mark.parametrize("said_at", [MAY, JUNE])
def test_learn_fact_counts_from_when_it_was_said(as_trader, said_at):
    origin = Origin(quotes=({"message_id": 1, "start": 0, "end": 4},))

    fact = learn_fact(
        content="I trade half size for two weeks",
        topic="",
        category=None,
        score=0.9,
        said_at={1: said_at},
        origin=origin,
        now=JUNE,
    ).fact

    assert fact.valid_until == said_at + 14 * DAY


def turn(content_of_old: str, content_of_new: str, reason: str = ArchivedReason.AGENT_FORGET):
    old = UserFactFactory(content=content_of_old, topic="account", body="Long")
    forgotten = forget_fact(id_or_substring=str(old.pk), reason=reason, origin=CHAT, now=JUNE)
    return old, forgotten, remember_fact(content=content_of_new, origin=CHAT, now=JUNE)


def test_forget_and_remember_of_a_subject_in_one_turn_are_one_supersede(as_trader):
    old, forgotten, written = turn("My base currency is EUR", "My base currency is USD")

    old.refresh_from_db()
    forgotten.event.refresh_from_db()
    assert (written.fact.supersedes, written.fact.lineage, written.event.kind) == (old, old.lineage, EventKind.UPDATE)
    assert (old.archived_reason, forgotten.event.undone_at) == (ArchivedReason.SUPERSEDED, JUNE)
    assert (written.fact.topic, written.fact.body) == ("account", "Long")
    assert not Tombstone.objects.exists()
    assert [fact.content for fact in UserFact.objects.as_of(MAY, JULY)] == ["My base currency is EUR"]
    undo_event(event_id=written.event.pk, now=JULY)
    assert current(JULY) == ["My base currency is EUR"]


def test_forget_and_remember_of_two_subjects_are_two_writes(as_trader):
    old, forgotten, written = turn("My base currency is EUR", "My cat is called Tick")

    assert written.fact.lineage != old.lineage
    assert MemoryEvent.objects.get(pk=forgotten.event.pk).undone_at is None


def test_forget_of_an_earlier_turn_stays_a_forget(as_trader):
    old = UserFactFactory(content="My base currency is EUR")
    forget_fact(id_or_substring=str(old.pk), origin=CHAT, now=JUNE)

    later = remember_fact(
        content="My base currency is USD", origin=Origin(conversation_id=CHAT.conversation_id, message_id=2), now=JULY
    )

    assert later.fact.lineage != old.lineage
    assert [fact.content for fact in UserFact.objects.as_of(MAY, JULY)] == ["My base currency is EUR"]


def test_a_correction_in_the_same_turn_was_never_true(as_trader):
    old, _, written = turn("My base currency is EUR", "My base currency is USD", ArchivedReason.USER_CORRECTED)

    assert written.fact.lineage == old.lineage
    assert list(UserFact.objects.as_of(MAY, JULY)) == []


def test_restore_of_a_forgotten_fact_shows_it_once_in_the_past(as_trader):
    fact = UserFactFactory(content="My base currency is EUR")
    forget_fact(id_or_substring=str(fact.pk), now=JUNE)
    restore_fact(fact_id=fact.pk, now=JULY)

    assert len(UserFact.objects.as_of(MAY, JULY)) == len(UserFact.objects.as_of(JULY, JULY)) == 1


@pytest.mark.parametrize("origin", [PAGE, CHAT])
def test_a_plan_leaves_the_current_fact_until_it_begins(as_trader, origin):
    remember_fact(content="My base currency is EUR", origin=origin, now=MAY)

    written = remember_fact(content="From July my base currency is USD", origin=origin, now=JUNE)

    assert (current(JUNE), current(JULY)) == (["My base currency is EUR"], ["From July my base currency is USD"])
    undo_event(event_id=written.event.pk, now=JUNE)
    assert current(JULY) == ["My base currency is EUR"]


def test_a_fact_said_beside_a_plan_holds_until_the_plan_begins(as_trader):
    remember_fact(content="From July my base currency is USD", now=MAY)

    fact = remember_fact(content="My base currency is EUR", now=JUNE).fact

    assert fact.valid_until == FIRST_OF_JULY
    assert (current(JUNE), current(JULY)) == (["My base currency is EUR"], ["From July my base currency is USD"])


def test_a_restored_plan_ends_the_current_fact_when_it_begins(as_trader):
    plan = remember_fact(content="From July my base currency is USD", now=MAY).fact
    forget_fact(id_or_substring=str(plan.pk), now=MAY)
    remember_fact(content="My base currency is EUR", now=MAY)

    restore_fact(fact_id=plan.pk, now=JUNE)

    assert (current(JUNE), current(JULY)) == (["My base currency is EUR"], ["From July my base currency is USD"])


def test_what_held_before_an_exception_does_not_outlive_a_newer_statement(as_trader):
    remember_fact(content="My max leverage is 5x", now=MAY)
    remember_fact(content="Until July my max leverage is 3x", now=MAY)

    remember_fact(content="My max leverage is 2x", now=JUNE)

    assert current(JUNE) == current(JULY) == ["My max leverage is 2x"]


def test_a_fact_said_again_after_its_end_ends_what_followed_it(as_trader):
    remember_fact(content="My base currency is EUR until June", now=MAY)
    remember_fact(content="My base currency is USD", now=JUNE)

    remember_fact(content="My base currency is EUR", now=JULY)

    assert current(JULY) == ["My base currency is EUR"]


def test_forget_and_remember_of_a_plan_in_one_turn_leave_the_fact_until_then(as_trader):
    _, _, written = turn("My base currency is EUR", "From July my base currency is USD")

    assert (current(JUNE), current(JULY)) == (["My base currency is EUR"], ["From July my base currency is USD"])
    undo_event(event_id=written.event.pk, now=JUNE)
    assert current(JULY) == ["My base currency is EUR"]


def test_a_learned_fact_does_not_end_an_explicit_plan(as_trader):
    remember_fact(content="From July my base currency is USD", now=MAY)
    values = {"content": "My base currency is EUR", "topic": "", "category": None, "score": 0.9, "said_at": {1: JUNE}}

    with pytest.raises(TrustRefused):
        learn_fact(**values, origin=Origin(quotes=({"message_id": 1, "start": 0, "end": 4},)), now=JUNE)


def test_document_with_a_fact_and_the_one_after_it_comes_in_whole(as_trader):
    remember_fact(content="My base currency is EUR", origin=CHAT, now=MAY)
    remember_fact(content="From July my base currency is USD", origin=CHAT, now=JUNE)
    text = export_document(now=JUNE)
    MemoryEvent.objects.all().delete()
    UserFact.objects.filter(supersedes__isnull=False).delete()
    UserFact.objects.all().delete()

    assert import_document(parse_document(text), now=JUNE).refused == []
    assert (current(JUNE), current(JULY)) == (["My base currency is EUR"], ["From July my base currency is USD"])


@pytest.mark.parametrize(
    ("ends", "other", "left"),
    [
        (None, (JUNE, None), (MAY, JUNE)),
        (None, (MAY, JUNE), (JUNE, None)),
        (JULY, (MAY, JUNE), (JUNE, JULY)),
        (JULY, (JUNE, None), (MAY, JUNE)),
        (JUNE, (JULY, None), (MAY, JUNE)),
        (JULY, (MAY, JULY), None),
        (JUNE, (MAY, JULY), None),
        (None, (MAY, None), None),
        (None, (MAY - DAY, MAY - DAY / 2), (MAY, None)),
        (None, (JUNE, JULY), (MAY, JUNE)),
    ],
)
def test_cut_leaves_the_part_outside_of_the_other_period(ends, other, left):
    assert Period(MAY, ends).cut(Period(*other)) == (Period(*left) if left else None)


@pytest.mark.parametrize("origin", [PAGE, CHAT])
def test_a_fact_with_an_end_puts_a_plan_off_until_then(as_trader, origin):
    remember_fact(content="From July my base currency is USD", origin=origin, now=MAY)

    written = remember_fact(content="My base currency is GBP until 20 July", origin=origin, now=JUNE)

    later = FIRST_OF_JULY + 20 * DAY
    assert current(JUNE) == current(FIRST_OF_JULY) == ["My base currency is GBP until 20 July"]
    assert current(later) == ["From July my base currency is USD"]
    undo_batch(batch_id=written.event.batch_id, now=JUNE)
    assert current(FIRST_OF_JULY) == ["From July my base currency is USD"]
    assert UserFact.objects.believed().count() == 1


def test_a_restored_exception_lets_the_other_fact_hold_again_after_it(as_trader):
    exception = remember_fact(content="Until July my max leverage is 3x", now=MAY).fact
    forget_fact(id_or_substring=str(exception.pk), now=MAY)
    remember_fact(content="My max leverage is 5x", now=MAY + DAY)

    restored = restore_fact(fact_id=exception.pk, now=JUNE)

    assert (current(JUNE), current(FIRST_OF_JULY)) == (["Until July my max leverage is 3x"], ["My max leverage is 5x"])
    undo_batch(batch_id=restored.event.batch_id, now=JUNE)
    assert current(JUNE) == current(JULY) == ["My max leverage is 5x"]
    assert UserFact.objects.believed().count() == 1
