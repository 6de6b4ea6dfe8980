"""Titles in the words of a chat's first message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.prompt.by_rules import MAX_LENGTH, MAX_WORDS, title_from
from config.lib.text import one_line


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Hi", "Hi"),
        ("...", ""),
        ("x" * 100, "X" + "x" * (MAX_LENGTH - 1)),
        ("  two\n\nlines\there ", "Two lines here"),
        ("Hi. I trade BTC and ETH perps, no alts. I keep leverage at 3x.", "I trade BTC and ETH perps, no alts"),
        ("I usually trade from 13:00 to 17:00 UTC. How was last week?", "I usually trade from 13:00 to 17:00 UTC"),
        ("hey there! quick question: what's funding on SOL right now", "What's funding on SOL right now"),
        ("Good evening, can you tell me which symbol loses the most?", "Which symbol loses the most"),
        ("Thanks! And what about shorts in a downtrend?", "What about shorts in a downtrend?"),
        ("Hi coach, hope you're well. I need help with position sizing on ETH", "Position sizing on ETH"),
        ("Morning Keel - anything that could hit my BTC long?", "Anything that could hit my BTC long?"),
        ("Dear Keel,\n\nplease review my breakout skill.\nThank you", "Review my breakout skill"),
        ("sorry, one more thing, why did Funding fade stop?", "Why did Funding fade stop?"),
        ("Would you mind checking my ETH short from yesterday?", "Checking my ETH short from yesterday"),
        ("How long do I hold losers?", "How long do I hold losers?"),
        ("What's my win rate on longs in chop compared to shorts?", "What's my win rate on longs in chop compared…"),
        (
            "ok so I've been losing money on SOL longs every time the funding flips and I want to know why",
            "I've been losing money on SOL longs every time…",
        ),
    ],
)
def test_title_from_takes_the_first_sentence_that_says_something(message, title):
    assert title_from(message) == title


@given(st.text(max_size=300))
def test_title_from_any_text_is_one_short_line(message):
    title = title_from(message)

    assert title == one_line(title)
    assert len(title) <= MAX_LENGTH
    assert len(title.split()) <= MAX_WORDS
