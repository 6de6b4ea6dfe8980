from decimal import Decimal
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.words.markets import CalendarKind
from trading.models.choices import INTERVALS
from trading.skills.patches import BASICS, BLOCKS, default_payload, list_changes, merge_patch, parse_partial
from trading.skills.schemas import (
    BuiltInTool,
    Interval,
    MemoryDial,
    PayloadInvalid,
    ProposedOrder,
    Schedule,
    list_problems,
    parse_block,
    parse_payload,
)
from trading.skills.templates import TEMPLATES, TemplateUnknown, apply_template

WHOLE = {
    "name": "BTC dips",
    "trading_style": "swing",
    "strategy": {"thesis": "Dips are bought"},
    "context": {"symbols": ["BTC"]},
}


def test_intervals_kinds_of_events_and_tools_are_those_that_were_settled():
    assert list(INTERVALS) == list(get_args(Interval))
    assert list(INTERVALS.values()) == sorted(INTERVALS.values())
    settled = "fomc cpi nfp ppi gdp token_unlock options_expiry upgrade other"
    assert [kind.value for kind in CalendarKind] == settled.split()
    # The agent has no tool for memory.
    assert [tool for tool in BuiltInTool if any(word in tool for word in ("memory", "trade", "lesson"))] == []


def test_payload_takes_both_spellings_and_stores_one():
    camel = {
        "name": "BTC dips",
        "tradingStyle": "swing",
        "maxSteps": 4,
        "strategy": {"thesis": "Dips are bought", "riskManagement": "Small"},
        "context": {"symbols": ["BTC"], "barsLookback": 60, "memory": {"recentTradesK": 3}},
        "risk": {"maxPositionPct": 12.5},
        "tools": {"builtIn": ["propose_order"], "mcpServers": []},
    }

    payload = parse_payload(camel)

    assert (payload.max_steps, payload.context.memory.recent_trades_k) == (4, 3)
    assert payload.risk.max_position_pct == Decimal("12.5")
    assert parse_payload(payload.stored()) == payload
    assert "bars_lookback" in payload.stored()["context"]


def test_memory_dial_has_the_seeds_defaults_and_shows_trades_if_enabled_and_above_zero():
    dial = parse_payload(WHOLE).context.memory

    assert (dial.enabled, dial.recent_trades_k, dial.include_open_positions) == (True, 10, True)
    cadence = dial.reflection
    assert (cadence.cadence, cadence.every_n_trades, cadence.daily_hour_utc) == ("per_n_trades", 10, 0)

    for dial, shows in (
        ({}, True),
        ({"enabled": False}, False),
        ({"recent_trades_k": 0}, False),
        ({"recent_trades_k": 30}, True),
    ):
        assert MemoryDial.model_validate(dial).shows_trades is shows


def test_patch_is_refused_with_the_field_that_is_wrong():
    for patch, field in (
        ({"context": {"memory": {"recent_trades_k": 31}}}, "context.memory.recent_trades_k"),
        ({"context": {"memory": {"reflection": {"every_n_trades": 1}}}}, "context.memory.reflection.every_n_trades"),
        ({"context": {"memory": {"reflection": {"every_n_trades": 101}}}}, "context.memory.reflection.every_n_trades"),
        ({"context": {"memory": {"reflection": {"daily_hour_utc": 24}}}}, "context.memory.reflection.daily_hour_utc"),
        ({"context": {"memory": {"reflection": {"cadence": "hourly"}}}}, "context.memory.reflection.cadence"),
        ({"context": {"symbols": []}}, "context.symbols"),
        ({"context": {"symbols": ["BTC", "not a symbol"]}}, "context.symbols[1]"),
        ({"context": {"events": {"lookahead_hours": 73}}}, "context.events.lookahead_hours"),
        ({"context": {"bars_interval": "2m"}}, "context.bars_interval"),
        ({"risk": {"max_position_pct": 0}}, "risk.max_position_pct"),
        ({"risk": {"max_position_pct": 10_001}}, "risk.max_position_pct"),
        ({"risk": {"max_leverage": 0.5}}, "risk.max_leverage"),
        ({"risk": {"max_leverage": "NaN"}}, "risk.max_leverage"),
        ({"risk": {"max_orders_per_day": 0}}, "risk.max_orders_per_day"),
        ({"tools": {"built_in": ["query_trade_history"]}}, "tools.built_in[0]"),
        ({"tools": {"mcp_servers": [{"name": "x", "url": "http://x.example"}]}}, "tools.mcp_servers[0].url"),
        ({"strategy": {"avoid": ["x"]}}, "strategy.avoid[0]"),
        ({"strategy": {"leash": "off"}}, "strategy.leash"),
        ({"strategy": None}, "strategy"),
        ({"trading_style": "scalp"}, "trading_style"),
        ({"name": " \u200b "}, "name"),
        ({"surprise": 1}, "surprise"),
    ):
        draft = default_payload()

        with pytest.raises(PayloadInvalid) as refusal:
            merge_patch(draft, patch)

        assert [error.field for error in refusal.value.errors] == [field]
        assert field in str(refusal.value)
        assert draft == default_payload()


