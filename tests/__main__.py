"""Run the suite on both engines: `python -m tests [--all | --smoke] [arguments of pytest]`, as `make test` does.

Tests that need no store run once. Without `--all`, two groups do, too: browsers and tests marked `processes` run with
PostgreSQL and Redis; tests of pages and the admin, the matrices, and tests marked `computing` run on SQLite. A test is
marked `computing` if it computes for a second or more and a shorter one beside it sends the same SQL. Of a table of
cases the second pass tries the first and the last. Properties, which both passes try, are tried with fewer examples by
the second. Tests marked `long` run with `--all` alone. `--smoke` runs SMOKE on SQLite.
KEEL_TEST_ENGINE=sqlite or =postgres keeps to one engine. A missing service is a skip with its reason, in CI a failure.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services import ServiceMissing, postgres_url, redis_url

ENGINES = {"sqlite": "SQLite, in-memory layer", "postgres": "PostgreSQL, Redis"}
MOST_WORKERS = 5  # each needs a database and a browser of its own
WAITING_WORKERS = 1  # above the number of cores: browsers, sockets and stores are often waited for
BYTECODE = Path(__file__).parent.parent / ".pytest_cache" / "bytecode"
# The story, and one file for each package.
SMOKE = (
    *("tests/browser/test_story.py", "tests/test_harness.py", "tests/test_guards.py", "tests/test_repository.py"),
    *("tests/config/test_settings.py", "tests/config/lib/test_owned.py", "tests/config/lib/llm/test_answer.py"),
    *("tests/config/lib/search/test_index.py", "tests/offline/test_model.py"),
    *("tests/memory/api/test_places.py", "tests/memory/claims/test_support.py", "tests/memory/facts/test_remember.py"),
    *("tests/memory/learning/test_writes.py", "tests/memory/recall/test_search.py", "tests/memory/web/test_forms.py"),
    *("tests/trading/account/test_accounts.py", "tests/trading/agent/test_context.py"),
    *(
        "tests/trading/api/test_trades.py",
        "tests/trading/market/test_queries.py",
        "tests/trading/ledger/test_services.py",
    ),
    *(
        "tests/trading/reviews/test_critique.py",
        "tests/trading/runs/test_due.py",
        "tests/trading/skills/test_schemas.py",
    ),
    *("tests/trading/web/test_views.py", "tests/chat/test_cards.py", "tests/chat/conversations/test_services.py"),
    *("tests/chat/endings/test_erasure.py", "tests/chat/prompt/test_receipts.py", "tests/chat/tools/test_base.py"),
    *("tests/chat/turns/test_live.py", "tests/chat/web/test_rendering.py", "tests/chat/management/test_commands.py"),
)


def main() -> int:
    """Run pytest once for each engine, say what ran where, and return the exit code."""
    arguments = sys.argv[1:]
    scope = next((word for word in ("all", "smoke") if f"--{word}" in arguments), "usual")
    arguments = [argument for argument in arguments if argument != f"--{scope}"]
    chosen = os.environ.get("KEEL_TEST_ENGINE") or ("sqlite" if scope == "smoke" else None)
    if chosen not in (None, *ENGINES):
        sys.exit(f"KEEL_TEST_ENGINE is {chosen}; it must be one of {', '.join(ENGINES)}")
    if scope == "smoke":
        arguments = [*SMOKE, *arguments]
    results = {}
    with tempfile.TemporaryDirectory(prefix="keel-test-run-") as folder:
        for engine in [chosen] if chosen else ENGINES:
            environment = {"KEEL_TEST_ENGINE": engine, "KEEL_TEST_FAILURES": f"{folder}/{engine}"}
            if not chosen:
                # Knowing of each other, the passes leave to the other one what it does anyway.
                environment |= {"KEEL_TEST_PASS": str(len(results) + 1), "KEEL_TEST_SCOPE": scope}
            results[engine] = _run(engine, environment | _bytecode(), arguments)
    print("\nThe tests ran on:")
    for engine, (_, words) in results.items():
        print(f"  {ENGINES[engine]:<25}{words}")
    return max(code for code, _ in results.values())


def _bytecode() -> dict[str, str]:
    """Return the environment in which all processes share compiled modules.

    Where Python is told to write no bytecode, each process would compile tests and libraries again, for 20 seconds.
    """
    if not sys.dont_write_bytecode:
        return {}
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(BYTECODE)}


def _run(engine: str, environment: dict[str, str], arguments: list[str]) -> tuple[int, str]:
    """Run the suite on an engine and return its exit code with a few words on how it went."""
    print(f"\n=== {ENGINES[engine]} ===", flush=True)
    environment = os.environ | environment
    if engine == "postgres":
        try:
            environment |= {"KEEL_TEST_POSTGRES": postgres_url(), "KEEL_TEST_REDIS": redis_url()}
        except ServiceMissing as missing:
            print(missing)
            return (1, f"FAILED: {missing}") if os.environ.get("CI") else (0, f"skipped: {missing}")
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest"]
    code = subprocess.run([*command, *_spread(arguments), *arguments], env=environment).returncode
    if code == pytest.ExitCode.NO_TESTS_COLLECTED and arguments:
        return 0, "nothing selected"
    words = "passed"
    if code == pytest.ExitCode.TESTS_FAILED and (again := _to_try_again(environment["KEEL_TEST_FAILURES"])):
        print("\n=== a second try, one after another ===", *again, sep="\n", flush=True)
        code = subprocess.run([*command, "-n0", *again], env=environment).returncode
        words = f"passed, on the second try: {', '.join(again)};"
    seconds = f"{time.monotonic() - started:.0f} s"
    return code, f"{words} in {seconds}" if code == 0 else f"FAILED in {seconds}"


def _to_try_again(failures: str) -> list[str]:
    """Return the tests that failed, if browsers or clocks alone may be to blame: those suffer on a busy machine."""
    noted = Path(failures)  # missing if pytest broke off before its first test
    lines = [line.split("\t") for line in noted.read_text().splitlines()] if noted.exists() else []
    return sorted(name for _, name in lines) if all(kind == "may repeat" for kind, _ in lines) else []


def _spread(arguments: list[str]) -> Iterator[str]:
    """Yield the arguments that spread the tests over processes, unless one test or a debugger is asked for."""
    if not any("::" in argument or argument.startswith(("-n", "--pdb")) for argument in arguments):
        yield from ("-n", str(min(MOST_WORKERS, (os.cpu_count() or 1) + WAITING_WORKERS)), "--dist", "loadgroup")


if __name__ == "__main__":
    sys.exit(main())
