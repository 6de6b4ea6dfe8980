"""Facts that are needed in a situation which no word of theirs names."""

import pytest

from memory.recall.search import find_relevant
from tests.factories.memory import JUNE, UserFactFactory
from tests.memory.recall.situation_cases import NEEDED, UNRELATED


def list_lines(message: str) -> list[str]:
    return [fact.content for fact in find_relevant(message=message, without=frozenset(), now=JUNE)]


@pytest.mark.parametrize("half", [0, 1], ids=["tuned", "unseen"])
def test_find_relevant_brings_the_fact_that_a_situation_needs(as_trader, half):
    for content, _ in NEEDED:
        UserFactFactory(content=content)

    found = [content in list_lines(message) for content, message in NEEDED[half::2]]

    assert sum(found) >= 0.8 * len(found)


@pytest.mark.parametrize("half", [0, 1], ids=["tuned", "unseen"])
def test_find_relevant_brings_nothing_for_what_needs_no_fact(as_trader, half):
    for content, _ in NEEDED:
        UserFactFactory(content=content)

    brought = [message for message in UNRELATED[half::2] if list_lines(message)]

    assert len(brought) <= 1, brought
