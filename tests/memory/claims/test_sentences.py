"""The sentence that a person typed for a line that words it otherwise."""

import pytest

from memory.claims.support import TypedMessage, find_sentence, locate_quotes, read_quote

# What the user typed, and the model's wording of it. The first half was seen while the reader was written.
TUNED = [
    ("I trade the New York session.", "Trades the NY session"),
    ("I never hold anything over the weekend, ever.", "Closes positions before weekends"),
    ("My account is about 25k dollars", "Account size of $25,000"),
    ("I'm 34 and I work nights as a nurse.", "Age: 34, nurse"),
    ("Hi Keel! I only touch BTC and ETH.", "Restricted to BTC and ETH"),
    ("Remember that I keep my stops at 2%.", "Uses a 2% stop loss"),
    ("I get nervous after two losses and start revenge trading.", "Prone to revenge trading after losses"),
    ("My wife and I save for a house by 2029.", "Goal: house purchase in 2029"),
    ("By the way, I pay 26% tax on gains in Italy.", "Tax rate on gains is 26%"),
    ("I journal every evening after the close.", "Writes a journal daily"),
]
UNSEEN = [
    ("I like short answers without caveats.", "Prefers concise answers"),
    ("I risk half a percent per trade.", "Risk per trade is 0.5%"),
    ("Any news? Also, I moved my account to Kraken last month.", "Account is at Kraken now"),
    ("I don't short meme coins.", "Avoids shorting meme coins"),
    ("We live in Lisbon with our two kids.", "Lives in Lisbon"),
    ("I stop trading for the day after three losses.", "Daily stop after 3 losses"),
    ("I use TradingView for my charts and nothing else.", "Charts with TradingView"),
    ("My leverage tops out at 4x.", "Leverage is at most 4x"),
    ("I'd like to say that my broker is IBKR.", "Broker: IBKR"),
    ("I am learning to trade options this year.", "Currently studying options trading"),
]
# Sentences that a line must not be taken from: in doubt, denied by what follows, supposed, asked, or of somebody else.
FOREIGN = [
    ("I use 100x leverage. Just kidding.", "Uses 100x leverage"),
    ("I use 100x leverage lol. Not really.", "Uses 100x leverage"),
    ("I dreamt that I use 100x leverage.", "Uses 100x leverage"),
    ("If I was rich I would use 100x leverage.", "Uses 100x leverage"),
    ("I would be a fool to use 100x leverage.", "Uses 100x leverage"),
    ("Should I use 100x leverage?", "Uses 100x leverage"),
    ("Dan: I use 100x leverage", "Uses 100x leverage"),
    ("She told me I use 100x leverage too rarely.", "Uses 100x leverage"),
    ('My friend says "I use 100x leverage".', "Uses 100x leverage"),
    ("You could use 100x leverage.", "Uses 100x leverage"),
    ("I wish I could use 100x leverage.", "Uses 100x leverage"),
    ("I might use 100x leverage.", "Uses 100x leverage"),
    ("I use 100x leverage in my paper account.", "Uses 100x leverage"),
    ("I use leverage.", "Uses 100x leverage"),
    ("I read the news every day.", "Uses 100x leverage"),
    ("I used to use 100x leverage.", "Uses 100x leverage"),
]


def find(content: str, *typed: str) -> str | None:
    messages = [TypedMessage(pk, text) for pk, text in enumerate(typed, 1)]
    quote = find_sentence(content, messages)
    return read_quote(quote, messages) if quote is not None else None


@pytest.mark.parametrize("cases", [TUNED, UNSEEN], ids=["tuned", "unseen"])
def test_find_sentence_finds_what_a_line_words_otherwise(cases):
    lost = []
    for typed, content in cases:
        messages = [TypedMessage(1, "Hello, what is new?"), TypedMessage(2, typed), TypedMessage(3, "And the news?")]
        by_words = find_sentence(content, messages)
        by_quote = find_sentence(content, messages, quotes=locate_quotes([typed], messages))
        if by_words is None or by_quote is None:
            lost.append((typed, by_words, by_quote))

    assert len(lost) <= 1, lost


@pytest.mark.parametrize(("typed", "content"), FOREIGN)
def test_find_sentence_takes_no_word_that_does_not_state(typed, content):
    messages = [TypedMessage(1, typed)]

    assert find(content, typed) is None
    assert find_sentence(content, messages, quotes=locate_quotes([typed], messages)) is None


def test_find_sentence_returns_the_users_order_for_swapped_figures():
    assert find("My stop is 10%, my target 2%", "My stop is 2% and my target is 10%. Any news?") == (
        "My stop is 2% and my target is 10%"
    )


def test_find_sentence_takes_the_newest_of_two_messages_and_none_of_two_in_one():
    assert find("Trades gold", "I trade gold at night.", "I trade gold by day.") == "I trade gold by day"
    assert find("Trades gold", "I trade gold at night. I trade gold by day.") is None


def test_read_quote_cuts_prefaces():
    assert find("Uses a 2% stop", "By the way, remember that I keep my stops at 2%.") == "I keep my stops at 2%"
