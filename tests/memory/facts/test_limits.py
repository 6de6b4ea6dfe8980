import logging
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.facts.document import build_document, count_document_tokens
from memory.facts.limits import enforce_token_limit, measure_document
from memory.facts.places import add_place
from memory.facts.queries import count_facts, get_block
from memory.facts.services import forget_fact, remember_fact
from memory.facts.undo import undo_batch, undo_event
from memory.facts.versions import Origin
from memory.learning.writes import learn_fact
from memory.models import MemoryEvent, UserFact, WriteKind
from memory.recall.search import recall_facts
from tests.factories.memory import JULY, JUNE, MAY, PlaceFactory, PlaceMentionFactory, UserFactFactory

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
    return count_document_tokens(UserFact.objects.current(JULY).in_document())


def evicted() -> list[str]:
    rows = UserFact.objects.believed().filter(left_document_at__isnull=False)
    return sorted(row.content[:6] for row in rows)


def kept() -> list[str]:
    return sorted(row.content[:6] for row in UserFact.objects.believed().in_document())


def enforce(**values) -> list:
    return [fact.pk for fact in enforce_token_limit(**values)]


@pytest.mark.limit("config.settings.MEMORY_TOKEN_LIMIT")
def test_explicit_facts_leave_by_least_recent_reference_and_no_more_than_needed(as_trader):
    facts = fill(10)

    ids = enforce(now=JULY)

    assert ids == [fact.pk for fact in facts[: len(ids)]]
    assert tokens() <= LIMIT
    last = UserFact.objects.get(pk=ids[-1])
    assert count_document_tokens([*UserFact.objects.current(JULY).in_document(), last]) > LIMIT


def test_extracted_facts_leave_before_explicit_ones_however_recently_they_were_referenced(as_trader):
    explicit = fill(4)
    learned = [
        UserFactFactory(content=f"Learned {n}: {'gold and silver ' * 8}".strip(), learned=True, last_referenced_at=at)
        for n, at in enumerate([JULY, JUNE, MAY])
    ]

    ids = enforce(now=JULY)

    assert ids == [fact.pk for fact in reversed(learned)][: len(ids)]
    assert set(UserFact.objects.believed().in_document()) >= set(explicit)


def test_evicted_facts_stay_believed_with_a_mark_and_an_event_whose_undo_puts_them_back(as_trader):
    facts = fill(8)

    ids = enforce(now=JUNE)

    rows = UserFact.objects.filter(pk__in=ids)
    assert {(row.archived_at, row.left_document_at) for row in rows} == {(None, JUNE)}
    events = MemoryEvent.objects.filter(kind=WriteKind.EVICT)
    assert {event.before_id for event in events} == {event.after_id for event in events} == set(ids)
    undo_event(event_id=events.get(before=facts[0]).pk, now=JULY)
    assert "Fact 0" in kept()


def test_rules_of_risk_leave_last(as_trader):
    tagged = UserFactFactory(content=f"Rule 1: {'gold and silver ' * 8}", topic="risk", last_referenced_at=MAY - DAY)
    said = UserFactFactory(content=f"Never over 5x leverage {'gold and ' * 8}", last_referenced_at=MAY - DAY)
    facts = fill(8)

    ids = enforce(now=JULY)

    assert ids == [fact.pk for fact in facts[: len(ids)]]
    assert not {tagged.pk, said.pk} & set(ids)


def test_facts_return_when_there_is_room_rules_of_risk_first(as_trader, settings):
    rule = UserFactFactory(content=f"Rule 1: {'gold and silver ' * 8}", topic="risk", last_referenced_at=MAY - DAY)
    fill(8)
    settings.MEMORY_TOKEN_LIMIT = 10
    enforce(now=JUNE)
    assert kept() == []
    settings.MEMORY_TOKEN_LIMIT = LIMIT

    assert enforce(now=JULY) == []

    assert kept() == ["Fact 3", "Fact 4", "Fact 5", "Fact 6", "Fact 7", "Rule 1"]
    assert UserFact.objects.get(pk=rule.pk).left_document_at is None
    assert tokens() <= LIMIT


