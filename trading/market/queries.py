"""The market as known at an instant; no owner."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import Final

from django.db.models import Subquery

from config.lib.errors import NotFound
from trading.market.moves import WINDOW, Close, PastMoves, list_separate, measure_move
from trading.market.regime import VOLATILITY_BARS, WARM_BARS, Candle, classify_regime, realised_volatility
from trading.market.tape import STORED, Tape
from trading.models import Bar, MarketEvent, NewsItem, RegimeTag
from trading.models.choices import INTERVALS

HOUR: Final = timedelta(hours=1)
MAX_HOLDING: Final = 400  # points of a line to compare with
_WEEK: Final = timedelta(days=7)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_INSTANTS: Final = 5_000  # of one query
_FINE: Final = [name for name, length in INTERVALS.items() if length <= HOUR]  # fine enough for an hour's move


class EventNotFound(NotFound):
    """No event has that id."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The last known price: the newest closed bar's close."""

    at: datetime
    price: Decimal
    bar: Bar


@dataclass(frozen=True, slots=True)
class Overview:
    """A symbol's market at an instant; None: missing bars."""

    symbol: str
    at: datetime | None  # of the price
    price: Decimal | None
    change_24h_fraction: float | None
    funding_rate_fraction: float | None  # of the last payment
    funding_hours: int | None  # between two payments
    basis_fraction: float | None  # mark over index, less one
    realised_volatility_fraction: float | None  # annualised, of 24 hours
    regime: RegimeTag
    is_simulated: bool


def find_marks(symbols: Collection[str], now: datetime, tape: Tape = STORED) -> dict[str, Mark]:
    """Return the last known price of each symbol."""
    marks: dict[str, Mark] = {}
    # Of bars that ended together the shortest counts.
    for bar in sorted(tape.newest_bars(symbols, now), key=lambda bar: INTERVALS[bar.interval]):
        if bar.symbol not in marks or bar.closed_at > marks[bar.symbol].at:
            marks[bar.symbol] = Mark(bar.closed_at, bar.close, bar)
    return marks


def get_regime(symbol: str, now: datetime, tape: Tape = STORED) -> RegimeTag:
    """Return the regime of closed hourly bars, or unknown (settled 33)."""
    return _classify_hours(tape.last_bars(symbol, "1h", now, WARM_BARS), now, tape)


def _classify_hours(hours: Sequence[Bar], now: datetime, tape: Tape) -> RegimeTag:
    if len(hours) < WARM_BARS or not _is_whole(hours, now):
        return RegimeTag.UNKNOWN

    def classify() -> RegimeTag:
        return _classify_cached(tuple(Candle(float(bar.high), float(bar.low), float(bar.close)) for bar in hours))

    return tape.once("regime", hours[-1].symbol, hours[-1], classify)


# Within an hour, every tick of every deployment asks about the same bars.
_classify_cached = lru_cache(maxsize=64)(classify_regime)


def _is_whole(hours: Sequence[Bar], now: datetime) -> bool:
    is_fresh = now - hours[-1].closed_at < HOUR
    return is_fresh and hours[-1].opened_at - hours[0].opened_at == (len(hours) - 1) * HOUR


def get_overview(symbol: str, now: datetime) -> Overview:
    """Return a symbol's market at an instant."""
    return build_overview(symbol, find_marks([symbol], now).get(symbol), now, STORED)


