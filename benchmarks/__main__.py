"""Run benchmarks, each in its own process: `make bench ARGS="[NAME ...] [--tiny] [options of NAME]"`."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

from benchmarks.goals import GOALS
from tests.services import ServiceMissing, new_database, redis_url

ON_POSTGRESQL = {"bench_deployments", "bench_follow", "bench_migrate"}
ON_REDIS = {"bench_follow"}
DONE, MISSING = "ok", "skipped: "


def main() -> int:
    """Run the benchmarks named on the command line, or all of them; return 1 unless each ended well."""
    arguments = sys.argv[1:]
    names = [name for name in arguments if name in GOALS] or list(GOALS)
    options = [argument for argument in arguments if argument not in GOALS and argument != "--tiny"]
    if unknown := [option for option in options if option.startswith("bench_")]:
        sys.exit(f"{', '.join(unknown)}: give each benchmark its goals in benchmarks/goals.py")
    if "--tiny" in arguments:
        os.environ["BENCH_TINY"] = "true"
    ends = {}
    for name in names:
        began = time.monotonic()
        print(f"\n=== {name} ===", flush=True)
        end = run(name, options)
        ends[name] = f"{end} in {time.monotonic() - began:.0f} s"
    print("", *(f"{name:<20}{end}" for name, end in ends.items()), sep="\n")
    return int(any(map(is_failure, ends.values())))


def run(name: str, options: list[str]) -> str:
    """Run one benchmark on a new database, if it needs a server's; return how it ended."""
    with ExitStack() as stack:
        environment = {}
        try:
            if name in ON_POSTGRESQL and "BENCH_DATABASE_URL" not in os.environ:
                environment["BENCH_DATABASE_URL"] = stack.enter_context(new_database())
            if name in ON_REDIS:
                environment["REDIS_URL"] = f"{redis_url()}/0"
        except ServiceMissing as missing:
            return f"{MISSING}{missing}"
        command = [sys.executable, "-m", f"benchmarks.{name}", *options]
        return describe_end(subprocess.run(command, env=os.environ | environment, check=False).returncode)


def describe_end(code: int) -> str:
    """Return an exit code in words."""
    if code < 0:
        return f"KILLED by {signal.Signals(-code).name}"
    return f"FAILED with {code}" if code else DONE


def is_failure(end: str) -> bool:
    """Tell whether an end is none that may be; in CI every service is there."""
    return not end.startswith((DONE, MISSING)) or (end.startswith(MISSING) and "CI" in os.environ)


if __name__ == "__main__":
    sys.exit(main())
