"""The clock is passed in; few places call models, none in transactions."""

import ast
import os
import re
import subprocess
import sys

import pytest

from tests.source import ROOT, calls, code, differences, imports, is_interface, last_name, place_of, walk
from tests.tables import each_case

# Each exception has its reason; an exception that is no longer needed fails, too.
CLOCKS = {
    "config.lib.admin._read_clock": "what the admins of the apps share",
    "chat.turns.saving.read_clock": "a turn is the interface of its own background work",
    "config.lib.work.commands.RunCommand.run_due": "what its commands share",
    "config.lib.work.embedded._serve_lane": "a worker is the interface of what is deferred",
    "config.lib.moments.when": "a filter of templates, as their tag `now`",
    "config.lib.edge.accounts._read_clock": "allauth calls the adapters from its pages, without a clock",
    "config.lib.edge.invitations.open_invitation": "a page",
    "config.lib.rest.operations.act": "the operations of the apps that take no body",
    "config.lib.rest.views.PerMinute.allow_request": "part of the interface; it counts by the minute",
}
MODEL_CALLERS = {
    "chat.turns.turn": "answers",
    "chat.conversations.titles": "names a chat",
    "chat.conversations.summaries": "sums up the older part of a chat",
    "chat.endings.closing": "closes the client when its loop ends",
    "chat.turns.live": "closes the client when the server stops",
    "memory.learning.extraction": "reads a chat that has ended",
    "trading.agent.decide": "decides on a tick",
    "trading.reviews.reflection": "distils a record into lessons",
    "trading.reviews.critique": "reviews a draft",
    "chat.web.lifespan": "warms the client",
    "chat.management.commands.chat": "a turn in the terminal",
    "chat.management.commands.check_models": "checks a model with small requests",
    "config.lib.operations.doctor": "asks the chat model for one word",
}
# Values and pure functions, which any module may import.
MODEL_VALUES = {
    "ToolCall",
    "Chunk",
    "Completion",
    "Usage",
    "LLMUnavailable",
    "cost_usd",
    "SEGMENT_SEPARATOR",
    "clean",
    "content_beside_calls",
    "estimate_tokens",
    "count_tokens",
    "CHARS_PER_TOKEN",
}
LLM_ROOMS = re.compile(r"(config\.lib\.llm|offline)(\.\w+)*")
MODEL_DOORS = re.compile(r"config\.lib\.llm\.(?!vectors)\w+(\.\w+)*|offline\..*")
HTTP_CLIENTS = {"httpx", "requests", "aiohttp", "urllib3", "openai", "anthropic", "websockets", "http.client"}
DOORS = {"owned", "owned_tx", "system_tx", "atomic"}
CLOCK_READERS = {
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
    "timezone": {"now", "localtime", "localdate"},
    "time": {"time", "time_ns"},
}


def clocks(tree: ast.Module) -> list[ast.Attribute]:
    """Return where the time of day is read, or the reader handed on."""
    converts = [call.func for name, call in calls(tree) if name in {"localtime", "localdate"} and call.args]
    return [
        node
        for node in walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in CLOCK_READERS.get(last_name(node.value), ())
        and node not in converts
    ]


@each_case(
    "line, is_found",
    [
        ("timezone.now()", True),
        ("models.DateTimeField(default=timezone.now)", True),
        ("datetime.datetime.now(UTC)", True),
        ("date.today()", True),
        ("timezone.localtime()", True),
        ("time.time()", True),
        ("timezone.localtime(moment)", False),
        ("time.monotonic()", False),
    ],
)
def test_clocks_are_found(line, is_found):
    assert bool(clocks(ast.parse(line))) is is_found


def test_only_interfaces_read_the_clock():
    below = [(name, tree) for name, tree in code() if not is_interface(name)]
    found = {place_of(node, name, tree) for name, tree in below for node in clocks(tree)}
    problems = differences(found, CLOCKS, table="CLOCKS", advice="take `now` as an argument")

    assert not problems, problems


# --- Models are called in few places, and never while the database waits ---


def importers(package: str) -> set[str]:
    """Return the modules that import a package, at their top or inside a function."""
    return {name for name, tree in code() for way, _ in imports(tree) if way.split(".")[0] == package}


