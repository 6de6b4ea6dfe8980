"""Rules that the code keeps, read from the code: how rows are reached, who has a clock, who talks to a model."""

import ast
import os
import re
import subprocess
import sys
from itertools import pairwise

import pytest
from django.contrib.auth import get_user_model

from tests.source import ROOT, calls, functions, imports, is_interface, last_name, modules, place_of
from tests.test_guards import OWNED

# Each exception stands with its reason; one that is needed no more fails, too.
PATHS = {
    "memory.admin": "the admin works as the system, over everybody's rows",
    "trading.admin.record": "the same",
}
RAW_SQL = {
    "config.lib.owned": "sets what the policies read",
    "config.lib.health": "asks the database whether it lives",
    "config.lib.search.index.count_holders": "no model has the table of the index; its tokens are of one owner",
    "chat.conversations.queries.get_standing": "one round trip before the first token",
    "chat.conversations.queries.history": "before the first token, too",
    "trading.record.ledger_rows._write_rows": "twenty times as fast, for a backtest and a tick of many symbols",
    "trading.market.imports.bars._write_bars": "a month of minutes in seconds; nobody's rows",
}
CLOCKS = {
    "chat.turns.turn._clock": "the turn is the interface of its own background work",
    "config.lib.work.sweeps.SweepCommand.run": "what its commands share",
    "config.lib.rest.views.PerMinute.allow_request": "part of the interface; it counts by the minute",
}
SYSTEM = {
    "config.lib.owned": "its home",
    "config.lib.web": "the admin",
    "config.lib.work.per_user": "lists the users, whose rows are then worked on as theirs",
    "chat.jobs": "sweeps everybody's dead turns, archives everybody's idle chats",
    "chat.endings.closing": "asks which of everybody's chats are to be closed",
    "chat.endings.erasure": "erases users, and asks whose trash is old",
    "chat.web.lifespan": "sweeps everybody's dead turns",
    "trading.reviews.reflection": "asks whose trades wait for a reflection",
    "trading.runs.due": "asks which of everybody's deployments are due",
    "trading.runs.backtest": "asks which of everybody's backtests wait",
    "trading.management.owners": "the operator names a deployment without its owner",
}
MODEL_CALLERS = {
    "chat.turns.turn": "answers",
    "chat.conversations.titles": "names a chat",
    "chat.conversations.summaries": "sums up the older part of a chat",
    "chat.endings.closing": "closes the client when its loop ends",
    "chat.turns.live": "closes the client when the server stops",
    "chat.web.rooms": "sockets, and the HTML of replies that are being written",
    "memory.learning.extraction": "reads a chat that has ended",
    "trading.agent.decide": "decides on a tick",
    "trading.reviews.reflection": "distils a record into lessons",
    "trading.reviews.critique": "reviews a draft",
    "chat.web.lifespan": "warms the client",
    "chat.management.commands.chat": "a turn in the terminal",
}
# Values and pure functions, which anybody may know.
MODEL_VALUES = {
    "ToolCall",
    "Chunk",
    "Completion",
    "Usage",
    "LLMUnavailable",
    "cost_usd",
    "clean",
    "estimate_tokens",
    "count_tokens",
    "CHARS_PER_TOKEN",
}
STORES = {
    "chat.web.consumers": "the sockets of this process, by user",
    "chat.turns.live": "the turns that run in this process",
    "chat.web.rooms": "sockets, and the HTML of replies that are being written",
    "memory.recall.search": "digests by the id of a fact, whose words never change; the facts are read each time",
    "config.lib.llm.litellm": "providers by name",
    "config.lib.llm.direct": "HTTP clients by event loop",
    "config.lib.llm.vectors": "vectors by a digest of their text, or by an id whose text never changes",
}
LLM_ROOMS = re.compile(r"config\.(lib\.llm|offline)(\.\w+)*")
MODEL_DOORS = re.compile(r"config\.lib\.llm\.(?!vectors)\w+(\.\w+)*|config\.offline\..*")
HTTP_CLIENTS = {"httpx", "requests", "aiohttp", "urllib3", "openai", "anthropic", "websockets", "http.client"}
DOORS = {"owned", "owned_tx", "system_tx", "atomic"}

