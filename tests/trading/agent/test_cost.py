"""What a prompt costs with a provider's cache."""

from decimal import Decimal

import pytest

from config.lib.llm.door import Usage, cost_usd
from tests.factories.record import WHOLE
from tests.tables import each_case
from trading.agent.context import STABLE_END
from trading.agent.cost import MEMORY_HEADINGS, context_parts, sample_cost, stored_parts
from trading.skills.schemas import BuiltInTool, parse_payload
from trading.skills.templates import TEMPLATES

CACHING = "openrouter/anthropic/claude-haiku-4.5"


def cost_with(model=CACHING, **schedule):
    return sample_cost(parse_payload({**TEMPLATES["range_fade"], "model": model, **schedule}))


@pytest.fixture(autouse=True)
def _allowed(settings):
    settings.ALLOWED_MODELS = [CACHING, "openai/nobody-knows"]


def test_caching_makes_a_day_of_ticks_cheaper_where_the_price_is_known():
    cost = cost_with()

    assert cost.usd_per_day / 5 < cost.cached_usd_per_day < cost.usd_per_day / 2

    for model, usd in (("openai/nobody-knows", None), (None, 0)):
        cost = cost_with(model)
        assert (cost.usd_per_day, cost.cached_usd_per_day) == (usd, usd)


def test_tick_as_rare_as_a_block_finds_only_tools_and_system_text_in_the_cache():
    often, seldom = cost_with(), cost_with(schedule={"type": "daily", "value": "13:30"})

    assert seldom.usd == often.usd
    assert often.cached_usd < seldom.cached_usd
    # The bars are written to the cache at each tick, which costs more than reading them.
    assert seldom.cached_usd > seldom.usd * Decimal("0.8")


def test_parts_of_a_context_leave_out_the_mark_between_stable_and_changing():
    context = f"## Bars BTC 1h\n- none{STABLE_END}## Market\n- BTC\n\n## Tick\nNow: x\n"

    assert [part.name for part in context_parts(context)] == ["Bars BTC 1h", "Market", "Tick"]


def test_closes_of_a_part_are_those_of_its_bars_alone():
    for text, closes in (
        (
            "## Bars BTC 4h\n- 2026-11-23T08:00 1,200.5 1 2 1,189.25 10\n- 2026-11-23T12:00 9 9 9 0.5 0",
            ["1189.25", "0.5"],
        ),
        ("## Bars BTC 4h\n- none", []),
        ("## News\n- 2026-11-23T08:00 [wire] 1 2 3 4", []),
        ("## Bars BTC 4h\n- 2026-11-23T08:00 1 2 3 4.5.6 1", []),
    ):
        (part,) = context_parts(text)

        assert part.closes == [Decimal(close) for close in closes]


@each_case(
    "patch, is_less",
    [
        ({"memory": {"enabled": False}}, True),
        ({"memory": {"recent_trades_k": 3}}, True),
        ({"bars_lookback": 200}, False),
        ({"symbols": ["BTC", "ETH", "SOL"]}, False),
    ],
)
def test_sample_cost_follows_what_the_skill_asks_for(patch, is_less):
    usual = sample_cost(parse_payload(WHOLE))
    other = sample_cost(parse_payload({**WHOLE, "context": {**WHOLE["context"], **patch}}))

    assert (other.tokens < usual.tokens) is is_less
    assert other.tokens != usual.tokens
    assert usual.tokens_per_day == 24 * usual.tokens


def test_sample_cost_counts_the_tools_that_are_sent():
    few, all_of_them = (
        sample_cost(parse_payload({**WHOLE, "tools": {"built_in": tools}}))
        for tools in (["propose_order"], [tool.value for tool in BuiltInTool])
    )

    assert all_of_them.tokens > few.tokens
    assert all_of_them.memory_tokens == few.memory_tokens


def test_sample_cost_is_at_the_list_price_of_the_skills_own_model(settings):
    for model, is_known in (("openrouter/anthropic/claude-haiku-4.5", True), ("somebody/unheard-of", False)):
        settings.ALLOWED_MODELS = [model]
        cost = sample_cost(parse_payload({**WHOLE, "model": model}))
        price = cost_usd(model, Usage(prompt_tokens=cost.tokens_per_day, completion_tokens=0))
        assert (cost.model, cost.usd_per_day) == (model, price)
        assert (price is not None and price > 0) is is_known


def test_parts_of_a_stored_prompt_are_those_that_were_put_together():
    segments = {
        "HEADER": "You are an agent.\n\nTwo paragraphs.",
        "LEASH": "Leash: tight. Do it.",
        "STRATEGY": "# Strategy: Dips\nThesis: one\n\nDecide now and then",
        "LESSONS": "Lessons from your recent trades on this skill (auto-generated; signal, not strategy):\n- one",
        "FOOTER": "Decide now, by one call.",
    }

    parts = stored_parts("\n\n".join(segments.values()), has_lessons=True)

    assert {part.name: part.text for part in parts} == segments
    assert [part.name for part in parts if part.is_memory] == ["LESSONS"]
    assert "\n\n".join(part.text for part in stored_parts("of old", has_lessons=False)) == "of old"

    text = "## Tick\nNow\n\n" + "\n\n".join(f"## {heading}\n- one" for heading in MEMORY_HEADINGS) + "\n"

    assert [part.is_memory for part in context_parts(text)] == [False, True, True]
    assert context_parts("") == []
