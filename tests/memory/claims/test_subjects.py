"""The judge of contradictions, pinned by a table."""

import pytest

from memory.claims.subjects import judge_change, read_subject
from tests.memory.claims.subject_cases import NEAR, PAIRS, REPEATS


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