@pytest.mark.parametrize(
    ("package", "home"), [("litellm", "config.lib.llm.litellm"), ("ccxt", "trading.market.imports.venue")]
)
def test_one_module_imports_the_package(package, home):
    others = importers(package) - {home}

    assert not others, f"{sorted(others)}: import {package} in {home} only and call that module"
    assert importers(package), f"{home} no longer imports {package}: take the package out of this test"


def test_no_module_is_imported_by_a_name_at_run_time():
    callers = {name for name, tree in code() for way, _ in calls(tree) if way in {"import_module", "__import__"}}

    assert not callers, f"{sorted(callers)}: write `import x  # noqa: PLC0415 - reason` inside the function"


IMPORT_ALL = """
import sys
import django
django.setup()
from django.core.management import get_commands, load_command_class
from django.urls import get_resolver
import config.asgi
def walk(patterns):
    for pattern in patterns:
        walk(getattr(pattern, "url_patterns", ()))
walk(get_resolver().url_patterns)
for name, app in get_commands().items():
    if app in ("chat", "config", "memory", "trading"):
        load_command_class(app, name)
print(*sys.modules)
"""
# What no page needs at once. Redis and the description of the API cost each start a tenth of its time.
NOT_AT_A_START = {
    *("litellm", "openai", "ccxt", "aiohttp", "numpy", "tokenizers", "tiktoken", "redis"),
    *("drf_spectacular.plumbing", "django.test", "jinja2"),
}


@pytest.mark.long
def test_start_imports_neither_models_nor_what_few_sites_and_pages_need():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "KEEL_TEST_ENGINE": "sqlite"},
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = set(done.stdout.split())
    early = loaded & NOT_AT_A_START

    assert not early, f"{sorted(early)}: import it inside the function that needs it, each start waits for it"
    assert {"chat.web.views.chats", "config.lib.llm.door"} <= loaded, "the script did not import the pages"


def test_language_models_are_called_in_known_modules():
    used = {
        name
        for name, tree in code(but=LLM_ROOMS.pattern)
        for way, _ in imports(tree)
        if MODEL_DOORS.fullmatch(way) and way.rpartition(".")[2] not in MODEL_VALUES
    }
    advice = "take the model's answer as an argument, so that the caller decides when a model is asked"
    problems = differences(used, MODEL_CALLERS, table="MODEL_CALLERS", advice=advice)

    assert not problems, problems


def test_only_the_modules_of_models_import_an_http_client():
    found = {
        f"{name} imports {way}"
        for name, tree in code(but=LLM_ROOMS.pattern)
        for way, _ in imports(tree)
        if way.split(".")[0] in HTTP_CLIENTS or way.startswith(("http.client", "urllib.request"))
    }

    assert not found, f"{sorted(found)}: only config.lib.llm makes HTTP requests; call config.lib.llm.door"


def waits_inside(tree: ast.Module) -> list[ast.AST]:
    """Return where something is awaited, or a model is called, while a door or a transaction is open."""
    held = [
        inner
        for node in walk(tree)
        if isinstance(node, ast.With)
        if any(last_name(getattr(item.context_expr, "func", item.context_expr)) in DOORS for item in node.items)
        for line in node.body
        for inner in ast.walk(line)
    ]
    return [
        node
        for node in held
        if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith)
        or (isinstance(node, ast.Call) and last_name(getattr(node.func, "value", node.func)) in {"llm", "run_turn"})
    ]


@each_case(
    "lines, is_found",
    [
        ("async def f():\n with owned_tx(u):\n  await g()", True),
        ("async def f():\n with system_tx('x'), other:\n  async for x in g(): pass", True),
        ("def f():\n with transaction.atomic():\n  llm.complete()", True),
        ("async def f():\n with owned_tx(u):\n  g()\n await h()", False),
        ("async def f():\n with suppress(ValueError):\n  await g()", False),
    ],
)
def test_waits_inside_of_doors_are_found(lines, is_found):
    assert bool(waits_inside(ast.parse(lines))) is is_found


def test_no_transaction_is_open_while_a_model_is_awaited():
    found = {place_of(node, name, tree) for name, tree in code() for node in waits_inside(tree)}

    assert not found, f"{sorted(found)}: await or call the model after the `with owned_tx(...)` block, not inside it"
