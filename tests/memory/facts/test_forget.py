from uuid import uuid4

import pytest

from memory.facts.services import archive_fact, forget_fact, resolve_fact, restore_fact, supersede_fact
from memory.facts.versions import FactAmbiguous, FactChanged, FactNotFound, Origin
from memory.models import ArchivedReason, EventKind, MemoryEvent, UserFact
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory


def test_forget_fact_archives_the_row_and_keeps_it(as_trader):
    fact = UserFactFactory(content="Retires at 50")
    before = UserFact.objects.filter(pk=fact.pk).values().get()

    written = forget_fact(id_or_substring=str(fact.pk), now=JUNE)

    after = UserFact.objects.filter(pk=fact.pk).values().get()
    assert after == before | {"archived_at": JUNE, "archived_reason": ArchivedReason.AGENT_FORGET}
    assert written.fact == fact


def test_forget_fact_logs_where_it_was_asked_for(as_trader):
    fact = UserFactFactory()
    origin = Origin(conversation_id=uuid4(), message_id=9)

    written = forget_fact(id_or_substring=str(fact.pk), origin=origin, now=JUNE)

    event = MemoryEvent.objects.get()
    assert (written.event, event.kind, event.before, event.after) == (event, EventKind.FORGET, fact, None)
    assert (event.conversation_id, event.message_id) == (origin.conversation_id, 9)


def test_forget_fact_keeps_the_reason(as_trader):
    fact = UserFactFactory()

    forget_fact(id_or_substring=str(fact.pk), reason=ArchivedReason.USER_CORRECTED, now=JUNE)

    fact.refresh_from_db()
    assert fact.archived_reason == ArchivedReason.USER_CORRECTED


@pytest.mark.parametrize(
    "words",
    ["5x", "MAX 5X", "max  5x lev", "leverage.", "\uff4d\uff41\uff58 5x", "Max 5x leverage on 100% of_trades"],
    ids=["a word", "other case", "other spaces", "end punctuation", "full width", "all of it"],
)
def test_forget_fact_finds_the_only_fact_with_these_words(as_trader, words):
    fact = UserFactFactory(content="Max 5x leverage on 100% of_trades")
    UserFactFactory(content="Trades BTC only")

    assert forget_fact(id_or_substring=words, now=JUNE).fact == fact


@pytest.mark.parametrize("words", ["50% of", "100_", "%", "_", "\\", "5x%trades", "a'b"])
def test_forget_fact_takes_wildcards_for_plain_characters(as_trader, words):
    UserFactFactory(content="Max 5x leverage on 100 trades")

    with pytest.raises(FactNotFound):
        forget_fact(id_or_substring=words, now=JUNE)


def test_forget_fact_finds_a_plain_percent_sign(as_trader):
    UserFactFactory(content="Max 5x leverage on 100 trades")
    fact = UserFactFactory(content="Risks 1% a trade")

    assert forget_fact(id_or_substring="1%", now=JUNE).fact == fact


def test_forget_fact_changes_nothing_when_several_fit(as_trader):
    contents = ["Never trades alts on Sundays at night", "Trades BTC on Sundays", "No trades on Sundays"]
    facts = [UserFactFactory(content=content) for content in contents]
    UserFactFactory(content="Max 5x leverage")

    with pytest.raises(FactAmbiguous, match="Which one is meant") as refusal:
        forget_fact(id_or_substring="on sundays", now=JUNE)

    assert refusal.value.candidates == [facts[2], facts[1], facts[0]]  # the shortest is the likeliest
    assert UserFact.objects.believed().count() == 4
    assert not MemoryEvent.objects.exists()


@pytest.mark.parametrize("words", ["silver", "", "   ", "\u200b", "00000000-0000-4000-8000-000000000000"], ids=repr)
def test_forget_fact_finds_nothing(as_trader, words):
    UserFactFactory()

    with pytest.raises(FactNotFound):
        forget_fact(id_or_substring=words, now=JUNE)

    assert UserFact.objects.believed().count() == 1


@pytest.mark.parametrize("state", ["archived", "ended"])
def test_forget_fact_sees_no_fact_that_is_over(as_trader, state):
    fact = UserFactFactory(**{state: True})

    for reference in (str(fact.pk), fact.content):
        with pytest.raises(FactNotFound):
            forget_fact(id_or_substring=reference, now=JUNE)


