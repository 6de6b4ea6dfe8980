"""Parsing the extractor's answer."""

import json
import math
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.learning.answers import MAX_FACTS, ExtractionAnswer, parse_answer
from tests.memory.learning.answers import answer, fact


def test_parse_answer_reads_the_contract():
    quotes = [{"message_id": 11, "text": "I never trade alts"}]

    read = parse_answer(answer(fact(op="update", target_id=str(UUID(int=1)), quotes=quotes), summary=" Short. "))

    assert read.summary == "Short."
    (found,) = read.facts
    assert (found.op, found.target_id, found.category, found.topic) == (
        "update",
        UUID(int=1),
        "finance_context",
        "symbols",
    )
    assert (found.content, found.confidence, found.conflicts_with) == ("Never trades alts", 0.8, None)
    assert found.quoted == tuple(quotes)


@pytest.mark.parametrize(
    "text",
    [
        answer(fact()),
        f"```json\n{answer(fact())}\n```",
        f"Here you are:\n\n{answer(fact())}\n\nAnything else?",
        f'With {{braces}} and {{"an": "object"}} before: {answer(fact())}',
        f"{answer(fact())} {answer(fact('Another fact'))}",
    ],
    ids=["plain", "fence", "prose", "braces", "two objects"],
)
def test_parse_answer_takes_the_first_answer_in_the_text(text):
    assert [found.content for found in parse_answer(text).facts] == ["Never trades alts"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I found nothing.",
        "[]",
        "{}",
        "{not json}",
        '{"an": "object"}',
        '{"summary": "torn',
        "[" * 100000,
        "{" * 99999,
        '{"a":' * 100000,
    ],
    ids=lambda text: text[:12] or "empty",
)
def test_parse_answer_of_no_answer_is_none(text):
    assert parse_answer(text) is None


@pytest.mark.parametrize(
    "broken",
    [
        '{"op": "add", "content": null}',
        '{"op": "add"}',
        '{"op": "add", "content": 5}',
        '{"op": "add", "content": ["Never trades alts"]}',
        '{"op": "add", "content": "abc"}',
        '{"op": "remove", "content": "Never trades alts"}',
        '{"op": ["add"], "content": "Never trades alts"}',
        '{"content": "Never trades alts"}',
        '{"op": "add", "content": "Never trades alts", "content": "Trades alts"}',
        '{"op": "add", "content": "Never trades alts", "confidence": NaN}',
        '{"op": "add", "content": "Never trades alts", "confidence": Infinity}',
        '{"op": "add", "content": "Never trades alts", "confidence": 1e999}',
        '{"op": "add", "content": "Never trades alts", "confidence": "high"}',
        '{"op": "add", "content": "Never trades alts", "confidence": true}',
        '{"op": "add", "content": "Never trades alts", "confidence": 0.29}',
        '{"op": "add", "content": "Never trades alts", "confidence": -1}',
        '{"op": "add", "content": "Never trades alts", "topic": 7}',
        '{"op": "add", "content": "my password is hunter2"}',
        '{"op": "skip", "content": ""}',
        f'{{"op": "add", "content": "Never trades alts", "confidence": {"9" * 5000}}}',
        f'{{"op": "add", "content": "{"a" * 501}"}}',
        "null",
        '"Never trades alts"',
        "[]",
    ],
    ids=lambda text: text[:60],
)
def test_parse_answer_drops_only_the_invalid_fact(broken):
    read = parse_answer(f'{{"summary": "s", "facts": [{broken}, {json.dumps(fact("Max leverage is 3x"))}]}}')

    assert [found.content for found in read.facts] == ["Max leverage is 3x"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        *((None, 0.5), (0.3, 0.3), (1, 1.0), (7, 1.0), (10**18, 1.0), (0.75, 0.75)),
        *(("0.8", 0.8), (" 1.0 ", 1.0), ("high", None), ("1e9", None)),
    ],
    ids=str,
)
def test_confidence_is_clamped_and_may_be_written_as_text(given, kept):
    facts = parse_answer(answer(fact(confidence=given))).facts

    assert [found.confidence for found in facts] == [kept] * (kept is not None)


def test_parse_answer_fills_defaults():
    (found,) = parse_answer('{"facts": [{"op": "add", "content": " Never\\ntrades  alts ", "topic": "Risk"}]}').facts

    assert (found.content, found.topic, found.category) == ("Never trades alts", "risk", "profile")
    assert (found.target_id, found.conflicts_with, found.quoted, found.confidence) == (None, None, (), 0.5)


@pytest.mark.parametrize("value", ["1", "not an id", 5, None, [], "{" + str(UUID(int=1)) + "}", "urn:uuid:1"], ids=repr)
def test_parse_answer_ignores_invalid_ids(value):
    (found,) = parse_answer(answer(fact(target_id=value, conflicts_with=value))).facts

    assert (found.target_id, found.conflicts_with) == (None, None)


@pytest.mark.parametrize(
    ("text", "summary"),
    [('{"summary": null, "facts": []}', ""), ('{"facts": null}', ""), ('{"summary": "s\\u0000\\ud800"}', "s")],
)
def test_an_answer_without_facts_is_an_answer(text, summary):
    assert parse_answer(text) == ExtractionAnswer(summary, ())


def test_parse_answer_cuts_long_answers():
    read = parse_answer(answer(*[fact(f"Fact number {n}", quotes=["q"] * 50) for n in range(200)], summary="s" * 9000))

    assert len(read.facts) == MAX_FACTS
    assert {len(found.quoted) for found in read.facts} == {5}
    assert len(read.summary) == 2000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(["add", "skip"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["op", "content", "facts", "summary", "confidence", "quotes", "topic", "target_id", "category"]
            )
            | st.text(max_size=5),
            inner,
            max_size=8,
        )
    ),
    max_leaves=30,
)


@given(st.text() | JSON.map(json.dumps) | st.tuples(JSON.map(json.dumps), st.text(), st.integers(0, 99)).map(
    lambda parts: parts[0][: parts[2]] + parts[1] + parts[0][parts[2] :]
))  # fmt: skip
def test_parse_answer_never_raises_and_keeps_its_bounds(text):
    read = parse_answer(text)

    for found in read.facts if read else ():
        assert found.op in {"add", "update", "skip"}
        assert math.isfinite(found.confidence)
        assert 0.3 <= found.confidence <= 1
        assert found.content == "" or 4 <= len(found.content) <= 500
