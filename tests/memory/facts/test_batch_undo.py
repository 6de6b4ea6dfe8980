from datetime import timedelta
from uuid import uuid4

import pytest

from memory.facts.places import add_place
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
    restore_fact,
    supersede_fact,
)
from memory.facts.undo import UndoRefused, undo_batch, undo_event
from memory.facts.versions import FactNotFound, Origin
from memory.models import EventKind, FactLink, MemoryEvent, Place, UserFact
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory
from tests.owners import as_owner

DAY = timedelta(days=1)


@pytest.fixture
def batch():
    return Origin(batch_id=uuid4())


def believed() -> list[str]:
    return sorted(UserFact.objects.believed().values_list("content", flat=True))


def rows() -> dict:
    return {row["id"]: row for row in UserFact.objects.values()}


BULK_ACTS = {
    "archive": lambda fact, origin: archive_fact(fact_id=fact.pk, origin=origin, now=JUNE),
    "delete": lambda fact, origin: delete_fact(fact_id=fact.pk, origin=origin, now=JUNE),
    "forget": lambda fact, origin: forget_fact(id_or_substring=str(fact.pk), origin=origin, now=JUNE),
    "promote": lambda fact, origin: promote_fact(fact_id=fact.pk, origin=origin, now=JUNE),
    "demote": lambda fact, origin: demote_fact(fact_id=fact.pk, origin=origin, now=JUNE),
    "confirm": lambda fact, origin: confirm_fact(fact_id=fact.pk, origin=origin, now=JUNE),
    "edit": lambda fact, origin: supersede_fact(
        fact_id=fact.pk, content=f"{fact.content}, indeed", origin=origin, now=JUNE
    ),
}


@pytest.mark.parametrize("act", BULK_ACTS)
def test_undo_batch_takes_a_bulk_act_back_on_every_fact(as_trader, batch, act):
    facts = [UserFactFactory(inferred=act != "demote") for _ in range(3)]
    seen = [(fact.content, fact.confidence, fact.last_confirmed_at) for fact in facts]
    events = [BULK_ACTS[act](fact, batch).event for fact in facts]

    undone = undo_batch(batch_id=batch.batch_id, now=JULY)

    assert {event.pk for event in undone} == {event.pk for event in events}
    back = UserFact.objects.believed().order_by("learned_at", "content")
    assert sorted((fact.content, fact.confidence, fact.last_confirmed_at) for fact in back) == sorted(seen)
    assert not UserFact.objects.in_trash().exists()
    assert set(MemoryEvent.objects.values_list("undone_at", flat=True)) == {JULY}


def test_undo_batch_restores_together_what_was_restored_together(as_trader, batch):
    facts = [UserFactFactory() for _ in range(2)]
    for fact in facts:
        delete_fact(fact_id=fact.pk, now=JUNE)
        restore_fact(fact_id=fact.pk, origin=batch, now=JUNE + DAY)

    undo_batch(batch_id=batch.batch_id, now=JULY)

    assert believed() == []
    assert UserFact.objects.in_trash().count() == 2


def test_undo_batch_goes_back_through_writes_of_one_moment_that_stand_on_each_other(as_trader, batch):
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
    assert believed() == []
    assert not FactLink.objects.exists()
    assert not Place.objects.filter(removed_at__isnull=True).exists()


def test_undo_batch_is_all_or_nothing(as_trader, batch):
    facts = [UserFactFactory() for _ in range(3)]
    for fact in facts:
        archive_fact(fact_id=fact.pk, origin=batch, now=JUNE)
    restore_fact(fact_id=facts[1].pk, now=JUNE + DAY)
    before = rows()

    with pytest.raises(UndoRefused):
        undo_batch(batch_id=batch.batch_id, now=JULY)

    assert rows() == before
    assert not MemoryEvent.objects.filter(undone_at__isnull=False).exists()


def test_undo_batch_leaves_alone_what_was_undone_one_by_one(as_trader, batch):
    first, second = (remember_fact(content=text, origin=batch, now=JUNE) for text in ("Funds only", "Gold only"))
    undo_event(event_id=first.event.pk, now=JUNE)

    undone = undo_batch(batch_id=batch.batch_id, now=JULY)

    assert undone == [second.event]
    first.event.refresh_from_db()
    assert first.event.undone_at == JUNE


def test_undo_batch_answers_alike_for_a_strangers_batch_and_for_none(stranger, as_trader, batch):
    as_owner(stranger, lambda: remember_fact(content="Theirs", origin=batch, now=MAY))

    refusals = []
    for batch_id in (batch.batch_id, uuid4()):
        with pytest.raises(FactNotFound) as refusal:
            undo_batch(batch_id=batch_id, now=JULY)
        refusals.append(str(refusal.value))

    assert len(set(refusals)) == 1
    assert as_owner(stranger, believed) == ["Theirs"]


def test_every_kind_of_event_can_be_undone():
    from memory.facts.undo import _UNDO  # noqa: PLC0415

    assert set(_UNDO) == set(EventKind)
