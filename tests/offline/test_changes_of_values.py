"""Statements of a new value and forgets, as the rule-based model reads them."""

import pytest

from chat.turns.turn import find_requested_acts
from offline.messages import FactLine
from offline.requests import MemoryRequest, memory_requests
from offline.statements import read_statements

LOSSES = FactLine("I stop for the day after three losses in a row", id="1")
RISK = FactLine("I never risk more than 2 % on a trade", id="2")


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("Actually I now risk at most 2% per trade", "I now risk at most 2% per trade"),
        ("I changed my mind, my limit is 2 % per trade", "My limit is 2 % per trade"),
        ("I moved from Binance to Kraken", "I moved from Binance to Kraken"),
        ("I now trade from 13:00", "I now trade from 13:00"),
        ("I lowered my daily loss limit to 2%", "I lowered my daily loss limit to 2%"),
    ],
)
def test_read_statements_takes_a_new_value_of_a_subject(message, text):
    assert [statement.text for statement in read_statements(message)] == [text]


@pytest.mark.parametrize(
    "message",
    [
        *("I risk 5% on this trade", "I used 5x leverage", "My friend is a scalper", "I moved my stop to 61000"),
        *("I'm thinking about 10x leverage", "Should I trade on Kraken?", "I lost 3% today"),
    ],
)
def test_read_statements_leaves_passing_remarks(message):
    assert read_statements(message) == []


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
