import hashlib
import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.llm.tokens import estimate_tokens
from memory.facts.queries import get_block, iter_block_facts, list_places
from memory.models import FactCategory, Place, PlaceMention
from memory.recall.blocks import build_advisor_block, build_companion_block, build_empty_block
from tests.factories.memory import JUNE, MAY, UserFactFactory
from tests.memory.blocks import FACTS, LINES, assert_opens_nothing, block_fact, block_place, numbers

DAY = timedelta(days=1)
SAID = datetime(2024, 11, 20, 23, 59, tzinfo=UTC)


def long_fact(number: int, tokens: int, **values):
    """A fact whose line costs exactly so many estimated tokens."""
    return block_fact(number, line="x" * (4 * tokens - len("- \n")), **values)


# --- The advisor ---


def test_advisor_block_in_its_exact_bytes():
    facts = [
        block_fact(4, category="response_style", line="be concise; skip disclaimers"),
        block_fact(2, category="profile", line="time horizon: 10–15 years"),
        block_fact(3, category="finance_context", topic="account", line="no individual stocks (funds only)"),
        block_fact(1, category="profile", topic="risk", line="risk tolerance: moderate", is_inferred=True, score=0.7),
        block_fact(5, category="fact", line="wife's name is Sarah", is_inferred=True),
    ]

    block = build_advisor_block(facts, now=JUNE)

    assert block.text == (
        "## Your stored preferences\n"
        "### Profile\n"
        "- risk tolerance: moderate\n"
        "- time horizon: 10–15 years\n"
        "### Finance context\n"
        "- no individual stocks (funds only)\n"
        "### Response style\n"
        "- be concise; skip disclaimers\n"
        "### Facts\n"
        "- wife's name is Sarah"
    )
    assert numbers(block) == [1, 2, 3, 4, 5]
    assert block.sha256 == hashlib.sha256(block.text.encode()).hexdigest()


@pytest.mark.parametrize("facts", [[], [block_fact(score=0.69)]], ids=["none", "none that may be injected"])
@pytest.mark.parametrize("render", [build_advisor_block, lambda facts, now: build_companion_block(facts, [], now=now)])
def test_block_of_no_facts_is_no_section(render, facts):
    assert render(facts, now=JUNE) == build_empty_block()
    assert build_empty_block().text == ""


@pytest.mark.parametrize(
    ("category", "budget"), [("profile", 300), ("finance_context", 500), ("response_style", 200), ("fact", 500)]
)
def test_advisor_block_holds_what_fits_the_budget_of_a_category(category, budget):
    facts = [long_fact(number, 100, category=category) for number in range(8)]
    others = [
        block_fact(100 + index, category=other) for index, other in enumerate(FactCategory.values) if other != category
    ]

    block = build_advisor_block(facts + others, now=JUNE)

    fits = budget // 100
    assert len([number for number in numbers(block) if number < 100]) == fits
    assert block.text.endswith(f"\n\n{8 - fits} more stored; recall them with recall_preferences.")
    assert [number for number in numbers(block) if number >= 100] == [fact.id.int for fact in others]


def test_advisor_block_fills_a_budget_to_the_last_token():
    exact = [long_fact(1, 100, category="response_style"), long_fact(2, 100, category="response_style")]
    over = [exact[0], long_fact(2, 101, category="response_style")]

    assert numbers(build_advisor_block(exact, now=JUNE)) == [1, 2]
    assert len(numbers(build_advisor_block(over, now=JUNE))) == 1


def test_advisor_block_puts_explicit_facts_before_newer_learned_ones():
    said = [long_fact(number, 100, category="response_style", created_at=MAY) for number in (1, 2)]
    learned = long_fact(3, 100, category="response_style", score=1.0, is_inferred=True)

    assert numbers(build_advisor_block([learned, *said], now=JUNE)) == [1, 2]


def test_advisor_block_passes_over_a_line_that_is_too_long_for_what_is_left():
    facts = [
        long_fact(number, tokens, category="response_style", created_at=JUNE - number * DAY)
        for number, tokens in enumerate([120, 90, 80])
    ]

    assert numbers(build_advisor_block(facts, now=JUNE)) == [0, 2]


@given(FACTS, st.lists(st.sampled_from(FactCategory.values), min_size=4, max_size=4))
def test_nothing_in_a_fact_opens_a_line_or_a_section_of_the_advisors_block(said, categories):
    facts = [
        block_fact(number, category=category, **values)
        for number, (values, category) in enumerate(zip(said, categories, strict=False))
    ]

    block = build_advisor_block(facts, now=JUNE)

    used = {fact.category for fact in facts if fact.id in block.fact_ids}
    lines = block.text.splitlines()
    overflow = 2 * (len(block.fact_ids) < len(facts))
    assert len(lines) == bool(facts) + len(used) + len(block.fact_ids) + overflow
    assert len([line for line in lines if line.startswith("- ")]) == len(block.fact_ids)
    assert_opens_nothing(block.text, ["h2"] * bool(facts) + ["h3"] * len(used), lists=len(used))


