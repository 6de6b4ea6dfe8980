import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.words.compile import Refusal, compile_rule
from config.lib.words.rules import KINDS, dump_rule, parse_rule
from tests.config.lib.words.rule_cases import OUTSIDE, TRAPS, WITHIN, ZONE


@pytest.mark.parametrize(("words", "rule"), WITHIN)
def test_compile_rule_reads_a_rule_of_the_grammar(words, rule):
    assert compile_rule(words, zone=ZONE) == rule


@pytest.mark.parametrize("words", [*OUTSIDE, *TRAPS])
def test_compile_rule_refuses_with_a_reason_outside_of_the_grammar(words):
    read = compile_rule(words, zone=ZONE)
    assert isinstance(read, Refusal), read
    assert read.reason.endswith(".")


WORDS = sorted({word for text in [*OUTSIDE, *TRAPS, *(text for text, _ in WITHIN)] for word in text.split()})


@given(st.one_of(st.text(), st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)))
def test_compile_rule_of_any_text_never_raises(text):
    read = compile_rule(text, zone=ZONE)
    if not isinstance(read, Refusal):
        assert parse_rule(dump_rule(read)) == read
        assert read.describe()


@pytest.mark.parametrize("text", [text for text, _ in WITHIN])
def test_compile_rule_with_a_foreign_word_refuses(text):
    """Each content word has to be accounted for, wherever it stands."""
    words = text.split()
    for place in range(len(words) + 1):
        read = compile_rule(" ".join([*words[:place], "zebra", *words[place:]]), zone=ZONE)
        assert isinstance(read, Refusal), (place, read)


def test_cases_have_each_kind_of_rule():
    missing = {*KINDS} - {rule.kind for _, rule in WITHIN}

    assert not missing, f"{sorted(missing)}: write its sentences in WITHIN of rule_cases.py, those near it in TRAPS"


@pytest.mark.parametrize(("_", "rule"), WITHIN)
def test_describe_names_limits_and_symbols(_, rule):
    """What the owner confirms names every part of the rule."""
    text, payload = rule.describe(), dump_rule(rule)
    assert str(payload.get("limit", "")) in text
    assert all(symbol in text for symbol in payload.get("symbols", []))