def test_forgetting_makes_room_at_once(as_trader):
    facts = fill(8)
    enforce(now=JUNE)
    before = kept()

    forget_fact(id_or_substring=str(facts[7].pk), now=JULY)

    assert len(kept()) == len(before)
    assert "Fact 7" not in kept()


def test_a_fact_outside_the_document_is_recalled_and_in_the_other_blocks(as_trader):
    facts = fill(8)
    enforce(now=JUNE)

    assert facts[0] in [row.fact for row in recall_facts(query="Fact 0", now=JULY).rows]
    assert "Fact 0" in get_block("coach", JULY).text
    assert "Fact 0" not in get_block("companion", JULY).text
    assert "Fact 0" not in [fact.content[:6] for fact in build_document(now=JULY).facts]


def test_remember_fact_names_what_left(as_trader):
    fill(8)

    left = remember_fact(content="Fact x: just said", now=JULY).left_document

    assert [fact.content[:6] for fact in left][:2] == ["Fact 0", "Fact 1"]


@pytest.mark.parametrize(("facts", "percent"), [(2, 0), (4, 80)])
def test_event_says_once_that_the_document_gets_nearly_full(as_trader, facts, percent):
    fill(facts)

    first = remember_fact(
        content=f"Fact x: {'gold and silver ' * 16}", now=JULY
    ).event  # ids differ in length as tokens
    second = remember_fact(content="Fact y", now=JULY).event

    assert first.detail.get("document_pct", 0) >= percent
    assert bool(percent) == bool(first.detail)
    assert "document_pct" not in second.detail


@pytest.mark.parametrize(("facts", "is_nearly_full", "outside"), [(2, False, 0), (6, True, 0), (8, True, 2)])
def test_measure_document_says_how_full_it_is(as_trader, facts, is_nearly_full, outside):
    fill(facts)
    enforce(now=JUNE)

    filled = measure_document(outside=count_facts(JULY).outside, now=JULY)

    assert (filled.is_nearly_full, filled.outside) == (is_nearly_full, outside)


def test_saving_into_a_full_memory_reads_no_fact_outside_the_document(as_trader):
    fill(8)
    enforce(now=JUNE)
    UserFactFactory.create_batch(300, left_document_at=JUNE, last_referenced_at=MAY)

    with CaptureQueriesContext(connection) as queries:
        remember_fact(content="Fact x: just said", now=JULY)

    read = [
        query["sql"] for query in queries if 'SELECT "user_facts"."id"' in query["sql"] and "LIMIT" not in query["sql"]
    ]
    assert all("left_document_at" in sql.split("WHERE")[1] for sql in read)


def test_warning_names_the_user_the_count_and_the_ids(trader, as_trader, caplog):
    fill(8)

    with caplog.at_level(logging.WARNING, logger="memory.facts.limits"):
        ids = enforce(now=JUNE)

    record = caplog.records[-1]
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith(f"Evicted {len(ids)} facts for user {trader.pk} due to token limit")
    assert all(str(pk) in record.getMessage() for pk in ids)
    assert "gold" not in record.getMessage()


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


def test_evictions_of_a_batch_are_undone_with_it(as_trader):
    batch = Origin(batch_id=uuid4())
    fill(4)
    for number in range(4):
        remember_fact(content=f"Added {number} {'gold and silver ' * 8}", origin=batch, now=JULY)
    assert evicted()

    undo_batch(batch_id=batch.batch_id, now=JULY)

    assert kept() == ["Fact 0", "Fact 1", "Fact 2", "Fact 3"]


def test_places_never_take_more_than_half_of_the_room_from_facts(as_trader):
    PlaceMentionFactory.create_batch(100, place=PlaceFactory())
    fill(4)

    enforce(now=JULY)

    places = count_document_tokens([])
    assert places > LIMIT
    assert 150 < tokens() - places <= LIMIT // 2
