from datetime import timedelta

import pytest

from config.lib.llm.tokens import estimate_tokens
from memory.recall.blocks import (
    Explanation,
    build_advisor_block,
    build_coach_block,
    build_companion_block,
    explain_facts,
)
from tests.factories.memory import JUNE, MAY
from tests.memory.blocks import block_fact

DAY = timedelta(days=1)
RENDERERS = {
    "coach": build_coach_block,
    "advisor": build_advisor_block,
    "companion": lambda facts, now: build_companion_block(facts, [], now=now),
}


def explain(facts, assistant: str) -> list[Explanation]:
    chosen = RENDERERS[assistant](facts, now=JUNE).fact_ids
    return explain_facts(facts, chosen=chosen, assistant=assistant, now=JUNE)


def reasons(facts, assistant: str) -> list[str]:
    return [explained.reason for explained in explain(facts, assistant)]


@pytest.mark.parametrize("assistant", RENDERERS)
@pytest.mark.parametrize(
    ("score", "days", "reason"),
    [
        (None, 900, "in the block"),
        (0.7, 0, "in the block"),
        (0.9, 90, "score: below 0.7, now 0.60"),
        (0.9, 900, "score: below 0.7, now 0.30"),
        (0.42, 0, "score: below 0.7, now 0.42"),
        (0.699, 0, "score: below 0.7, now 0.69"),
    ],
)
def test_explain_says_what_is_left_of_a_score(assistant, score, days, reason):
    assert reasons([block_fact(score=score, affirmed_at=JUNE - days * DAY)], assistant) == [reason]


def test_explain_facts_names_rank_beyond_the_coachs_ten():
    facts = [block_fact(number, score=0.5 if number == 3 else None) for number in range(13)]

    said = reasons(facts, "coach")

    assert said[3] == "score: below 0.7, now 0.50"
    assert said[11:] == ["rank: beyond your rules and the facts used last, 10 in all"] * 2
    assert [*said[:3], *said[4:11]] == ["in the block"] * 10


def test_explain_says_which_of_the_advisors_budgets_is_used_up():
    facts = [block_fact(number, category="response_style", line="x" * 397) for number in range(3)]
    facts += [block_fact(3, category="finance_context", line="x" * 397)]

    said = reasons(facts, "advisor")

    assert sorted(said[:3]) == ["budget: no room left in the 200 tokens of Response style", *["in the block"] * 2]
    assert said[3] == "in the block"


@pytest.mark.parametrize(
    ("assistant", "line"),
    [
        ("coach", "- [risk] Max 5x leverage (inferred)\n"),
        ("advisor", "- Max 5x leverage\n"),
        ("companion", "- [2026-05-01] Max 5x leverage\n"),
    ],
)
def test_explain_counts_the_tokens_of_the_line_as_the_face_draws_it(assistant, line):
    facts = [
        block_fact(1, topic="risk", line="Max 5x leverage", is_inferred=True, learned_at=MAY),
        block_fact(2, topic="risk", line="Max 5x leverage", is_inferred=True, learned_at=MAY, score=0.1),
    ]

    costs = [explained.tokens for explained in explain(facts, assistant)]

    assert costs == [estimate_tokens(line)] * 2  # what is out says what it would cost
