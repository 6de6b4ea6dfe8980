from contextvars import Context
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection

from memory.facts.review import propose_fact, propose_merge
from memory.facts.services import (
    archive_fact,
    delete_fact,
    forget_fact,
    link_facts,
    merge_facts,
    remember_fact,
    restore_fact,
    supersede_fact,
    unlink_facts,
)
from memory.facts.trash import Erasure, drop_quotes, erase_fact, purge_facts
from memory.facts.undo import undo_event
from memory.facts.versions import FactChanged, FactNotFound, Origin
from memory.learning.writes import learn_fact
from memory.models import (
    TRASH_KEPT,
    ArchivedReason,
    FactLink,
    MemoryEvent,
    MemoryProposal,
    Tombstone,
    UserFact,
    WriteKind,
)
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory, believed
from tests.strangers import dump

SECOND = timedelta(seconds=1)
SECRET = "zanzibar"


def delete(fact: UserFact, now=JUNE):
    return delete_fact(fact_id=fact.pk, now=now)


def contents() -> set[str]:
    return set(UserFact.objects.values_list("content", flat=True))


# --- Into the trash and out of it ---


def test_delete_fact_puts_a_fact_into_the_trash_and_buries_it(as_trader):
    fact = UserFactFactory(topic="goal")

    written = delete(fact)

    fact.refresh_from_db()
    assert (fact.archived_at, fact.archived_reason, fact.trashed_at) == (JUNE, ArchivedReason.USER_DELETED, JUNE)
    assert (written.event.kind, written.event.before, fact.gone_at) == (WriteKind.DELETE, fact, JUNE + TRASH_KEPT)
    assert list(UserFact.objects.in_trash()) == [fact]
    assert Tombstone.objects.get().category == fact.category


def test_restore_fact_is_refused_after_thirty_days_in_the_trash(as_trader):
    fact = UserFactFactory()
    delete(fact)

    with pytest.raises(FactNotFound, match="30 days"):
        restore_fact(fact_id=fact.pk, now=JUNE + timedelta(days=31))


@pytest.mark.parametrize("made", [{}, {"archived": True}], ids=["held true", "archived"])
def test_undo_of_a_delete_puts_the_fact_back_where_it_was(as_trader, made):
    fact = UserFactFactory(**made)
    was_believed = believed()

    undo_event(event_id=delete(fact).event.pk, now=JULY)

    assert believed() == was_believed
    assert not UserFact.objects.filter(trashed_at__isnull=False).exists()
    assert not Tombstone.objects.exists()


def test_undo_of_a_restore_from_the_trash_puts_the_fact_back_into_it(as_trader):
    fact = UserFactFactory()
    delete(fact)
    restored = restore_fact(fact_id=fact.pk, now=JUNE + SECOND)

    undo_event(event_id=restored.event.pk, now=JULY)

    assert [row.trashed_at for row in UserFact.objects.in_trash()] == [JUNE]
    assert believed() == []


# --- Gone for good ---


@pytest.mark.parametrize(
    ("after", "is_gone"),
    [(TRASH_KEPT - SECOND, False), (TRASH_KEPT, True), (TRASH_KEPT + SECOND, True)],
    ids=["a second less", "30 days", "a second more"],
)
def test_trash_is_kept_for_thirty_days_to_the_second(as_trader, after, is_gone):
    fact = UserFactFactory()
    delete(fact)

    erased = purge_facts(now=JUNE + after)

    assert (erased.fact_ids == {fact.pk}) is is_gone
    assert UserFact.objects.exists() is not is_gone
    assert timedelta(days=30) == TRASH_KEPT


def test_purge_leaves_what_was_restored_archived_or_forgotten(as_trader):
    restored = UserFactFactory(content="Restored")
    delete(restored)
    restore_fact(fact_id=restored.pk, now=JUNE)
    archive_fact(fact_id=UserFactFactory(content="Archived").pk, now=JUNE)
    forget_fact(id_or_substring=str(UserFactFactory(content="Forgotten").pk), now=JUNE)

    assert purge_facts(now=JUNE + 2 * TRASH_KEPT) == Erasure()
    assert contents() == {"Restored", "Archived", "Forgotten"}


