"""The catalogue: tools per assistant, arguments per tool. `tools.json` is its snapshot, and the diff its review."""

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from pydantic import ValidationError

from chat.prompt.assistants import ASSISTANTS
from chat.tools import MAX_TOOLS, TOOLS, find_tool, tools_by_name
from chat.tools.drafts import PatchArgs
from config.lib.llm.tokens import count_tokens
from tests.snapshots import assert_renewed
from trading.agent.decide import define_tools
from trading.skills.patches import parse_part
from trading.skills.schemas import BuiltInTool, McpServer, PayloadInvalid, SkillPayload

COACH = tools_by_name("coach")
# Tokens of the schemas that are longer than others may be: a part of a strategy, and the words of a seed.
LONG = {"set_context": 565, "manage_user_memory": 385}
# The arguments that a seed names, of the tools whose arguments it lists; an end of `*`: it must be given.
ARGUMENTS = {
    "remember": ["fact*", "topic", "confidence"],
    "forget": ["fact_id*", "reason"],
    "get_skill_performance": ["skill_id*", "detail"],
    "get_my_deployments": ["deployment_id", "detail"],
    "get_market_overview": ["symbols"],
    "get_recent_news": ["symbols", "lookbackHours", "limit"],
    "get_upcoming_events": ["lookaheadHours", "types", "symbols", "minImportance", "deploymentId"],
    "save_preference": ["category*", "content*", "detail"],
    "update_preference": ["id_or_substring*", "new_content*", "detail"],
    "forget_preference": ["id_or_substring*"],
    "confirm_preference": ["id_or_substring*"],
    "link_preferences": ["from_id*", "to_id*", "relation*"],
    "list_preferences": ["category"],
    "recall_preferences": ["query*", "limit"],
    "manage_user_memory": ["operation*", "content", "fact_id", "place_id", "place_name", "notes"],
}
UNTRUSTED = {
    *("get_skill_performance", "get_my_deployments", "get_recent_news", "get_upcoming_events", "critique_draft")
}
EACH_TOOL = [tool for tools in TOOLS.values() for tool in tools]
each_tool = pytest.mark.parametrize("tool", EACH_TOOL, ids=lambda tool: tool.name)


def test_tools_are_those_of_the_snapshot():
    assert_renewed("tests/chat/tools/tools.json")


def test_assistants_have_tools_within_the_cap():
    assert TOOLS.keys() == ASSISTANTS.keys()
    assert MAX_TOOLS == 17
    for assistant, tools in TOOLS.items():
        assert len({tool.name for tool in tools}) == len(tools) <= MAX_TOOLS, (
            f"the {assistant} has {len(tools)} tools, {MAX_TOOLS} at most: give it to another, or merge it"
        )


def test_tools_take_the_arguments_that_the_seeds_name():
    parameters = {name: find_tool(name).schema["function"]["parameters"] for name in ARGUMENTS}
    named = {
        name: [f"{argument}*" if argument in schema.get("required", ()) else argument for argument in properties]
        for name, schema in parameters.items()
        if (properties := schema["properties"])
    }
    assert named == ARGUMENTS


@each_tool
def test_schema_is_whole_and_says_what_the_tool_is_for(tool):
    function = tool.schema["function"]

    assert function["description"].endswith(".") or tool.name == "manage_user_memory"  # the seed's own words
    assert "$ref" not in json.dumps(function)


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
    patterns = set(iter_patterns([tool.schema for tool in EACH_TOOL] + define_tools(payload)))

    assert patterns == {"^https://[!-.0-?A-~]+(/[!-~]*)?$"}
    assert [pattern for pattern in patterns if REFUSED.search(pattern)] == []
    bad = [r"^https://[^\s/@]+(/\S*)?$", r"^\d+$", "^(?=a)b$", "^a+?$", "a^b", "a$b"]
    assert [pattern for pattern in bad if not REFUSED.search(pattern)] == []


@pytest.mark.parametrize(
    "address", ["https://a.b/c d", "https://a.b/\tc", "https://a\u00a0b.c", "http://a.b", "https://u@b.c"]
)
def test_address_with_a_space_or_a_user_is_refused(address):
    with pytest.raises(ValidationError):
        McpServer(name="tools", url=address)


@each_tool
def test_tool_refuses_an_argument_that_it_does_not_have(tool):
    args = tool.args

    check = partial(parse_part, args.part) if issubclass(args, PatchArgs) else args.model_validate

    with pytest.raises((ValidationError, PayloadInvalid), match="nobody"):
        check({"nobody": 1})


@each_tool
def test_schema_is_short(tool):
    tokens, most = count_tokens(json.dumps(tool.schema)), LONG.get(tool.name, 350)

    assert tokens <= most, f"{tool.name} costs {tokens} tokens of every prompt, {most} at most: shorten its description"


@pytest.mark.parametrize("assistant", TOOLS)
def test_schemas_of_an_assistant_are_short_on_average(assistant):
    if assistant != "companion":  # whose tool has the words of its seed
        tokens = [count_tokens(json.dumps(tool.schema)) for tool in TOOLS[assistant]]
        assert sum(tokens) <= 213 * len(tokens), f"the tools of the {assistant} cost more than 213 tokens on average"


def test_tools_that_bring_in_text_of_others_are_marked_and_the_review_asks_a_model():
    assert {name for name, tool in COACH.items() if tool.untrusted} >= UNTRUSTED
    assert COACH["critique_draft"].asks_model
