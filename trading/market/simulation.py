"""The demo's simulated market: seeded bars and funding.

Every number is a function of the seed, the symbol and the instant alone. So the same bars come out whether
they are made in one go or in pieces, nothing need be carried on from piece to piece, and no bar is made before it has
ended. The bars' source names the seed. A symbol with bars of another source is skipped.

Prices are one market all share and a path of each symbol's own, in logarithms. Both go through stretches of four days,
each a move from one level to the next and a rest on one of them, in either order: trend and chop. Noise, of a
volatility that comes in waves, and the rare shock that wears off lie on top.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import accumulate, pairwise
from math import exp, pi, sin
from random import Random
from typing import Final

from trading.market.imports.bars import floor_instant, list_longer_intervals, store_bars
from trading.market.imports.funding import store_funding
from trading.models import Bar, FundingRate
from trading.models.choices import INTERVALS

MODEL: Final = "Keel simulation v1"
INTERVAL: Final = "5m"
_PAST_INTERVAL: Final = "1h"
HISTORY: Final = timedelta(days=40)
# Three quarterly expiries fit into any 280 days: each kind of event then has past moves. Five-minute bars of that time
# would be a quarter of a million rows.
PAST: Final = timedelta(days=250)
SEED: Final = 1

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_STEP: Final = timedelta(minutes=5)
_STEPS: Final = 288  # in a day
_STEPS_AN_HOUR: Final = 12
_HOURS: Final = 24
_STRETCH: Final = 4  # days
_MARKET: Final = "market"
_SHOCK_ODDS: Final = 0.2  # of a stretch
_SHOCK_DAYS: Final = 3.0  # until a jump has worn off
_CALM_DAYS: Final = 0.3  # until the waves after a jump have
_STEP_NOISE: Final = 0.001  # of a market's logarithm in five minutes, like the next ones
_DAYS_SIZE: Final = 0.006  # from day to day
_STRETCH_SIZE: Final = 0.042  # of the levels of stretches
_TIDE_SIZE: Final = 0.06  # over months
_FUNDING_HOURS: Final = 8
_PAST_PAGE: Final = timedelta(days=10)
_SOURCE: Final = re.compile(rf"{MODEL}, seed (\d+)")


@dataclass(frozen=True, slots=True)
class _CoinModel:
    level: float  # around which it trades, in USD
    beta: float  # to the market
    own: float  # size of what it does on its own; the market's is one
    digits: int  # of a price
    volume: float  # in five ordinary minutes, in units


_KINDS: Final = {
    "BTC": _CoinModel(level=96_000, beta=1.0, own=0.3, digits=1, volume=42),
    "ETH": _CoinModel(level=3_400, beta=1.15, own=0.55, digits=2, volume=900),
    "SOL": _CoinModel(level=165, beta=1.3, own=0.8, digits=3, volume=14_000),
}
SYMBOLS: Final = tuple(_KINDS)


@dataclass(frozen=True, slots=True)
class Extended:
    bars: Counter[str] = field(default_factory=Counter)  # by interval
    rates: int = 0
    skipped: Sequence[str] = field(default_factory=list)


# --- In the database ---


def format_source(seed: int) -> str:
    """Return what simulated rows name as their source."""
    return f"{MODEL}, seed {seed}"


def extend_market(
    *,
    now: datetime,
    symbols: Collection[str] = SYMBOLS,
    history: timedelta = HISTORY,
    past: timedelta = timedelta(0),
    seed: int = SEED,
    report: Callable[[str], None] = lambda _: None,
) -> Extended:
    """Add the missing simulated bars and funding; idempotent.

    A new symbol begins `history` back, `past` of it in hourly bars alone. `seed` is of a new market.
    """
    ends_at = floor_instant(now, _STEP)
    last = {symbol: _last_simulated(symbol) for symbol in symbols}
    sources = (_SOURCE.fullmatch(bar.source) for bar in last.values() if bar)
    seed = next((int(found[1]) for found in sources if found), seed)
    begins = {
        symbol: bar.opened_at + _STEP if bar else floor_instant(ends_at - history, _DAY) for symbol, bar in last.items()
    }
    begins = {symbol: at for symbol, at in begins.items() if at < ends_at}
    others = [model._default_manager.exclude(source__startswith=MODEL) for model in (Bar, FundingRate)]
    skipped = [symbol for symbol in begins if any(rows.filter(symbol=symbol).exists() for rows in others)]
    begins = {symbol: at for symbol, at in begins.items() if symbol not in skipped}
    if not begins:
        return Extended(skipped=skipped)
    if fresh := {symbol: at - past for symbol, at in begins.items() if past and last[symbol] is None}:
        store_bars(
            _iter_pages(fresh, max(fresh.values()) + past, seed, _PAST_INTERVAL, _PAST_PAGE),
            aggregate=list_longer_intervals(_PAST_INTERVAL),
            progress=lambda count, bar: report(f"{count} hourly bars simulated, up to {bar.opened_at:%Y-%m-%d}"),
        )
    rates = store_funding(
        rate for symbol, at in begins.items() for rate in iter_simulated_rates(symbol, at, ends_at, seed=seed)
    )
    bars = store_bars(
        _iter_pages(begins, ends_at, seed),
        aggregate=list_longer_intervals(INTERVAL),
        progress=lambda count, bar: report(f"{count} bars simulated, up to {bar.opened_at:%Y-%m-%d}"),
    )
    return Extended(bars, rates, skipped)


def list_simulated_symbols() -> list[str]:
    """Return the symbols that have a simulated market."""
    return [symbol for symbol in SYMBOLS if _last_simulated(symbol)]


def _last_simulated(symbol: str) -> Bar | None:
    rows = Bar.objects.filter(symbol=symbol, interval=INTERVAL, is_simulated=True, source__startswith=MODEL)
    return rows.order_by("-opened_at").first()


def _iter_pages(
    begins: dict[str, datetime], ends_at: datetime, seed: int, interval: str = INTERVAL, length: timedelta = _DAY
) -> Iterator[list[Bar]]:
    page = floor_instant(min(begins.values()), _DAY)
    while page < ends_at:
        until = min(page + length, ends_at)
        yield [
            bar
            for symbol, at in begins.items()
            for bar in iter_simulated_bars(symbol, max(at, page), until, seed=seed, interval=interval)
        ]
        page = until


# --- The model ---


def iter_simulated_bars(
    symbol: str, begins_at: datetime, ends_at: datetime, *, seed: int = SEED, interval: str = INTERVAL
) -> Iterator[Bar]:
    """Yield the bars within a range; longer ones equal the five-minute bars they span."""
    step = INTERVALS[interval]
    at = floor_instant(begins_at + step - timedelta.resolution, step)
    while at + step <= ends_at:
        day = floor_instant(at, _DAY)
        first, last = (at - day) // step, (min(ends_at, day + _DAY) - day) // step
        yield from _make_day_bars(symbol, (day - _EPOCH) // _DAY, seed, step, interval)[first:last]
        at = day + _DAY


def iter_simulated_rates(symbol: str, after: datetime, until: datetime, *, seed: int = SEED) -> Iterator[FundingRate]:
    """Yield the funding payments within a range."""
    every = timedelta(hours=_FUNDING_HOURS)
    at = floor_instant(after, every) + every
    while at <= until:
        hour = (at - _EPOCH) // timedelta(hours=1)
        premium = sum(_basis_at(symbol, seed, hour - back) for back in range(_FUNDING_HOURS)) / _FUNDING_HOURS
        yield FundingRate(
            symbol=symbol,
            at=at,
            rate=_round_decimal(0.00004 + 0.4 * premium, 8),
            hours=_FUNDING_HOURS,
            source=format_source(seed),
            is_simulated=True,
        )
        at += every


def _make_day_bars(symbol: str, day: int, seed: int, length: timedelta, interval: str) -> list[Bar]:
    digits, began, source = _KINDS[symbol].digits, _EPOCH + day * _DAY, format_source(seed)
    steps, size, bars = _walk_day(symbol, day, seed), length // _STEP, []
    for number in range(0, _STEPS, size):
        # Rows are made for whole bars alone: a row takes many times as long as its numbers.
        firsts, highs, lows, lasts, marks, indexes, volumes = zip(*steps[number : number + size], strict=True)
        bars.append(
            Bar(
                symbol=symbol,
                interval=interval,
                opened_at=began + number * _STEP,
                open=_round_decimal(firsts[0], digits),
                high=_round_decimal(max(highs), digits),
                low=_round_decimal(min(lows), digits),
                close=_round_decimal(lasts[-1], digits),
                volume=_round_decimal(sum(volumes), 3),
                mark=_round_decimal(marks[-1], digits + 1),
                index=_round_decimal(indexes[-1], digits + 1),
                source=source,
                is_simulated=True,
            )
        )
    return bars


def _walk_day(symbol: str, day: int, seed: int) -> list[tuple[float, float, float, float, float, float, float]]:
    """Return open, high, low, close, mark, index and volume of each five minutes."""
    kind, hours = _KINDS[symbol], range(day * _HOURS, day * _HOURS + _HOURS + 1)
    shared, own = _day_path(seed, _MARKET, day), _day_path(seed, symbol, day)
    prices = [
        kind.level * exp(kind.beta * market + kind.own * alone) for market, alone in zip(shared, own, strict=True)
    ]
    waves = [_hour_volatility(seed, _MARKET, hour) for hour in hours]
    basis = [_basis_at(symbol, seed, hour) for hour in hours]
    draw, steps = _seeded_random(seed, symbol, "bars", day).random, []
    for number, (first, last) in enumerate(pairwise(prices)):
        hour, part = divmod(number, _STEPS_AN_HOUR)
        size = waves[hour] * _STEP_NOISE * (kind.beta + kind.own)
        high = max(first, last) * (1 + size * draw() ** 2)
        low = min(first, last) * (1 - size * draw() ** 2)
        mark = last * (1 + 0.00002 * (draw() - 0.5))
        premium = basis[hour] + (basis[hour + 1] - basis[hour]) * part / _STEPS_AN_HOUR
        volume = kind.volume * waves[hour] * (0.5 + draw()) * (0.7 + abs(last / first - 1) / size)
        steps.append((first, high, low, last, mark, mark / (1 + premium), round(volume, 3)))
    return steps


@lru_cache(maxsize=64)
def _day_path(seed: int, name: str, day: int) -> tuple[float, ...]:
    """Return a day's log prices, whose noise is zero at both ends; the last is the next day's first."""
    hours = []
    for at in (day + hour / _HOURS for hour in range(_HOURS + 1)):
        number = int(at // _STRETCH)
        level = _TIDE_SIZE * _smooth_noise(seed, name, "tide", at / 32)
        level += _DAYS_SIZE * _smooth_noise(seed, name, "days", at)
        hours.append(level + _make_stretch(seed, name, number).level(at / _STRETCH - number))
    draws = _seeded_random(seed, name, "noise", day)
    noise = [0.0]
    for hour in range(_HOURS):
        size = _STEP_NOISE * _hour_volatility(seed, name, day * _HOURS + hour)
        noise += [draws.gauss(0, size) for _ in range(_STEPS_AN_HOUR)]
    walked = list(accumulate(noise))
    jumps = [shock for number in (-1, 0) if (shock := _make_shock(seed, name, day // _STRETCH + number))]
    path = []
    for step in range(_STEPS + 1):
        hour, part = divmod(step, _STEPS_AN_HOUR)
        after = hours[min(hour + 1, _HOURS)]
        value = hours[hour] + (after - hours[hour]) * part / _STEPS_AN_HOUR
        value += walked[step] - walked[-1] * step / _STEPS
        path.append(value + sum(shock.jump(day + step / _STEPS) for shock in jumps) if jumps else value)
    return tuple(path)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A rest at one level and a move, in either order."""

    begins: float  # of the logarithm
    ends: float
    rests_first: bool
    split: float  # 0..1, between rest and move
    swing: float  # of the logarithm
    turns: tuple[int, int]

    def level(self, at: float) -> float:
        early, late = at / self.split, (at - self.split) / (1 - self.split)
        if self.rests_first == (at < self.split):
            rested, level = (early, self.begins) if self.rests_first else (late, self.ends)
            return level + self.swing * sum(sin(2 * pi * turn * rested) for turn in self.turns)
        return self.begins + (self.ends - self.begins) * (late if self.rests_first else early)


