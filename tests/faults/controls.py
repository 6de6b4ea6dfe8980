"""Remove each security control and prove that a test fails without it: `make controls`, or `make controls ARGS=csp`.

A control is a piece of a file (tests/faults/pieces.py). The script copies the checkout, replaces the piece, and runs
the tests that are named there; they must fail. `test_controls.py` checks that each piece is still in its file, on every
run of the suite. `ARGS=limit` lifts each limit at each of its places, in one process (tests/faults/lifting.py).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.pieces import ON_POSTGRES, PIECES
from tests.limits import find_marked, find_places

ROOT = Path(__file__).parent.parent.parent
SECONDS = 400  # for the tests of one control


@dataclass(frozen=True)
class Control:
    """A piece of a file whose removal the tests must notice."""

    name: str
    path: str
    piece: str
    without: str
    tests: str
    engine: str


CONTROLS = tuple(
    Control(name, path, piece, without, tests, "postgres" if tests in ON_POSTGRES else "sqlite")
    for (path, tests), pieces in PIECES.items()
    for name, piece, without in pieces
)


LIMITS = {place: f"limit {place.limit} in {place.path}" for place in sorted(find_places())}


@contextmanager
def _copied_checkout() -> Iterator[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    with tempfile.TemporaryDirectory(prefix="keel-controls-") as folder:
        copy = Path(folder) / "keel"
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name)
        yield copy


def remove(control: Control, checkout: Path) -> None:
    """Replace the control's piece in a copy of the checkout."""
    file = checkout / control.path
    file.write_text(file.read_text().replace(control.piece, control.without))


def is_noticed(control: Control, checkout: Path) -> bool:
    """Tell whether a test fails without the control."""
    original = (checkout / control.path).read_text()
    remove(control, checkout)
    # Through the starter of the suite, which brings PostgreSQL where a control needs it.
    is_local = control.engine == "sqlite"
    tests = [sys.executable, "-m", *(["pytest", "--reuse-db"] if is_local else ["tests"]), "-n0", "-q", "-x"]
    try:
        done = subprocess.run(
            [*tests, *control.tests.split()],
            cwd=checkout,
            env={**os.environ, "KEEL_TEST_ENGINE": control.engine},
            capture_output=True,
            timeout=SECONDS,
        )
    finally:
        (checkout / control.path).write_text(original)
    return done.returncode == 1  # 0: all pass; others: the tests did not run


def try_limits(words: str) -> dict[str, bool]:
    """Lift the limits whose names have these words; return whether a test failed for each."""
    chosen = {place for place, name in LIMITS.items() if words in name.lower()}
    tests = sorted({test for place in chosen for test in find_marked().get(place.limit, ())})
    if not tests:
        return {}
    options = ["--reuse-db", "-p", "tests.faults.lifting", "-m", "limit", "-n0", "-q", "--tb=no"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=ROOT,
        env={**os.environ, "KEEL_TEST_ENGINE": "sqlite"},
        capture_output=True,
        text=True,
    )
    noticed = set(re.findall(r"^noticed +(limit .*)$", done.stdout, re.MULTILINE))
    return {LIMITS[place]: LIMITS[place] in noticed for place in sorted(chosen)}


def main() -> int:
    """Try each control whose name has the words of the command line."""
    words = " ".join(sys.argv[1:]).lower()
    chosen = [control for control in CONTROLS if words in control.name.lower()]
    results: dict[str, bool] = {}
    with _copied_checkout() as checkout:
        for control in chosen:
            began = time.monotonic()
            results[control.name] = is_noticed(control, checkout)
            _tell(results[control.name], f"{control.name} ({time.monotonic() - began:.0f} s)")
    for name, noticed in try_limits(words).items():
        results[name] = noticed
        _tell(noticed, name)
    print(f"{sum(results.values())} of {len(results)} removals are noticed.")
    return 0 if all(results.values()) else 1


def _tell(noticed: bool, name: str) -> None:
    print(f"{'noticed' if noticed else 'MISSED':8} {name}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