def build_overview(symbol: str, mark: Mark | None, now: datetime, tape: Tape) -> Overview:
    """Return a symbol's market at an instant, whose mark is known."""
    hours = tape.last_bars(symbol, "1h", now, WARM_BARS)
    day = hours[-VOLATILITY_BARS - 1 :]
    moves = None
    if len(day) > VOLATILITY_BARS and _is_whole(day, now):
        moves = tape.once("moves", symbol, day[-1], lambda: _measure_day([float(bar.close) for bar in day]))
    funding = tape.last_rate(symbol, now)
    bar = mark.bar if mark else None
    return Overview(
        symbol=symbol,
        at=mark.at if mark else None,
        price=mark.price if mark else None,
        change_24h_fraction=moves[0] if moves else None,
        funding_rate_fraction=float(funding.rate) if funding else None,
        funding_hours=funding.hours if funding else None,
        basis_fraction=float(bar.mark / bar.index - 1) if bar and bar.mark and bar.index else None,
        realised_volatility_fraction=moves[1] if moves else None,
        regime=_classify_hours(hours, now, tape),
        is_simulated=bool(bar and bar.is_simulated),
    )


def _measure_day(closes: Sequence[float]) -> tuple[float, float | None]:
    """Return the change of a day and its annualised volatility, as fractions."""
    return closes[-1] / closes[0] - 1, realised_volatility(closes)


def list_symbols(limit: int) -> list[str]:
    """Return the first symbols with bars, one indexed query each."""
    symbols = Bar.objects.order_by("symbol").values_list("symbol", flat=True)
    found: list[str] = []
    while len(found) < limit and (following := symbols.filter(symbol__gt=found[-1] if found else "").first()):
        found.append(following)
    return found


def list_news(
    symbols: Collection[str], *, since: datetime, now: datetime, limit: int, tape: Tape = STORED
) -> list[NewsItem]:
    """Return known headlines about symbols or all, newest first."""
    newest = sorted(tape.news(since, now), key=lambda item: item.published_at, reverse=True)
    return [item for item in newest if is_about(item.symbols, symbols)][:limit]


def get_event(event_id: int) -> MarketEvent:
    """Return an event. Raises EventNotFound."""
    event: MarketEvent | None = MarketEvent.objects.filter(pk=event_id).first()
    if event is None:
        raise EventNotFound("There is no such event.")
    return event


def list_events(
    now: datetime,
    *,
    until: datetime,
    kinds: Collection[str] = (),
    symbols: Collection[str] = (),
    min_importance: float = 0.0,
    tape: Tape = STORED,
) -> list[MarketEvent]:
    """Return the events from `now` until an instant, in order."""
    return [
        event
        for event in tape.events(now, until)
        if event.importance >= min_importance
        if not kinds or event.kind in kinds
        if is_about(event.symbols, symbols)
    ]


def is_about(named: Collection[str], symbols: Collection[str]) -> bool:
    """Tell whether named symbols (none: all) include one of `symbols`."""
    return not named or not symbols or not set(named).isdisjoint(symbols)


def list_past_moves(
    wanted: Collection[tuple[str, str]], now: datetime, *, simulated: Collection[str] = ()
) -> dict[tuple[str, str], PastMoves]:
    """Return the known moves after past events and in quiet hours, by kind and symbol.

    Real and simulated bars never share a figure, nor do simulated events count over real bars.
    """
    rows = MarketEvent.objects.filter(starts_at__lte=now).order_by("starts_at")
    past = list(rows.values_list("kind", "starts_at", "symbols", "is_simulated")) if wanted else []
    instants: dict[tuple[str, str], tuple[list[datetime], list[datetime]]] = {}
    for symbol in {symbol for _, symbol in wanted}:
        about = [
            (kind, at)
            for kind, at, symbols, is_simulated in past
            if is_about(symbols, [symbol]) and (symbol in simulated or not is_simulated)
        ]
        busy = [at for _, at in about]
        for kind in {kind for kind, of in wanted if of == symbol}:
            events = list_separate(at for name, at in about if name == kind)
            beside = list_separate(sorted(at + weeks * _WEEK for at in events for weeks in (-1, 1)))
            instants[kind, symbol] = events, [at for at in beside if at <= now and not _is_near(busy, at)]
    ends: dict[str, set[datetime]] = {}
    for (_, symbol), both in instants.items():
        ends.setdefault(symbol, set()).update(at + after for at in chain(*both) for after in (timedelta(0), WINDOW))
    closes = _find_closes(ends, simulated)

    def measure(symbol: str, those: Iterable[datetime]) -> list[float]:
        series = [closes.get((symbol, interval), []) for interval in _FINE]
        found = (next((m for one in series if (m := measure_move(one, at, now)) is not None), None) for at in those)
        return [move for move in found if move is not None]

    return {key: PastMoves(*(measure(key[1], those) for those in both)) for key, both in instants.items()}


