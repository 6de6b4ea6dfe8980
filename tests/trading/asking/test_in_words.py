"""Questions to the record in words, as the page reads them."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.offline.sets import SETS
from trading.asking.in_words import find_question
from trading.asking.query import MEASURES, parse_query

NOW = datetime(2026, 6, 10, 12, tzinfo=UTC)
ROWS = [line.rsplit(" | ", 1) for line in (*SETS["questions: questions"], *SETS["questions ordinary: ordinary"])]
FIGURES = [(text, wanted.removeprefix("top ").removeprefix("low ").split()[0]) for text, wanted in ROWS]
MEASURED = [(text, measure) for text, measure in FIGURES if measure in MEASURES]


def test_question_is_read():
    for text, found in (
        ("What's my win rate this month?", {"measure": "win_rate", "period": "this month"}),
        ("Net by weekday last month", {"measure": "net", "group": "weekday", "period": "last month"}),
        ("whats my net on btc longs", {"measure": "net", "symbol": "BTC", "side": "long"}),
        ("How long do I hold losers?", {"measure": "holding", "result": "lost"}),
        ("fees", {"measure": "fees"}),
        ("BTC", {"measure": "net", "symbol": "BTC"}),
    ):
        assert find_question(text) == found


def test_words_of_rules_and_claims_are_known_to_questions():
    for text, found in (
        ("What's my ceiling drawdown?", {"measure": "drawdown"}),
        ("Net prior to payrolls", {"measure": "net", "event": "nfp"}),
        ("How many entries did I make in Sept?", {"measure": "count", "period": "sept"}),
        ("Win rate from March to May", {"measure": "win_rate", "period": "from march to may"}),
        ("profit on ripple longs in the past two weeks", {"measure": "net", "symbol": "XRP", "side": "long"}),
        ("How did my shorts do on Tues?", {"measure": "net", "side": "short", "weekday": "tue"}),
        ("Did I ever exceed my risk cap?", {"measure": "count", "group": "rule"}),
    ):
        assert (find_question(text) or {}).items() >= found.items()


def test_what_the_record_cannot_filter_by_is_not_left_out_in_silence():
    for text in (
        "What's my cap on trades a day?",
        "Which trades did not win?",
        "How many trades made more than $500?",
        "Are my longs larger than my shorts?",
        "How did I do over 20 trades?",
        "Net of trades after 20:00",
    ):
        assert find_question(text) is None


@pytest.mark.parametrize("text", ["", "?", "the weather in Lisbon", "win rate of my tennis club", "hello"])
def test_words_of_something_else_are_not_read(text):
    assert find_question(text) is None


def test_questions_for_a_figure_are_read_as_what_they_ask():
    read = [(text, measure, find_question(text)) for text, measure in MEASURED]
    right = [text for text, measure, found in read if found and found["measure"] == measure]

    assert len(MEASURED) > 100
    assert len(right) >= 0.9 * len(MEASURED)


@given(st.sampled_from([text for text, _ in ROWS]))
def test_what_is_read_is_a_question_that_the_planner_takes(text):
    found = find_question(text)

    if found is not None:
        assert parse_query(found, zone=ZoneInfo("UTC"), now=NOW).words


@given(st.text(max_size=200))
def test_any_text_is_read_or_left(text):
    found = find_question(text)

    assert found is None or found["measure"] in MEASURES
