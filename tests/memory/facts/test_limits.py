import logging
from datetime import timedelta
from uuid import uuid4

import pytest

from config.lib.llm.tokens import count_tokens
from memory.facts.document import build_document, count_document_tokens
from memory.facts.limits import enforce_token_limit
from memory.facts.places import add_place
from memory.facts.services import confirm_fact, remember_fact, restore_fact, supersede_fact
from memory.facts.undo import undo_batch, undo_event
from memory.facts.versions import Origin
from memory.learning.writes import learn_fact
from memory.models import ArchivedReason, EventKind, MemoryEvent, UserFact
from tests.factories.memory import JULY, JUNE, MAY, PlaceFactory, PlaceMentionFactory, UserFactFactory
from tests.owners import as_owner

DAY = timedelta(days=1)
LIMIT = 600


@pytest.fixture(autouse=True)
def _small(settings):
    settings.MEMORY_TOKEN_LIMIT = LIMIT


def fill(count: int, **values) -> list[UserFact]:
    """Write facts of about 110 tokens each, the first least recently referenced."""
    return [
        UserFactFactory(
            content=f"Fact {number}: {'gold and silver ' * 8}".strip(),
            **{"last_referenced_at": MAY + number * DAY, **values},
        )
        for number in range(count)
    ]


def tokens() -> int:
    return count_document_tokens(UserFact.objects.current(JULY))


def evicted() -> list[str]:
    rows = UserFact.objects.filter(archived_reason=ArchivedReason.EVICTED)
    return sorted(row.content[:6] for row in rows)


def kept() -> list[str]:
    return sorted(row.content[:6] for row in UserFact.objects.believed())


def test_enforce_token_limit_keeps_all_within_the_limit(as_trader):
    fill(3)

    assert enforce_token_limit(now=JULY) == []
    assert len(kept()) == 3


def test_explicit_facts_leave_by_least_recent_reference_and_no_more_than_needed(as_trader):
    facts = fill(10)

    ids = enforce_token_limit(now=JULY)

    assert ids == [fact.pk for fact in facts[: len(ids)]]
    assert tokens() <= LIMIT
    last = UserFact.objects.get(pk=ids[-1])
    assert count_document_tokens([*UserFact.objects.current(JULY), last]) > LIMIT


def test_extracted_facts_leave_before_explicit_ones_however_recently_they_were_referenced(as_trader):
    explicit = fill(4)
    learned = [
        UserFactFactory(content=f"Learned {n}: {'gold and silver ' * 8}".strip(), learned=True, last_referenced_at=at)
        for n, at in enumerate([JULY, JUNE, MAY])
    ]

    ids = enforce_token_limit(now=JULY)

    assert ids == [fact.pk for fact in reversed(learned)][: len(ids)]
    assert set(UserFact.objects.believed()) >= set(explicit)


def test_explicit_facts_leave_once_all_extracted_ones_have(as_trader):
    explicit, learned = fill(8), UserFactFactory(learned=True, last_referenced_at=JULY)

    ids = enforce_token_limit(now=JULY)

    assert ids[:2] == [learned.pk, explicit[0].pk]


def test_a_reference_keeps_a_fact_longer_than_its_age(as_trader):
    facts = fill(7)
    UserFact.objects.filter(pk=facts[0].pk).update(last_referenced_at=JULY)

    assert facts[0].pk not in enforce_token_limit(now=JULY)


def test_inactive_versions_leave_the_document_before_any_fact_is_evicted(as_trader):
    fact = fill(4)[-1]
    for number in range(4):
        fact = supersede_fact(fact_id=fact.pk, content=f"Version {number} {'gold and silver ' * 8}", now=JUNE).fact

    assert enforce_token_limit(now=JULY) == []
    document = build_document(now=JULY)
    assert document.metadata.token_count <= LIMIT
    assert document.metadata.total_active_facts == 4
    assert 4 <= document.metadata.total_facts < 8
    assert UserFact.objects.count() == 8


def test_evicted_facts_are_archived_as_evicted_logged_and_restorable(as_trader):
    facts = fill(8)

    ids = enforce_token_limit(now=JUNE)

    rows = UserFact.objects.filter(pk__in=ids)
    assert {(row.archived_at, row.archived_reason, row.trashed_at) for row in rows} == {(JUNE, "evicted", None)}
    events = MemoryEvent.objects.filter(kind=EventKind.EVICT)
    assert {event.before_id for event in events} == set(ids)
    assert restore_fact(fact_id=facts[0].pk, now=JULY).fact.content == facts[0].content


def test_undo_of_an_eviction_brings_the_fact_back(as_trader):
    facts = fill(8)
    enforce_token_limit(now=JUNE)

    undo_event(event_id=MemoryEvent.objects.get(before=facts[0]).pk, now=JULY)

    assert UserFact.objects.believed().get(lineage=facts[0].lineage).content == facts[0].content


