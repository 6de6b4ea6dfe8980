"""What a benchmark says: a line for each claim with its goal, and an exit code that is 1 where one is missed."""

import os
import statistics
import time
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Final, TypeVar

from benchmarks.goals import GOALS, Goal

# The smallest sizes, to find what crashes or has lost a claim: figures of such a run are held to no goal.
TINY: Final = "BENCH_TINY" in os.environ

T = TypeVar("T")


def size(full: T, tiny: T) -> T:
    """Return how large something is in this run."""
    return tiny if TINY else full


class UnknownClaim(LookupError):
    """The table of goals has no such claim of this benchmark."""


class Report:
    """The measures of one benchmark beside their goals."""

    def __init__(self, goals: Mapping[str, Goal], *, is_held: bool = not TINY) -> None:
        self._goals, self._is_held = goals, is_held
        self._kept: dict[str, bool] = {}

    def add(self, claim: str, value: float) -> None:
        """Print a measure with its goal. Raises UnknownClaim."""
        if claim not in self._goals:
            raise UnknownClaim(claim)
        goal = self._goals[claim]
        self._kept[claim] = goal.allows(value)
        verdict = ("ok" if self._kept[claim] else "MISSED") if self._is_held else "tiny: not held to it"
        print(f"{claim:<56}{value:>10,.2f} {goal.unit:<5} goal: {goal}: {verdict}", flush=True)

    def end(self) -> int:
        """Return the exit code: 1 where a goal is missed or a claim has no measure."""
        unmeasured = [claim for claim in self._goals if claim not in self._kept]
        for claim in unmeasured:
            print(f"{claim}: NOT MEASURED")
        return int(bool(unmeasured) or (self._is_held and not all(self._kept.values())))


def benchmark(measure: Callable[[Report], None]) -> Callable[[], int]:
    """Make what measures the claims of its module the module's `main`, which returns the exit code."""

    @wraps(measure)
    def main() -> int:
        report = Report(GOALS[Path(measure.__code__.co_filename).stem])
        measure(report)
        return report.end()

    return main


def time_cpu(work: Callable[[], object], *, rounds: int = 15, seconds: float = 4.0) -> float:
    """Return the median CPU time of this process in milliseconds; after three rounds `seconds` of it are enough.

    SQLite runs in this process, so its time is in it; that of PostgreSQL's server is not.
    """
    took: list[float] = []
    for _ in range(size(rounds, 1)):
        began = time.process_time()
        work()
        took.append((time.process_time() - began) * 1e3)
        if len(took) >= 3 and sum(took) > seconds * 1e3:
            break
    return statistics.median(took)


def find_p95(values: list[float]) -> float:
    """Return the value that a twentieth of them exceeds."""
    return statistics.quantiles(values, n=20)[-1]
