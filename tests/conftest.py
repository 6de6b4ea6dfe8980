"""What every test relies on: its engine, coroutines as tests, nothing left behind, no way out of the machine.

Cases that take microseconds make one test a table: `tests.tables.each_case`, in place of `pytest.mark.parametrize`.
"""

import asyncio
import gc
import inspect
import ipaddress
import os
import random
import re
import shutil
import socket
import sys
import threading
import types
import warnings
from pathlib import Path

import factory
import hypothesis
import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import MiddlewareNotUsed
from django.test import TransactionTestCase
from django.test.client import ClientHandler
from servestatic.middleware import ServeStaticMiddleware

from config.lib.observe.meter import take_tokens
from tests import databases

TESTS = Path(__file__).parent
BROWSER_TESTS = TESTS / "browser"
PAGES = {"test_pages.py", "test_facts.py", "test_ledger.py", "test_frame.py"}
STORY = {"test_story.py", "test_frame.py"}  # what browsers try on SQLite, too, by `make test-all`
# What sends SQL of its own, and is tried on both engines by `make test`; `make test-all` tries the rest on both, too.
BOTH = (
    *("config", "memory/facts", "memory/recall", "memory/test_models"),
    *("chat/conversations", "chat/endings", "chat/turns", "chat/test_cards", "chat/test_jobs", "chat/test_rules"),
    *("trading/account", "trading/asking", "trading/ledger", "trading/market", "trading/record", "trading/runs"),
    *("trading/test_models", "test_harness", "test_migrations"),
)
ENGINE_OF = {"postgres": "postgres", "redis": "postgres", "sqlite": "sqlite"}  # marker: the engine that has it
_GROUP = re.compile(r"@\w+$")  # what pytest-xdist appends to the name of a test in a group
STORES = {"db", "transactional_db", "django_db_setup"}

# channels.testing imports daphne for a live server that we do not use.
sys.modules.setdefault("daphne", types.ModuleType("daphne"))
sys.modules.setdefault("daphne.testing", types.ModuleType("daphne.testing")).DaphneProcess = object

# As in pyproject.toml, for a thread that imports litellm while no test is running.
warnings.filterwarnings("ignore", category=UserWarning, module="pydantic")


# How long an example takes says how busy the machine is, not whether the code is right. To explain a failing example
# takes a minute or two under the tracer of Python 3.11, and the example itself is what helps.
_PHASES = [phase for phase in hypothesis.Phase if phase is not hypothesis.Phase.explain]
for _name, _examples in (("again", 10), ("dev", 20), ("ci", 100), ("nightly", 1000)):
    hypothesis.settings.register_profile(_name, deadline=None, max_examples=_examples, phases=_PHASES)
# The second pass tries other examples than the first: together they are more than enough while developing.
_is_second, _scope = os.environ.get("KEEL_TEST_PASS") == "2", os.environ.get("KEEL_TEST_SCOPE")
_usual = "ci" if os.environ.get("CI") and not _is_second else "again" if _is_second and _scope == "usual" else "dev"
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", _usual))


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder that this run shares with its worker processes."""
    folder = Path(settings.TEST_FOLDER)
    folder.mkdir(mode=0o700, exist_ok=True)
    if not hasattr(config, "workerinput"):
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        config.add_cleanup(databases.drop_source)
        if path := os.environ.get("KEEL_TEST_FAILURES"):
            config.pluginmanager.register(Failures(Path(path)))


def pytest_report_header() -> str:
    """Say which engine this run is on."""
    return f"engine: {'PostgreSQL, Redis' if settings.ENGINE == 'postgres' else 'SQLite, in-memory layer'}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the browser tests, order all, and leave out what this engine cannot run or what the other pass runs."""
    for item in items:
        if BROWSER_TESTS in item.path.parents:
            item.add_marker("browser")
            # Two groups, so that two processes have a Chromium each; timing is part of the second.
            item.add_marker(pytest.mark.xdist_group("pages" if item.path.name in PAGES else "timing"))
    _order(items)
    elsewhere = [item for item in items if _engines(item) - {settings.ENGINE}]
    if "KEEL_TEST_PASS" not in os.environ:
        for item in elsewhere:
            needed = " and ".join(_engines(item))
            item.add_marker(pytest.mark.skip(reason=f"needs the engine {needed}; this run is on {settings.ENGINE}"))
        return
    left_out = {*elsewhere, *filter(_is_run_elsewhere, items)}
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _order(items: list[pytest.Item]) -> None:
    """Put long tests first, so that no process waits for another at the end; or shuffle, by KEEL_TEST_ORDER."""
    seed = os.environ.get("KEEL_TEST_ORDER")
    if seed is None:
        items.sort(key=lambda item: item.path.parent != TESTS)
        return
    order = random.Random(seed)
    places = {path: order.random() for path in sorted({item.path for item in items})}
    keys = {item: (places[item.path], order.random()) for item in items}
    items.sort(key=keys.__getitem__)


def _engines(item: pytest.Item) -> set[str]:
    return {engine for marker, engine in ENGINE_OF.items() if item.get_closest_marker(marker)}


def _is_run_elsewhere(item: pytest.Item) -> bool:
    has, is_usual = item.get_closest_marker, os.environ.get("KEEL_TEST_SCOPE") == "usual"
    if is_usual and has("long"):
        return True  # by `make test-all`
    if os.environ["KEEL_TEST_PASS"] == "1":
        is_once = not _uses_a_store(item) or (has("browser") and item.path.name not in STORY)
        return bool(is_once or (is_usual and (has("browser") or has("processes"))))
    is_second = os.environ["KEEL_TEST_PASS"] == "2"
    return is_second and is_usual and _uses_a_store(item) and not _may_differ_on_postgres(item)


