"""The sentence that a person typed for a line that words it otherwise."""

import pytest

from memory.claims.sentences import find_untyped, read_request, swap_value, word_content, word_quoted
from memory.claims.support import list_messages

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
    ("I use leverage.", "Uses 100x leverage"),
    ("I read the news every day.", "Uses 100x leverage"),
    ("I used to use 100x leverage.", "Uses 100x leverage"),
]


def find(content: str, *typed: str) -> str | None:
    wording = word_content(content, list_messages(enumerate(typed, 1)))
    return wording.text if wording is not None else None


@pytest.mark.parametrize("cases", [TUNED, UNSEEN], ids=["tuned", "unseen"])
def test_word_content_finds_what_a_line_words_otherwise(cases):
    lost = []
    for typed, content in cases:
        messages = list_messages([(1, "Hello, what is new?"), (2, typed), (3, "And the news?")])
        if word_content(content, messages) is None or word_quoted(content, [typed], messages)[0] is None:
            lost.append(typed)

    assert len(lost) <= 1, lost


@pytest.mark.parametrize(("typed", "content"), FOREIGN)
def test_word_content_takes_no_word_that_does_not_state(typed, content):
    wording, _ = word_quoted(content, [typed], list_messages([(1, typed)]))

    assert find(content, typed) in (None, "I read the news every day")
    assert wording is None or "100x" not in wording.text


def test_word_content_returns_the_users_order_for_swapped_figures():
    assert find("My stop is 10%, my target 2%", "My stop is 2% and my target is 10%. Any news?") == (
        "My stop is 2% and my target is 10%"
    )


def test_word_content_keeps_the_scope_of_a_sentence():
    typed = "I use 100x leverage in my paper account."

    assert find("Uses 100x leverage", typed) == "I use 100x leverage in my paper account"


def test_word_content_takes_the_newest_of_two_messages_and_none_of_two_in_one():
    assert find("Trades gold", "I trade gold at night.", "I trade gold by day.") == "I trade gold by day"
    assert find("Trades gold", "I trade gold at night. I trade gold by day.") is None


def test_word_content_cuts_prefaces_at_the_ends_only():
    assert find("Uses a 2% stop", "By the way, remember that I keep my stops at 2%, please.") == "I keep my stops at 2%"


@pytest.mark.parametrize(
    ("content", "typed", "untyped"),
    [
        ("Risks 0.5% per trade", "I risk 50 basis points.", []),
        ("Holds for 48 hours", "I hold for two days.", []),
        ("No trades after 18:00", "I stop at six in the evening.", []),
        ("No trades after 20:00", "I stop at 8 pm.", []),
        ("Account of $25,000", "My account is 25k dollars.", []),
        ("RiskManagement: maxLeverage: 100", "Remember that I never risk more than 1 %", ["100"]),
        ("Risks 2% per trade", "I risk 2 dollars per trade.", ["2%"]),
        ("No trades after 19:00", "I stop at six in the evening.", ["19:00"]),
        ("Trades one session", "I trade the London session.", []),
    ],
)
def test_find_untyped_compares_numbers_by_value_and_unit(content, typed, untyped):
    assert find_untyped(content, list_messages([(1, typed)])) == untyped


@pytest.mark.parametrize(
    ("line", "text", "swapped"),
    [
        ("My max leverage is 3x", "Change that to 2x.", "My max leverage is 2x"),
        ("My max leverage is 3x", "2", "My max leverage is 2x"),
        ("I risk 1% per trade", "make it 2%", "I risk 2% per trade"),
        ("I risk 1% per trade", "2x", None),
        ("I risk 1% per trade", "BTC fell 2%", None),
        ("I risk 1% on 3 trades", "2", None),
    ],
)
def test_swap_value_puts_an_answer_into_the_known_line(line, text, swapped):
    assert swap_value(line, text) == swapped


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Remember that I never trade alts.", "I never trade alts"),
        ("How was my week? And please remember that I trade from Lisbon, thanks!", "I trade from Lisbon"),
        ("From now on answer me briefly", "From now on answer me briefly"),
        ("", ""),
    ],
)
def test_read_request_returns_what_is_asked_to_be_remembered(text, wanted):
    assert read_request(text) == wanted
