"""Market data as known at an instant, without later bars and payments: stored or replayed."""

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, Final, Generic, TypeVar, cast

from django.db.models import DateTimeField, Model, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from config.lib.queries import compiled
from trading.models import Bar, BrokerKind, Deployment, FundingRate, MarketEvent, NewsItem
from trading.models.choices import INTERVALS
from trading.skills.schemas import MAX_EVENT_LOOKAHEAD_HOURS

LONGEST_LOOKBACK: Final = 600  # rows; no reader asks for more
PAGE: Final = 5_000  # rows read at a time
LONGEST_NEWS: Final = timedelta(days=7)  # that a skill looks back
LONGEST_AHEAD: Final = timedelta(hours=MAX_EVENT_LOOKAHEAD_HOURS)  # that it looks for events
_INSTANTS: Final[dict[type[Model], str]] = {  # the column by which rows are in order
    Bar: "opened_at",
    FundingRate: "at",
    NewsItem: "published_at",
    MarketEvent: "starts_at",
}
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)  # before any bar
_LONGEST: Final = max(INTERVALS.values())  # of a bar, and the longest that a schedule waits

Row = TypeVar("Row", bound=Model)
Computed = TypeVar("Computed")
Span = tuple[datetime, datetime]


class Tape(ABC):
    """The market's past as known at an instant."""

    def last_bars(self, symbol: str, interval: str, at: datetime, limit: int) -> list[Bar]:
        """Return the last closed bars, oldest first; `limit` is at most LONGEST_LOOKBACK."""
        return self._rows_of(Bar, symbol=symbol, interval=interval).last(at - INTERVALS[interval], limit)

    def newest_bars(self, symbols: Collection[str], at: datetime) -> list[Bar]:
        """Return the last closed bars per symbol, up to the shortest that ends at the instant."""
        newest: list[Bar] = []
        for symbol in symbols:
            for interval in INTERVALS:
                newest += (last := self.last_bars(symbol, interval, at, 1))
                if last and last[0].closed_at == at:
                    break
        return newest

    def bars_ended(self, symbol: str, interval: str, after: datetime, until: datetime) -> list[Bar]:
        """Return the bars that ended within a range."""
        length = INTERVALS[interval]
        return self._rows_of(Bar, symbol=symbol, interval=interval).between(after - length, until - length)

    def last_rate(self, symbol: str, at: datetime) -> FundingRate | None:
        """Return the last funding payment."""
        last = self._rows_of(FundingRate, symbol=symbol).last(at, 1)
        return last[0] if last else None

    def rates(self, symbol: str, after: datetime, until: datetime) -> list[FundingRate]:
        """Return the funding payments within a range, oldest first."""
        return self._rows_of(FundingRate, symbol=symbol).between(after, until)

    def news(self, after: datetime, until: datetime) -> list[NewsItem]:
        """Return the headlines within a range, oldest first."""
        return self._rows_of(NewsItem).between(after, until)

    def events(self, since: datetime, until: datetime) -> list[MarketEvent]:
        """Return the events between two instants, inclusive."""
        return self._rows_of(MarketEvent).between(since - timedelta.resolution, until)

    def once(self, name: str, symbol: str, last: Bar, compute: Callable[[], Computed]) -> Computed:
        """Return what a name computes of the bars of a symbol up to a last one; a replay computes it once."""
        return compute()

    @abstractmethod
    def _rows_of(self, model: type[Row], **which: str) -> "_Rows[Row]":
        """Return the rows of a model with these values."""


class StoredTape(Tape):
    """The tape of the database, of the rows with some values."""

    def __init__(self, **which: bool) -> None:
        self._which = which

    def bars(self, symbol: str, since: datetime, until: datetime) -> "QuerySet[Bar]":
        """Select the bars that began in a range, its end excluded."""
        return Bar.objects.filter(symbol=symbol, opened_at__gte=since, opened_at__lt=until, **self._which)

    def newest_bars(self, symbols: Collection[str], at: datetime) -> list[Bar]:
        until = [at - length for length in INTERVALS.values()]
        return _list_newest(sorted(set(symbols)), until, **self._which) if symbols else []

    def _rows_of(self, model: type[Row], **which: str) -> "_Rows[Row]":
        return _Rows(model, {**which, **self._which})


@compiled
def _list_newest(symbols: list[str], until: list[datetime], **which: bool) -> "QuerySet[Bar]":
    """Return the last bar of each symbol and interval that began until that interval's instant."""
    bars = Bar.objects.filter(**which).order_by("-opened_at").values("pk")
    asked = product(symbols, zip(INTERVALS, until, strict=True))
    newest = [bars.filter(symbol=one, interval=interval, opened_at__lte=at)[:1] for one, (interval, at) in asked]
    return Bar.objects.filter(pk__in=list(map(Subquery, newest)))


class InstantTape(StoredTape):
    """The tape of the database for one prompt: what is asked of a symbol is read for all of them."""

    def __init__(self, symbols: Collection[str]) -> None:
        super().__init__()
        self._symbols = sorted(set(symbols))
        self._bars: dict[str, tuple[int, dict[str, list[Bar]]]] = {}  # by interval: how many are read, by symbol
        self._rates: dict[str, FundingRate] | None = None

    def last_bars(self, symbol: str, interval: str, at: datetime, limit: int) -> list[Bar]:
        known, bars = self._bars.get(interval, (0, {}))
        if limit > known:
            which, until = Q(), at - INTERVALS[interval]
            for name in self._symbols:
                own = Bar.objects.filter(symbol=name, interval=interval, opened_at__lte=until)
                first = own.order_by("-opened_at").values("opened_at")[limit - 1 : limit]
                begin = Coalesce(Subquery(first), Value(_BEGINNING), output_field=DateTimeField())
                which |= Q(symbol=name, interval=interval, opened_at__lte=until, opened_at__gte=begin)
            bars = {name: [] for name in self._symbols}
            for bar in Bar.objects.filter(which).order_by("opened_at"):
                bars[bar.symbol].append(bar)
            self._bars[interval] = limit, bars
        return bars[symbol][-limit:]

    def last_rate(self, symbol: str, at: datetime) -> FundingRate | None:
        if self._rates is None:
            rates = FundingRate.objects.filter(at__lte=at).order_by("-at", "-id").values("pk")
            last = [Subquery(rates.filter(symbol=name)[:1]) for name in self._symbols]
            self._rates = {rate.symbol: rate for rate in FundingRate.objects.filter(pk__in=last)}
        return self._rates.get(symbol)