def _may_differ_on_postgres(item: pytest.Item) -> bool:
    if any(map(item.get_closest_marker, (*ENGINE_OF, "race", "browser"))):
        return True
    marker = item.get_closest_marker("django_db")
    commits = bool(marker and marker.kwargs.get("transaction")) or "transactional_db" in item.fixturenames
    is_listed = item.path.relative_to(TESTS).as_posix().startswith(BOTH)
    # The cases of a table send the same SQL; the first pass has tried each.
    is_first_case = not hasattr(item, "callspec") or not any(item.callspec.indices.values())
    return (commits or is_listed) and is_first_case and not item.get_closest_marker("computing")


def _uses_a_store(item: pytest.Item) -> bool:
    markers = ("django_db", "browser", *ENGINE_OF)
    return any(map(item.get_closest_marker, markers)) or not STORES.isdisjoint(getattr(item, "fixturenames", ()))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep the garbage collector off what stays anyway: a million objects of modules and collected tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Number the rows of factories from KEEL_TEST_SEQUENCES on, on PostgreSQL from 1,000 on.

    No test may count on how many rows were made before it.
    """
    first = int(os.environ.get("KEEL_TEST_SEQUENCES", 1000 if settings.ENGINE == "postgres" else 0))
    if first:
        factory.Factory._setup_next_sequence = classmethod(lambda cls: first)


class Failures:
    """Write down what failed, for the second try of tests/__main__.py."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure, and whether a busy machine may be to blame."""
        if report.failed:
            kind = "may repeat" if {"browser", "clock"} & set(report.keywords) else "is wrong"
            name = _GROUP.sub("", report.nodeid)
            with self.path.open("a") as file:
                file.write(f"{kind}\t{name}\n")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot be collected."""
        if report.failed:
            with self.path.open("a") as file:
                file.write(f"is wrong\t{report.nodeid}\n")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine function as a test; its database calls stay on the connection of the fixtures."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    async_to_sync(pyfuncitem.obj)(**{name: pyfuncitem.funcargs[name] for name in names})
    return True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None):
    """Keep Playwright's event loop to the browser tests.

    It stays marked as running in this thread once a browser test ran. Django would then refuse every query, hence
    its permission for the browser tests; other tests must not have that, or they would not notice a query that
    blocks an event loop.
    """
    loop = asyncio._get_running_loop()
    if item.get_closest_marker("browser"):
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    else:
        asyncio._set_running_loop(None)
    try:
        return (yield)
    finally:
        os.environ.pop("DJANGO_ALLOW_ASYNC_UNSAFE", None)
        if nextitem is None:
            asyncio._set_running_loop(None)  # the browser is closed by now
        elif not item.get_closest_marker("browser"):
            asyncio._set_running_loop(loop)


@pytest.fixture(scope="session")
def django_db_setup(request, django_test_environment, django_db_blocker):
    """Give this process a copy of the migrated database (see tests/databases.py), instead of migrating one."""
    name = getattr(request.config, "workerinput", {}).get("workerid", "alone")
    with django_db_blocker.unblock():
        databases.make_database(
            name, reuse=request.config.getvalue("reuse_db"), renew=request.config.getvalue("create_db")
        )
    yield
    with django_db_blocker.unblock():
        databases.drop_database()


@pytest.fixture(autouse=True, scope="session")
def _empty_tables_after_commits():
    """Delete what a test has committed, in place of Django's flush."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: databases.empty_tables())
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_static_files_for_test_clients():
    """Leave out the static files middleware in Django's test clients; servers keep it.

    It is asynchronous alone: each request of a test client would start a thread and be handed over and back, and
    each client would search all folders for static files.
    """
    load, make = ClientHandler.load_middleware, ServeStaticMiddleware.__init__
    thread = threading.local()

    def load_without(self: ClientHandler, *args: bool, **options: bool) -> None:
        thread.is_client = True
        try:
            load(self, *args, **options)
        finally:
            thread.is_client = False

    def make_for_servers(self: ServeStaticMiddleware, *args: object) -> None:
        if getattr(thread, "is_client", False):
            raise MiddlewareNotUsed
        make(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClientHandler, "load_middleware", load_without)
        patch.setattr(ServeStaticMiddleware, "__init__", make_for_servers)
        yield


@pytest.fixture(autouse=True)
def _fresh_cache():
    """Start without what another test counted or remembered (rate limits live in the cache)."""
    cache.clear()
    take_tokens()


@pytest.fixture
def usual_umask():
    """Set the mask of most machines: others may read what is made without a mode."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(autouse=True, scope="session")
def _no_way_out():
    """Refuse connections to other machines, so that no test can reach a provider."""
    connect = socket.socket.connect
    redis_host = settings.CACHES["default"].get("LOCATION", "").rpartition("@")[2].partition(":")[0]

    def connect_here(self: socket.socket, address: tuple[str, int] | str) -> None:
        is_path = not isinstance(address, tuple)  # a socket of this machine
        if not (is_path or address[0] == redis_host or _is_here(address[0])):
            raise AssertionError(f"a test tried to connect to {address[0]}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect_here)
        yield


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
