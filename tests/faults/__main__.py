"""`make faults`: break servers, stores and models, fuzz for long, and print the table.

Each row is a fault and the tests that bring it about. ARGS chooses rows: `make faults ARGS=redis`. The last is the
storm, which takes half an hour alone: `python -m tests.faults.storm --help`.
"""

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass

from tests.services import ServiceMissing, postgres_url, redis_url

EXAMPLES = "45"  # with 150 operations, valid and not: above ten thousand requests


@dataclass(frozen=True)
class Row:
    """A fault, what is wanted, and the tests that try it."""

    name: str
    wanted: str
    tests: str
    engines: tuple[str, ...] = ("sqlite", "postgres")


STORES, TURNS, EDGE = "tests/faults/test_stores.py", "tests/chat/turns", "tests/config/lib/edge"
STANDS, LITE = f"{STORES} -k stands_still_cuts and", ("sqlite",)  # a site chooses its stores itself
ROWS = (
    Row("F1 F2 database stands still for 12 s", "no answer cut", f"{STANDS} 12", LITE),
    Row("F3 database stands still for 45 s", "none cut without a reason", f"{STANDS} 45", LITE),
    Row("F4 Redis away", "API, sign-in and sockets work", f"{STORES} -k redis", LITE),
    Row("F4 Redis away, cache and layer", "work on", f"{EDGE}/test_stores.py {EDGE}/test_layer.py", ("postgres",)),
    Row("F2 connections killed", "nothing lost", f"{TURNS}/test_turn_faults.py -k killed or database"),
    Row("F8 receipts", "written once the database is back", f"{TURNS}/test_turn_faults.py -k receipt"),
    Row("F9 10,000 requests of the schema", "no 5xx", "tests/faults/test_fuzz_api.py"),
    Row("F9 hostile frames", "no error", "tests/faults/test_fuzz_frames.py"),
    Row("F10 kill -9 and SIGTERM", "at most 1 s of text", f"{TURNS}/test_kill.py"),
    Row("SIGTERM of a whole site", "each answer saved", f"{STORES} -k told_to_stop", LITE),
    Row("F11 strangers behind one proxy", "share no limit", f"{EDGE}/test_requests.py", LITE),
    Row("F12 due work", "one indexed query", "tests/trading/runs/test_due.py tests/config/lib/work"),
    Row("F13 backup and restore", "every table equal", "tests/config/lib/operations/test_backups.py"),
    Row("providers", "one clear sentence", f"{TURNS}/test_provider_faults.py"),
    Row("hostile models", "nothing stuck", f"{TURNS}/test_turn_faults.py"),
    Row("races of processes", "one wins", "tests/test_races_of_processes.py"),
    Row("disk full, database away", "503, the text kept", f"{EDGE}/test_responses.py -k outage"),
)


def run(row: Row, engine: str) -> tuple[bool, str]:
    """Run the tests of a row; return whether they pass, and their summary."""
    tests, _, chosen = row.tests.partition(" -k ")
    options = [*tests.split(), *(["-k", chosen] if chosen else [])]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-q", "-rP", *options],
        env={**os.environ, "FAULTS": "1", "FUZZ_EXAMPLES": EXAMPLES, "KEEL_TEST_ENGINE": engine},
        capture_output=True,
        text=True,
    )
    said = re.findall(r"^(?:\d+ of .* cut.*|statuses .*|stopped in .*)$", done.stdout, re.MULTILINE)
    summary = re.findall(r"^\d+ (?:passed|failed).*$", done.stdout, re.MULTILINE)
    return done.returncode == 0, "; ".join(said) or (summary[-1] if summary else done.stdout[-200:])


def main() -> int:
    """Run the rows whose names have the words of the command line."""
    words = " ".join(sys.argv[1:]).lower()
    try:
        postgres_url(), redis_url()
    except ServiceMissing as error:
        print(f"PostgreSQL and Redis are needed: {error}")
        return 1
    failed = 0
    print("| fault | engine | wanted | result | figures | s |\n|---|---|---|---|---|---|")
    for row in (row for row in ROWS if words in row.name.lower()):
        for engine in row.engines:
            began = time.monotonic()
            passed, figures = run(row, engine)
            failed += not passed
            result = "holds" if passed else "FAILS"
            seconds = time.monotonic() - began
            print(f"| {row.name} | {engine} | {row.wanted} | {result} | {figures} | {seconds:.0f} |", flush=True)
    if words in "storm":
        failed += subprocess.run([sys.executable, "-m", "tests.faults.storm"]).returncode
    print(f"\n{failed} rows fail; F5, F6 and F7 are figures of `make bench ARGS='bench_sockets --streams 500'`.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