STORED: Final = StoredTape()
REAL: Final = StoredTape(is_simulated=False)  # without what a model has made: own trades see nothing else


def choose_tape(deployment: Deployment) -> StoredTape:
    """Return the tape by which a record is measured: own trades by real bars only (settled 41)."""
    return REAL if deployment.broker_kind == BrokerKind.LIVE else STORED


def finest_bars(tape: Tape, symbol: str, *, after: datetime, until: datetime) -> list[Bar]:
    """Return the shortest bars of each stretch, without overlap."""
    kept: list[Bar] = []
    covered = timedelta(0)
    spans: list[Span] = []  # of the kept bars, merged, in order
    for interval, length in INTERVALS.items():
        begins = [begin for begin, _ in spans]
        free: list[Bar] = []
        for bar in tape.bars_ended(symbol, interval, after, until):
            place = bisect_left(begins, bar.opened_at + length) - 1  # the last span that begins before the bar ends
            if place < 0 or spans[place][1] <= bar.opened_at:
                free.append(bar)
        kept += free
        covered += length * len(free)
        if covered >= until - after:
            break
        merged: list[Span] = []
        for begin, end in sorted([*spans, *((bar.opened_at, bar.opened_at + length) for bar in free)]):
            if merged and begin <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((begin, end))
        spans = merged
    return sorted(kept, key=lambda bar: bar.opened_at)


class ReplayTape(Tape):
    """A tape for backtests: read forward, page by page."""

    def __init__(self, starts_at: datetime) -> None:
        self._starts_at = starts_at
        self._computed: dict[tuple[str, str], tuple[datetime, Any]] = {}  # until when, and what
        self._windows: dict[tuple[object, ...], _MovingRows[Any]] = {
            (NewsItem,): _MovingRows(NewsItem, {}, starts_at - LONGEST_NEWS, LONGEST_NEWS),
            (MarketEvent,): _MovingRows(MarketEvent, {}, starts_at, LONGEST_AHEAD),
        }

    def once(self, name: str, symbol: str, last: Bar, compute: Callable[[], Computed]) -> Computed:
        until, value = self._computed.get((name, symbol), (None, None))
        if until != last.closed_at:
            value = compute()
            self._computed[name, symbol] = last.closed_at, value
        return cast("Computed", value)

    def _rows_of(self, model: type[Row], **which: str) -> "_Rows[Row]":
        key = (model, *which.values())
        if key not in self._windows:
            self._windows[key] = _MovingRows(model, which, self._starts_at)
        return self._windows[key]


class _Rows(Generic[Row]):
    """The rows of a model in the order of time."""

    def __init__(self, model: type[Row], which: Mapping[str, object]) -> None:
        self._column = _INSTANTS[model]
        self._source = model._default_manager.filter(**which).order_by(self._column, "id")

    def last(self, at: datetime, limit: int) -> list[Row]:
        rows = self._source.filter(**{f"{self._column}__lte": at}).order_by(f"-{self._column}", "-id")
        return list(rows[:limit])[::-1]

    def between(self, after: datetime, until: datetime) -> list[Row]:
        return list(self._source.filter(**{f"{self._column}__gt": after, f"{self._column}__lte": until}))


class _MovingRows(_Rows[Row]):
    """A moving window of the rows, read ahead."""

    def __init__(
        self, model: type[Row], which: Mapping[str, str], starts_at: datetime, keeps: timedelta = _LONGEST
    ) -> None:
        super().__init__(model, which)
        self._keeps = keeps
        # A row that begins up to a day before the start may end within the first tick.
        self._known_until = starts_at - _LONGEST
        self._rows = super().last(self._known_until, LONGEST_LOOKBACK)
        self._instants = [getattr(row, self._column) for row in self._rows]

    def last(self, at: datetime, limit: int) -> list[Row]:
        self._read_until(at, since=at)
        end = bisect_right(self._instants, at)
        return self._rows[max(0, end - limit) : end]

    def between(self, after: datetime, until: datetime) -> list[Row]:
        self._read_until(until, since=after)
        return self._rows[bisect_right(self._instants, after) : bisect_right(self._instants, until)]

    def _read_until(self, at: datetime, *, since: datetime) -> None:
        kept_since = min(since, at - self._keeps)
        while self._known_until < at:
            page = list(self._source.filter(**{f"{self._column}__gt": self._known_until})[:PAGE])
            is_full = len(page) == PAGE
            if is_full:  # then it may have cut apart what has one instant
                last = getattr(page[-1], self._column)
                page = [row for row in page if getattr(row, self._column) != last]
                page += self._source.filter(**{self._column: last})
            first = min(bisect_left(self._instants, kept_since), max(0, len(self._rows) - LONGEST_LOOKBACK))
            self._rows = self._rows[first:] + page
            self._instants = [getattr(row, self._column) for row in self._rows]
            self._known_until = self._instants[-1] if is_full else datetime.max.replace(tzinfo=UTC)
