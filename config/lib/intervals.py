"""Confidence intervals of small samples, 90 % unless many groups are compared; pure.

`groups` is how many intervals are read side by side: each then covers more, so that all together cover 90 %
(Bonferroni). `benchmarks/bench_intervals.py` simulates the coverage.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import cbrt, cos, fsum, pi, sin, sqrt
from operator import mul
from statistics import NormalDist, fmean
from typing import Final

LEVEL: Final = 0.9
MIN_VALUES: Final = 5
_MANY: Final = 200  # degrees of freedom; above, an expansion is exact to four digits
_FLAT: Final = 1e-6  # skewness below which the transformation is the identity
_RATIO_SPAN: Final = 1e6  # around the observed ratio; a bound beyond it is not known
_HALVINGS: Final = 60
_MOST_DEPENDENT: Final = 0.9  # autocorrelation beyond which a short record tells nothing

Interval = tuple[float, float]


def mean_interval(values: Sequence[float], *, groups: int = 1, is_series: bool = False) -> Interval | None:
    """Return an interval of the mean; None for too few or equal values.

    A t interval misses a skewed mean far too often (75 % at 6 trades with rare large winners). Hall's transformation
    of t takes the skewness out, costs nothing where there is none, and needs no resampling. `is_series`: the values are
    in the order of time, and each may resemble the one before.
    """
    if len(values) < MIN_VALUES:
        return None
    n, mean = len(values), fmean(values)
    away = [value - mean for value in values]
    squares = list(map(mul, away, away))
    alike = _measure_dependence(away) if is_series else 1.0
    return _hall_interval(n, mean, fsum(squares) / n, fsum(map(mul, squares, away)) / n, groups, alike)


def _average_powers(values: Sequence[float], most: int, n: int) -> list[float]:
    """Return the mean of the first powers of values, which are `n` with the zeros left out."""
    powers, found = values, [fsum(values) / n]
    for _ in range(1, most):
        powers = list(map(mul, powers, values))
        found.append(fsum(powers) / n)
    return found


def _measure_dependence(values: Sequence[float]) -> float:
    """Return by what their likeness multiplies the variance of the mean of values around zero, in order; at least 1.

    That of a series in which each value repeats a share of the one before (Bartlett 1946), whose estimate is too low by
    about (1 + 3g) / n (Kendall 1954). Newey and West's sum covers less in records of 30 to 365 days.
    """
    squares = fsum(map(mul, values, values))
    share = fsum(map(mul, values, values[1:])) / squares if squares else 0.0
    share = min(max(share + (1 + 3 * share) / len(values), 0.0), _MOST_DEPENDENT)
    return (1 + share) / (1 - share)


def _hall_interval(
    n: int, mean: float, second: float, third: float, groups: int, dependence: float = 1.0
) -> Interval | None:
    """Return Hall's interval from a sample's central moments."""
    deviation = sqrt(max(second, 0.0) * n / (n - 1))
    if deviation <= abs(mean) * 1e-12:
        return None
    skewness = third / deviation**3 * n * n / ((n - 1) * (n - 2))
    root = sqrt(n / dependence)
    slope, error = skewness / (3 * root), deviation / root
    bound = student_quantile(_upper_tail(groups), n - 1)

    def invert(t: float) -> float:
        return t if abs(slope) < _FLAT else (cbrt(1 + 3 * slope * (t - slope / 2)) - 1) / slope

    return mean - error * invert(bound), mean - error * invert(-bound)


def share_interval(hits: int, total: int, *, groups: int = 1) -> Interval | None:
    """Return Wilson's interval of a share."""
    if total < MIN_VALUES:
        return None
    z, share = NormalDist().inv_cdf(_upper_tail(groups)), hits / total
    centre, weight = share + z * z / (2 * total), 1 + z * z / total
    half = z * sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    return max(0.0, (centre - half) / weight), min(1.0, (centre + half) / weight)


