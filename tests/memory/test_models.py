from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import RestrictedError

from config.lib.fields import content_key
from config.lib.owned import ScopeError, system_tx
from memory.models import ArchivedReason, Confidence, EventKind, FactCategory, FactSource, MemoryEvent, UserFact
from tests.factories.memory import JULY, JUNE, MAY, MemoryEventFactory, UserFactFactory

SECOND = timedelta(seconds=1)
ARCHIVED = {"archived_at": JUNE, "archived_reason": ArchivedReason.USER_ARCHIVED}
LEARNED = {"source": FactSource.EXTRACTED, "confidence": Confidence.INFERRED}


def refused(constraint: str):
    """Expect the database itself to refuse a write, by that constraint (SQLite names the columns of a unique one)."""
    columns = {
        "user_fact_said_once": "user_facts.user_id, user_facts.content_key",
        "user_fact_one_believed_version": "user_facts.user_id, user_facts.lineage",
        "supersedes_id": "user_facts.supersedes_id",
    }
    words = columns.get(constraint, constraint) if connection.vendor == "sqlite" else constraint
    return pytest.raises(IntegrityError, match=words)


@pytest.mark.parametrize(
    ("constraint", "row"),
    [
        ("user_fact_category_known", {"category": "gossip"}),
        ("user_fact_category_known", {"category": ""}),
        ("user_fact_source_known", {"source": "rumour"}),
        ("user_fact_confidence_known", {"confidence": "certain"}),
        ("user_fact_content_length", {"content": "abc"}),
        ("user_fact_content_length", {"content": ""}),
        ("user_fact_score_is_a_share", {**LEARNED, "score": 1.01}),
        ("user_fact_score_is_a_share", {**LEARNED, "score": -0.01}),
        ("user_fact_only_learned_has_score", {"source": "chat", "confidence": "inferred", "score": 0.5}),
        ("user_fact_only_learned_has_score", {"source": "profile", "confidence": "inferred", "score": 0.5}),
        ("user_fact_only_learned_has_score", {"source": "imported", "confidence": "inferred", "score": 0.5}),
        ("user_fact_only_learned_has_score", {"source": "extracted", "confidence": "asserted", "score": 0.5}),
        ("user_fact_archived_for_a_reason", {"archived_at": JUNE}),
        ("user_fact_archived_for_a_reason", {"archived_reason": "undone"}),
        ("user_fact_archived_for_a_reason", {"archived_at": JUNE, "archived_reason": "boredom"}),
        ("user_fact_trash_is_archived", {"trashed_at": JUNE}),
        ("user_fact_trash_is_archived", {**ARCHIVED, "trashed_at": JUNE}),
        ("user_fact_ends_after_start", {"valid_from": JUNE, "valid_until": JUNE}),
        ("user_fact_ends_after_start", {"valid_from": JUNE, "valid_until": MAY}),
    ],
    ids=str,
)
def test_database_refuses_a_fact_that_cannot_be(as_trader, constraint, row):
    with refused(constraint), transaction.atomic():
        UserFactFactory(**row)

    assert not UserFact.objects.exists()


def test_database_refuses_a_longer_line_than_a_fact_may_have(as_trader):
    with pytest.raises((IntegrityError, DataError), match=r"content_length|too long"), transaction.atomic():
        UserFactFactory(content="x" * 501)


@pytest.mark.parametrize(
    "row",
    [
        {"content": "abcd"},
        {"content": "x" * 500},
        {"content": "日本語で"},
        {**LEARNED, "score": 0},
        {**LEARNED, "score": 1},
        {**LEARNED, "source": FactSource.INFERRED, "score": 0.5},
        {"source": FactSource.EXTRACTED, "confidence": Confidence.ASSERTED},
        {"archived_at": JUNE, "archived_reason": "user_deleted", "trashed_at": JUNE},
        {"valid_from": JUNE, "valid_until": JUNE + SECOND},
        *({"category": value} for value in FactCategory.values),
        *({"source": value} for value in FactSource.values),
        *({"archived_at": JUNE, "archived_reason": value} for value in ArchivedReason.values),
    ],
    ids=str,
)
def test_database_takes_a_fact_at_the_edge(as_trader, row):
    UserFactFactory(**row)

    assert UserFact.objects.count() == 1


def test_database_refuses_the_same_words_twice_among_believed_facts(as_trader):
    UserFactFactory(content="Never trades alts")

    with refused("user_fact_said_once"), transaction.atomic():
        UserFactFactory(content=" never trades ALTS. ", category="profile", topic="symbols")


def test_database_takes_the_same_words_again_once_they_are_archived(as_trader):
    UserFactFactory(content="Never trades alts", archived=True)
    UserFactFactory(content="Never trades alts", archived=True)

    UserFactFactory(content="Never trades alts")

    assert UserFact.objects.believed().count() == 1


def test_database_takes_the_words_of_a_stranger(strangers_fact, as_trader):
    assert UserFactFactory(content=strangers_fact.content).user_id == as_trader.pk


def test_database_refuses_two_believed_versions_of_a_fact(as_trader):
    first = UserFactFactory()

    with refused("user_fact_one_believed_version"), transaction.atomic():
        UserFactFactory(lineage=first.lineage)


