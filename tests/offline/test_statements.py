import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.wording import MAX_CONTENT
from offline.statements import MAX_FACTS, passing_states, read_statements
from tests.offline.sets import SETS, pairs


def facts(message):
    return [statement.text for statement in read_statements(message)]


def test_read_statements_keeps_what_lasts_in_the_users_words():
    found = {
        text: [
            f"{one.text} | {one.topic or '-'} | {'inferred' if one.inferred else 'asserted'}"
            for one in read_statements(text)
        ]
        for text in pairs("read: kept")
    }

    assert found == {text: [wanted] for text, wanted in pairs("read: kept").items()}


def test_read_statements_leaves_the_rest_alone():
    assert {text: facts(text) for text in ["", *SETS["read: left"]] if facts(text)} == {}


def test_read_statements_takes_each_of_one_message():
    rows = {text: wanted.split(" / ") if wanted != "-" else [] for text, wanted in pairs("read: several").items()}
    rows["Remember these:\n- no alts\n- max 5x\n* my cat is called Joe\nWhat is funding?"] = [
        "No alts",
        "Max 5x",
        "My cat is called Joe",
    ]

    assert {text: facts(text) for text in rows} == rows


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