def profit_factor_interval(values: Sequence[float], *, groups: int = 1) -> tuple[float, float | None] | None:
    """Return an interval of gains over losses; an upper None is unbounded.

    It holds each ratio c for which the interval of the mean of (gain - c * loss) includes zero.
    """
    won, lost = [value for value in values if value > 0], [-value for value in values if value < 0]
    if len(values) < MIN_VALUES or not won or not lost:
        return None
    gains, losses = (_average_powers(side, 3, len(values)) for side in (won, lost))

    def bounds(ratio: float) -> Interval:
        # No trade both wins and loses, so that the mixed moments are zero.
        first, second, third = (gains[at] + (-ratio) ** (at + 1) * losses[at] for at in range(3))
        variance, skew = second - first**2, third - 3 * first * second + 2 * first**3
        return _hall_interval(len(values), first, variance, skew, groups) or (first, first)

    observed = gains[0] / losses[0]
    low = _find_sign_change(lambda ratio: bounds(ratio)[0], observed / _RATIO_SPAN, observed)
    high = _find_sign_change(lambda ratio: bounds(ratio)[1], observed, observed * _RATIO_SPAN)
    return low or 0.0, high


def _find_sign_change(of: Callable[[float], float], low: float, high: float) -> float | None:
    """Return where a falling function crosses zero; None: not here."""
    if of(low) <= 0 or of(high) >= 0:
        return None
    for _ in range(_HALVINGS):
        middle = sqrt(low * high)
        low, high = (middle, high) if of(middle) > 0 else (low, middle)
    return sqrt(low * high)


def sharpe_interval(returns: Sequence[float]) -> Interval | None:
    """Return an interval of mean over deviation of returns in the order of time, for any distribution (Mertens 2002).

    A position that is held makes days alike, which widens it: by the likeness of what each day adds to the ratio.
    """
    n = len(returns)
    if n < MIN_VALUES:
        return None
    mean = fmean(returns)
    away = [value - mean for value in returns]
    _, second, third, fourth = _average_powers(away, 4, n)
    if second <= 0:
        return None
    ratio = mean / sqrt(second * n / (n - 1))
    variance = 1 - third / second**1.5 * ratio + (fourth / second**2 - 1) / 4 * ratio**2
    # What each day adds to the ratio; its variance is Mertens'.
    added = [value / sqrt(second) - ratio / 2 * (value * value / second - 1) for value in away]
    variance = max(variance, 0.0) * _measure_dependence(added)
    half = student_quantile(_upper_tail(1), n - 1) * sqrt(variance / (n - 1))
    return ratio - half, ratio + half


def median_interval(values: Sequence[float]) -> Interval | None:
    """Return the order statistics that enclose the median, None if none do."""
    ordered, n = sorted(values), len(values)
    # Of 2**n equally likely samples, `below` have at most `rank` values below the median, `ways` have that many.
    most, rank, ways = 2**n // round(2 / (1 - LEVEL)), 0, 1
    below = ways
    while rank < n // 2 and below <= most:
        rank += 1
        ways = ways * (n - rank + 1) // rank
        below += ways
    return (ordered[rank - 1], ordered[n - rank]) if rank else None


def _upper_tail(groups: int) -> float:
    return 1 - (1 - LEVEL) / (2 * max(groups, 1))


@lru_cache(maxsize=512)
def student_quantile(share: float, freedom: int) -> float:
    """Return the quantile of Student's t above its median."""
    if freedom > _MANY:
        z = NormalDist().inv_cdf(share)
        return z + (z**3 + z) / (4 * freedom)
    low, high = 0.0, pi / 2  # of the angle whose tangent is t / sqrt(freedom)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_share(middle, freedom) < share else (low, middle)
    return sin(low) / cos(low) * sqrt(freedom)


def _student_share(angle: float, freedom: int) -> float:
    """Return the share below t, a finite sum for whole degrees of freedom."""
    square, odd = cos(angle) ** 2, freedom % 2
    term, total = (sin(angle) * cos(angle), angle) if odd else (sin(angle), 0.0)
    for number in range(1 + odd, freedom, 2):
        total += term
        term *= square * number / (number + 1)
    return 0.5 + (total / pi if odd else total / 2)
