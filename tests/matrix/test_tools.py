"""The matrix of tools and commands: each as Ann, naming Bob's rows, and on her own."""

import json
import re
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class
from django.utils import timezone

from chat.tools import TOOLS as CATALOGUE
from chat.tools.base import Tool, ToolContext
from memory.claims.sentences import find_untyped
from tests.matrix.asks import IS_BRIEF, undone
from tests.strangers import CANARY, Answer, Names, Person, dump, filled, unknown_names
from tests.tables import each_case

pytestmark = pytest.mark.django_db

ALL = {tool.name: tool for tools in CATALOGUE.values() for tool in tools}
PROJECT = ("chat", "config", "memory", "offline", "trading")
TOOLS = {
    "remember": ({"fact": "{words}", "topic": "goal", "confidence": "asserted"}, {"fact": "{words}"}),
    "forget": ({"fact_id": "{fact_id}"}, {"fact_id": "{words}"}, {"fact_id": "{words}", "reason": "user_corrected"}),
    "save_preference": ({"category": "profile", "content": "{words}", "detail": "{words}"},),
    "update_preference": tuple(
        {"id_or_substring": reference, "new_content": "Trades silver"} for reference in ("{fact_id}", "{words}")
    ),
    "forget_preference": ({"id_or_substring": "{fact_id}"}, {"id_or_substring": "{words}"}),
    "confirm_preference": ({"id_or_substring": "{fact_id}"}, {"id_or_substring": "{words}"}),
    "link_preferences": (
        {"from_id": "{fact_id}", "to_id": "in full", "relation": "relates_to"},
        {"from_id": "in full", "to_id": "{words}", "relation": "relates_to"},
    ),
    "list_preferences": ({}, {"category": "profile"}),
    "recall_preferences": ({"query": CANARY}, {"query": "{fact_id}"}),
    "manage_user_memory": (
        {"operation": "add_fact", "content": "{words}"},
        {"operation": "deactivate_fact", "fact_id": "{fact_id}"},
        {"operation": "deactivate_fact", "fact_id": "{words}"},
        {"operation": "add_poi", "place_id": "{place_id}", "place_name": "{words}"},
        {"operation": "get_memory"},
    ),
    # Whose draft they write is in the chat's opening: tests/chat/tools/test_drafts.py.
    "set_basics": ({"name": "{words}", "description": "{words}"}, {"user": "{user_id}"}),
    "set_strategy": ({"thesis": "{words}", "avoid": ["{words}"]}, {"template": "range_fade"}),
    "set_context": ({"symbols": ["ETH"], "memory": {"recentTradesK": 3}}, {"symbols": ["{words}"]}),
    "set_risk": ({"maxLeverage": 2}, {"maxLeverage": "{draft_id}"}),
    "set_schedule": ({"type": "interval", "value": "4h"},),
    "set_tools": ({"builtIn": ["propose_order"]},),
    "get_skill_performance": tuple(
        {"skill_id": "{skill_id}", "detail": detail} for detail in ("summary", "trades", "lessons", "full")
    ),
    "get_my_deployments": (
        {},
        {"detail": "full"},
        *({"deployment_id": "{deployment_id}", "detail": detail} for detail in ("list", "trades", "lessons", "full")),
    ),
    "get_market_overview": ({}, {"symbols": ["BTC", "ETH"]}),
    "get_recent_news": ({}, {"symbols": ["ETH"], "lookbackHours": 168}),
    "get_upcoming_events": ({}, {"deploymentId": "{deployment_id}", "lookaheadHours": 72}),
    "query_trades": (
        *({"measure": measure, "group": group} for measure in ("net", "r") for group in ("deployment", "trade")),
        *({"where": {name: f"{{{name}_id}}"}} for name in ("deployment", "skill")),
        {"where": {"symbol": "{words}"}, "period": "{words}"},
        {"check": {"symbol": "BTC", "side": "long", "deployment": "{deployment_id}"}},
    ),
    "prepare_action": (
        *({"type": kind, "skill_id": "{skill_id}"} for kind in ("deploy", "start_backtest")),
        *(
            {"type": kind, "deployment_id": "{deployment_id}"}
            for kind in ("redeploy", "stop", "pause", "resume", "flatten")
        ),
    ),
}
# Tools that write nothing here, and what is in a result that found rows of its user. Of another tool that writes no
# memory, a result without an error is enough if it names no row, else one with an id or word of its user.
LOOKING = {
    "forget": '"candidates": [{',  # no message of the chat names the fact, so the tool asks
    "forget_preference": '"candidates": [{',
    "list_preferences": '"content": "',
    "recall_preferences": '"total": ',
    "list_my_skills": '"running_deployments": 2',
    "get_skill_performance": '"trade_id"',
    "get_my_deployments": '"positions": [{',
    "get_market_overview": '"symbol": "ETH"',  # held
    "get_recent_news": '"news": [',
    "get_upcoming_events": '"your_exposure": [',
    "query_trades": '"trade_ids": ["',
    "prepare_action": '"card_id"',
    **dict.fromkeys(
        ("set_basics", "set_strategy", "set_context", "set_risk", "set_schedule", "set_tools"), '"still_missing"'
    ),
    "critique_draft": '"findings"',
}
COMMANDS = {
    "call_tool": ("--conversation", "{conversation_id}", "remember", '{"fact": "Trades silver"}'),
    "close_conversation": ("{conversation_id}",),
    "chat": ("--conversation", "{conversation_id}", "Hello"),
    "show_prompt": ("--conversation", "{conversation_id}"),
    "import_fills": ("no-such-file.csv", "--deployment", "{deployment_id}"),
    "export_trades": ("--deployment", "{deployment_id}"),
    "show_agent_prompt": ("{deployment_id}",),
    "reflect_on_trades": ("--deployment", "{deployment_id}"),
}


