"""Performance of trades and an equity curve; always finite. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import accumulate
from math import fsum, sqrt
from operator import sub
from statistics import fmean, stdev
from typing import Final, NamedTuple

from config.lib.charts.thinning import MOST, pick_extremes
from config.lib.intervals import Interval, mean_interval, profit_factor_interval, share_interval, sharpe_interval
from trading.market.regime import simple_returns

DAYS_PER_YEAR: Final = 365  # these markets never close
MIN_DAYS: Final = 20  # of returns; a Sharpe ratio of fewer says nothing
MIN_TRADES: Final = 5  # below: "too few to say"
ZERO: Final = Decimal(0)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)

Bounds = tuple[float, float | None]  # of an interval; up to None: not bounded


class ClosedTrade(NamedTuple):
    net_usd: float
    gross_usd: float = 0.0
    fees_usd: float = 0.0
    funding_usd: float = 0.0
    held_minutes: float = 0.0
    opened_at: datetime = _NEVER
    symbol: str = ""

    @property
    def closed_at(self) -> datetime:
        """The exit, to the second."""
        return self.opened_at + timedelta(minutes=self.held_minutes)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a record; None: too little data."""

    trades: int  # that it rests on
    value: float | None
    interval: Bounds | None = None  # about 90 %
    mean: float | None = None  # of a sum: what a trade adds; then the interval is that of the mean


@dataclass(frozen=True, slots=True)
class EquityAt:
    """The account's equity, open positions at their mark."""

    at: datetime
    equity_usd: Decimal


@dataclass(frozen=True, slots=True)
class Drawdown:
    usd: Decimal
    fraction: float  # 0..1 of the peak; above 1 if the account went below zero


@dataclass(frozen=True, slots=True)
class Sharpe:
    ratio: float  # a year
    days: int
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Performance:
    """The figures of a record; None: too little data. Intervals cover about 90 %."""

    trades: int
    wins: int
    net_usd: Decimal
    gross_usd: Decimal
    fees_usd: Decimal
    funding_usd: Decimal | None  # None: not known
    win_rate_fraction: float | None  # trades with net above zero
    win_rate_interval_fraction: Bounds | None
    profit_factor: float | None  # won over lost; None without losses
    profit_factor_interval: Bounds | None
    expectancy_usd: float | None  # mean net of a trade
    expectancy_interval_usd: Bounds | None
    mean_held: timedelta | None
    sharpe: float | None
    sharpe_days: int | None
    sharpe_interval: Interval | None
    equity_days: int  # of the curve; none: no equity on record
    max_drawdown: Drawdown | None
    is_too_few: bool

    @property
    def mean_holding_minutes(self) -> float | None:
        return None if self.mean_held is None else self.mean_held.total_seconds() / 60


def summarise_trades(
    trades: Sequence[ClosedTrade], equity: Iterable[EquityAt] = (), *, starting_equity_usd: Decimal | None = None
) -> Performance:
    """Return a record's figures; `equity` is read once, in order."""
    ends: list[EquityAt] = []
    drawdown = max_drawdown(_note_ends(equity, ends), starting_equity_usd)
    nets, gross, fees, funding, minutes = (tuple(zip(*trades, strict=True)) or ((),) * 5)[:5]
    win_rate, factor, expectancy = measure_win_rate(nets), measure_profit_factor(nets), measure_mean(nets)
    daily = daily_equity(ends, starting_equity_usd)
    sharpe = measure_sharpe(daily)
    return Performance(
        trades=len(nets),
        wins=sum(net > 0 for net in nets),
        net_usd=total_usd(nets),
        gross_usd=total_usd(gross),
        fees_usd=total_usd(fees),
        funding_usd=total_usd(funding),
        win_rate_fraction=win_rate.value,
        win_rate_interval_fraction=win_rate.interval,
        profit_factor=factor.value,
        profit_factor_interval=factor.interval,
        expectancy_usd=expectancy.value,
        expectancy_interval_usd=expectancy.interval,
        mean_held=timedelta(minutes=fsum(minutes) / len(nets)) if nets else None,
        sharpe=sharpe.ratio if sharpe else None,
        sharpe_days=sharpe.days if sharpe else None,
        sharpe_interval=sharpe.interval if sharpe else None,
        equity_days=max(0, len(daily) - 1),
        max_drawdown=drawdown,
        is_too_few=len(nets) < MIN_TRADES,
    )


def add_usd(amounts: Iterable[float]) -> float:
    """Return the sum of amounts, right to the eighth place for ten thousand trades (decision 46)."""
    return round(fsum(amounts), 8)


def total_usd(amounts: Iterable[float]) -> Decimal:
    """Return the sum of amounts as a decimal of eight places."""
    return Decimal(repr(add_usd(amounts)))


def measure_sum(values: Sequence[float], groups: int = 1) -> Figure:
    """Return a sum, with the interval of what a trade adds."""
    mean = measure_mean(values, groups)
    return Figure(len(values), add_usd(values) if values else None, mean.interval, mean.value)


def measure_mean(values: Sequence[float], groups: int = 1) -> Figure:
    """Return the mean of a trade."""
    mean = add_usd(values) / len(values) if values else None
    return Figure(len(values), mean, mean_interval(values, groups=groups))


def measure_win_rate(nets: Sequence[float], groups: int = 1) -> Figure:
    """Return the share of trades with a net above zero."""
    wins = sum(net > 0 for net in nets)
    return Figure(len(nets), wins / len(nets) if nets else None, share_interval(wins, len(nets), groups=groups))


