"""The project's own code, parsed: what the guards read."""

import ast
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = ("chat", "config", "memory", "offline", "trading")


@cache
def modules() -> dict[str, ast.Module]:
    """Return each module by its dotted name; migrations are left out, they are history."""
    found = {}
    for path in sorted(path for package in PROJECT for path in (ROOT / package).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if ".migrations" not in name:
            found[name] = ast.parse(path.read_text())
    return found


def code(*, but: str = "") -> list[tuple[str, ast.Module]]:
    """Return each module with its name, except those whose whole name matches `but`."""
    return [(name, tree) for name, tree in modules().items() if not but or not re.fullmatch(but, name)]


def match_exception(place: str, exceptions: Mapping[str, str]) -> str:
    """Return the exception that covers a place, or the place."""
    return next((name for name in exceptions if place == name or place.startswith(f"{name}.")), place)


def differences(places: Collection[str], exceptions: Mapping[str, str], *, table: str, advice: str) -> str:
    """Say how to bring places and their exceptions together; empty when they agree."""
    lines = [
        f"{place}: {advice}, or add it to {table} with its reason" for place in sorted(set(places) - set(exceptions))
    ]
    lines += [
        f"{place}: take it out of {table}, it needs no exception" for place in sorted(set(exceptions) - set(places))
    ]
    return "\n".join(lines)


def storey_of_interfaces() -> set[str]:
    """Return the names of the modules that make up the uppermost storey of an app, as its import contract has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    storeys = next(contract["layers"] for contract in contracts if contract.get("containers"))
    return {part.strip() for part in storeys[0].split("|")}


def is_interface(module: str) -> bool:
    """Tell whether a module translates between the outside and the rest of its app."""
    app, *below = module.split(".")
    return app != "config" and bool(below) and below[0] in storey_of_interfaces()


def walk(tree: ast.AST) -> Iterable[ast.AST]:
    """Return the node and all below it; those of a module are listed once, since each guard walks through all."""
    return _nodes_of_module(tree) if isinstance(tree, ast.Module) else ast.walk(tree)


@cache
def _nodes_of_module(tree: ast.Module) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Yield each call with the last part of the name that is called."""
    for node in walk(tree):
        if isinstance(node, ast.Call):
            yield last_name(node.func), node


def last_name(node: ast.AST) -> str:
    """Return `c` for `a.b.c`, `c` for `c`, and nothing for what has no name."""
    return getattr(node, "attr", getattr(node, "id", ""))


def imports(tree: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the dotted name of each thing that is imported, anywhere, with its statement."""
    for node in walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{alias.name}", node) for alias in node.names)


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the functions and methods with their qualified names; what stands inside of a function is part of it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")


def place_of(wanted: ast.AST, module: str, tree: ast.Module) -> str:
    """Return `module.function` or `module.Class.method` around a node, or the module's name."""
    for name, function in functions(tree):
        is_around = function.lineno <= wanted.lineno <= (function.end_lineno or 0)
        if is_around and any(node is wanted for node in ast.walk(function)):
            return f"{module}.{name}"
    return module