@given(
    st.lists(st.tuples(st.sampled_from(FactCategory.values), st.integers(1, 500), st.sampled_from([None, 0.9]))),
    st.randoms(),
)
def test_advisor_block_keeps_its_budgets_and_gives_the_same_bytes_in_any_order(rows, shuffler):
    facts = [
        block_fact(number, category=category, line="y" * length, score=score)
        for number, (category, length, score) in enumerate(rows)
    ]

    block = build_advisor_block(facts, now=JUNE)

    assert build_advisor_block(shuffler.sample(facts, len(facts)), now=JUNE) == block
    for category in FactCategory:
        said = [f"- {fact.line}" for fact in facts if fact.category == category and fact.id in block.fact_ids]
        assert estimate_tokens("\n".join(said)) <= category.tokens


# --- The companion ---


def test_companion_block_in_its_exact_bytes():
    facts = [
        block_fact(3, line="User lives in Seattle", learned_at=SAID + 3 * DAY),
        block_fact(1, line="User's name is Alex", topic="name", learned_at=SAID),
        block_fact(2, line="User prefers morning workouts", learned_at=SAID + 2 * DAY, score=0.7, is_inferred=True),
    ]
    places = [
        block_place("Home", "123 Main St, Seattle", conversations=3),
        block_place("Work", conversations=1),
        block_place("Pike Place", "for lunch", conversations=0),
    ]

    block = build_companion_block(facts, places, now=JUNE)

    assert block.text == (
        "USER'S STORED MEMORIES:\n"
        "- [2024-11-20] User's name is Alex\n"
        "- [2024-11-22] User prefers morning workouts\n"
        "- [2024-11-23] User lives in Seattle\n"
        "\n"
        "PLACES OF INTEREST:\n"
        "- Home: 123 Main St, Seattle (mentioned in 3 conversations)\n"
        "- Work (mentioned in 1 conversation)\n"
        "- Pike Place: for lunch (mentioned in 0 conversations)"
    )
    assert numbers(block) == [1, 2, 3]
    assert block.sha256 == hashlib.sha256(block.text.encode()).hexdigest()


def test_companion_block_breaks_a_tie_by_id():
    assert numbers(build_companion_block([block_fact(number) for number in (3, 1, 2)], [], now=JUNE)) == [1, 2, 3]


@given(FACTS, st.lists(st.tuples(LINES, LINES), max_size=3))
def test_nothing_in_a_fact_or_a_place_opens_a_line_or_a_section_of_the_companions_block(said, visited):
    facts = [block_fact(number, **values) for number, values in enumerate(said)]
    places = [block_place(name, notes) for name, notes in visited]

    text = build_companion_block(facts, places, now=JUNE).text

    sections = bool(facts) + bool(places)
    lines = text.splitlines()
    assert len(lines) == len(facts) + len(places) + sections + (sections == 2)
    assert len([line for line in lines if line.startswith("- ")]) == len(facts) + len(places)
    assert [line for line in lines if line and not line.startswith("- ")] == (
        ["USER'S STORED MEMORIES:"] * bool(facts) + ["PLACES OF INTEREST:"] * bool(places)
    )
    assert_opens_nothing(text, [], lists=sections)


# --- From rows ---


def rendered(now=JUNE):
    """The advisor's and the companion's blocks."""
    return (
        build_advisor_block(iter_block_facts(now), now=now),
        build_companion_block(iter_block_facts(now), list_places("added_at"), now=now),
    )


def add_place(name: str, added_at=MAY, **values) -> Place:
    return Place.objects.create(place_id=name.lower(), name=name, added_at=added_at, updated_at=added_at, **values)


def mention(place: Place, conversation: str, message: str) -> None:
    PlaceMention.objects.create(
        place=place, conversation_ref=conversation, message_ref=message, mentioned_at=place.added_at
    )


@pytest.mark.parametrize(
    "state", [{"archived": True}, {"ended": True}, {"begins_later": True}, {"learned": True, "score": 0.69}]
)
def test_blocks_hold_only_what_a_prompt_may_carry(as_trader, state):
    UserFactFactory(**state)

    assert [block.text for block in rendered()] == ["", ""]


def test_companion_dates_a_corrected_fact_by_when_its_lineage_was_learned(as_trader):
    UserFactFactory(content="User lives in Portland", created_at=JUNE, learned_at=MAY)

    assert rendered()[1].text.endswith("- [2026-05-01] User lives in Portland")


def test_take_candidates_of_many_facts_gives_the_block_of_all(as_trader):
    words = random.Random(3)
    for number in range(130):
        UserFactFactory(
            content=f"{number} " + "x" * words.randint(2, 90),
            category=words.choice(FactCategory.values),
            created_at=JUNE - timedelta(minutes=words.randint(0, 60)),
        )

    block = get_block("advisor", JUNE)

    whole = build_advisor_block(iter_block_facts(JUNE), now=JUNE)
    assert (block.text, block.fact_ids) == (whole.text, whole.fact_ids)
