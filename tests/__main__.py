"""Run the suite on both engines: `python -m tests [--all | --smoke] [arguments of pytest]`, as `make test` does.

The two passes run side by side, each with a process for each core, since browsers, sockets and stores are often waited
for; what the second says is printed at its end. Tests without a store and browsers run once in any case, in the second
(the story and the frame on SQLite, too, with `--all`). Without `--all` PostgreSQL gets what can differ there: the
packages of `tests/conftest.py:BOTH`, races and what commits, but for pages, tests marked `computing` (a second or more,
beside a shorter one that sends the same SQL), and all cases of a table but its first. Properties, which both passes
try, are tried with fewer examples by the second. Tests marked `long` run with `--all` alone. `--smoke` runs SMOKE on
SQLite.
KEEL_TEST_ENGINE=sqlite or =postgres keeps to one engine. A missing service is a skip with its reason, in CI a failure.

One test with its store takes three seconds on SQLite, as the migrated database is kept in .pytest_cache. PostgreSQL is
started for each run; `python -m tests.services` starts one to stay, TEST_DATABASE_URL and TEST_REDIS_URL name it, and
`--reuse-db` keeps its migrated database, too.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

import pytest

from tests.services import ServiceMissing, postgres_url, redis_url

ENGINES = {"sqlite": "SQLite, in-memory layer", "postgres": "PostgreSQL, Redis"}
MOST_WORKERS = 4  # of one pass: each needs a database and a browser of its own
BYTECODE = Path(__file__).parent.parent / ".pytest_cache" / "bytecode"
# The story, and one file of each package.
SMOKED = """
    browser/test_story test_harness test_guards test_repository config/test_settings config/lib/test_owned
    config/lib/llm/test_answer config/lib/search/test_index offline/test_model memory/api/test_memory
    memory/claims/test_support memory/facts/test_remember memory/learning/test_writes memory/recall/test_search
    memory/transfer/test_lists memory/web/test_forms chat/api/test_turns chat/conversations/test_services
    chat/endings/test_erasure chat/grounding/test_replies chat/management/test_commands chat/prompt/test_receipts
    chat/tools/test_base chat/turns/test_live chat/web/test_rendering trading/account/test_accounts
    trading/agent/test_context trading/api/test_trades trading/asking/test_query trading/intake/test_reading
    trading/ledger/test_services trading/market/test_queries trading/record/test_totals
    trading/reviews/test_critique trading/rules/test_services trading/runs/test_due trading/skills/test_schemas
    trading/web/test_views
"""
SMOKE = [f"tests/{name}.py" for name in SMOKED.split()]


def main() -> int:
    """Run pytest once for each engine, say what ran where, and return the exit code."""
    arguments = sys.argv[1:]
    scope = next((word for word in ("all", "smoke") if f"--{word}" in arguments), "usual")
    arguments = [argument for argument in arguments if argument != f"--{scope}"]
    chosen = os.environ.get("KEEL_TEST_ENGINE") or ("sqlite" if scope == "smoke" or "--pdb" in arguments else None)
    if chosen not in (None, *ENGINES):
        sys.exit(f"KEEL_TEST_ENGINE is {chosen}; it must be one of {', '.join(ENGINES)}")
    if scope == "smoke":
        arguments = [*SMOKE, *arguments]
    services, missing = _start_services() if chosen != "sqlite" else ({}, "")
    results = {"postgres": (int("CI" in os.environ), f"missing: {missing}")} if missing else {}
    engines = [engine for engine in ENGINES if engine == (chosen or engine) and engine not in results]
    with tempfile.TemporaryDirectory(prefix="keel-test-run-") as folder:
        passes = [Pass(engine, folder, arguments, services) for engine in engines]
        for number, one in enumerate(passes, start=1):
            # Knowing of each other, the passes leave to the other one what it does anyway.
            place = str(number) if len(passes) > 1 else "only"
            environment = {} if chosen else {"KEEL_TEST_PASS": place, "KEEL_TEST_SCOPE": scope}
            one.start(environment, workers=min(MOST_WORKERS, os.cpu_count() or 1), is_first=number == 1)
        results |= {one.engine: one.finish() for one in passes}
    print("\nThe tests ran on:")
    for engine, (_, words) in results.items():
        print(f"  {ENGINES[engine]:<25}{words}")
    return max(code for code, _ in results.values())


def _start_services() -> tuple[dict[str, str], str]:
    """Return where PostgreSQL and Redis are, or why they cannot be had."""
    try:
        return {"KEEL_TEST_POSTGRES": postgres_url(), "KEEL_TEST_REDIS": redis_url()}, ""
    except ServiceMissing as missing:
        return {}, str(missing)


def _bytecode() -> dict[str, str]:
    """Return the environment in which all processes share compiled modules.

    Where Python is told to write no bytecode, each process would compile tests and libraries again, for 20 seconds.
    """
    if not sys.dont_write_bytecode:
        return {}
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(BYTECODE)}


class Pass:
    """The suite on one engine."""

    def __init__(self, engine: str, folder: str, arguments: list[str], services: dict[str, str]) -> None:
        self.engine, self.arguments, self.output = engine, arguments, Path(folder, f"{engine}.txt")
        self.environment = os.environ | _bytecode() | services
        self.environment |= {"KEEL_TEST_ENGINE": engine, "KEEL_TEST_FAILURES": f"{folder}/{engine}"}

    def start(self, environment: dict[str, str], workers: int, is_first: bool) -> None:
        """Start the tests; only what the first pass says is seen at once."""
        self.environment |= environment
        # One test, or one in a debugger, needs no other process.
        is_alone = any("::" in argument or argument.startswith(("-n", "--pdb")) for argument in self.arguments)
        spread = ["-n", str(workers), "--dist", "loadgroup"] if workers > 1 and not is_alone else []
        if is_first:
            print(f"\n=== {ENGINES[self.engine]} ===", flush=True)
        self.started = time.monotonic()
        with self.output.open("wb") as output:
            self.process = self._call(*spread, *self.arguments, stdout=None if is_first else output)

    def _call(self, *arguments: str, stdout: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "pytest", *arguments], env=self.environment, stdout=stdout)

    def finish(self) -> tuple[int, str]:
        """Wait for the end and return the exit code with a few words on how it went."""
        code = self.process.wait()
        seconds = f"{time.monotonic() - self.started:.0f} s"
        if text := self.output.read_text(errors="replace"):
            print(f"\n=== {ENGINES[self.engine]} ===", text, sep="\n", flush=True)
        if code == pytest.ExitCode.NO_TESTS_COLLECTED and self.arguments:
            return 0, "nothing selected"
        words = "passed"
        if code == pytest.ExitCode.TESTS_FAILED and (again := _to_try_again(self.environment["KEEL_TEST_FAILURES"])):
            print("\n=== a second try, one after another ===", *again, sep="\n", flush=True)
            code = self._call("-n0", *again).wait()
            words = f"passed, on the second try: {', '.join(again)};"
        return code, f"{words} in {seconds}" if code == 0 else f"FAILED in {seconds}"


def _to_try_again(failures: str) -> list[str]:
    """Return the tests that failed, if browsers or clocks alone may be to blame: those suffer on a busy machine."""
    noted = Path(failures)  # missing if pytest broke off before its first test
    lines = [line.split("\t") for line in noted.read_text().splitlines()] if noted.exists() else []
    return sorted(name for _, name in lines) if all(kind == "may repeat" for kind, _ in lines) else []


if __name__ == "__main__":
    sys.exit(main())
