from uuid import uuid4

import pytest

from memory.facts.services import remember_fact
from memory.facts.versions import Origin
from memory.models import Confidence, FactSource, MemoryEvent, UserFact, WriteKind
from memory.wording import FactRefused
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory, believed


def test_remember_fact_keeps_what_was_said_and_where(as_trader):
    origin = Origin(conversation_id=uuid4(), message_id=7)

    written = remember_fact(content="  Never trades  alts. ", topic="Symbols", origin=origin, now=JUNE)

    fact = UserFact.objects.get()
    assert written.fact == fact
    assert (fact.content, fact.topic, fact.category) == ("Never trades alts.", "symbols", "finance_context")
    assert fact.conversation_id == origin.conversation_id
    assert {fact.valid_from, fact.created_at, fact.learned_at, fact.last_referenced_at} == {JUNE}
    assert (fact.valid_until, fact.archived_at, fact.last_confirmed_at, fact.supersedes) == (None, None, None, None)
    assert fact.lineage == fact.pk
    assert fact.user_id == as_trader.pk
    event = MemoryEvent.objects.get()
    assert (written.event, event.kind, event.before, event.after) == (event, WriteKind.SAVE, None, fact)
    assert (event.conversation_id, event.message_id) == (origin.conversation_id, 7)
    assert (event.created_at, event.undone_at, event.lineage) == (JUNE, None, fact.lineage)


def test_remember_fact_takes_a_category_that_is_given(as_trader):
    written = remember_fact(content="Something worth keeping", topic="risk", category="fact", now=JUNE)

    assert written.fact.category == "fact"


@pytest.mark.parametrize(
    "again",
    [
        "Never trades alts",
        "never trades ALTS.",
        "  Never   trades\talts!! ",
        "\uff2eever trades alts",  # full width
        "Never\u200b trades alts",  # zero width
        "Never trades alts ;",
    ],
)
@pytest.mark.parametrize("confidence", Confidence.values)  # it never demotes
def test_remember_fact_says_the_same_words_once(as_trader, again, confidence):
    asserted = {"topic": "symbols", "confidence": Confidence.ASSERTED}
    first = remember_fact(content="Never trades alts", **asserted, now=JUNE)

    second = remember_fact(content=again, topic="symbols", confidence=confidence, now=JULY)

    assert (second.fact, second.event) == (first.fact, None)
    assert UserFact.objects.count() == MemoryEvent.objects.count() == 1


@pytest.mark.parametrize("other", ["Min 5x leverage", "Max 5x leverage on BTC", "Max 5x leverag\u00e9"])
def test_remember_fact_never_collapses_words_that_are_only_alike(as_trader, other):
    remember_fact(content="Max 5x leverage", now=JUNE)

    remember_fact(content=other, now=JUNE)

    assert UserFact.objects.believed().count() == 2


@pytest.mark.parametrize(
    ("place", "topic", "category"),
    [
        ({"topic": "goal"}, "goal", "profile"),
        ({"topic": "symbols"}, "symbols", "finance_context"),
        ({"category": "fact"}, "risk", "fact"),
    ],
    ids=["topic", "topic of another category", "category"],
)
def test_remember_fact_moves_the_same_words_to_another_place(as_trader, place, topic, category):
    first = remember_fact(content="Max 5x leverage", topic="risk", now=JUNE)

    second = remember_fact(content="Max 5x leverage", **place, now=JULY)

    assert (second.fact.topic, second.fact.category) == (topic, category)
    assert (second.fact.supersedes, second.event.kind) == (first.fact, WriteKind.UPDATE)
    assert believed() == ["Max 5x leverage"]


@pytest.mark.parametrize(
    ("confidence", "kind"), [(Confidence.INFERRED, WriteKind.UPDATE), (Confidence.ASSERTED, WriteKind.PROMOTE)]
)
def test_remember_fact_makes_a_learned_fact_explicit(as_trader, confidence, kind):
    learned = UserFactFactory(learned=True, score=0.5, conversation_id=uuid4())
    here = uuid4()

    written = remember_fact(
        content=learned.content, confidence=confidence, origin=Origin(conversation_id=here), now=JUNE
    )

    fact = written.fact
    assert (fact.supersedes, fact.score, fact.confidence, fact.source) == (learned, None, confidence, FactSource.CHAT)
    assert (fact.conversation_id, written.event.kind) == (here, kind)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("abc", "4 to 500 characters; this one has 3"),
        (" \u200b a b \n", "this one has 3"),
        ("x" * 501, "this one has 501"),
        ("\ufdfa" * 40, "this one has 720"),  # one character that stands for eighteen
        ("", "this one has 0"),
        ("My password is hunter2", "never keeps those"),
    ],
    ids=["short", "short when trimmed", "long", "long when spelled out", "empty", "secret"],
)
def test_remember_fact_refuses_what_cannot_be_a_fact(as_trader, content, says):
    with pytest.raises(FactRefused, match=says):
        remember_fact(content=content, now=JUNE)

    assert not UserFact.objects.exists()
    assert not MemoryEvent.objects.exists()


def test_remember_fact_leaves_the_clock_of_a_fact_it_knew_alone(as_trader):
    fact = UserFactFactory(last_confirmed_at=MAY)

    remember_fact(content=fact.content, now=JUNE)

    fact.refresh_from_db()
    assert (fact.last_confirmed_at, fact.last_referenced_at) == (MAY, MAY)


def test_remember_fact_keeps_the_longer_detail_and_takes_another_for_the_same_words(as_trader):
    first = remember_fact(content="Max 5x leverage", detail=" Since the crash\r\nof March. ", now=JUNE).fact
    assert (first.body, first.line) == ("Since the crash\nof March.", "Max 5x leverage")
    assert remember_fact(content="Max 5x leverage", now=JUNE).fact == first

    second = remember_fact(content="Max 5x leverage", detail="Since April.", now=JULY)

    assert (second.fact.body, second.fact.supersedes, second.event.kind) == ("Since April.", first, WriteKind.UPDATE)
