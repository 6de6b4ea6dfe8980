import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.wording import MAX_CONTENT
from offline.statements import MAX_FACTS, passing_states, read_statements


def facts(message):
    return [statement.text for statement in read_statements(message)]


@pytest.mark.parametrize(
    ("message", "text", "topic", "confidence"),
    [
        ("I never trade alts.", "I never trade alts", "symbols", "asserted"),
        ("i only trade BTC and ETH", "I only trade BTC and ETH", "symbols", "asserted"),
        ("I don't take leverage above 5x", "I don't take leverage above 5x", "risk", "asserted"),
        ("I don’t take leverage above 5x", "I don’t take leverage above 5x", "risk", "asserted"),
        (
            "My goal is 2x in 6 months, no drawdown over 15%",
            "My goal is 2x in 6 months, no drawdown over 15%",
            "goal",
            "asserted",
        ),
        ("I want to grow this account 2x", "I want to grow this account 2x", "goal", "asserted"),
        ("I prefer short answers", "I prefer short answers", "style", "asserted"),
        ("Always answer in German", "Always answer in German", "style", "asserted"),
        ("I prefer limit orders", "I prefer limit orders", "", "asserted"),
        ("I usually trade 13:00-17:00 UTC", "I usually trade 13:00-17:00 UTC", "session", "asserted"),
        ("I don't hold over weekends", "I don't hold over weekends", "session", "asserted"),
        ("My name is Sam", "My name is Sam", "", "asserted"),
        ("I risk 1% per trade", "I risk 1% per trade", "risk", "asserted"),
        (
            "After two losses I stop trading for the day",
            "After two losses I stop trading for the day",
            "risk",
            "asserted",
        ),
        ("I have a $50k account", "I have a $50k account", "account", "asserted"),
        ("I pay capital gains tax in Germany", "I pay capital gains tax in Germany", "tax", "asserted"),
        ("I'm a swing trader based in Berlin", "I'm a swing trader based in Berlin", "", "asserted"),
        ("No alts.", "No alts", "symbols", "asserted"),
        ("Never more than 5x", "Never more than 5x", "risk", "asserted"),
        ("Don't suggest alts to me", "Don't suggest alts to me", "symbols", "asserted"),
        ("Hi Keel, by the way, I never trade alts!", "I never trade alts", "symbols", "asserted"),
        ("I seem to overtrade after losses", "I seem to overtrade after losses", "risk", "inferred"),
        ("I tend to exit too early", "I tend to exit too early", "", "inferred"),
        ("I think I prefer mean reversion", "I think I prefer mean reversion", "", "inferred"),
        ("Remember that I was born in 1980", "I was born in 1980", "", "asserted"),
        ("please remember: weekends are for the family", "Weekends are for the family", "session", "asserted"),
        ("Can you remember that I hate weekend trading?", "I hate weekend trading", "session", "asserted"),
        ("I am off now, please remember that I hate alts", "I hate alts", "symbols", "asserted"),
        ("Don't forget I pay tax in Spain", "I pay tax in Spain", "tax", "asserted"),
        ("Remember to always ask before suggesting alts", "Always ask before suggesting alts", "symbols", "asserted"),
    ],
)
def test_read_statements_keeps_what_lasts_in_the_users_words(message, text, topic, confidence):
    [statement] = read_statements(message)

    assert (statement.text, statement.topic, statement.confidence) == (text, topic, confidence)