def measure_profit_factor(nets: Sequence[float], groups: int = 1) -> Figure:
    """Return won over lost, None without losses."""
    won, lost = add_usd(net for net in nets if net > 0), add_usd(-net for net in nets if net < 0)
    return Figure(len(nets), won / lost if lost else None, profit_factor_interval(nets, groups=groups))


def measure_fall(nets: Sequence[float], groups: int = 1) -> Figure:
    """Return the deepest fall of summed nets, in the order in which trades closed."""
    levels = list(accumulate(nets, initial=0.0))
    deepest = max(map(sub, accumulate(levels, max), levels))
    return Figure(len(nets), round(deepest, 8) if nets else None)


def daily_equity(points: Sequence[EquityAt], starting_equity_usd: Decimal | None = None) -> list[float]:
    """Return the equity at each UTC day's end, after the starting equity; an idle day repeats the day before."""
    last: dict[date, Decimal] = {point.at.astimezone(UTC).date(): point.equity_usd for point in points}
    if not last:
        return []
    day, until = min(last), max(last)
    equity = starting_equity_usd if starting_equity_usd is not None else points[0].equity_usd
    values = [float(equity)]
    while day <= until:
        equity = last.get(day, equity)
        values.append(float(equity))
        day += timedelta(days=1)
    return values


def daily_returns(points: Sequence[EquityAt], starting_equity_usd: Decimal | None = None) -> dict[date, float]:
    """Return the return of each UTC day; none of an account that went to zero."""
    values = daily_equity(points, starting_equity_usd)
    if not values or any(value <= 0 for value in values):
        return {}
    first = points[0].at.astimezone(UTC).date()
    return {first + timedelta(days=number): value for number, value in enumerate(simple_returns(values))}


def monthly_returns(points: Iterable[EquityAt], starting_equity_usd: Decimal) -> dict[tuple[int, int], float]:
    """Return the return of each UTC (year, month) with equity."""
    ends: dict[tuple[int, int], Decimal] = {}
    for point in points:
        at = point.at.astimezone(UTC)
        ends[at.year, at.month] = point.equity_usd
    values = [starting_equity_usd, *ends.values()]
    pairs = zip(ends, values, values[1:], strict=False)
    return {month: float(end / begin - 1) for month, begin, end in pairs if begin > 0}


def compare_days(first: Mapping[date, float], second: Mapping[date, float]) -> Figure:
    """Return by how much the second's mean day beats the first's, on the days of both."""
    differences = [second[day] - first[day] for day in sorted(first.keys() & second.keys())]
    interval = mean_interval(differences, is_series=True)
    return Figure(len(differences), fmean(differences) if differences else None, interval)


def measure_share_held(spans: Iterable[tuple[datetime, datetime]], starts_at: datetime, ends_at: datetime) -> float:
    """Return the share of a time in which something was held, 0..1."""
    held, until = timedelta(0), starts_at
    for since, end in sorted(spans):
        begin, end = max(since, until), min(end, ends_at)
        if end > begin:
            held, until = held + (end - begin), end
    return held / (ends_at - starts_at)


def measure_sharpe(daily: Sequence[float]) -> Sharpe | None:
    """Return the annual Sharpe ratio, None below 20 days or deviation."""
    if len(daily) <= MIN_DAYS or any(value <= 0 for value in daily):
        return None
    returns = simple_returns(daily)
    deviation, year = stdev(returns), sqrt(DAYS_PER_YEAR)
    if deviation <= 0:
        return None
    interval = sharpe_interval(returns)
    scaled = (interval[0] * year, interval[1] * year) if interval else None
    return Sharpe(fmean(returns) / deviation * year, len(returns), scaled)


def thin_curve(rows: Sequence[tuple[str, float]], start: float, most: int = MOST) -> list[EquityAt]:
    """Return the rows that figures and picture need.

    A year of quarter hours has 35,000 points. Those kept are each UTC day's last one, the extremes of the values and of
    the falls, and the peaks that those fell from: drawdown and Sharpe ratio are those of the whole curve.
    """
    values = [value for _, value in rows]
    peak_at, peak = 0, start
    peaks, falls = [], []
    for place, value in enumerate(values):
        if value > peak:
            peak_at, peak = place, value
        peaks.append(peak_at)
        falls.append(1 - value / peak if peak > 0 else 0.0)
    kept = {*pick_extremes([values, falls], most), *{at[:10]: place for place, (at, _) in enumerate(rows)}.values()}
    kept |= {peaks[place] for place in kept}
    return [_read_point(*rows[place]) for place in sorted(kept)]


def _read_point(at: str, equity: float) -> EquityAt:
    instant = datetime.fromisoformat(at)
    return EquityAt(instant if instant.tzinfo else instant.replace(tzinfo=UTC), Decimal(repr(equity)))


def max_drawdown(points: Iterable[EquityAt], starting_equity_usd: Decimal | None = None) -> Drawdown | None:
    """Return the deepest drawdown; None without a curve."""
    peak, deepest = starting_equity_usd, None
    for point in points:
        peak = point.equity_usd if peak is None else max(peak, point.equity_usd)
        deepest = deepest or Drawdown(ZERO, 0.0)
        fall = peak - point.equity_usd
        if peak > 0 and float(fall / peak) > deepest.fraction:
            deepest = Drawdown(fall, float(fall / peak))
    return deepest


def _note_ends(points: Iterable[EquityAt], ends: list[EquityAt]) -> Iterator[EquityAt]:
    """Pass points on; collect each UTC day's last point."""
    day = None
    for point in points:
        before, day = day, point.at.astimezone(UTC).date()
        if len(ends) > 1 and day == before:
            ends[-1] = point
        else:
            ends.append(point)
        yield point
