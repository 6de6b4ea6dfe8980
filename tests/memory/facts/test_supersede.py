from datetime import timedelta
from uuid import uuid4

import pytest

from memory.facts.services import promote_fact, restore_fact, supersede_fact
from memory.facts.versions import Origin
from memory.models import ArchivedReason, Confidence, MemoryEvent, UserFact, WriteKind
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory

INFERRED = Confidence.INFERRED


def test_supersede_fact_ends_the_old_row_where_the_new_one_starts(as_trader):
    old = UserFactFactory(content="Retires at 50")

    origin = Origin(conversation_id=uuid4(), message_id=3)
    written = supersede_fact(fact_id=old.pk, content="Retires at 55", origin=origin, now=JUNE)

    old.refresh_from_db()
    new, event = written.fact, MemoryEvent.objects.get()
    assert (event.kind, event.before, event.after) == (WriteKind.UPDATE, old, new)
    assert (event.conversation_id, event.message_id) == (origin.conversation_id, 3)
    assert new.conversation_id == origin.conversation_id
    assert (old.archived_at, old.archived_reason, new.valid_from) == (JUNE, ArchivedReason.SUPERSEDED, JUNE)
    assert (new.content, new.supersedes, new.lineage, new.created_at) == ("Retires at 55", old, old.lineage, JUNE)
    assert list(UserFact.objects.current(JUNE)) == [new]


def test_successor_inherits_what_the_change_does_not_name(as_trader):
    kept = {
        "topic": "goal",
        "category": "profile",
        "summary": "Short",
        "body": "Long",
        "quotes": [{"message_id": 1, "start": 0, "end": 4}],
        "conversation_id": uuid4(),
        "skill_id": uuid4(),
        "valid_until": JULY,
        "last_referenced_at": MAY + timedelta(days=3),
        "last_confirmed_at": MAY + timedelta(days=4),
        "learned_at": MAY - timedelta(days=90),
    }
    old = UserFactFactory(inferred=True, **kept)

    new = promote_fact(fact_id=old.pk, now=JUNE).fact

    new.refresh_from_db()
    assert {name: getattr(new, name) for name in kept} == kept
    assert new.content == old.content


@pytest.mark.parametrize(
    ("values", "summary", "body"),
    [
        ({"content": "Retires at 55"}, "", "Long"),
        ({"content": "Retires at 55", "summary": " 55 ", "detail": "Two\nlines"}, "55", "Two\nlines"),
        ({"summary": ""}, "", "Long"),
        ({"detail": ""}, "Short", ""),
        ({"summary": "New"}, "New", "Long"),
    ],
    ids=str,
)
def test_supersede_fact_takes_the_shorter_line_and_the_detail_or_drops_the_line_of_other_words(
    as_trader, values, summary, body
):
    old = UserFactFactory(summary="Short", body="Long", quotes=[{"message_id": 1, "start": 0, "end": 4}])

    new = supersede_fact(fact_id=old.pk, **{"content": old.content} | values, now=JUNE).fact

    assert (new.summary, new.body, new.supersedes) == (summary, body, old)
    assert (new.line, new.quotes) == (summary or new.content, [] if "content" in values else old.quotes)


@pytest.mark.parametrize(
    "change",
    [{"topic": "risk"}, {"topic": ""}, {"category": "response_style"}, {"confidence": INFERRED}],
    ids=["topic", "no topic", "category", "confidence"],
)
def test_supersede_fact_makes_a_new_row_for_any_change(as_trader, change):
    old = UserFactFactory(topic="goal", category="profile")

    written = supersede_fact(fact_id=old.pk, content=old.content, **change, now=JUNE)

    assert written.fact.supersedes == old
    assert {name: getattr(written.fact, name) for name in change} == change


def test_supersede_fact_merges_into_the_fact_that_has_these_words(as_trader):
    old, twin = UserFactFactory(content="Max 3x leverage"), UserFactFactory(content="Max 5x leverage")

    written = supersede_fact(fact_id=old.pk, content="max 5x leverage.", now=JUNE)

    old.refresh_from_db()
    assert written.fact == twin
    assert (old.archived_at, old.archived_reason) == (JUNE, ArchivedReason.MERGED)
    assert (written.event.kind, written.event.before, written.event.after) == (WriteKind.MERGE, old, twin)
    assert list(UserFact.objects.believed()) == [twin]


@pytest.mark.parametrize("when", ["ended", "begins_later"])
def test_supersede_fact_merges_into_words_that_then_hold_again(as_trader, when):
    old = UserFactFactory(content="Trades from Porto")
    twin = UserFactFactory(**{when: True}, content="Trades from Lisbon")

    written = supersede_fact(fact_id=old.pk, content="Trades from Lisbon", now=JUNE)

    assert list(UserFact.objects.current(JUNE)) == [written.fact]
    assert (written.fact.supersedes, written.fact.valid_from, written.fact.valid_until) == (twin, JUNE, None)
    assert (written.event.kind, written.event.before, written.event.after) == (WriteKind.MERGE, old, written.fact)


def test_restore_fact_lets_its_words_hold_again_where_they_had_ended(as_trader):
    archived = UserFactFactory(archived=True, content="Trades from Lisbon")
    ended = UserFactFactory(ended=True, content="Trades from Lisbon")

    written = restore_fact(fact_id=archived.pk, now=JUNE)

    assert list(UserFact.objects.current(JUNE)) == [written.fact]
    assert written.fact.supersedes == ended


@pytest.mark.parametrize(("made", "begins"), [("begins_later", JULY), ("ended", JUNE)])
def test_supersede_fact_keeps_a_beginning_to_come_and_lets_what_had_ended_hold_again(as_trader, made, begins):
    old = UserFactFactory(**{made: True})

    new = supersede_fact(fact_id=old.pk, content="Trades from Lisbon", now=JUNE).fact

    assert (new.valid_from, new.valid_until, new.created_at) == (begins, None, JUNE)
