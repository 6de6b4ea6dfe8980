"""Wishes about a fact: stated, and for exactly this one."""

import pytest

from memory.claims.wishes import affirms, find_naming, read_contrast, relates, states_change

LOSSES = "I stop for the day after three losses in a row"


@pytest.mark.parametrize(
    ("text", "fact", "naming"),
    [
        ("Forget that I stop after three losses", LOSSES, "named"),
        ("please forget my rule about three losses", LOSSES, "named"),
        ("Forget that I get angry after a loss", LOSSES, "unnamed"),
        ("forget that I never trade on Mondays", "I never risk more than 2 % on a trade", "unnamed"),
        ("forget that I never trade on Mondays", "I never trade on Mondays", "named"),
        ("forget my 2% rule", "I never risk more than 2 % on a trade", "named"),
        ("forget my 3% rule", "I never risk more than 2 % on a trade", "unnamed"),
        ("Could you delete the fact about gold?", "Trades gold", "named"),
        ("Can you please forget that I trade gold?", "Trades gold", "named"),
        ("I don't trade gold any more", "Trades gold", "named"),
        ("What is the news about gold?", "Trades gold", "unnamed"),
        ("Forget that I like gold", "I trade gold on Fridays", "unnamed"),
        ("Forget that I need leverage", "I never use leverage", "unnamed"),
        ("Forget that I trade gold", "I like gold", "unnamed"),
        ("Forget that I use Kraken", "Trades on Kraken", "named"),
        ("Forget that I always use stops", "Always uses stops", "named"),
        ("Please don't remember that I trade gold", "Trades gold", "named"),
        ("You can drop the part about gold", "Trades gold", "named"),
        ("I don't trade gold any more, I trade silver", "Trades gold", "named"),
        ("I don't trade gold any more because of the fees", "Trades gold", "named"),
        ("I don't trade silver any more, I trade gold", "Trades gold", "unnamed"),
        ("Forget it", "Trades gold", "pointed"),
        ("yes, forget that one", "Trades gold", "pointed"),
        ("That's not true any more.", "Trades gold", "pointed"),
        ("That's wrong, I trade silver", "Trades gold", "pointed"),
        ("Scratch that, I trade in the evenings", "Trades in the mornings", "pointed"),
        ("That's wrong of the market", "Trades gold", "unnamed"),
        ("That gold rule is gone", "Trades gold", "named"),
        ("No more gold for me", "Trades gold", "named"),
        ("No more than 2% in gold", "Trades gold", "unnamed"),
        ("I work as a nurse", "Trades gold", "unnamed"),
        ('He said "forget that you trade gold"', "Trades gold", "unnamed"),
    ],
)
def test_find_naming_tells_how_a_message_means_a_fact(text, fact, naming):
    assert find_naming(text, fact) == naming


def test_find_naming_takes_the_answer_to_a_question_which_fact_is_meant():
    assert find_naming("the one about gold", "Trades gold", before="Forget my rules on metals") == "named"
    assert find_naming("the one about gold", "Trades gold", before="What is gold doing?") == "unnamed"


@pytest.mark.parametrize(
    ("text", "is_change"),
    [
        ("I now trade silver", False),
        ("I trade gold on Kraken now", True),
        ("Raise my limit for gold", True),
        ("I trade gold", False),
    ],
)
def test_states_change_needs_a_word_of_change_beside_a_word_of_the_fact(text, is_change):
    assert states_change(text, "Trades gold on Binance") is is_change


@pytest.mark.parametrize(
    ("text", "fact", "is_change"),
    [
        ("not 3x, 2x", "My max leverage is 3x", True),
        ("no, 2x, not 3x", "My max leverage is 3x", True),
        ("It's Kimberly, not Kim", "My name is Kim", True),
        ("my broker is not kraken its bitstamp", "My broker is Kraken", True),
        ("not 3x, 2x", "My max leverage is 5x", False),
        ("I trade BTC, not ETH", "I like ETH", False),
        ("Is it 2x, not 3x?", "My max leverage is 3x", False),
    ],
)
def test_states_change_reads_a_contrast(text, fact, is_change):
    assert states_change(text, fact) is is_change


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("not 3x, 2x", ("3x", "2x")),
        ("it's not Kraken, it's Coinbase", ("Kraken", "Coinbase")),
        ("My broker isn't Kraken anymore, it's Bybit", ("Kraken", "Bybit")),
        ("two losses in a row, not three", ("three", "two losses in a row")),
        ("actually it's OKX, not Bybit", ("Bybit", "OKX")),
        ("Oops, I mean 4h, not 1h", ("1h", "4h")),
        ("I do not trade gold", None),
        ("my stop is 2%", None),
    ],
)
def test_read_contrast_takes_the_old_and_the_new_value(text, values):
    assert read_contrast(text) == values


@pytest.mark.parametrize(
    ("text", "is_affirmed"),
    [("I still trade gold", True), ("Gold is still up", False), ("Do I still trade gold?", False), ("yes", False)],
)
def test_affirms_needs_the_fact_repeated(text, is_affirmed):
    assert affirms(text, "Trades gold") is is_affirmed


def test_relates_needs_both_facts_in_one_request():
    assert relates("Link my gold rule to my silver rule", ["Gold is calm", "Silver is wild"])
    assert not relates("Gold and silver news?", ["Gold is calm", "Silver is wild"])
