"""The catalogue of the seeds: tools per assistant, arguments per tool."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from typing import Any

import pytest
from pydantic import ValidationError

from chat.prompt.assistants import ASSISTANTS
from chat.tools import TOOLS, find_tool, tools_by_name
from chat.tools.base import Tool
from chat.tools.drafts import PatchArgs
from config.lib.llm.tokens import count_tokens
from trading.agent.decide import define_tools
from trading.skills.patches import parse_part
from trading.skills.schemas import BuiltInTool, McpServer, PayloadInvalid, SkillPayload

Schema = dict[str, Any]
OBJECT = {"type": "object"}
BOOLEAN = {"type": "boolean"}
SYMBOLS = {"type": "array", "items": {"type": "string"}, "maxItems": 20}
KINDS = ["fomc", "cpi", "nfp", "ppi", "gdp", "token_unlock", "options_expiry", "upgrade", "other"]
INTERVALS = ["1m", "5m", "15m", "30m", "1h", "4h", "1d"]


def text(low: int | None = None, high: int | None = None, **more: Any) -> Schema:
    bounds = {"minLength": low, "maxLength": high}
    return {"type": "string", **{name: bound for name, bound in bounds.items() if bound is not None}, **more}


def one_of(*values: str, **more: Any) -> Schema:
    return {"type": "string", "enum": list(values), **more}


def whole(low: int, high: int, **more: Any) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high, **more}


def number(low: float, high: float, **more: Any) -> Schema:
    return {"type": "number", "minimum": low, "maximum": high, **more}


def pct(most: int = 100) -> Schema:
    """Above zero, to a hundred."""
    return {"type": "number", "exclusiveMinimum": 0, "maximum": most}


def rows(items: Schema, **bounds: int) -> Schema:
    return {"type": "array", "items": items, **bounds}


def block(**properties: Schema) -> Schema:
    return {**OBJECT, "properties": properties}


def or_none(schema: Schema, **more: Any) -> Schema:
    return {"anyOf": [schema, {"type": "null"}], **more}


ID = text(format="uuid")
DAY = text(format="date")
MODEL = or_none(text(high=120))
# Of each of the coach's tools, in the order of the catalogue: its arguments, and which of them it must be given.
COACH: dict[str, tuple[Schema, list[str]]] = {
    "set_basics": (
        {
            "name": text(high=80),
            "description": text(high=500),
            "model": MODEL,
            "tradingStyle": one_of("day", "swing", "position"),
            "maxSteps": whole(1, 20),
        },
        [],
    ),
    "set_strategy": (
        {
            "mode": one_of("thesis", "rules"),
            "style": one_of("trend", "mean_reversion", "breakout", "range", "carry", "event", "mixed"),
            "leash": one_of("tight", "standard", "loose"),
            "thesis": text(high=4000),
            "entry": text(high=2000),
            "exit": text(high=2000),
            "riskManagement": text(high=2000),
            "avoid": rows(text(3, 280), maxItems=20),
            "template": one_of("funding_mean_reversion", "trend_breakout", "range_fade"),
        },
        [],
    ),
    "set_context": (
        {
            "symbols": rows(text(), minItems=1, maxItems=20),
            "barsInterval": one_of(*INTERVALS),
            "barsLookback": whole(5, 500),
            "higherTimeframes": rows(one_of(*INTERVALS), maxItems=3),
            "newsLookbackHours": whole(0, 168),
            "newsTopK": whole(0, 20),
            "memory": block(
                enabled=BOOLEAN,
                recentTradesK=whole(0, 30),
                includeOpenPositions=BOOLEAN,
                reflection=block(
                    cadence=one_of("off", "per_n_trades", "daily"),
                    everyNTrades=whole(2, 100),
                    dailyHourUtc=whole(0, 23),
                    model=MODEL,
                ),
            ),
            "events": block(lookaheadHours=whole(0, 72), minImportance=number(0, 1), kinds=rows(one_of(*KINDS))),
        },
        [],
    ),
    "set_risk": (
        {
            "maxPositionPct": pct(10_000),  # of equity, and leverage may be 100 times
            "maxTotalExposurePct": pct(10_000),
            "maxLeverage": number(1, 100),
            "dailyLossHaltPct": pct(),
            "maxOrdersPerDay": whole(1, 1000),
        },
        [],
    ),
    "set_schedule": ({"type": one_of("interval", "daily"), "value": text()}, []),
    "set_tools": (
        {
            "builtIn": rows(one_of("propose_order", "get_bars", "get_news", "get_upcoming_events")),
            "mcpServers": rows(
                {
                    **block(name=text(high=64), url=text(high=300, pattern="^https://[!-.0-?A-~]+(/[!-~]*)?$")),
                    "required": ["name", "url"],
                },
                maxItems=5,
            ),
        },
        [],
    ),
    "critique_draft": ({}, []),
    "list_my_skills": ({}, []),
    "get_skill_performance": (
        {"skill_id": text(format="uuid"), "detail": one_of("summary", "trades", "lessons", "full", default="summary")},
        ["skill_id"],
    ),
    "get_my_deployments": (
        {"deployment_id": ID, "detail": one_of("list", "trades", "lessons", "full", default="list")},
        [],
    ),
    "get_market_overview": ({"symbols": SYMBOLS}, []),
    "get_recent_news": (
        {"symbols": SYMBOLS, "lookbackHours": whole(1, 168, default=24), "limit": whole(1, 20, default=10)},
        [],
    ),
    "get_upcoming_events": (
        {
            "lookaheadHours": whole(1, 72, default=24),
            "types": rows(one_of(*KINDS), maxItems=9),
            "symbols": SYMBOLS,
            "minImportance": number(0, 1, default=0.4),
            "deploymentId": ID,
        },
        [],
    ),
    "remember": (
        {
            "fact": text(4, 500),
            "topic": text(high=32),
            "confidence": one_of("asserted", "inferred", default="inferred"),
        },
        ["fact"],
    ),
    "forget": (
        {"fact_id": text(1, 500), "reason": one_of("agent_forget", "user_corrected", default="agent_forget")},
        ["fact_id"],
    ),
    "prepare_action": (
        {
            "type": one_of("deploy", "redeploy", "stop", "pause", "resume", "flatten", "start_backtest"),
            "skill_id": ID,
            "deployment_id": ID,
            "starts_on": DAY,
            "ends_on": DAY,
            "starting_equity_usd": number(10, 1_000_000_000),
            "broker": one_of("paper", default="paper"),
        },
        ["type"],
    ),
    "query_trades": (
        {
            "measure": one_of(
                *("net", "count", "win_rate", "expectancy", "profit_factor", "fees", "funding", "holding"),
                *("mfe", "mae", "drawdown", "r"),
            ),
            "group": one_of(
                *("symbol", "side", "skill", "version", "deployment", "record", "regime", "exit", "result"),
                *("hour", "weekday", "month", "event", "rule", "trade"),
            ),
            "where": OBJECT,
            "period": text(),
            "check": OBJECT,
        },
        [],
    ),
}
READS = [
    *("list_my_skills", "get_skill_performance", "get_my_deployments"),
    *("get_market_overview", "get_recent_news", "get_upcoming_events"),
]
ADVISOR = [
    *("save_preference", "update_preference", "forget_preference", "confirm_preference", "link_preferences"),
    *("list_preferences", "recall_preferences"),
    *READS,
    "query_trades",
]
UNTRUSTED = {*READS, "critique_draft"} - {"list_my_skills", "get_market_overview"}


def tools_of(assistant: str) -> dict[str, Tool]:
    return tools_by_name(assistant)


def without_descriptions(schema: Any) -> Any:
    """Return a schema without what it says in words; an argument may be called `description`."""
    if isinstance(schema, list):
        return [without_descriptions(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: without_descriptions(one) for name, one in value.items()}
        if key == "properties"
        else without_descriptions(value)
        for key, value in schema.items()
        if key != "description"
    }


def test_coach_has_the_tools_of_the_table():
    names = list(tools_of("coach"))

    new = [
        f"{name}: add its schema to the table in tests/chat/tools/test_registry.py"
        for name in names
        if name not in COACH
    ]
    gone = [
        f"{name}: take it out of the table in tests/chat/tools/test_registry.py" for name in COACH if name not in names
    ]
    assert not new + gone, "\n".join(new + gone)
    assert names == list(COACH), "the table in tests/chat/tools/test_registry.py has the order of the catalogue"
    assert len(COACH) == 17


def test_advisor_has_its_seven_and_the_reads_and_the_companion_one():
    assert list(tools_of("advisor")) == ADVISOR
    assert len(ADVISOR) == 14
    assert list(tools_of("companion")) == ["manage_user_memory"]


def test_every_assistant_has_its_tools():
    assert TOOLS.keys() == ASSISTANTS.keys()


@pytest.mark.parametrize("assistant", TOOLS)
def test_no_assistant_can_propose_an_order(assistant):
    assert "propose_order" not in tools_of(assistant)


@pytest.mark.parametrize("name", COACH)
def test_tool_takes_what_the_table_says(name):
    properties, required = COACH[name]

    parameters = without_descriptions(tools_of("coach")[name].schema["function"]["parameters"])

    assert parameters.pop("required", []) == required
    assert parameters == {**OBJECT, "properties": properties}
    assert list(parameters["properties"]) == list(properties)


@pytest.mark.parametrize("name", COACH)
def test_schema_is_whole_and_says_what_the_tool_is_for(name):
    function = tools_of("coach")[name].schema["function"]

    assert function["description"].endswith(".")
    assert "$ref" not in json.dumps(function)
    assert "settled" not in json.dumps(function)


def iter_patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for one in schema:
            yield from iter_patterns(one)
    if isinstance(schema, dict):
        yield from (value for key, value in schema.items() if key == "pattern" and isinstance(value, str))
        yield from iter_patterns(list(schema.values()))


# The servers of local models turn a pattern into a grammar. It begins and ends at the text's ends and has no escapes
# (`\s`, `\d`), no look-around and no lazy repeats.
REFUSED = re.compile(r"\\|\(\?|[*+?}]\?|(?<!^)\^(?<!\[\^)|\$(?!$)")


def test_no_schema_has_a_pattern_that_grammars_refuse():
    payload = SkillPayload.model_validate(
        {
            "name": "All tools",
            "trading_style": "swing",
            "strategy": {"thesis": "x"},
            "context": {"symbols": ["BTC"]},
            "tools": {"built_in": list(BuiltInTool)},
        }
    )
    schemas = [tool.schema for tools in TOOLS.values() for tool in tools] + define_tools(payload)

    patterns = set(iter_patterns(schemas))

    assert patterns == {"^https://[!-.0-?A-~]+(/[!-~]*)?$"}
    assert [pattern for pattern in patterns if REFUSED.search(pattern)] == []


@pytest.mark.parametrize("pattern", [r"^https://[^\s/@]+(/\S*)?$", r"^\d+$", "^(?=a)b$", "^a+?$", "a^b", "a$b"])
def test_refused_patterns_are_found(pattern):
    assert REFUSED.search(pattern)


@pytest.mark.parametrize(
    "address", ["https://a.b/c d", "https://a.b/\tc", "https://a\u00a0b.c", "http://a.b", "https://u@b.c"]
)
def test_address_with_a_space_or_a_user_is_refused(address):
    with pytest.raises(ValidationError):
        McpServer(name="tools", url=address)


@pytest.mark.parametrize("name", COACH)
def test_tool_refuses_an_argument_that_it_does_not_have(name):
    args = tools_of("coach")[name].args

    check = partial(parse_part, args.part) if issubclass(args, PatchArgs) else args.model_validate

    with pytest.raises((ValidationError, PayloadInvalid), match="nobody"):
        check({"nobody": 1})


def test_comparing_sees_each_difference():
    # Or the table would hold for any schema.
    schema = tools_of("coach")["remember"].schema["function"]["parameters"]
    other = deepcopy(schema)
    other["properties"]["fact"]["maxLength"] = 501

    assert without_descriptions(schema) != without_descriptions(other)


def test_schema_of_the_question_is_short():
    assert count_tokens(json.dumps(find_tool("query_trades").schema)) <= 350


def test_tools_that_bring_in_text_of_others_are_marked():
    assert {name for name, tool in tools_of("coach").items() if tool.untrusted} == UNTRUSTED


def test_only_the_review_asks_a_model():
    assert [name for name, tool in tools_of("coach").items() if tool.asks_model] == ["critique_draft"]
