"""The judge of contradictions, pinned by a table."""

from itertools import permutations

import pytest

from config.lib.words.compile import compile_rule
from memory.claims.judge import judge_change, may_turn
from memory.claims.subjects import read_subject
from tests.config.lib.words.rule_cases import WITHIN
from tests.memory.claims.change_cases import BESIDE, COMPATIBLE, EXCLUSIVE, NOT_KNOWN, OPPOSITES, TURNS
from tests.memory.claims.subject_cases import NEAR, PAIRS, REPEATS

HOLD_TOGETHER = {"symbols", "hours", "days", "events"}  # kinds of which two rules may hold at a time


@pytest.mark.parametrize(("old", "new", "verdict"), PAIRS, ids=[f"{old} | {new}" for old, new, _ in PAIRS])
def test_judge_change_compares_a_known_line_with_a_new_one(old, new, verdict):
    assert judge_change(old, new) == verdict


@pytest.mark.parametrize("text", sorted({text for pair in PAIRS for text in pair[:2]}))
def test_judge_change_calls_a_line_and_itself_the_same(text):
    assert judge_change(text, text) == "same"


@pytest.mark.parametrize(("one", "other"), REPEATS)
def test_judge_change_knows_one_thing_in_two_wordings(one, other):
    assert (judge_change(one, other), judge_change(other, one)) == ("same", "same")


@pytest.mark.parametrize(("one", "other"), NEAR)
def test_judge_change_tells_two_things_in_nearly_the_same_words_apart(one, other):
    assert "same" not in {judge_change(one, other), judge_change(other, one)}


def test_read_subject_of_a_line_without_words_has_no_key():
    assert read_subject("This is what it is").key == ""


@pytest.mark.parametrize(("one", "other"), [*COMPATIBLE, *BESIDE])
def test_judge_change_replaces_nothing_that_holds_beside_a_statement(one, other):
    assert judge_change(one, other) in {"apart", "unsure"}


def test_judge_change_asks_of_few_lines_that_hold_together():
    assert sum(judge_change(*pair) == "unsure" or may_turn(*pair) for pair in [*COMPATIBLE, *BESIDE]) <= 7


@pytest.mark.parametrize(("pairs", "most"), [(EXCLUSIVE, 2), (OPPOSITES[::2], 1), (OPPOSITES[1::2], 5)])
def test_judge_change_replaces_or_asks_where_both_cannot_hold(pairs, most):
    missed = [pair for pair in pairs if judge_change(*pair) not in {"replaces", "unsure"}]

    assert len(missed) <= most, missed


@pytest.mark.parametrize(("pairs", "most"), [(TURNS[::2], 0), (TURNS[1::2], 2)], ids=["tuned", "unseen"])
def test_what_ends_or_resumes_is_replaced_or_asked(pairs, most):
    missed = [pair for pair in pairs if judge_change(*pair) not in {"replaces", "unsure"} and not may_turn(*pair)]

    assert len(missed) <= most, missed


@pytest.mark.parametrize(("one", "other"), NOT_KNOWN)
def test_judge_change_never_knows_an_end_already(one, other):
    assert judge_change(one, other) != "same"


def test_two_limits_of_one_kind_are_never_both_held_without_a_question():
    """Every ordered pair of the labelled rules."""
    rules = {text: compile_rule(text, zone="UTC") for text, _ in WITHIN}
    limits = [text for text, rule in rules.items() if rule.kind not in HOLD_TOGETHER]
    pairs = [
        (one, other)
        for one, other in permutations(limits, 2)
        if rules[one].kind == rules[other].kind and rules[one] != rules[other]
    ]

    assert len(pairs) > 60
    found = {rules[one].kind: (one, other) for one, other in pairs if judge_change(one, other) in {"apart", "same"}}
    assert not found, (
        f"both hold, of {found}: give the kind `limits` or `name_subject` in config/lib/words/rules.py, or a place in"
        " HOLD_TOGETHER"
    )


@pytest.mark.parametrize(
    ("known", "new", "may"),
    [
        ("I review my trades on Sundays", "I review my trades on Mondays from now on", True),
        ("I sit out two nights a week", "From now on I sit out three nights a week", True),
        ("My night alarm is off", "I now have a second screen", False),
        ("I review my trades on Sundays", "I review my trades on Mondays", False),  # no word of change
        ("I review my trades on Sundays", "Now I also review my trades on Mondays", False),
        ("I risk 1% of the account", "My wife now risks 2% of the account", False),
    ],
)
def test_word_of_change_may_mean_a_line_of_the_same_nouns(known, new, may):
    assert (judge_change(known, new) in {"replaces", "unsure"} or may_turn(known, new)) is may
