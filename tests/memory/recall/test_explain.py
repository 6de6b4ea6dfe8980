from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.llm.tokens import estimate_tokens
from memory.facts.queries import explain_block, iter_block_facts
from memory.recall.blocks import build_advisor_block, build_coach_block, build_companion_block, explain_facts
from tests.factories.memory import JUNE, MAY, UserFactFactory
from tests.memory.blocks import CATEGORIES, block_fact

DAY = timedelta(days=1)
RENDERERS = {
    "coach": build_coach_block,
    "advisor": build_advisor_block,
    "companion": lambda facts, now: build_companion_block(facts, [], now=now),
}


def reasons(facts, assistant: str) -> list[str]:
    return [explained.reason for explained in explain_facts(facts, assistant=assistant, now=JUNE)]


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
    assert said[11:] == ["rank: beyond the 10 most recently referenced"] * 2
    assert [*said[:3], *said[4:11]] == ["in the block"] * 10


def test_explain_says_which_of_the_advisors_budgets_is_used_up():
    facts = [block_fact(number, category="response_style", line="x" * 397) for number in range(3)]
    facts += [block_fact(3, category="finance_context", line="x" * 397)]

    said = reasons(facts, "advisor")

    assert sorted(said[:3]) == ["budget: no room left in the 200 tokens of Response style", *["in the block"] * 2]
    assert said[3] == "in the block"


def test_explain_facts_includes_every_fact_for_the_companion():
    assert reasons([block_fact(number, line="x" * 500) for number in range(30)], "companion") == ["in the block"] * 30


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

    costs = [explained.tokens for explained in explain_facts(facts, assistant=assistant, now=JUNE)]

    assert costs == [estimate_tokens(line)] * 2  # what is out says what it would cost


SCORES = st.none() | st.floats(0, 1)
ROWS = st.lists(st.tuples(st.sampled_from(CATEGORIES), st.integers(1, 500), SCORES), max_size=30)


@pytest.mark.parametrize("assistant", RENDERERS)
@given(rows=ROWS)
def test_explain_and_the_block_agree(assistant, rows):
    facts = [
        block_fact(number, category=category, line="y" * length, score=score)
        for number, (category, length, score) in enumerate(rows)
    ]

    explained = explain_facts(facts, assistant=assistant, now=JUNE)

    assert [each.fact_id for each in explained] == [fact.id for fact in facts]
    assert {each.fact_id for each in explained if each.is_in} == set(RENDERERS[assistant](facts, now=JUNE).fact_ids)
    assert all(each.is_in == (each.reason == "in the block") for each in explained)


@pytest.mark.parametrize("assistant", RENDERERS)
def test_explain_block_covers_the_owners_current_facts_only(assistant, strangers_fact, as_trader):
    weak = UserFactFactory(learned=True, score=0.4, valid_from=JUNE, last_referenced_at=MAY + DAY)
    fact = UserFactFactory(last_referenced_at=MAY)
    UserFactFactory(archived=True)
    UserFactFactory(begins_later=True)

    explained = explain_block(assistant=assistant, now=JUNE)

    assert [(each.fact_id, each.reason) for each in explained] == [
        (weak.pk, "score: below 0.7, now 0.40"),
        (fact.pk, "in the block"),
    ]


@pytest.mark.parametrize("assistant", RENDERERS)
def test_explain_block_is_about_the_block_that_the_next_chat_gets(assistant, as_trader):
    for number in range(40):
        UserFactFactory(
            content=f"{number} " + "x" * 200, category=CATEGORIES[number % 4], last_referenced_at=MAY + number * DAY
        )

    explained = explain_block(assistant=assistant, now=JUNE)

    block = RENDERERS[assistant](iter_block_facts(JUNE), now=JUNE)
    assert {each.fact_id for each in explained if each.is_in} == set(block.fact_ids)
    assert len(explained) == 40
