"""Titles and summaries in the chat's words and requested form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.conversations.titles import clean_title
from chat.prompt.texts import SUMMARY_TASK, TITLE_TASK
from config.offline.model import decide
from config.offline.tasks.critique import DRAFT
from config.offline.tasks.titles import MAX_SUMMARY, summary_answer, title_answer
from trading.agent.prompts import CRITIQUE


def asked(task, text):
    reply = decide([{"role": "system", "content": task}, {"role": "user", "content": text}], [])
    assert reply.tool_calls == ()
    return reply.text


def titled(text):
    return asked(TITLE_TASK, f"Person: {text}\nKeel: Here is what I found.")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("How is my agent doing?", "My agent doing"),
        ("Why did you open this position?", "Open this position"),
        ("Help me build a BTC funding-flip mean-reversion strategy", "BTC funding-flip mean-reversion strategy"),
        ("What will CPI do to my BTC long tomorrow?", "CPI do to my BTC"),
        ("Hi Keel. I never trade alts.", "I never trade alts"),
        ("hi", "A few first words"),
    ],
)
def test_a_title_has_words_of_the_person(text, title):
    assert titled(text) == title


@given(st.text(max_size=300), st.text(max_size=50))
def test_a_title_is_three_to_five_words_without_a_mark_at_its_end(text, answer):
    title = title_answer(f"Person: {text}\nKeel: {answer}")

    assert 3 <= len(title.split()) <= 5
    assert title[-1] not in ".!?,;:"
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
    told = summary_answer("\n".join(f"Person: I said number {n} of many things.\nKeel: Noted {n}." for n in range(200)))

    assert len(told) <= MAX_SUMMARY
    assert "number 199 of" in told
    assert "number 0 of" not in told


@given(st.text(max_size=3000))
def test_a_summary_of_anything_is_short_and_never_empty(text):
    assert 0 < len(summary_answer(text)) <= MAX_SUMMARY


def test_a_review_is_answered_by_the_critique():
    assert '"findings"' in asked(f"{CRITIQUE} More of it.", f"Tier: novice\n\n{DRAFT}\n{{}}")