@pytest.mark.parametrize(
    "message",
    [
        "Do I never trade alts?",
        "I never trade alts?",
        "Should I only trade BTC?",
        "What if I never trade alts",
        "If I never trade alts, I miss the best moves.",
        "Suppose I only trade BTC.",
        "I would never trade alts",
        "Remember when we talked about BTC?",
        "Do you remember that I never trade alts?",
        "I'm long 2 BTC",
        "I am currently short ETH and up 3%",
        "I just closed my ETH long",
        "I bought 2 BTC this morning",
        "My PnL this week is -300",
        "I never lost as much as today",
        "My stop is at 62k",
        "my target is 70k",
        "my account is down 5%",
        "my strategy is losing",
        "I only trade BTC this week",
        "I currently trade only at night",
        "I used to trade alts",
        "I never said that",
        "I always wanted to ask you something",
        "I don't like it",
        "I don't know what to do",
        "I want to know what funding is",
        "I want to see my positions",
        "I have a question",
        "I like the market",
        "My friend never trades alts",
        '"I never trade alts" is what he said',
        "> I never trade alts",
        "He told me: always buy the dip",
        "Buy 2 BTC now",
        "Never mind",
        "Hello",
        "",
        "?!",
    ],
)
def test_read_statements_leaves_the_rest_alone(message):
    assert facts(message) == []


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ("From now on, keep answers short", ["Keep answers short"]),
        ("From now on I risk at most 1 %", ["I risk at most 1 %"]),
        (
            "I never trade alts. I don't take leverage above 5x. What do you think?",
            ["I never trade alts", "I don't take leverage above 5x"],
        ),
        (
            "I never trade alts, I risk 1% per trade and my goal is to retire at 50",
            ["I never trade alts", "I risk 1% per trade", "My goal is to retire at 50"],
        ),
        ("Remember that I never trade alts and my cat is called Joe", ["I never trade alts", "My cat is called Joe"]),
        (
            "Remember these:\n- no alts\n- max 5x\n* my cat is called Joe\nWhat is funding?",
            ["No alts", "Max 5x", "My cat is called Joe"],
        ),
        ("I never trade alts. I NEVER trade alts!", ["I never trade alts"]),
        ("I live in Germany, e.g. for tax. I only trade BTC", ["I live in Germany, e.g. for tax", "I only trade BTC"]),
        ("I like momentum, but I don't like the market", ["I like momentum"]),
        ("When I lose twice, I stop trading for the day", ["When I lose twice, I stop trading for the day"]),
    ],
)
def test_read_statements_takes_several_from_one_message(message, texts):
    assert facts(message) == texts


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ("I love the cafe Linden in Berlin. Please remember that place", ["I love the cafe Linden in Berlin"]),
        ("My stop is always 2%. Don't forget that rule.", ["My stop is always 2%"]),
        ("I trade from 9 to 5. I use Kraken. Remember those", ["I trade from 9 to 5", "I use Kraken"]),
        ("I am tired today. Remember that.", []),
        ("Remember that place", []),
        ("Remember that hedging works for me", ["Hedging works for me"]),
    ],
)
def test_read_statements_keeps_what_a_request_points_back_to(message, texts):
    assert [statement.text for statement in read_statements(message)] == texts


@pytest.mark.parametrize(
    ("message", "is_correction"),
    [
        ("Actually my max leverage is 3x", True),
        ("No, my max leverage is 3x", True),
        ("Sorry, I meant my max leverage is 3x", True),
        ("Correction: my max leverage is 3x", True),
        ("My max leverage is 3x", False),
    ],
)
def test_read_statements_notices_a_correction(message, is_correction):
    [statement] = read_statements(message)

    assert (statement.text, statement.is_correction) == ("My max leverage is 3x", is_correction)


def test_read_statements_fits_the_tools_limits():
    [long] = read_statements("Remember that " + "I never trade alts and pairs " * 60)

    assert 400 < len(long.text) <= MAX_CONTENT
    assert long.text.endswith("…")
    assert facts("remember: ab") == []


def test_read_statements_takes_at_most_ten():
    assert len(facts(". ".join(f"I never trade coin{n}" for n in range(30)))) == MAX_FACTS


def test_passing_states_names_what_was_asked_but_does_not_last():
    assert passing_states("Remember that I'm long 2 BTC today. Remember that I hate alts.") == ["I'm long 2 BTC today"]


@given(st.text(max_size=300))
def test_read_statements_is_total(message):
    for statement in read_statements(message):
        assert 4 <= len(statement.text) <= MAX_CONTENT
        assert "\n" not in statement.text


@pytest.mark.parametrize(
    "text",
    [
        "Skip the small talk",
        "I have an IRA at Schwab",
        "Show amounts in euros",
        "Put the conclusion first",
        "My base currency is EUR",
        "I am new to options",
        "I use a screen reader",
        "Leave out the disclaimers",
    ],
)
def test_needs_accounts_and_wishes_for_answers_are_kept(text):
    assert facts(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Simulate 3x leverage on my May trades",
        "I read an article about staking.",
        "I heard about a new perp",
        "Show my trades in euros",
        "Skip the next trade",
        "Put the stop at 60k",
        "I never trade alts, just kidding",
    ],
)
def test_what_was_read_or_is_ordered_is_not_kept(text):
    assert facts(text) == []


@pytest.mark.parametrize("text", ["Compare my strategies", "rank my coins", "Give me my results per weekday"])
def test_order_for_own_figures_states_no_fact(text):
    assert list(read_statements(text)) == []
