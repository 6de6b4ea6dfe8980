from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest

from memory.facts.places import add_place
from memory.facts.services import (
    archive_fact,
    confirm_fact,
    demote_fact,
    forget_fact,
    link_facts,
    merge_facts,
    promote_fact,
    remember_fact,
    render_coach_block,
    restore_fact,
    supersede_fact,
)
from memory.facts.undo import _UNDO, UndoRefused, undo_batch, undo_event
from memory.facts.versions import FactWrite, Origin
from memory.models import FactLink, MemoryEvent, Place, UserFact, WriteKind
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory

DAY = timedelta(days=1)
BOOKKEEPING = {"id", "supersedes_id", "created_at", "valid_from"}  # what tells a row that came back from the one it was


def save(words: str, now: datetime = JUNE) -> FactWrite:
    return remember_fact(content=words, topic="risk", now=now)


def merge(fact: UserFact, now: datetime) -> FactWrite:
    save("What another fact says", now=MAY)
    return supersede_fact(fact_id=fact.pk, content="What another fact says", now=now)


WRITES: dict[str, Callable[[UserFact, datetime], FactWrite]] = {
    "edit": lambda fact, now: supersede_fact(fact_id=fact.pk, content="Corrected", topic="goal", now=now),
    "move": lambda fact, now: remember_fact(content=fact.content, topic="style", now=now),
    "promote": lambda fact, now: promote_fact(fact_id=fact.pk, now=now),
    "demote": lambda fact, now: demote_fact(fact_id=fact.pk, now=now),
    "confirm": lambda fact, now: confirm_fact(fact_id=fact.pk, now=now),
    "forget": lambda fact, now: forget_fact(id_or_substring=str(fact.pk), now=now),
    "archive": lambda fact, now: archive_fact(fact_id=fact.pk, now=now),
    "restore": lambda fact, now: restore_fact(fact_id=fact.pk, now=now),
    "merge": merge,
}


def undo(written: FactWrite, now: datetime = JULY) -> MemoryEvent:
    return undo_event(event_id=written.event.pk, now=now)


def standing(lineage: UUID) -> list[dict]:
    rows = UserFact.objects.believed().filter(lineage=lineage).values()
    return [{name: value for name, value in row.items() if name not in BOOKKEEPING} for row in rows]


def closed_rows() -> dict[UUID, dict]:
    return {row["id"]: row for row in UserFact.objects.filter(archived_at__isnull=False).values()}


@pytest.mark.parametrize(
    ("write", "made"),
    [
        *(("edit", made) for made in ({}, {"learned": True}, {"ended": True}, {"begins_later": True})),
        *(("move", made) for made in ({}, {"begins_later": True})),
        *(("promote", made) for made in ({"inferred": True}, {"learned": True})),
        *(("confirm", made) for made in ({}, {"last_confirmed_at": None})),
        *(("archive", made) for made in ({}, {"ended": True})),
        *((write, {}) for write in ("demote", "forget", "merge")),
        ("restore", {"archived": True}),
    ],
    ids=str,
)
def test_undo_event_brings_back_what_was_there(as_trader, write, made):
    given = {"topic": "risk", "summary": "Short", "body": "Long", "last_confirmed_at": MAY, **made}
    fact = UserFactFactory(**given)
    before = standing(fact.lineage)
    written = WRITES[write](fact, JUNE)
    closed = closed_rows()

    event = undo(written)

    assert standing(fact.lineage) == before
    assert event.undone_at == MemoryEvent.objects.get(pk=event.pk).undone_at == JULY
    assert {pk: closed_rows()[pk] for pk in closed} == closed


@pytest.mark.parametrize(
    ("write", "since", "column", "value"),
    [
        ("edit", lambda fact: render_coach_block(now=JUNE + DAY), "last_referenced_at", JUNE + DAY),
        ("demote", lambda fact: confirm_fact(fact_id=fact.pk, now=JUNE + DAY), "last_confirmed_at", JUNE + DAY),
        ("edit", lambda fact: confirm_fact(fact_id=fact.pk, now=JUNE + DAY), "last_confirmed_at", MAY),
    ],
    ids=["rendered since", "the same words confirmed", "the wrong words affirmed"],
)
def test_undo_event_keeps_what_came_since_of_the_words_that_come_back(as_trader, write, since, column, value):
    written = WRITES[write](UserFactFactory(last_confirmed_at=MAY), JUNE)
    since(written.fact)

    undo(written)

    assert getattr(UserFact.objects.believed().get(), column) == value


def test_undo_batch_goes_back_through_writes_of_one_moment_that_stand_on_each_other(as_trader):
    batch = Origin(batch_id=uuid4())

    def remember(content: str):
        return remember_fact(content=content, origin=batch, now=JUNE).fact

    first, second = remember("Funds only"), remember("Only funds")
    first = supersede_fact(fact_id=first.pk, content="Funds and bonds", origin=batch, now=JUNE).fact
    link_facts(from_id=str(first.pk), to_id=str(second.pk), relation="relates_to", origin=batch, now=JUNE)
    promote_fact(fact_id=second.pk, origin=batch, now=JUNE)
    merge_facts(
        fact_id=first.pk, into_id=UserFact.objects.believed().get(lineage=second.lineage).pk, origin=batch, now=JUNE
    )
    add_place(place_id="home", name="Home", origin=batch, now=JUNE)
    add_place(place_id="home", name="My home", origin=batch, now=JUNE)

    undone = undo_batch(batch_id=batch.batch_id, now=JULY)

    assert len(undone) == 8
    assert not UserFact.objects.believed().exists()
    assert not FactLink.objects.exists()
    assert not Place.objects.filter(removed_at__isnull=True).exists()


def test_undo_batch_is_all_or_nothing(as_trader):
    batch, facts = Origin(batch_id=uuid4()), [UserFactFactory() for _ in range(3)]
    for fact in facts:
        archive_fact(fact_id=fact.pk, origin=batch, now=JUNE)
    restore_fact(fact_id=facts[1].pk, now=JUNE + DAY)
    before = list(UserFact.objects.order_by("pk").values())

    with pytest.raises(UndoRefused):
        undo_batch(batch_id=batch.batch_id, now=JULY)

    assert list(UserFact.objects.order_by("pk").values()) == before
    assert not MemoryEvent.objects.filter(undone_at__isnull=False).exists()


def test_every_kind_of_event_can_be_undone():
    assert set(_UNDO) == set(WriteKind)