def test_eviction_leaves_no_tombstone(as_trader):
    fact = UserFactFactory(learned=True, content=f"Learned {'gold and silver ' * 8}", last_referenced_at=MAY)
    fill(6)
    assert fact.pk in enforce_token_limit(now=JUNE)

    said_at = {1: MAY}
    origin = Origin(conversation_id=uuid4(), quotes=({"message_id": 1, "start": 0, "end": 4},))
    written = learn_fact(
        content="Learned gold", topic="", category=None, score=0.9, said_at=said_at, origin=origin, now=JULY
    )
    assert written.event.kind == EventKind.SAVE


def test_warning_names_the_user_the_count_and_the_ids(trader, as_trader, caplog):
    fill(8)

    with caplog.at_level(logging.WARNING, logger="memory.facts.limits"):
        ids = enforce_token_limit(now=JUNE)

    record = caplog.records[-1]
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith(f"Evicted {len(ids)} facts for user {trader.pk} due to token limit")
    assert all(str(pk) in record.getMessage() for pk in ids)
    assert "gold" not in record.getMessage()


def test_enforce_token_limit_dry_run_changes_nothing(as_trader, caplog):
    fill(8)

    ids = enforce_token_limit(now=JUNE, is_dry_run=True)

    assert evicted() == []
    assert not MemoryEvent.objects.exists()
    assert not caplog.records
    assert enforce_token_limit(now=JUNE) == ids


def test_limit_runs_twice_without_another_effect(as_trader):
    fill(8)
    enforce_token_limit(now=JUNE)

    assert enforce_token_limit(now=JUNE) == []


ADDS = {
    "save": lambda: remember_fact(content="Fact x: just said", now=JULY),
    "learn": lambda: learn_fact(
        content="Fact x: just learned",
        topic="",
        category=None,
        score=0.9,
        said_at={1: JULY},
        origin=Origin(quotes=({"message_id": 1, "start": 0, "end": 4},)),
        now=JULY,
    ),
    "place": lambda: add_place(place_id="home", name="Home", notes="gold and silver " * 8, now=JULY),
}


@pytest.mark.parametrize("add", ADDS)
def test_limit_runs_after_each_add(as_trader, add):
    fill(8)

    ADDS[add]()

    assert "Fact 0" in evicted()
    assert tokens() <= LIMIT


def test_save_into_a_full_memory_keeps_what_was_just_said(as_trader):
    fill(8)

    written = remember_fact(content="Fact x: just said", now=JULY)

    written.fact.refresh_from_db()
    assert not written.fact.is_archived


def test_confirming_adds_nothing_and_evicts_nothing(as_trader):
    facts = fill(8)

    confirm_fact(fact_id=facts[0].pk, now=JULY)

    assert evicted() == []


def test_evictions_of_a_batch_are_undone_with_it(as_trader):
    batch = Origin(batch_id=uuid4())
    fill(4)
    for number in range(4):
        remember_fact(content=f"Added {number} {'gold and silver ' * 8}", origin=batch, now=JULY)
    assert evicted()

    undo_batch(batch_id=batch.batch_id, now=JULY)

    assert kept() == ["Fact 0", "Fact 1", "Fact 2", "Fact 3"]


def test_evicting_hundreds_fits_the_limit_exactly(as_trader, settings):
    settings.MEMORY_TOKEN_LIMIT = 10_000
    UserFactFactory.create_batch(300)

    enforce_token_limit(now=JULY)

    assert 9_800 < tokens() <= 10_000


def test_mentions_of_places_and_long_ids_count_however_few_the_facts(as_trader):
    place = PlaceFactory()
    PlaceMentionFactory.create_batch(4, place=place)
    facts = fill(5)
    assert tokens() > LIMIT

    assert 0 < len(enforce_token_limit(now=JULY)) < len(facts)
    assert tokens() <= LIMIT


def test_places_never_take_more_than_half_of_the_room_from_facts(as_trader):
    PlaceMentionFactory.create_batch(100, place=PlaceFactory())
    fill(4)

    enforce_token_limit(now=JULY)

    places = count_document_tokens([])
    assert places > LIMIT
    assert 150 < tokens() - places <= LIMIT // 2


def test_short_memory_is_never_counted_as_too_long_nor_a_long_one_as_short(as_trader):
    # Dense text: as many tokens as bytes, nearly.
    UserFactFactory.create_batch(2)
    UserFactFactory(content="ༀ" * 300, external={"id": "ༀ" * 64, "conversation_id": "ༀ" * 64, "message_id": "ༀ" * 64})
    assert tokens() > LIMIT

    enforce_token_limit(now=JULY)

    assert tokens() <= LIMIT


def test_token_limit_ignores_facts_of_other_users(stranger, as_trader):
    as_owner(stranger, lambda: fill(8))
    fill(2)

    assert enforce_token_limit(now=JULY) == []
    assert as_owner(stranger, evicted) == []


def test_tokens_are_those_of_the_bundled_vocabulary():
    assert count_tokens("Risks 1% a trade") == 7