def test_patch_merges_blocks_and_replaces_lists():
    draft = merge_patch(default_payload(), {"context": {"symbols": ["btc", "eth"], "newsTopK": 2}})

    patched = merge_patch(draft, {"context": {"symbols": ["SOL", "sol"]}, "strategy": {"avoid": ["No Mondays"]}})

    assert patched["context"]["symbols"] == ["SOL"]
    assert patched["context"]["news_top_k"] == 2
    assert patched["strategy"]["avoid"] == ["No Mondays"]
    assert patched["strategy"]["leash"] == "standard"


def test_problems_and_changes_are_listed_by_their_fields():
    missing = [problem.field for problem in list_problems(default_payload())]
    assert missing == ["name", "trading_style", "context.symbols"]
    assert list_problems(merge_patch(default_payload(), WHOLE)) == []

    old = parse_payload(WHOLE).stored()
    new = merge_patch(old, {"risk": {"max_leverage": 5}, "context": {"symbols": ["BTC", "ETH"]}})

    assert list_changes(old, new) == [("context.symbols", ["BTC"], ["BTC", "ETH"]), ("risk.max_leverage", 3.0, 5.0)]


def test_rules_between_fields_wait_for_the_whole():
    for patch, words in (
        ({"strategy": {"mode": "rules"}}, "needs entry and exit"),
        ({"strategy": {"thesis": ""}}, "needs thesis"),
        ({"context": {"higher_timeframes": ["1h", "4h"]}}, "must be longer than bars_interval"),
        ({"risk": {"max_position_pct": 60}}, "max_position_pct is above"),
        ({"risk": {"max_total_exposure_pct": 301}}, "max_total_exposure_pct is above 100 times max_leverage"),
        ({"schedule": {"type": "daily", "value": "25:00"}}, "time of day in UTC"),
        ({"schedule": {"type": "interval", "value": "7m"}}, "an interval is one of 1m, 5m"),
    ):
        draft = merge_patch(merge_patch(default_payload(), WHOLE), patch)

        assert any(words in problem.problem for problem in list_problems(draft))


def test_schedule_has_interval_offset_and_ticks_per_day():
    for schedule, ticks in (
        ({}, 24),
        ({"value": "15m"}, 96),
        ({"value": "1m"}, 1440),
        ({"type": "daily", "value": "13:30"}, 1),
    ):
        assert Schedule.model_validate(schedule).ticks_per_day == ticks


def test_template_is_a_whole_skill_and_keeps_the_name_a_draft_has():
    for name, template in TEMPLATES.items():
        payload = parse_payload(apply_template(default_payload(), name))
        assert payload.strategy.avoid
        assert payload.name == template["name"]
    assert apply_template({"name": "Mine"}, "range_fade")["name"] == "Mine"
    with pytest.raises(TemplateUnknown, match="trend_breakout"):
        apply_template({}, "scalper")


def test_arguments_are_read_exactly():
    for written, size, stop in (
        ('{"symbol": "btc", "side": "long", "size_usd": 250, "reason": "x"}', "250", None),
        ('{"symbol": "BTC", "side": "long", "sizeUsd": 250.5, "stopPrice": "95.25", "reason": "x"}', "250.5", "95.25"),
        ('{"symbol": "BTC", "side": "close", "size_usd": null, "stop_price": null, "reason": "x"}', None, None),
        ('{"symbol": "BTC", "side": "short", "size_usd": 0.1, "stop_price": 1e-9, "reason": "x"}', "0.1", "1e-9"),
    ):
        order = parse_block(ProposedOrder, written)

        assert (order.symbol, order.leverage) == ("BTC", 1)
        assert (order.size_usd, order.stop_price) == (size and Decimal(size), stop and Decimal(stop))


def test_parse_block_refuses_wrong_arguments_by_field():
    for written, problem in (
        ("", "Invalid JSON"),
        ("{'symbol': 1}", "Invalid JSON"),
        ("null", "Input should be"),
        ("[]", "Input should be"),
        ('{"side": "close", "reason": "x"}', "symbol: is missing"),
        ('{"symbol": "BTC", "side": "close", "reason": "x", "size": 5}', "size: there is no such field"),
        ('{"symbol": "BTC", "side": "close", "reason": " "}', "reason: write at least a word"),
        ('{"symbol": "BTC", "side": "long", "reason": "x"}', "size_usd is missing; only `close` can do without"),
        ('{"symbol": "BTC", "side": "close", "size_usd": NaN, "reason": "x"}', "size_usd: Input should be a finite"),
        ('{"symbol": "BTC", "side": "close", "leverage": "1.1234567890123456789", "reason": "x"}', "leverage: "),
        ('{"symbol": "BTC", "side": "close", "stop_price": 1e18, "reason": "x"}', "stop_price: "),
    ):
        with pytest.raises(PayloadInvalid) as refusal:
            parse_block(ProposedOrder, written)

        assert str(refusal.value).startswith(problem)


@given(st.dictionaries(st.sampled_from([*BASICS, *BLOCKS, "x"]), st.one_of(st.none(), st.text(), st.integers())))
def test_any_patch_is_either_stored_stably_or_refused(patch):
    try:
        stored = parse_partial(patch)
    except PayloadInvalid:
        return
    assert parse_partial(stored) == stored