QUERY_CALLS = {"filter", "exclude", "values", "values_list", "order_by", "annotate", "alias", "aggregate", "only"}
QUERY_CALLS |= {"defer", "dates", "datetimes", "latest", "earliest", "distinct", "update", "get", "F", "Q", "OuterRef"}
QUERY_CALLS |= {"Count", "Sum", "Avg", "Min", "Max", "StringAgg", "get_or_create", "update_or_create", "When"}
COLUMN_LOOKUPS = {"in", "isnull", "exact", "pk", "id"}  # these stay in the row's own table

DOCUMENTED = re.compile(
    r"config\.lib\..*|\w+\.(account|agent|cards|claims|conversations|endings|facts|learning|market|parts|prompt|recall"
    r"|record|reviews|runs|skills|tools|turns|wording)\b.*"
)


def code(*, but: str = "") -> list[tuple[str, ast.Module]]:
    return [(name, tree) for name, tree in modules().items() if not but or not re.fullmatch(but, name)]


# --- Rows are reached through the managers ---


def relations() -> tuple[set[str], set[str]]:
    """Return the names of keys between owned tables, and the names by which a query could follow keys backwards."""
    keys = [field for model in OWNED for field in model._meta.concrete_fields if field.remote_field]
    forwards = {field.name for field in keys if field.related_model in OWNED}
    back = {relation.name for model in [*OWNED, get_user_model()] for relation in model._meta.related_objects}
    columns = {field.name for model in OWNED for field in model._meta.concrete_fields}
    return forwards, {name for name in back if name.isidentifier()} - columns


FORWARDS, BACKWARDS = relations()


def leaves_the_table(path: str) -> bool:
    """Tell whether a `__` path of a query joins an owned table, where no manager filters."""
    names = path.removeprefix("-").split("__")
    return any(
        name in BACKWARDS or (name in FORWARDS and after not in COLUMN_LOOKUPS) for name, after in pairwise(names)
    )


def paths(tree: ast.Module) -> list[str]:
    """Return what may be a path over relations: `__` names anywhere, and plain names where a query takes them."""
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    texts += [node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg]
    for name, call in calls(tree):
        if name in QUERY_CALLS:
            given = [node.value for node in call.args if isinstance(node, ast.Constant)] if name != "get" else []
            given += [node.arg for node in call.keywords if node.arg]
            texts += [f"{text}__isnull" for text in given if str(text).removeprefix("-") in BACKWARDS]
    return [text for text in texts if re.fullmatch(r"-?\w+?(__\w+)+", text)]


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("MemoryEvent.objects.filter(after__content='x')", True),
        ("MemoryEvent.objects.values_list('after__content')", True),
        ("MemoryEvent.objects.order_by('-before__topic')", True),
        ("Message.objects.filter(reply_to__conversation__title='x')", True),
        ("Trader.objects.filter(userfact__content='x')", True),
        ("Trader.objects.annotate(n=Count('userfact'))", True),
        ("Conversation.objects.filter(messages__isnull=True)", True),
        ("Conversation.objects.filter(messages=1)", True),
        ("search_fields = ['before__content']", True),
        ("Message.objects.filter(conversation__in=[], reply_to__isnull=True, conversation__pk=1)", False),
        ("Message.objects.filter(user__email='x', content__contains='x')", False),
        ("request.GET.get('messages')", False),
    ],
)
def test_paths_over_owned_relations_are_found(line, is_found):
    assert any(map(leaves_the_table, paths(ast.parse(line)))) is is_found


def test_no_path_over_an_owned_relation_outside_of_models():
    found = {name for name, tree in code(but=r"\w+\.models(\..*)?") if any(map(leaves_the_table, paths(tree)))}

    assert found == PATHS.keys()


# --- No row of an owner is kept for the next caller ---

OWNED_NAMES = {model.__name__ for model in OWNED}
CACHES = {"cache", "lru_cache"}
STORE_TYPES = {"defaultdict", "deque", "OrderedDict", "WeakKeyDictionary", "WeakValueDictionary", "Kept", "RecentCache"}


def cached_functions(tree: ast.Module) -> set[str]:
    """Return the functions that are wrapped in a cache, as a decorator or by a call: `_known = lru_cache(64)(find)`."""
    wrapped = {
        function.name
        for _, function in functions(tree)
        if any(last_name(getattr(node, "func", node)) in CACHES for node in function.decorator_list)
    }
    for _, call in calls(tree):
        if last_name(getattr(call.func, "func", call.func)) in CACHES:
            wrapped |= {last_name(argument) for argument in call.args}
    return wrapped


