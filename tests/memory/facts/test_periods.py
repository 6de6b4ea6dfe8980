"""Facts with a beginning or an end: written by every path, superseded for a time, undone."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from memory.claims.validity import Validity
from memory.facts.document import build_document, dump_document
from memory.facts.periods import Period
from memory.facts.services import forget_fact, remember_fact, render_coach_block, restore_fact, supersede_fact
from memory.facts.undo import UndoRefused, undo_batch, undo_event
from memory.facts.versions import Origin
from memory.learning.writes import TrustRefused, learn_fact
from memory.models import ArchivedReason, MemoryEvent, Tombstone, UserFact, WriteKind
from memory.transfer.documents import import_document, parse_document
from memory.wording import FactRefused
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory

DAY = timedelta(days=1)
HALF = "I trade half size until July"
FIRST_OF_JULY = datetime(2026, 7, 1, tzinfo=UTC)
CHAT = Origin(conversation_id=uuid4(), message_id=1)


def current(now) -> list[str]:
    return sorted(UserFact.objects.current(now).values_list("content", flat=True))


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


def test_fact_that_begins_later_enters_the_block_when_it_begins(as_trader):
    remember_fact(content="From July I trade half size", now=JUNE)

    assert "half size" not in render_coach_block(now=JUNE).text
    assert "half size" in render_coach_block(now=JULY).text


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


def test_undo_of_a_change_for_a_time_is_refused_when_the_later_part_changed(as_trader):
    old = UserFactFactory(content="My max leverage is 5x")
    written = supersede_fact(fact_id=old.pk, content="Until July my max leverage is 3x", origin=CHAT, now=JUNE)
    later = UserFact.objects.get(pk=written.event.detail["later"])
    forget_fact(id_or_substring=str(later.pk), now=JUNE)

    with pytest.raises(UndoRefused):
        undo_event(event_id=written.event.pk, now=JUNE)


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


EUR, USD, GBP = "My base currency is EUR", "From July my base currency is USD", "My base currency is GBP until 20 July"
LIMIT, EXCEPTION = "My max leverage is 5x", "Until July my max leverage is 3x"


def say(text: str):
    return lambda now, origin: remember_fact(content=text, origin=origin, now=now)


def change(part: str, text: str):
    """Supersede the fact that has a part of its text."""
    return lambda now, origin: supersede_fact(fact_id=find(part).pk, content=text, origin=origin, now=now)


def forget(part: str):
    return lambda now, origin: forget_fact(id_or_substring=str(find(part).pk), origin=origin, now=now)


def restore(part: str):
    return lambda now, origin: restore_fact(fact_id=find(part).pk, now=now)


def find(part: str) -> UserFact:
    return UserFact.objects.last_of_lineage().filter(content__contains=part).order_by("-created_at").first()


# What happens in May, what in June; then what holds in June, in July and on the 21st of July.
SEQUENCES = {
    "a plan leaves the fact until it begins": ([say(EUR)], say(USD), (EUR, USD, USD)),
    "a correction in a chat begins later": ([say(EUR)], change("EUR", USD), (EUR, USD, USD)),
    "a plan in place of what the turn forgot": ([say(EUR)], [forget("EUR"), say(USD)], (EUR, USD, USD)),
    "a fact beside a plan": ([say(USD)], say(EUR), (EUR, USD, USD)),
    "a restored plan": ([say(USD), forget("USD"), say(EUR)], restore("USD"), (EUR, USD, USD)),
    "a fact with an end puts a plan off": ([say(USD)], say(GBP), (GBP, GBP, USD)),
    "an exception": ([say(LIMIT)], change("5x", EXCEPTION), (EXCEPTION, LIMIT, LIMIT)),
    "a restored exception": ([say(EXCEPTION), forget("3x"), say(LIMIT)], restore("3x"), (EXCEPTION, LIMIT, LIMIT)),
    "an end that is added": ([say("I trade half size")], change("half", HALF), (HALF, None, None)),
    "words that have an end": ([], say(HALF), (HALF, None, None)),
    "a newer statement ends an exception": (
        [say(LIMIT), say(EXCEPTION)],
        say("My max leverage is 2x"),
        ("My max leverage is 2x",) * 3,
    ),
    "words that had ended": (
        [say("My base currency is EUR until 10 May"), say("My base currency is USD")],
        say(EUR),
        (EUR, EUR, EUR),
    ),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_what_holds_when_after_facts_that_begin_or_end(as_trader, name):
    before, act, holds = SEQUENCES[name]
    days = (JUNE, FIRST_OF_JULY, FIRST_OF_JULY + 20 * DAY)
    for number, step in enumerate(before):
        step(MAY + number * timedelta(hours=1), Origin(CHAT.conversation_id, 10 + number))
    held = [current(day) for day in days]

    for step in act if isinstance(act, list) else [act]:
        written = step(JUNE, CHAT)

    assert [current(day) for day in days] == [[text] if text else [] for text in holds]
    if not isinstance(act, list):
        if written.event.batch_id:
            undo_batch(batch_id=written.event.batch_id, now=JUNE)
        else:
            undo_event(event_id=written.event.pk, now=JUNE)
        assert [current(day) for day in days] == held


def turn(content_of_old: str, content_of_new: str, reason: str = ArchivedReason.AGENT_FORGET):
    old = UserFactFactory(content=content_of_old, topic="account", body="Long")
    forgotten = forget_fact(id_or_substring=str(old.pk), reason=reason, origin=CHAT, now=JUNE)
    return old, forgotten, remember_fact(content=content_of_new, origin=CHAT, now=JUNE)


def test_forget_and_remember_of_a_subject_in_one_turn_are_one_supersede(as_trader):
    old, forgotten, written = turn("My base currency is EUR", "My base currency is USD")

    old.refresh_from_db()
    forgotten.event.refresh_from_db()
    assert (written.fact.supersedes, written.fact.lineage, written.event.kind) == (old, old.lineage, WriteKind.UPDATE)
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


def test_a_learned_fact_does_not_end_an_explicit_plan(as_trader):
    remember_fact(content="From July my base currency is USD", now=MAY)
    values = {"content": "My base currency is EUR", "topic": "", "category": None, "score": 0.9, "said_at": {1: JUNE}}

    with pytest.raises(TrustRefused):
        learn_fact(**values, origin=Origin(quotes=({"message_id": 1, "start": 0, "end": 4},)), now=JUNE)


def test_document_with_a_fact_and_the_one_after_it_comes_in_whole(as_trader):
    remember_fact(content="My base currency is EUR", origin=CHAT, now=MAY)
    remember_fact(content="From July my base currency is USD", origin=CHAT, now=JUNE)
    text = dump_document(build_document(now=JUNE))
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
