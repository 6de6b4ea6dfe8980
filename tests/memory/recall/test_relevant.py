"""Which facts a message concerns."""

import pytest

from memory.facts.queries import list_relevant_lines
from memory.models import UserFact
from memory.recall.search import MAX_RELEVANT, find_relevant
from tests.factories.memory import JUNE, MAY, UserFactFactory
from tests.memory.recall import situation_cases
from tests.memory.recall.turn_cases import ABOUT, UNRELATED

TUNED, UNSEEN = 0, 1


@pytest.fixture
def store(as_trader):
    """All facts of the cases, by text."""
    return {content: UserFactFactory(content=content) for content, _ in ABOUT}


def relevant(message: str, **values) -> list[UserFact]:
    return find_relevant(message=message, **{"without": frozenset(), "now": JUNE, **values})


# A situation needs a fact that no word of it names.
@pytest.mark.parametrize(
    ("cases", "least"), [(ABOUT, 0.85), (situation_cases.NEEDED, 0.8)], ids=["words", "situations"]
)
@pytest.mark.parametrize("half", [TUNED, UNSEEN])
def test_find_relevant_has_the_needed_fact_of_most_messages(as_trader, cases, least, half):
    store = {content: UserFactFactory(content=content) for content, _ in cases}

    found = [store[content] in relevant(message) for content, message in cases[half::2]]

    assert sum(found) >= least * len(found)


@pytest.mark.parametrize(
    ("cases", "unrelated"),
    [(ABOUT, UNRELATED), (situation_cases.NEEDED, situation_cases.UNRELATED)],
    ids=["words", "situations"],
)
@pytest.mark.parametrize("half", [TUNED, UNSEEN])
def test_find_relevant_finds_nothing_for_unrelated_messages(as_trader, cases, unrelated, half):
    for content, _ in cases:
        UserFactFactory(content=content)
    messages = unrelated[half::2]

    brought = [message for message in messages if relevant(message)]

    assert len(brought) <= 0.05 * len(messages), brought


def test_find_relevant_leaves_out_what_the_prompt_has(store):
    content, question = ABOUT[0]

    assert store[content] not in relevant(question, without={store[content].pk})


def test_find_relevant_returns_few(as_trader):
    for number in range(15):
        UserFactFactory(content=f"Leverage rule number {number}")
    UserFactFactory.create_batch(40)

    assert len(relevant("leverage rule")) == MAX_RELEVANT


@pytest.mark.parametrize("message", ["", "   ", "what is the", "🙂"])
def test_find_relevant_finds_nothing_for_a_message_without_words(store, message):
    assert relevant(message) == []


def test_find_relevant_needs_no_vectors(store, settings):
    settings.MEMORY_EMBEDDING_MODEL = ""
    content, question = ABOUT[28]

    assert store[content] in relevant(question)


@pytest.mark.parametrize("made", [{"topic": "risk"}, {"learned": True, "score": 0.5, "created_at": MAY}])
def test_list_relevant_lines_are_those_of_the_block_without_what_no_prompt_may_carry(as_trader, made):
    fact = UserFactFactory(content="I never use more than 3x leverage", **made)
    UserFactFactory.create_batch(5)

    lines = list_relevant_lines("What is my max leverage?", without=(), now=JUNE)

    assert lines == ([(fact.pk, "- [risk] I never use more than 3x leverage")] if "topic" in made else [])
