"""Titles and summaries in the chat's words and requested form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.conversations.titles import clean_title
from chat.prompt.by_rules import MAX_SUMMARY, summarise_by_rules, title_by_rules
from chat.prompt.texts import SUMMARY_TASK, TITLE_TASK
from offline.model import decide
from trading.agent.prompts import CRITIQUE, critique_request
from trading.reviews.critique import _parse_answer


def asked(task, text):
    reply = decide([{"role": "system", "content": task}, {"role": "user", "content": text}], [])
    assert reply.tool_calls == ()
    return reply.text


def titled(text):
    return asked(TITLE_TASK, f"Person: {text}\nKeel: Here is what I found.")


def test_a_title_has_words_of_the_person():
    """Which of them, test_titles.py tells."""
    assert titled("Can you show me my last 5 trades?") == "My last 5 trades"
    assert titled("Fade BTC funding above 40%, exit when it is back under 10%.") == "Fade BTC funding above 40%"
    assert titled("hi") == "Hi"


@given(st.text(max_size=300), st.text(max_size=50))
def test_a_title_is_a_short_line_without_a_stop_at_its_end(text, answer):
    title = title_by_rules(f"Person: {text}\nKeel: {answer}")

    assert 1 <= len(title.split()) <= 10
    assert title[-1] not in ".!,;:"
    assert len(title) <= 60
    assert "\n" not in title


@pytest.mark.parametrize(
    "text", ["Help me build a BTC funding-flip mean-reversion strategy", "hi", "how are you today?"]
)
def test_a_title_is_one_that_chats_take(text):
    assert clean_title(titled(text)) == titled(text)


SAID = """\
Summary so far:
Person: I never trade alts.
Keel: Your largest position is BTC long $5,000.00.

Person: What will CPI do to my BTC long?
Keel looked up get_upcoming_events.
Keel: The median move was 2.1%. Past moves are no forecast.
Person: I want to halve it before 13:30 UTC."""


def test_a_summary_holds_what_the_person_said_and_the_numbers_of_replies():
    assert asked(SUMMARY_TASK, SAID).split("\n") == [
        "Person: I never trade alts.",
        "Keel: Your largest position is BTC long $5,000.00.",
        "Person: What will CPI do to my BTC long?",
        "Keel: The median move was 2.1%.",
        "Person: I want to halve it before 13:30 UTC.",
    ]


def test_a_long_summary_keeps_what_is_newest():
    told = summarise_by_rules(
        "\n".join(f"Person: I said number {n} of many things.\nKeel: Noted {n}." for n in range(200))
    )

    assert len(told) <= MAX_SUMMARY
    assert "number 199 of" in told
    assert "number 0 of" not in told


@given(st.text(max_size=3000))
def test_a_summary_of_anything_is_short_and_never_empty(text):
    assert 0 < len(summarise_by_rules(text)) <= MAX_SUMMARY


def test_a_review_leaves_the_findings_to_the_rules_of_the_draft():
    read = _parse_answer(asked(f"{CRITIQUE} More of it.", critique_request("{}", tier="novice", known=["No exit"])))

    assert (read.summary, read.findings) == ("Reviewed by rules, without a language model.", [])