def test_forget_fact_takes_a_fact_that_begins_later(as_trader):
    fact = UserFactFactory(begins_later=True)

    assert forget_fact(id_or_substring=fact.content, now=JUNE).fact.lineage == fact.lineage


def test_forget_fact_sees_no_fact_of_a_stranger(strangers_fact, as_trader):
    for reference in (str(strangers_fact.pk), strangers_fact.content):
        with pytest.raises(FactNotFound):
            forget_fact(id_or_substring=reference, now=JUNE)


def test_resolve_fact_leads_from_an_old_version_to_the_current_one(as_trader):
    first = UserFactFactory(content="Retires at 50")
    second = supersede_fact(fact_id=first.pk, content="Retires at 55", now=JUNE).fact
    third = supersede_fact(fact_id=second.pk, content="Retires at 60", now=JUNE).fact

    found = [resolve_fact(form, JUNE) for fact in (first, second, third) for form in (str(fact.pk), fact.pk.hex)]

    assert found == [third] * 6


def test_resolve_fact_does_not_search_text_for_an_id(as_trader):
    fact = UserFactFactory()
    UserFactFactory(content=f"Called {fact.pk} by the bot")

    assert resolve_fact(f" {fact.pk} ", JUNE) == fact


def test_archive_fact_takes_it_out_of_use_and_keeps_it(as_trader):
    fact = UserFactFactory()

    written = archive_fact(fact_id=fact.pk, now=JUNE)

    fact.refresh_from_db()
    assert (fact.archived_at, fact.archived_reason) == (JUNE, ArchivedReason.USER_ARCHIVED)
    assert (written.event.kind, written.event.before, written.event.after) == (EventKind.ARCHIVE, fact, None)


@pytest.mark.parametrize("state", ["ended", "begins_later"])
def test_archive_fact_takes_a_fact_of_another_time_too(as_trader, state):
    fact = UserFactFactory(**{state: True})

    assert archive_fact(fact_id=fact.pk, now=JUNE).fact.is_archived


def test_restore_fact_puts_a_new_row_on_top_of_the_last_one(as_trader):
    fact = UserFactFactory(content="Retires at 50", topic="goal", summary="50", body="Long", last_confirmed_at=MAY)
    archive_fact(fact_id=fact.pk, now=JUNE)
    closed = UserFact.objects.filter(pk=fact.pk).values().get()

    written = restore_fact(fact_id=fact.pk, now=JULY)

    back = written.fact
    assert (back.content, back.topic, back.summary, back.body) == ("Retires at 50", "goal", "50", "Long")
    assert (back.supersedes, back.lineage, back.created_at, back.learned_at) == (fact, fact.lineage, JULY, MAY)
    assert (back.valid_from, back.last_confirmed_at, back.last_referenced_at) == (MAY, MAY, MAY)
    assert (written.event.kind, written.event.before, written.event.after) == (EventKind.RESTORE, fact, back)
    assert UserFact.objects.filter(pk=fact.pk).values().get() == closed
    assert list(UserFact.objects.believed()) == [back]


def test_restore_fact_brings_back_the_last_words_whichever_version_is_named(as_trader):
    first = UserFactFactory(content="Retires at 50")
    second = supersede_fact(fact_id=first.pk, content="Retires at 55", now=JUNE).fact
    archive_fact(fact_id=second.pk, now=JUNE)

    assert restore_fact(fact_id=first.pk, now=JULY).fact.content == "Retires at 55"


def test_restore_fact_brings_back_a_fact_that_had_ended_as_ended(as_trader):
    fact = UserFactFactory(ended=True, archived=True)

    back = restore_fact(fact_id=fact.pk, now=JUNE).fact

    assert back.valid_until == fact.valid_until
    assert not UserFact.objects.current(JUNE).exists()


@pytest.mark.parametrize("which", ["the believed one", "an older one"])
def test_restore_fact_refuses_a_fact_that_is_in_use(as_trader, which):
    first = UserFactFactory()
    second = supersede_fact(fact_id=first.pk, content="Corrected", now=JUNE).fact

    with pytest.raises(FactChanged, match="not archived any more"):
        restore_fact(fact_id=(second if which == "the believed one" else first).pk, now=JULY)

    assert UserFact.objects.count() == 2
