"""Run the suite on both engines: `python -m tests [arguments of pytest]`, which is what `make test` does.

KEEL_TEST_ENGINE=sqlite or =postgres keeps to one. A missing service is a skip with its reason, in CI a failure.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.services import ServiceMissing, postgres_url, redis_url

ENGINES = {"sqlite": "SQLite, in-memory layer", "postgres": "PostgreSQL, Redis"}
MOST_WORKERS = 4  # each needs a database of its own, which takes longer to make than it saves


def main() -> int:
    """Run pytest once for each engine, say what ran where, and return the exit code."""
    chosen = os.environ.get("KEEL_TEST_ENGINE")
    if chosen not in (None, *ENGINES):
        sys.exit(f"KEEL_TEST_ENGINE is {chosen}; it must be one of {', '.join(ENGINES)}")
    results = {}
    for engine in [chosen] if chosen else ENGINES:
        # Knowing of each other, the passes leave to the other one what it does anyway.
        which = {} if chosen else {"KEEL_TEST_PASS": str(len(results) + 1)}
        results[engine] = _run(engine, which)
    print("\nThe tests ran on:")
    for engine, (_, words) in results.items():
        print(f"  {ENGINES[engine]:<25}{words}")
    return max(code for code, _ in results.values())


def _run(engine: str, which: dict[str, str]) -> tuple[int, str]:
    """Run the suite on an engine and return its exit code with a few words on how it went."""
    print(f"\n=== {ENGINES[engine]} ===", flush=True)
    environment = os.environ | {"KEEL_TEST_ENGINE": engine} | which
    if engine == "postgres":
        try:
            environment |= {"KEEL_TEST_POSTGRES": postgres_url(), "KEEL_TEST_REDIS": redis_url()}
        except ServiceMissing as missing:
            print(missing)
            return (1, f"FAILED: {missing}") if os.environ.get("CI") else (0, f"skipped: {missing}")
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest"]
    code = subprocess.run([*command, *_spread(), *sys.argv[1:]], env=environment).returncode
    if code == pytest.ExitCode.NO_TESTS_COLLECTED and sys.argv[1:]:
        return 0, "nothing selected"
    words = "passed"
    if code == pytest.ExitCode.TESTS_FAILED and len(sys.argv) == 1:
        # Browsers and clocks suffer on a busy machine. What fails beside others and passes alone is named, not hidden.
        print("\n=== once more, one after another: what has failed ===", flush=True)
        code = subprocess.run([*command, "--last-failed", "--last-failed-no-failures=none"], env=environment).returncode
        words = "passed, some only when they ran alone (see above),"
    seconds = f"{time.monotonic() - started:.0f} s"
    return code, f"{words} in {seconds}" if code == 0 else f"FAILED in {seconds}"


def _spread() -> Iterator[str]:
    """Yield the arguments that spread the tests over processes, unless one test or a debugger is asked for."""
    if not any("::" in argument or argument.startswith(("-n", "--pdb")) for argument in sys.argv[1:]):
        yield from ("-n", str(min(MOST_WORKERS, os.cpu_count() or 1)), "--dist", "loadgroup")


if __name__ == "__main__":
    sys.exit(main())
