"""Rows are read by managers in scope and never cached."""

import ast
import re
from itertools import pairwise

from django.contrib.auth import get_user_model

from tests.source import calls, code, differences, functions, imports, last_name, match_exception, place_of, walk
from tests.tables import each_case
from tests.test_guards import OWNED

# Each exception has its reason; an exception that is no longer needed fails, too.
PATHS = {"memory.admin": "the admin works as the system, over everybody's rows", "trading.admin.record": "the same"}
RAW_SQL = {
    "config.lib.owned": "sets what the policies read; writes rows that the scope has checked",
    "config.lib.postgresql.migrating": "limits of a migration, what it waits for, an index left invalid; reads no rows",
    "config.lib.operations.backups": "copies whole tables",
    "config.lib.operations.doctor": "asks the database for its state; reads no rows",
    "config.lib.operations.sizes": "asks the database for the sizes of tables; reads no rows",
    "config.lib.search.index.count_holders": "no model has the table of the index; its tokens are of one owner",
    "config.lib.search.index.has_triggers": "asks the database for the triggers of a table; reads no rows",
    "chat.conversations.standing.get_standing": "one round trip before the first token",
    "chat.conversations.history.read_history": "before the first token, too",
    "chat.conversations.lifecycle.lock_conversation": "before the first token, too",
    "config.lib.postgresql.locks.lock_owner": "before the first token, too; the owner's own row",
    "chat.conversations.usage._reserve": "before the first token, too",
    "memory.recall.search._rank_all": "before the first token, too",
    "chat.jobs.refresh_statistics": "lets SQLite count its tables; reads no rows",
    "trading.ledger.rows": "twenty times as fast, for a backtest and a tick of many symbols",
    "trading.market.imports.bars._write_bars": "a month of minutes in seconds; nobody's rows",
}
SYSTEM = {
    "config.lib.edge.mails": "keeps and sends mails, of people without an account, too",
    "config.lib.web": "the admin",
    "config.lib.work.retention": "drops everybody's old rows of the kinds that a setting names",
    "chat.jobs": "sweeps everybody's dead turns, archives everybody's idle chats",
    "chat.endings.closing": "the operator names a chat without its owner",
    "chat.endings.erasure": "erases users, and asks whose trash is old",
    "chat.web.lifespan": "sweeps everybody's dead turns",
    "trading.management.owners": "the operator names a deployment without its owner",
}
STORES = {
    "chat.web.consumers": "the sockets of this process, by user",
    "chat.turns.live": "the turns that run in this process",
    "chat.turns.replies": "ids of the replies that this process is writing",
    "chat.web.rooms": "sockets, and the HTML of replies that are being written",
    "chat.web.relays": "the rooms of turns that other processes follow",
    "memory.facts.limits": "numbers of tokens by the id of a fact, whose words never change",
    "memory.recall.search": "digests by the id of a fact, whose words never change; the facts are read each time",
    "config.lib.threads": "one mark for each acceptance that waits",
    "config.lib.observe.meter": "tokens of calls until they are written down, of nobody in particular",
    "config.lib.work.embedded": "keys of the rows that wait for a worker of this process",
    "config.lib.llm.own": "providers by name",
    "config.lib.llm.direct": "HTTP clients by event loop; names of models and what they refused",
    "config.lib.llm.door": "names of models that OpenAI's newer protocol serves",
    "config.lib.llm.vectors": "vectors by a digest of their text, or by an id whose text never changes",
}