def _is_near(busy: Sequence[datetime], at: datetime) -> bool:
    """Tell whether an event begins within two hours of an instant."""
    place = bisect_left(busy, at - 2 * HOUR)
    return place < len(busy) and busy[place] <= at + 2 * HOUR


def _find_closes(
    ends: Mapping[str, Collection[datetime]], simulated: Collection[str]
) -> dict[tuple[str, str], list[Close]]:
    """Return the last bars that had closed by each instant, by symbol and interval, in order."""
    known = _find_first_bars(ends)
    wanted = {
        (symbol, interval): {
            at
            for end in ends[symbol]
            if (at := end - (end - _EPOCH) % INTERVALS[interval] - INTERVALS[interval]) >= first
        }
        for (symbol, interval), first in known.items()
    }
    closes: dict[tuple[str, str], list[Close]] = {}
    instants = sorted(set(chain(*wanted.values())))
    bars = Bar.objects.filter(symbol__in=ends, interval__in=_FINE).order_by("opened_at")
    columns = bars.values_list("symbol", "interval", "opened_at", "close", "is_simulated")
    for start in range(0, len(instants), _MOST_INSTANTS):
        rows = columns.filter(opened_at__in=instants[start : start + _MOST_INSTANTS])
        for symbol, interval, opened_at, price, is_simulated in rows:
            if is_simulated == (symbol in simulated):
                length = INTERVALS[interval]
                closes.setdefault((symbol, interval), []).append(Close(opened_at + length, length, price))
    return closes


def _find_first_bars(symbols: Iterable[str]) -> dict[tuple[str, str], datetime]:
    """Return when the fine bars of each symbol begin, in one query."""
    firsts = [
        Subquery(Bar.objects.filter(symbol=symbol, interval=interval).order_by("opened_at").values("pk")[:1])
        for symbol in sorted(set(symbols))
        for interval in _FINE
    ]
    rows = Bar.objects.filter(pk__in=firsts).values_list("symbol", "interval", "opened_at") if firsts else []
    return {(symbol, interval): at for symbol, interval, at in rows}


@dataclass(frozen=True, slots=True)
class HoldingWorth:
    """What a dollar is worth that was divided evenly over symbols and held."""

    points: list[tuple[datetime, Decimal]]
    sources: list[str]  # of the bars


def trace_holding(symbols: Collection[str], interval: str, since: datetime, until: datetime) -> HoldingWorth:
    """Return the worth at the closes of bars, at most MAX_HOLDING of them; symbols without bars are left out."""
    length = INTERVALS[interval]
    first = since + (_EPOCH - since) % length
    bars = max(0, (until - first) // length)
    instants = [first + number * length for number in {*range(0, bars, -(-bars // MAX_HOLDING) or 1), bars - 1}]
    rows = Bar.objects.filter(symbol__in=symbols, interval=interval, opened_at__in=instants).order_by("opened_at")
    begun: dict[str, Decimal] = {}
    worth: dict[str, Decimal] = {}
    points: dict[datetime, Decimal] = {}
    sources: set[str] = set()
    for symbol, at, opened, close, source in rows.values_list("symbol", "opened_at", "open", "close", "source"):
        worth[symbol] = close / begun.setdefault(symbol, opened)
        points[at + length] = sum(worth.values(), Decimal(0)) / len(worth)
        sources.add(source)
    return HoldingWorth(list(points.items()), sorted(sources))