@lru_cache(maxsize=64)
def _make_stretch(seed: int, name: str, number: int) -> _Stretch:
    begins, ends = (_STRETCH_SIZE * _seeded_random(seed, name, "stretch", n).gauss(0, 1) for n in (number, number + 1))
    draws = _seeded_random(seed, name, "order", number)
    return _Stretch(
        begins,
        ends,
        rests_first=draws.random() < 0.5,
        split=draws.uniform(0.4, 0.65),
        swing=draws.uniform(0.003, 0.007),
        turns=(draws.randint(2, 4), draws.randint(5, 8)),
    )


@dataclass(frozen=True, slots=True)
class _Shock:
    at: float  # day
    size: float  # of the logarithm

    def jump(self, day: float) -> float:
        return self.size * max(0.0, 1 - (day - self.at) / _SHOCK_DAYS) if day >= self.at else 0.0

    def waves(self, day: float) -> float:
        return 3 * exp(-(day - self.at) / _CALM_DAYS) if day >= self.at else 0.0


@lru_cache(maxsize=64)
def _make_shock(seed: int, name: str, stretch: int) -> _Shock | None:
    draws = _seeded_random(seed, name, "shock", stretch)
    if draws.random() >= _SHOCK_ODDS:
        return None
    at = (stretch + draws.random()) * _STRETCH
    return _Shock(at, draws.uniform(0.025, 0.045) * (1 if draws.random() < 0.4 else -1))


