"""The limits that refuse, found in the code.

A limit is a constant `MAX_...` or a setting such as `..._PER_USER` in the condition of a refusal, or one of OTHERS. A
test that goes one beyond it says so: `@pytest.mark.limit("module.NAME")`. `make controls` lifts each limit at each of
its places (tests/faults/lifting.py) and runs these tests, of which one must fail.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

from tests.source import ROOT, code, functions, last_name, walk

_NAME: Final = re.compile(
    r"_?(?:MAX|MOST|LONGEST)(?:_[A-Z_]+)?|[A-Z_]+_(?:PER_USER|PER_MINUTE|BUDGET|AT_ONCE|TOKEN_LIMIT)"
)
_REFUSALS: Final = {"fail", "add_error", "end", "message_user"}
# Limits that a function takes, or that refuse without an `if` of their own, and where.
OTHERS: Final = {
    "chat.conversations.journal.MAX_DAY_NOTE": "chat/conversations/journal.py",
    "chat.conversations.journal.MAX_NOTE": "chat/conversations/journal.py",
    "chat.tools.base.MAX_ARGUMENTS": "chat/tools/base.py",
    "chat.turns.turn.MAX_CALLS_PER_STEP": "chat/turns/turn.py",
    "chat.turns.turn.MAX_REPLY": "chat/turns/turn.py",
    "config.lib.llm.answer.MAX_ARGUMENTS": "config/lib/llm/answer.py",
    "config.lib.llm.answer.MAX_CALLS": "config/lib/llm/answer.py",
    "config.lib.llm.answer.MAX_TEXT": "config/lib/llm/answer.py",
    "config.settings.API_READS_PER_MINUTE": "config/lib/rest/views.py",
    "config.settings.API_WRITES_PER_MINUTE": "config/lib/rest/views.py",
    "config.settings.DAILY_TOKEN_BUDGET": "chat/conversations/usage.py",
    "config.settings.MAX_BODY_BYTES": "config/asgi.py",
    "config.settings.MEMORY_TOKEN_LIMIT": "memory/facts/limits.py",
    "config.settings.SITE_DAILY_TOKEN_BUDGET": "config/lib/work/spending.py",
    "memory.web.views.facts.MOST_AT_ONCE": "memory/web/views/facts.py",
    "memory.web.views.review.ASKED_AT_ONCE": "memory/web/views/review.py",
    "memory.wording.MAX_BODY": "memory/wording.py",
    "memory.wording.MAX_SUMMARY": "memory/wording.py",
    "trading.ledger.executions.MAX_AMOUNT": "trading/ledger/entries.py",
    "trading.intake.files.MAX_WAITING": "trading/intake/files.py",
    "trading.intake.tables._MAX_MEMBERS": "trading/intake/tables.py",
    "trading.intake.tables._MAX_OBJECTS": "trading/intake/tables.py",
}


class Place(NamedTuple):
    """A limit and the file where it refuses."""

    limit: str
    path: str


@cache
def find_places() -> Mapping[Place, list[ast.Name | ast.Attribute]]:
    """Return where each limit refuses, with the nodes that name it there."""
    defined = {f"{module}.{name}" for module, tree in code() for name in _names_set(tree)}
    places = defaultdict(list)
    for module, tree in code(but=r"offline\..*"):
        named = _names_known(module, tree)
        refusing = {id(node) for condition in _conditions(tree) for node in ast.walk(condition)}
        path = _path_of(module)
        for node in walk(tree):
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                limit = named.get(ast.unparse(node), "")
                if limit in defined and (id(node) in refusing or OTHERS.get(limit) == path):
                    places[Place(limit, path)].append(node)
    return dict(places)


def rewrite(path: str) -> str:
    """Return a file's text that asks `_ask_limit` for each limit where it refuses."""
    lines = (ROOT / path).read_text().splitlines(keepends=True)
    nodes = [(node, place) for place, nodes in find_places().items() if place.path == path for node in nodes]
    for node, place in sorted(nodes, key=lambda pair: (pair[0].lineno, pair[0].col_offset), reverse=True):
        line = lines[node.lineno - 1].encode()
        said = line[node.col_offset : node.end_col_offset].decode()
        asked = f"_ask_limit({place.limit!r}, {place.path!r}, {said})"
        lines[node.lineno - 1] = f"{line[: node.col_offset].decode()}{asked}{line[node.end_col_offset :].decode()}"
    return "".join(lines)


@cache
def find_marked() -> Mapping[str, list[str]]:
    """Return the tests that go beyond each limit, as pytest names them."""
    tests = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if "pytest.mark.limit" in (text := path.read_text()):
            for name, function in functions(ast.parse(text)):
                for limit in _marks_of(function):
                    tests[limit].append(f"{path.relative_to(ROOT).as_posix()}::{name.replace('.', '::')}")
    return dict(tests)


def _marks_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.limit":
            yield from (ast.literal_eval(argument) for argument in mark.args)


def _path_of(module: str) -> str:
    file = ROOT / f"{module.replace('.', '/')}.py"
    return (file if file.exists() else file.with_suffix("") / "__init__.py").relative_to(ROOT).as_posix()


def _names_set(tree: ast.Module) -> Iterator[str]:
    for node in walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
            yield from (name.id for name in named if _NAME.fullmatch(name.id))


def _names_known(module: str, tree: ast.Module) -> dict[str, str]:
    """Return what a module may write for a limit: `NAME`, `module.NAME`, `self.NAME` or `settings.NAME`."""
    known = {way: f"{module}.{name}" for name in _names_set(tree) for way in (name, f"self.{name}")}
    for node in walk(tree):
        if isinstance(node, ast.ImportFrom):
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and _NAME.fullmatch(node.attr):
            owner = "config.settings" if node.value.id == "settings" else known.get(node.value.id)
            known.setdefault(ast.unparse(node), f"{owner}.{node.attr}")
    return known


def _conditions(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the conditions of refusals."""
    for node in walk(tree):
        if isinstance(node, ast.If | ast.While) and _refuses(node.body):
            yield node.test
        elif isinstance(node, ast.match_case) and node.guard and _refuses(node.body):
            yield node.guard


def _refuses(body: list[ast.stmt]) -> bool:
    calls = [part.value for part in body if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call)]
    return any(isinstance(part, ast.Raise) for part in body) or any(last_name(call.func) in _REFUSALS for call in calls)
