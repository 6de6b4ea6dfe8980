"""How often the intervals of a record cover the truth, by simulation.

Two outcomes with a rare large loss are shown without a goal: a sample without a single loss cannot know of it.
"""

import sys
from collections.abc import Callable
from math import exp, sqrt
from random import Random

from benchmarks.report import Report, benchmark, size
from config.lib.intervals import LEVEL, mean_interval, profit_factor_interval, share_interval, sharpe_interval

SIZES, DRAWS = (6, 8, 10, 15, 20, 30, 50, 100, 250), size(4000, 20)
Draw = Callable[[Random], float]

NORMAL, SKEWED = "normal results, worst size", "skewed results, worst size"
# Name, draw, true mean, the claim (None: shown only).
MEANS: tuple[tuple[str, Draw, float, str | None], ...] = (
    ("normal", lambda random: random.gauss(0, 1), 0.0, NORMAL),
    ("exponential", lambda random: random.expovariate(1), 1.0, SKEWED),
    ("exponential losses", lambda random: -random.expovariate(1), -1.0, SKEWED),
    ("lognormal", lambda random: random.lognormvariate(0, 0.8), exp(0.32), SKEWED),
    ("rare winners", lambda random: _pay(random, 1), 0.2, SKEWED),
    ("rare losers", lambda random: _pay(random, -1), -0.2, SKEWED),
    ("stop at four times the target", lambda random: 0.5 if random.random() < 0.8 else -2.0, 0.0, None),
)


def _pay(random: Random, sign: int) -> float:
    return sign * (random.expovariate(1 / 3) if random.random() < 0.3 else random.gauss(-1, 0.3))


def cover(bounds: Callable[[Random], tuple[float, float | None] | None], truth: float, draws: int = DRAWS) -> float:
    """Return the percentage of known intervals that cover the truth."""
    random = Random(15)
    known = [interval for _ in range(draws) if (interval := bounds(random)) is not None]
    return 100 * sum(low <= truth and (high is None or truth <= high) for low, high in known) / len(known)


def measure_means() -> dict[str, float]:
    """Print the coverage of means; return by claim how many points the worst is off."""
    found = dict.fromkeys((NORMAL, SKEWED), 0.0)
    for name, draw, truth, claim in MEANS:
        shares = [
            cover(lambda random, n=n, draw=draw: mean_interval([draw(random) for _ in range(n)]), truth) for n in SIZES
        ]
        worst = max(abs(share - 100 * LEVEL) for share in shares)
        if claim:
            found[claim] = max(found[claim], worst)
        print(f"mean, {name}: {' '.join(f'{share:.1f}' for share in shares)}; worst {worst:.1f} points")
    return found


def show_others() -> None:
    def nets(random: Random, n: int) -> list[float]:
        return [random.expovariate(1 / 2) if random.random() < 0.4 else -random.expovariate(1) for _ in range(n)]

    for n in (10, 30, 100, 250):
        share = cover(lambda random, n=n: share_interval(sum(random.random() < 0.4 for _ in range(n)), n), 0.4)
        factor = cover(lambda random, n=n: profit_factor_interval(nets(random, n)), 0.8 / 0.6, DRAWS // 4)
        print(f"win rate, n={n}: {share:.1f}; profit factor: {factor:.1f}")
    for days in (20, 30, 90, 365):
        ratios = [
            cover(
                lambda random, days=days, true=true: sharpe_interval([random.gauss(true, 1) for _ in range(days)]), true
            )
            for true in (0.0, 2 / sqrt(365))
        ]
        print(f"Sharpe, {days} days: {ratios[0]:.1f} of a true 0, {ratios[1]:.1f} of a true 2")


@benchmark
def main(report: Report) -> None:
    print(f"coverage of {100 * LEVEL:.0f} % intervals at n = {', '.join(map(str, SIZES))}, {DRAWS} draws")
    for claim, worst in measure_means().items():
        report.add(claim, worst)
    show_others()


if __name__ == "__main__":
    sys.exit(main())
