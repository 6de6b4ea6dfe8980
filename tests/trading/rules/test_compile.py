import pytest

from tests.trading.rules.cases import OUTSIDE, TRAPS, WITHIN, ZONE
from trading.rules.compile import Refusal, compile_rule


@pytest.mark.parametrize(("words", "rule"), WITHIN)
def test_compile_rule_reads_a_rule_of_the_grammar(words, rule):
    assert compile_rule(words, zone=ZONE) == rule


@pytest.mark.parametrize("words", [*OUTSIDE, *TRAPS])
def test_compile_rule_refuses_with_a_reason_outside_of_the_grammar(words):
    read = compile_rule(words, zone=ZONE)
    assert isinstance(read, Refusal), read
    assert read.reason.endswith(".")