def touches_owned_rows(function: ast.AST) -> bool:
    """Tell whether a function uses an owned model's manager, or takes or returns its rows."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and node.attr == "objects" and last_name(node.value) in OWNED_NAMES:
            return True
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            notes = [ast.unparse(note) for note in [node.returns, *(one.annotation for one in arguments)] if note]
            words = {word for note in notes for word in re.findall(r"(?<!type\[)\b\w+", note)}
            if words & OWNED_NAMES:
                return True
    return False


def caches_of_owned_rows(tree: ast.Module) -> set[str]:
    """Return the cached functions that touch owned rows themselves or by a function of their module."""
    bodies = {function.name: function for _, function in functions(tree)}
    found = set()
    for name in cached_functions(tree) & bodies.keys():
        reached, waiting = set(), {name}
        while waiting:
            body = waiting.pop()
            reached.add(body)
            waiting |= {callee for callee, _ in calls(bodies[body])} & bodies.keys() - reached
        if any(touches_owned_rows(bodies[body]) for body in reached):
            found.add(name)
    return found


def stores(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements of a module that make an empty container, to be filled while the process lives."""
    return [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) and is_store(node.value)]


def is_store(value: ast.AST | None) -> bool:
    """Tell whether a value is an empty container, or one that begins empty whatever its arguments."""
    if not isinstance(value, ast.Call):
        return isinstance(value, ast.Dict | ast.List) and not ast.unparse(value).strip("{}[]")
    name = last_name(getattr(value.func, "value", value.func))  # of `RecentCache[Key, Value](64)`, too
    return name in STORE_TYPES or (name in {"dict", "list", "set"} and not value.args)


@pytest.mark.parametrize(
    ("lines", "is_found"),
    [
        ("@cache\ndef f(pk):\n return SkillVersion.objects.get(pk=pk).payload", True),
        ("@lru_cache(maxsize=8)\ndef f(pk) -> 'Trade | None':\n return g(pk)", True),
        ("@cache\ndef f(trade: Trade):\n return trade.side", True),
        ("def f(pk):\n return Trade.objects.get(pk=pk)\nknown = lru_cache(maxsize=8)(f)", True),
        (
            "@cache\ndef f(k):\n return g(k)\ndef g(k):\n return h(k)\ndef h(k):\n return Trade.objects.get(pk=k)",
            True,
        ),
        ("def f(pk):\n return Trade.objects.get(pk=pk)", False),
        ("@cache\ndef f(model: type[Trade]):\n return model._meta.db_table", False),
        ("@cache\ndef f(symbol):\n return Bar.objects.filter(symbol=symbol).count()", False),
    ],
)
def test_caches_of_owned_rows_are_found(lines, is_found):
    assert bool(caches_of_owned_rows(ast.parse(lines))) is is_found


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("_known: dict[UUID, Trade] = {}", True),
        ("_known = defaultdict(list)", True),
        ("_known: Final = RecentCache[UUID, Trade](64)", True),
        ("LENGTHS: Final = {'1h': 1}", False),
        ("FIELDS: Final = dict(fields(Payload))", False),
    ],
)
def test_stores_of_a_process_are_found(line, is_found):
    assert bool(stores(ast.parse(line))) is is_found


def test_no_process_wide_cache_keeps_owned_rows():
    found = sorted(f"{name}.{function}" for name, tree in code() for function in caches_of_owned_rows(tree))

    assert not found, (
        f"{', '.join(found)}: these rows would outlive their owner's scope. Take the row as an argument and do not"
        " cache it, as the runner takes the payload from its deployment; or cache only a pure function of plain values."
    )


def test_stores_of_a_process_are_known():
    found = {name for name, tree in code() if stores(tree)}

    assert found == STORES.keys(), (
        f"New in {sorted(found - STORES.keys())}. A store of a process keeps pure results only, never an owner's rows:"
        " read the rows where they are needed, or add the module to STORES with the reason why it is safe."
        f" Gone: {sorted(STORES.keys() - found)}; take them out of STORES."
    )


def test_raw_sql_stands_in_few_places():
    ways = {"cursor", "raw", "extra", "RawSQL", "_raw_delete", "executemany"}
    found = {place_of(call, name, tree) for name, tree in code() for way, call in calls(tree) if way in ways}

    assert {known(place, RAW_SQL) for place in found} == RAW_SQL.keys()


