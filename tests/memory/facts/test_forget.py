from uuid import uuid4

import pytest

from memory.facts.services import archive_fact, forget_fact, resolve_fact, restore_fact
from memory.facts.versions import FactAmbiguous, FactNotFound, Origin
from memory.models import ArchivedReason, MemoryEvent, UserFact, WriteKind
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory


def test_forget_fact_archives_the_row_and_keeps_it(as_trader):
    fact, origin = UserFactFactory(content="Retires at 50"), Origin(conversation_id=uuid4(), message_id=9)
    before = UserFact.objects.filter(pk=fact.pk).values().get()

    written = forget_fact(id_or_substring=str(fact.pk), origin=origin, now=JUNE)

    after = UserFact.objects.filter(pk=fact.pk).values().get()
    assert after == before | {"archived_at": JUNE, "archived_reason": ArchivedReason.AGENT_FORGET}
    event = written.event
    assert (written.fact, event.kind, event.before, event.after) == (fact, WriteKind.FORGET, fact, None)
    assert (event.conversation_id, event.message_id) == (origin.conversation_id, 9)


@pytest.mark.parametrize(
    "words",
    ["5x", "MAX 5X", "max  5x lev", "leverage.", "\uff4d\uff41\uff58 5x", "Max 5x leverage on 100% of_trades"],
    ids=["a word", "other case", "other spaces", "end punctuation", "full width", "all of it"],
)
def test_forget_fact_finds_the_only_fact_with_these_words(as_trader, words):
    fact = UserFactFactory(content="Max 5x leverage on 100% of_trades")
    UserFactFactory(content="Trades BTC only")

    assert forget_fact(id_or_substring=words, now=JUNE).fact == fact


def test_forget_fact_changes_nothing_when_several_fit(as_trader):
    contents = ["Never trades alts on Sundays at night", "Trades BTC on Sundays", "No trades on Sundays"]
    facts = [UserFactFactory(content=content) for content in contents]
    UserFactFactory(content="Max 5x leverage")

    with pytest.raises(FactAmbiguous, match="Which one is meant") as refusal:
        forget_fact(id_or_substring="on sundays", now=JUNE)

    assert refusal.value.candidates == [facts[2], facts[1], facts[0]]  # the shortest is the likeliest
    assert UserFact.objects.believed().count() == 4
    assert not MemoryEvent.objects.exists()


@pytest.mark.parametrize(
    "words",
    [
        *("silver", "", "   ", "\u200b", "00000000-0000-4000-8000-000000000000"),
        *("50% of", "100_", "%", "_", "\\", "5x%trades", "a'b"),  # wildcards are plain characters
    ],
    ids=repr,
)
def test_forget_fact_finds_nothing(as_trader, words):
    UserFactFactory(content="Max 5x leverage on 100 trades")

    with pytest.raises(FactNotFound):
        forget_fact(id_or_substring=words, now=JUNE)
    assert UserFact.objects.believed().count() == 1


def test_resolve_fact_does_not_search_text_for_an_id(as_trader):
    fact = UserFactFactory()
    UserFactFactory(content=f"Called {fact.pk} by the bot")

    assert resolve_fact(f" {fact.pk} ", JUNE) == fact


def test_restore_fact_puts_a_new_row_on_top_of_the_last_one(as_trader):
    fact = UserFactFactory(content="Retires at 50", topic="goal", summary="50", body="Long", last_confirmed_at=MAY)
    archive_fact(fact_id=fact.pk, now=JUNE)
    closed = UserFact.objects.filter(pk=fact.pk).values().get()

    written = restore_fact(fact_id=fact.pk, now=JULY)

    back = written.fact
    assert (back.content, back.topic, back.summary, back.body) == ("Retires at 50", "goal", "50", "Long")
    assert (back.supersedes, back.lineage, back.created_at, back.learned_at) == (fact, fact.lineage, JULY, MAY)
    assert (back.valid_from, back.last_confirmed_at, back.last_referenced_at) == (MAY, MAY, MAY)
    assert (written.event.kind, written.event.before, written.event.after) == (WriteKind.RESTORE, fact, back)
    assert UserFact.objects.filter(pk=fact.pk).values().get() == closed
    assert list(UserFact.objects.believed()) == [back]


def test_restore_fact_brings_back_a_fact_that_had_ended_as_ended(as_trader):
    fact = UserFactFactory(ended=True, archived=True)

    back = restore_fact(fact_id=fact.pk, now=JUNE).fact

    assert back.valid_until == fact.valid_until
    assert not UserFact.objects.current(JUNE).exists()
