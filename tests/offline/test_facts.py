import json

import pytest

from offline.messages import FactLine, best_matches, content_words, read_acts, read_memory

FACTS = [
    FactLine("I usually trade BTC", "symbols"),
    FactLine("I only buy BTC after a trade that lost", "risk"),
    FactLine("I trade BTC in the morning", "session"),
    FactLine("I hedge with options"),
]


@pytest.mark.parametrize(
    ("block", "facts"),
    [
        (
            "## What I know about you\n\n- [risk] I fear alts\n- Plain (inferred)",
            [("I fear alts", "risk", False), ("Plain", "", True)],
        ),
        ("## What I know about you\n- no blank line", [("no blank line", "", False)]),
        ("## What I know about you\n\n- one\n\n- after a gap", [("one", "", False)]),
        ("## What I know about you\n\n- one\n- ...", [("one", "", False)]),
        ("Text. ## What I know about you\n\n- one", []),
        ("no block", []),
    ],
)
def test_known_facts_reads_the_block(block, facts):
    found = read_memory([{"role": "system", "content": f"You are Keel.\n\n---\n\n{block}"}])

    assert [(fact.text, fact.topic, fact.inferred) for fact in found] == facts


def test_outcomes_pairs_results_with_their_calls():
    messages = [
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "a", "function": {"name": "one", "arguments": '{"x": 1}'}},
                {"id": "b", "function": {"name": "two", "arguments": "broken"}},
            ],
        },
        {"role": "tool", "tool_call_id": "b", "content": "words"},
        {"role": "tool", "tool_call_id": "a", "content": json.dumps({"error": [{"msg": "no"}, "never"]})},
        {"role": "tool", "tool_call_id": "unknown", "content": "{}"},
    ]

    two, one = read_acts(messages)

    assert (two.name, two.arguments, two.result) == ("two", {}, "words")
    assert (one.name, one.arguments, one.error) == ("one", {"x": 1}, "no; never")


@pytest.mark.parametrize(
    ("words", "options", "places"),
    [
        ("I trade BTC options", {}, [3]),  # a rare word weighs more
        ("trade", {}, [0, 1, 2]),
        ("trade", {"topic": "session"}, [2]),
        *((words, {}, []) for words in ("", "the of and", "zebra")),
    ],
)
def test_best_matches_returns_all_that_tie_in_words_and_topic(words, options, places):
    assert best_matches(words, FACTS, **options) == [FACTS[place] for place in places]


@pytest.mark.parametrize(("least", "count"), [(0.3, 1), (0.6, 0)])
def test_best_matches_asks_for_a_share_of_the_words(least, count):
    assert len(best_matches("hedge dogs", FACTS, least=0.5)) == 1
    assert len(best_matches("hedge dogs cats", FACTS, least=least)) == count


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I never trade altcoins", {"trade", "alt"}),
        ("trading, trades & traded", {"trade"}),
        ("13:00-17:00 UTC", {"13", "00", "17", "utc"}),
        ("I don’t risk 1.5%", {"risk", "1.5"}),
    ],
)
def test_content_words_drops_endings_and_empty_words(text, words):
    assert content_words(text) == words