OWNED_TABLE = re.compile(rf"\b(?:FROM|JOIN|UPDATE|INTO)\s+(?:{'|'.join(model._meta.db_table for model in OWNED)})\b")


def is_without_owner(statement: object) -> bool:
    """Tell whether raw SQL reads more owned tables than it names owners."""
    text = str(statement)
    return len(OWNED_TABLE.findall(text)) > len(re.findall(r"\buser_id\s*=\s", text))


def test_raw_sql_names_the_owner_of_each_table():
    found = {
        place_of(node, name, tree)
        for name, tree in code()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and is_without_owner(node.value)
    }

    assert found == set()


@pytest.mark.parametrize(
    ("statement", "is_found"),
    [
        ("SELECT * FROM user_facts", True),
        ("DELETE FROM agent_messages WHERE conversation_id = %s", True),
        ("SELECT 1 FROM user_facts f JOIN memory_events e ON e.after_id = f.id WHERE f.user_id = %s", True),
        ("SELECT 1 FROM user_facts f JOIN memory_events e ON e.user_id = f.user_id WHERE f.user_id = %s", False),
        ("SELECT 1 FROM traders", False),
    ],
)
def test_raw_sql_without_an_owner_is_found(statement, is_found):
    assert is_without_owner(statement) is is_found


def test_the_system_is_called_upon_in_few_places():
    found = {name for name, tree in code() for way, _ in imports(tree) if way.endswith("owned.system_tx")}

    assert found | {"config.lib.owned"} == SYSTEM.keys()


def test_nobody_but_its_home_knows_the_inside_of_the_scope():
    private = {way for _, tree in code() for way, _ in imports(tree) if re.search(r"\.owned\._", way)}

    assert private == set()


def known(place: str, exceptions: dict[str, str]) -> str:
    """Return the exception that a place falls under, or the place."""
    return next((name for name in exceptions if place == name or place.startswith(f"{name}.")), place)


# --- The clock is handed in ---

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
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in CLOCK_READERS.get(last_name(node.value), ())
        and node not in converts
    ]


