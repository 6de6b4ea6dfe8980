"""What a prompt costs with a provider's cache."""

from decimal import Decimal

import pytest

from trading.agent.context import STABLE_END
from trading.agent.cost import context_parts, sample_cost
from trading.skills.schemas import parse_payload
from trading.skills.templates import TEMPLATES

CACHING = "openrouter/anthropic/claude-haiku-4.5"


def cost_with(model=CACHING, **schedule):
    return sample_cost(parse_payload({**TEMPLATES["range_fade"], "model": model, **schedule}))


@pytest.fixture(autouse=True)
def _allowed(settings):
    settings.ALLOWED_MODELS = [CACHING, "openai/nobody-knows"]


def test_caching_makes_a_day_of_ticks_cheaper():
    cost = cost_with()

    assert cost.usd_per_day / 5 < cost.cached_usd_per_day < cost.usd_per_day / 2


def test_tick_as_rare_as_a_block_finds_only_tools_and_system_text_in_the_cache():
    often, seldom = cost_with(), cost_with(schedule={"type": "daily", "value": "13:30"})

    assert seldom.usd == often.usd
    assert often.cached_usd < seldom.cached_usd
    # The bars are written to the cache at each tick, which costs more than reading them.
    assert seldom.cached_usd > seldom.usd * Decimal("0.8")


def test_cost_with_caching_is_known_where_the_price_is():
    for model, usd in (("openai/nobody-knows", None), (None, 0)):
        cost = cost_with(model)
        assert (cost.usd_per_day, cost.cached_usd_per_day) == (usd, usd)


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