def guess_arguments(tool: Tool) -> list[dict[str, object]]:
    """Return arguments of a tool by its schema: those it needs; all, with each choice. None if it refuses one."""
    parameters = tool.schema["function"]["parameters"]
    properties = parameters["properties"]
    every = {name: guess_value(name, schema) for name, schema in properties.items()}
    needed = {name: every[name] for name in parameters.get("required", ())}
    choices = [{**every, name: one} for name, schema in properties.items() for one in schema.get("enum", ())]
    tried = [arguments for arguments in (every, *choices) if arguments != needed]
    texts = [filled(json.dumps(arguments), unknown_names(1)) for arguments in (needed, *tried)]
    return [needed, *tried] if all(map(tool.accepts, texts)) else []


def guess_value(name: str, schema: dict[str, Any]) -> object:
    words = re.sub(r"([A-Z])", r"_\1", name).lower()
    match schema:
        case {"enum": [first, *_]}:
            return first
        case {"type": "array", "items": items}:
            return [guess_value(name, items)]
        case {"type": "number" | "integer"}:
            return schema.get("minimum", 1)
    return f"{{{words}}}" if words in unknown_names(1) else "{words}"


TOOLS |= {name: tuple(found) for name, tool in ALL.items() if name not in TOOLS and (found := guess_arguments(tool))}


def commands_that_take_an_id() -> set[str]:
    ours = {name: app for name, app in get_commands().items() if app in PROJECT}
    parsers = {name: load_command_class(app, name).create_parser("manage.py", name) for name, app in ours.items()}
    return {name for name, parser in parsers.items() if any(action.type is UUID for action in parser._actions)}


@each_case("covered, present", [(TOOLS.keys(), ALL.keys()), (COMMANDS.keys(), commands_that_take_an_id())])
def test_matrix_has_a_case_for_each_entry(covered, present):
    assert sorted(present - covered) == [], (
        "no case in the matrix, and none could be guessed: add its arguments to TOOLS or COMMANDS here"
    )
    assert sorted(covered - present) == [], "a case in the matrix for what is gone"


@pytest.mark.parametrize("name", sorted(TOOLS.keys() & ALL.keys()))
def test_tool_says_the_same_of_bobs_rows_as_of_none(name, ann, bob, nobody, watch):
    context = ToolContext(user_id=ann.user.pk, now=timezone.now(), conversation_id=ann.rows["conversation"][0].pk)
    for turn, arguments in enumerate(TOOLS[name]):
        of_nobody = {}
        for words in ("nobody said this", "nobody said 5x"):  # a number that Ann did not type waits, whoever said it
            with undone():
                others = {**nobody, "words": words}
                of_nobody["5" in words] = Answer(call(name, context, arguments, others), others)
        for names in bob.names()[turn % 5 :: 5] if IS_BRIEF else bob.names():
            with watch.undone():
                of_bob = Answer(call(name, context, arguments, names), names)
            assert of_bob.gives_away(bob) == []
            assert of_bob.comparable == of_nobody[bool(find_untyped(names["words"], []))].comparable


def call(name: str, context: ToolContext, arguments: dict[str, object], names: Names) -> str:
    return json.dumps(ALL[name].call(context, filled(json.dumps(arguments), names)))


@pytest.mark.parametrize("name", sorted(TOOLS.keys() & ALL.keys()))
def test_tool_works_on_rows_of_its_own_user(name, ann):
    context = ToolContext(user_id=ann.user.pk, now=timezone.now(), conversation_id=ann.rows["conversation"][0].pk)
    results = (
        (filled(json.dumps(arguments), names), call(name, context, arguments, names))
        for arguments in TOOLS[name]
        for names in ann.names()
    )

    assert any(finds_rows(ALL[name], asked, result, ann) for asked, result in results), (
        f"{name}: add to LOOKING what its result has of Ann's rows"
    )


def finds_rows(tool: Tool, asked: str, result: str, person: Person) -> bool:
    """Tell whether a result is that of a tool which found rows of its user."""
    if tool.acts or tool.name in LOOKING:
        return LOOKING.get(tool.name, '"memoryEvent"') in result
    own = {secret for secret in person.secrets if secret in result and secret not in asked}
    return '"error"' not in result and bool(own or not any(secret in asked for secret in person.secrets))


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() & commands_that_take_an_id()))
def test_command_says_the_same_of_bobs_rows_as_of_none(name, ann, bob, nobody, watch):
    with watch.undone():
        of_bob = [Answer(run(name, ann, names), names) for names in bob.names()]

    assert {said.comparable for said in of_bob} == {Answer(run(name, ann, nobody), nobody).comparable}
    assert [said.gives_away(bob) for said in of_bob] == [[]] * len(of_bob)


def run(name: str, person: Person, names: Names) -> str:
    output = StringIO()
    arguments = [filled(argument, names) for argument in COMMANDS[name]]
    with pytest.raises(CommandError) as refusal:
        call_command(name, "--user", person.user.email, *arguments, stdout=output, stderr=output)
    return f"{refusal.value} {output.getvalue()}"


def test_strangers_own_a_row_of_every_kind(bob):
    rows = dump(bob.user)

    assert [table for table, theirs in rows.items() if not theirs] == [], "let tests/strangers.py make one"
