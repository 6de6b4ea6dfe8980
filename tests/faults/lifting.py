"""A plugin of pytest: run each test marked with a limit once for each place that refuses by it, with the limit lifted.

Then a test of each place must fail. One process tries all: what the tests import asks at each place, while it runs,
whether the limit holds. `make controls` starts it: `pytest -p tests.faults.lifting -m limit`.
"""

import builtins
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType
from typing import Any, Final

import pytest

from tests.limits import Place, find_places, rewrite
from tests.source import ROOT

FACTOR: Final = 1000
_lifted: set[Place] = set()
_noticed: defaultdict[Place, bool] = defaultdict(bool)


def _ask(limit: str, path: str, value: Any) -> Any:
    """Return a limit's value: what the code has, or far more while it is lifted."""
    return value * FACTOR if Place(limit, path) in _lifted else value


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        return compile(rewrite(str(self.path).removeprefix(f"{ROOT}/")), self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    modules: Final = {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for _, path in find_places()
    }

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname not in self.modules:
            return None
        file = str(ROOT / self.modules[fullname])
        return spec_from_file_location(fullname, file, loader=_Loader(fullname, file))


builtins._ask_limit = _ask  # type: ignore[attr-defined]
sys.meta_path.insert(0, _Finder())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    limits = {name for mark in metafunc.definition.iter_markers("limit") for name in mark.args}
    places = [place for place in find_places() if place.limit in limits]
    if places:
        metafunc.parametrize("lifted_limit", places, indirect=True, ids=[" in ".join(place) for place in places])


@pytest.fixture(autouse=True)
def lifted_limit(request: pytest.FixtureRequest) -> Iterator[None]:
    _lifted.update([request.param] if hasattr(request, "param") else [])
    yield
    _lifted.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function, call: pytest.CallInfo[None]) -> Iterator[Any]:
    report = yield
    if (place := item.callspec.params.get("lifted_limit") if hasattr(item, "callspec") else None) is not None:
        _noticed[place] |= report.failed
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    for place, noticed in _noticed.items():
        print(f"\n{'noticed' if noticed else 'MISSED':8} limit {place.limit} in {place.path}", end="")
    session.exitstatus = 0 if all(_noticed.values()) else 1