def test_database_refuses_two_successors_of_a_row(as_trader):
    first = UserFactFactory(archived=True)
    UserFactFactory(lineage=first.lineage, supersedes=first, archived=True)

    with refused("supersedes_id"), transaction.atomic():
        UserFactFactory(lineage=first.lineage, supersedes=first)


def test_database_refuses_a_row_that_replaces_itself(as_trader):
    pk = uuid4()

    with refused("user_fact_not_its_own_successor"), transaction.atomic():
        UserFactFactory(id=pk, supersedes_id=pk)


def test_one_version_of_a_fact_cannot_be_deleted_alone(as_trader):
    first = UserFactFactory(archived=True)
    UserFactFactory(lineage=first.lineage, supersedes=first)

    with pytest.raises(RestrictedError):
        first.delete()


def test_fact_is_deleted_with_all_its_versions_and_events(as_trader):
    first = UserFactFactory(archived=True)
    MemoryEventFactory(after=UserFactFactory(lineage=first.lineage, supersedes=first), before=first)

    UserFact.objects.filter(lineage=first.lineage).delete()

    assert not UserFact.objects.exists()
    assert not MemoryEvent.objects.exists()


def test_facts_and_events_go_with_their_user(stranger, strangers_fact, strangers_event):
    with system_tx("a test"):
        stranger.delete()

        assert not UserFact.objects.exists()
        assert not MemoryEvent.objects.exists()


@pytest.mark.parametrize(
    ("constraint", "row"),
    [
        ("memory_event_kind_known", {"kind": "gossip"}),
        ("memory_event_has_a_row", {"after": None, "lineage": uuid4()}),
    ],
    ids=["kind", "row"],
)
def test_database_refuses_an_event_that_cannot_be(as_trader, constraint, row):
    with refused(constraint), transaction.atomic():
        MemoryEventFactory(**row)


@pytest.mark.parametrize("kind", EventKind.values)
def test_database_takes_an_event_of_each_kind(as_trader, kind):
    assert str(MemoryEventFactory(kind=kind)).endswith("(2026-05-01 12:00)")


def test_derived_columns_follow_the_content(as_trader):
    fact = UserFactFactory(content="  Max  5x LEVERAG\uff25!  ")

    fact.refresh_from_db()
    assert fact.normalised == "max 5x leverage"
    assert fact.content_key == content_key("max 5x leverage")


@pytest.mark.parametrize("column", ["content", "normalised", "content_key"])
def test_content_is_never_updated_in_place(as_trader, column):
    fact = UserFactFactory()

    with pytest.raises(ScopeError, match=f"the {column} of a stored row never changes"):
        UserFact.objects.update(**{column: "Other words"})
    with pytest.raises(ScopeError, match=f"the {column} of a stored row never changes"):
        UserFact.objects.bulk_update([fact], [column])
    with pytest.raises(ScopeError, match=f"the {column} of a stored row never changes"):
        fact.save(update_fields=[column])


@pytest.mark.parametrize(
    ("row", "is_current"),
    [
        ({}, True),
        ({"valid_from": JUNE}, True),
        ({"valid_from": JUNE + SECOND}, False),
        ({"valid_until": JUNE}, False),
        ({"valid_until": JUNE + SECOND}, True),
        (ARCHIVED, False),
        ({"archived_at": JULY, "archived_reason": "undone"}, False),
    ],
    ids=str,
)
def test_current_keeps_what_is_believed_and_holds_now(as_trader, row, is_current):
    UserFactFactory(**row)

    assert UserFact.objects.current(JUNE).exists() is is_current


def test_by_reference_orders_by_reference_then_newest_then_id(as_trader):
    facts = [
        UserFactFactory(last_referenced_at=referenced, created_at=created)
        for referenced in (MAY, JUNE)
        for created in (MAY, MAY, JUNE)
    ]

    ordered = list(UserFact.objects.by_reference())

    expected = sorted(facts, key=lambda fact: fact.pk.int)
    expected.sort(key=lambda fact: (fact.last_referenced_at, fact.created_at), reverse=True)
    assert ordered == expected


def test_last_of_lineage_keeps_what_nothing_replaced(as_trader):
    first = UserFactFactory(archived=True)
    second = UserFactFactory(lineage=first.lineage, supersedes=first, archived=True)
    other = UserFactFactory()

    assert set(UserFact.objects.last_of_lineage()) == {second, other}


@pytest.mark.parametrize(
    ("referenced", "is_stale"),
    [(JUNE - timedelta(days=60), True), (JUNE - timedelta(days=60) + SECOND, False), (JUNE, False)],
    ids=["60 days", "a second less", "today"],
)
def test_fact_is_stale_after_sixty_days_without_reference(as_trader, referenced, is_stale):
    assert UserFactFactory(last_referenced_at=referenced).is_stale(JUNE) is is_stale


@pytest.mark.parametrize(("summary", "line"), [("", "Trades BTC only"), ("BTC only", "BTC only")])
def test_fact_shows_its_summary_when_it_has_one(as_trader, summary, line):
    assert UserFactFactory(content="Trades BTC only", summary=summary).line == line


def test_rows_of_a_stranger_are_not_there(strangers_fact, strangers_event, as_trader):
    assert not UserFact.objects.exists()
    assert not MemoryEvent.objects.exists()


def test_admin_sees_the_rows_of_all(strangers_fact):
    with system_tx("a test"):
        assert UserFact.objects.get() == strangers_fact
