"""Statements of a new value and forgets, as the rule-based model reads them."""

import pytest

from chat.turns.turn import find_requested_acts
from offline.messages import FactLine
from offline.requests import MemoryRequest, memory_requests

LOSSES = FactLine("I stop for the day after three losses in a row", id="1")
RISK = FactLine("I never risk more than 2 % on a trade", id="2")


@pytest.mark.parametrize("message", ["From now on, keep answers short", "Keep that in mind."])
def test_find_requested_acts_takes_a_directive(message):
    assert find_requested_acts(message) == {"remember"}


@pytest.mark.parametrize(
    ("message", "act"),
    [
        ("Forget that I stop after three losses", {"fact_id": "1"}),
        ("Forget my 2 % risk rule on a trade", {"fact_id": "2"}),
    ],
)
def test_memory_requests_forgets_what_matches_as_a_whole(message, act):
    assert [request.arguments for request in memory_requests(message, [LOSSES, RISK])] == [act]


def test_memory_requests_asks_when_words_of_a_forget_are_missing():
    [request] = memory_requests("Forget that I get angry after three losses", [LOSSES, RISK])

    assert (request.tool, request.choices) == ("", (LOSSES,))


def test_memory_requests_leaves_an_unknown_forget_to_the_tool():
    [request] = memory_requests("Forget that I never work on Mondays", [LOSSES, RISK])

    assert (request.tool, request.choices) == ("forget", ())


@pytest.mark.parametrize("said", ["just kidding", "Haha, I was only joking!", "That was a joke", "scratch that"])
def test_joke_takes_back_what_was_said_before_it(said):
    known = [FactLine("I never trade alts"), FactLine("I live in Berlin")]
    taken = [MemoryRequest("forget", {"fact_id": "I live in Berlin", "reason": "user_corrected"})]

    assert memory_requests(said, known, "I have saved: **I live in Berlin**") == taken
    assert memory_requests(said, known, "Hello.") == []
    assert memory_requests(f"I only trade BTC. {said}", known, "I have saved: **I live in Berlin**") == []