@lru_cache(maxsize=512)
def _hour_volatility(seed: int, name: str, hour: int) -> float:
    waves = exp(
        0.3 * _smooth_noise(seed, name, "slow waves", hour / 36) + 0.25 * _smooth_noise(seed, name, "waves", hour / 6)
    )
    session = 1.25 if 13 <= hour % _HOURS < 20 else 0.92
    shock = _make_shock(seed, name, hour // (_HOURS * _STRETCH))
    return waves * session * (1 + (shock.waves(hour / _HOURS) if shock else 0.0))


def _basis_at(symbol: str, seed: int, hour: int) -> float:
    """Return mark / index - 1 at an hour's beginning."""
    return (
        0.00022
        + 0.0005 * _smooth_noise(seed, symbol, "basis", hour / 30)
        + 0.00008 * _smooth_noise(seed, symbol, "premium", hour)
    )


def _smooth_noise(seed: int, name: str, what: str, at: float) -> float:
    number = int(at // 1)
    part = at - number
    before, after = (_draw_normal(seed, name, what, n) for n in (number, number + 1))
    return before + (after - before) * part * part * (3 - 2 * part)


@lru_cache(maxsize=4096)
def _draw_normal(seed: int, name: str, what: str, number: int) -> float:
    return _seeded_random(seed, name, what, number).gauss(0, 1)


def _seeded_random(seed: int, name: str, what: str, number: int) -> Random:
    return Random(f"{MODEL}/{seed}/{name}/{what}/{number}")  # noqa: S311  a market, no secret


def _round_decimal(value: float, digits: int) -> Decimal:
    return Decimal(f"{value:.{digits}f}")