@pytest.mark.parametrize(
    ("line", "is_found"),
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

    assert found == CLOCKS.keys()


# --- Models are called in few places, and never while the database waits ---


def importers(package: str) -> set[str]:
    """Return the modules that import a package, at their top or inside a function."""
    return {name for name, tree in code() for way, _ in imports(tree) if way.split(".")[0] == package}


@pytest.mark.parametrize(
    ("package", "home"), [("litellm", "config.lib.llm.litellm"), ("ccxt", "trading.market.imports.venue")]
)
def test_one_module_imports_the_package(package, home):
    assert importers(package) == {home}, f"import {package} in {home} only and call that module"


def test_no_module_is_imported_by_a_name_at_run_time():
    callers = {name for name, tree in code() for way, _ in calls(tree) if way in {"import_module", "__import__"}}

    assert callers == set(), "write `import x  # noqa: PLC0415 - reason` inside the function"


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
looked_for = ("chat.web.views.chats", "config.lib.llm.door", "litellm", "openai", "ccxt")
print(*sorted(name for name in looked_for if name in sys.modules))
"""


def test_no_page_and_no_command_imports_litellm_or_ccxt():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["chat.web.views.chats", "config.lib.llm.door"]


def test_models_are_called_in_few_places():
    used = {
        name
        for name, tree in code(but=LLM_ROOMS.pattern)
        for way, _ in imports(tree)
        if MODEL_DOORS.fullmatch(way) and way.rpartition(".")[2] not in MODEL_VALUES
    }

    assert used == MODEL_CALLERS.keys()


def test_no_http_client_is_imported_outside_of_the_rooms_of_models():
    found = {
        (name, way)
        for name, tree in code(but=LLM_ROOMS.pattern)
        for way, _ in imports(tree)
        if way.split(".")[0] in HTTP_CLIENTS or way.startswith(("http.client", "urllib.request"))
    }

    assert found == set()


def waits_inside(tree: ast.Module) -> list[ast.AST]:
    """Return where something is awaited, or a model is called, while a door or a transaction is open."""
    held = [
        inner
        for node in ast.walk(tree)
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


@pytest.mark.parametrize(
    ("lines", "is_found"),
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


def test_nothing_waits_while_a_door_is_open():
    assert {place_of(node, name, tree) for name, tree in code() for node in waits_inside(tree)} == set()


# --- A chat leads to a deed at one place, after a click ---

DEEDS = {"run_action"}  # queues what a card says
# Queue a deed in another way, or mark one as done.
OTHER_DEEDS = {"request_command", "deploy_skill", "start_backtest", "apply_command", "claim_command", "finish_command"}
OTHER_DEEDS |= {"claim_backtest", "finish_backtest", "cancel_backtest"}
ROWS_OF_DEEDS = {"DeploymentCommand", "BacktestRun", "Deployment", "Order", "Trade", "Fill"}
WRITES = {"create", "get_or_create", "bulk_create", "update_or_create", "update", "bulk_update", "delete", "save"}


def names_in(tree: ast.AST) -> set[str]:
    """Return each name that is imported, said or looked up, also as a text that getattr() could take."""
    named = {part for way, _ in imports(tree) for part in way.split(".")}
    named |= {alias.asname for node in ast.walk(tree) for alias in getattr(node, "names", ()) if _is_renamed(alias)}
    for node in ast.walk(tree):
        named |= {getattr(node, "id", ""), getattr(node, "attr", "")}
        # "start_backtest" is also the type of a card.
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != "start_backtest":
            named.add(node.value)
    return named


def _is_renamed(alias: object) -> bool:
    return isinstance(alias, ast.alias) and alias.asname is not None


def chat_code() -> dict[str, ast.Module]:
    return {name: tree for name, tree in code() if name.split(".")[0] == "chat"}


@pytest.mark.parametrize(
    "lines",
    [
        "from trading.services import deploy_skill",
        "from trading.services import deploy_skill as harmless",
        "services.deploy_skill(skill_id=1)",
        "getattr(services, 'deploy_skill')()",
        "import trading.services.deploy_skill",
    ],
)
def test_names_are_found(lines):
    assert "deploy_skill" in names_in(ast.parse(lines))


def test_cards_alone_know_of_deeds():
    named = {name: names_in(tree) for name, tree in chat_code().items()}

    assert {name for name, names in named.items() if names & DEEDS} == {"chat.cards"}
    assert {name for name, names in named.items() if names & OTHER_DEEDS} == set()


def test_deeds_are_done_by_one_function_of_cards():
    tree = chat_code()["chat.cards"]
    callers = {place_of(call, "chat.cards", tree) for name, call in calls(tree) if name in DEEDS}

    assert callers == {"chat.cards.confirm_card"}


def test_only_a_click_confirms_a_card():
    named = {name for name, tree in code() if "confirm_card" in names_in(tree)}
    views = chat_code()["chat.web.views.cards"]
    callers = {place_of(call, "chat.web.views.cards", views) for name, call in calls(views) if name == "confirm_card"}

    assert named == {"chat.web.views.cards", "chat.web.urls"}  # the address bears the same name
    assert callers == {"chat.web.views.cards.confirm"}


def test_chat_takes_no_whole_module_of_trading():
    # Of which a deed could be looked up by a name that is made when it runs.
    whole = {
        (name, way)
        for name, tree in chat_code().items()
        for way, node in imports(tree)
        if way.split(".")[0] == "trading" and (isinstance(node, ast.Import) or way.rpartition(".")[2].islower())
        if isinstance(node, ast.Import) or node.module == "trading"
    }

    assert whole == set()


def test_chat_writes_no_row_of_a_deed_itself():
    found = {
        (name, model)
        for name, tree in chat_code().items()
        for way, call in calls(tree)
        for model in ROWS_OF_DEEDS
        if (way in WRITES and model in names_in(call.func)) or way == model
    }

    assert found == set()


# --- Each function that others call says what it does ---


def public_functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    return [
        (f"{name}.{function}", node)
        for name, tree in code()
        if DOCUMENTED.fullmatch(name)
        for function, node in functions(tree)
        if not any(part.startswith("_") for part in function.split("."))
    ]


def test_each_public_function_says_what_it_does():
    assert [name for name, node in public_functions() if not ast.get_docstring(node)] == []


def test_each_docstring_begins_with_a_whole_sentence_on_one_line():
    firsts = {name: (ast.get_docstring(node) or "None.").splitlines()[0] for name, node in public_functions()}

    assert [name for name, first in firsts.items() if not re.fullmatch(r"[A-Z`].*[.:]", first)] == []