def test_erase_fact_takes_nothing_that_is_not_in_the_trash(as_trader):
    for fact in (UserFactFactory(), UserFactFactory(archived=True)):
        with pytest.raises(FactChanged, match="in the trash"):
            erase_fact(fact_id=fact.pk)

    assert UserFact.objects.count() == 2


def make_a_fact_that_everything_speaks_of() -> tuple[UserFact, list[int]]:
    """Write what holds the secret in every place of the memory, and return the fact in the trash and its messages."""
    quotes = ({"message_id": 7, "start": 0, "end": 4},)
    origin = Origin(conversation_id=uuid4(), message_id=7, quotes=quotes)
    first = remember_fact(
        content=f"Retires to {SECRET}", topic=SECRET, detail=f"{SECRET} at length", origin=origin, now=MAY
    )
    other = UserFactFactory(content="Likes islands")
    second = supersede_fact(fact_id=first.fact.pk, content=f"Moves to {SECRET}", summary=SECRET, now=MAY).fact
    for relation in (f"see_{SECRET}", "relates_to"):
        link_facts(from_id=str(second.pk), to_id=str(other.pk), relation=relation, now=MAY)
    link_facts(from_id=str(other.pk), to_id=str(second.pk), relation=f"of_{SECRET}", now=MAY)
    unlink_facts(link_id=FactLink.objects.get(relation=f"of_{SECRET}").pk, now=MAY)
    propose = {"kind": "conflict", "why": f"{SECRET}?", "origin": origin, "now": MAY}
    propose_fact(content=f"No {SECRET}", target_id=second.pk, **propose)
    propose_fact(content="Gone soon", **propose | {"why": ""})
    MemoryProposal.objects.filter(target=None).update(
        payload={"content": f"retires TO {SECRET}.", "topic": "", "category": "fact"}
    )
    twin = UserFactFactory(content=f"Wants to live in {SECRET}")
    propose_merge(fact_id=twin.pk, into_id=second.pk, why=f"{SECRET}!", now=MAY)
    merge_facts(fact_id=twin.pk, into_id=second.pk, now=MAY)
    UserFactFactory(content=f"Retires to {SECRET}", archived=True, quotes=[{"message_id": 9, "start": 0, "end": 4}])
    delete(second)
    return second, [7, 9]


def search_tables() -> list[tuple]:
    """Return what the index holds, in which no word stands, but tokens of words."""
    tables = {
        "sqlite": ("user_facts_search_rows", "user_facts_search_data", "user_facts_search_idx"),
        "postgresql": ("user_facts_search",),
    }
    with connection.cursor() as cursor:
        found = []
        for table in tables[connection.vendor]:
            cursor.execute(f"SELECT * FROM {table}")  # noqa: S608
            found += cursor.fetchall()
    return found


@pytest.mark.parametrize("how", ["purge", "erase"])
def test_erase_fact_leaves_no_text_in_any_memory_table(trader, as_trader, how):
    fact, messages = make_a_fact_that_everything_speaks_of()
    tokens = set(
        " ".join(UserFact.objects.filter(content__contains=SECRET).values_list("search_terms", flat=True)).split()
    )
    tokens -= set(UserFact.objects.get(content="Likes islands").search_terms.split())
    assert tokens
    event_ids = set(MemoryEvent.objects.values_list("pk", flat=True))

    erased = purge_facts(now=JUNE + TRASH_KEPT) if how == "purge" else erase_fact(fact_id=fact.pk)

    assert contents() == {"Likes islands"}
    # SQLite's index keeps a token that left it until it is merged; it is no word, and differs from user to user.
    assert SECRET not in str(search_tables())
    rows = Context().run(dump, trader)
    assert SECRET not in str(rows).casefold()
    assert not tokens & set(str(rows).replace("'", " ").split())
    assert not FactLink.objects.exists()
    assert (erased.event_ids, erased.message_ids) == (event_ids, set(messages))
    assert len(erased.fact_ids) == 4
    assert not MemoryProposal.objects.exists()