QUERY_CALLS = {"filter", "exclude", "values", "values_list", "order_by", "annotate", "alias", "aggregate", "only"}
QUERY_CALLS |= {"defer", "dates", "datetimes", "latest", "earliest", "distinct", "update", "get", "F", "Q", "OuterRef"}
QUERY_CALLS |= {"Count", "Sum", "Avg", "Min", "Max", "StringAgg", "get_or_create", "update_or_create", "When"}
COLUMN_LOOKUPS = {"in", "isnull", "exact", "pk", "id"}  # these stay in the row's own table


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
    texts = [node.value for node in walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    texts += [node.arg for node in walk(tree) if isinstance(node, ast.keyword) and node.arg]
    for name, call in calls(tree):
        if name in QUERY_CALLS:
            given = [node.value for node in call.args if isinstance(node, ast.Constant)] if name != "get" else []
            given += [node.arg for node in call.keywords if node.arg]
            texts += [f"{text}__isnull" for text in given if str(text).removeprefix("-") in BACKWARDS]
    return [text for text in texts if re.fullmatch(r"-?\w+?(__\w+)+", text)]


@each_case(
    "line, is_found",
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
    advice = "a `__` path joins an owned table that no manager filters: query that model by its own manager"
    problems = differences(found, PATHS, table="PATHS", advice=advice)

    assert not problems, problems


# --- No row of an owner is kept for the next caller ---

OWNED_NAMES = {model.__name__ for model in OWNED}
CACHES = {"cache", "lru_cache"}
STORE_TYPES = {"defaultdict", "deque", "OrderedDict", "WeakKeyDictionary", "WeakValueDictionary", "RecentCache"}


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


@each_case(
    "lines, is_found",
    [
        ("@cache\ndef f(pk):\n return SkillVersion.objects.get(pk=pk).payload", True),
        ("@lru_cache(maxsize=8)\ndef f(pk) -> 'Trade | None':\n return g(pk)", True),
        ("@cache\ndef f(trade: Trade):\n return trade.side", True),
        ("def f(pk):\n return Trade.objects.get(pk=pk)\nknown = lru_cache(maxsize=8)(f)", True),
        ("@cache\ndef f(k):\n return g(k)\ndef g(k):\n return h(k)\ndef h(k):\n return Trade.objects.get(pk=k)", True),
        ("def f(pk):\n return Trade.objects.get(pk=pk)", False),
        ("@cache\ndef f(model: type[Trade]):\n return model._meta.db_table", False),
        ("@cache\ndef f(symbol):\n return Bar.objects.filter(symbol=symbol).count()", False),
    ],
)
def test_caches_of_owned_rows_are_found(lines, is_found):
    assert bool(caches_of_owned_rows(ast.parse(lines))) is is_found


@each_case(
    "line, is_found",
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
    advice = "a store of a process keeps pure results only: read an owner's rows where they are needed"
    problems = differences(found, STORES, table="STORES", advice=advice)

    assert not problems, problems


def test_raw_sql_runs_in_known_places():
    ways = {"cursor", "raw", "extra", "RawSQL", "_raw_delete", "executemany"}
    found = {place_of(call, name, tree) for name, tree in code() for way, call in calls(tree) if way in ways}
    places = {match_exception(place, RAW_SQL) for place in found}
    problems = differences(places, RAW_SQL, table="RAW_SQL", advice="raw SQL passes by the scope: use the manager")

    assert not problems, problems


OWNED_TABLE = re.compile(rf"\b(?:FROM|JOIN|UPDATE|INTO)\s+(?:{'|'.join(model._meta.db_table for model in OWNED)})\b")


def is_without_owner(statement: object) -> bool:
    """Tell whether raw SQL reads more owned tables than it names owners."""
    text = str(statement)
    return len(OWNED_TABLE.findall(text)) > len(re.findall(r"\buser_id\s*=\s", text))


def test_raw_sql_names_the_owner_of_each_table():
    found = {
        place_of(node, name, tree)
        for name, tree in code()
        for node in walk(tree)
        if isinstance(node, ast.Constant) and is_without_owner(node.value)
    }

    assert not found, f"{sorted(found)}: name the owner of each owned table in the SQL: `user_id = %s`"


@each_case(
    "statement, is_found",
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


def test_system_tx_is_imported_in_known_modules():
    found = {name for name, tree in code() for way, _ in imports(tree) if way.endswith("owned.system_tx")}
    advice = "the system's scope sees the rows of all users: work as their owner with `for_each_user` or `owned_tx`"
    problems = differences(found, SYSTEM, table="SYSTEM", advice=advice)

    assert not problems, problems


def test_no_module_imports_private_names_of_owned():
    private = {name for name, tree in code() for way, _ in imports(tree) if re.search(r"\.owned\._", way)}

    assert not private, f"{sorted(private)}: use the public functions of config.lib.owned"