def test_erase_fact_removes_index_rows(as_trader):
    kept = UserFactFactory(content="Likes islands")
    fact = UserFactFactory(content=f"Retires to {SECRET}")
    delete(fact)
    erase_fact(fact_id=fact.pk)

    with connection.cursor() as cursor:
        table = "user_facts_search_rows" if connection.vendor == "sqlite" else "user_facts_search"
        cursor.execute(f"SELECT row_id FROM {table}")  # noqa: S608
        ids = [str(row[0]).replace("-", "") for row in cursor.fetchall()]
    assert ids == [kept.pk.hex]


def test_tombstone_outlives_the_fact(as_trader):
    quotes = ({"message_id": 7, "start": 0, "end": 4},)
    fact = UserFactFactory(content=f"Retires to {SECRET}", quotes=list(quotes))
    delete(fact)
    erase_fact(fact_id=fact.pk)

    with pytest.raises(Exception, match="forgotten"):
        learn_fact(
            content=f"Retires to {SECRET}",
            topic="",
            category=None,
            score=0.9,
            said_at={7: MAY},
            origin=Origin(quotes=quotes),
            now=JULY,
        )


def test_erase_fact_erases_facts_merged_into_it(as_trader):
    kept, twin, twins_twin = (UserFactFactory(content=text) for text in ("Funds only", "Only funds", "Just funds"))
    merge_facts(fact_id=twins_twin.pk, into_id=twin.pk, now=MAY)
    merge_facts(fact_id=twin.pk, into_id=kept.pk, now=MAY)
    delete(kept)

    assert erase_fact(fact_id=kept.pk).fact_ids == {kept.pk, twin.pk, twins_twin.pk}


@pytest.mark.parametrize("back", ["undo", "restore"])
def test_erase_fact_keeps_fact_with_undone_merge(as_trader, back):
    kept, twin = UserFactFactory(content="Funds only"), UserFactFactory(content="Only funds")
    merged = merge_facts(fact_id=twin.pk, into_id=kept.pk, now=MAY)
    if back == "undo":
        undo_event(event_id=merged.event.pk, now=MAY)
    else:
        restore_fact(fact_id=twin.pk, now=MAY)
    delete(kept)

    erase_fact(fact_id=kept.pk)

    assert believed() == ["Only funds"]


def test_erase_fact_keeps_same_text_in_version_of_current_fact(as_trader):
    living = UserFactFactory(content="Retires at 50")
    supersede_fact(fact_id=living.pk, content="Retires at 55", now=MAY)
    fact = UserFactFactory(content="Retires at 50")
    delete(fact)

    erase_fact(fact_id=fact.pk)

    assert contents() == {"Retires at 50", "Retires at 55"}
    assert UserFact.objects.filter(lineage=living.lineage).count() == 2


def test_erase_fact_keeps_same_text_believed_again(as_trader):
    fact = UserFactFactory(content="Retires at 50")
    delete(fact)
    again = remember_fact(content="Retires at 50", now=JUNE).fact

    erase_fact(fact_id=fact.pk)

    assert list(UserFact.objects.all()) == [again]


def test_erase_fact_keeps_facts_with_other_text(as_trader):
    bystander = UserFactFactory(content="Trades gold", archived=True)
    same = UserFactFactory(content="Trades gold")
    archive_fact(fact_id=supersede_fact(fact_id=same.pk, content="Retires at 50", now=MAY).fact.pk, now=MAY)
    fact = UserFactFactory(content="Retires at 50")
    delete(fact)

    erase_fact(fact_id=fact.pk)

    assert list(UserFact.objects.all()) == [bystander]


def test_drop_quotes_removes_only_quotes_of_purged_messages(as_trader):
    quotes = [{"message_id": number, "start": 0, "end": 4} for number in (1, 2)]
    fact, other = UserFactFactory(quotes=quotes), UserFactFactory(quotes=quotes[1:], archived=True)
    origin = Origin(quotes=tuple(quotes))
    proposal = propose_fact(kind="conflict", content="Gold only", why="x", origin=origin, now=MAY)

    drop_quotes(message_ids=[1, 99])

    for row in (fact, other, proposal):
        row.refresh_from_db()
    assert fact.quotes == other.quotes == proposal.evidence["quotes"] == quotes[1:]
    assert proposal.evidence["why"] == "x"
