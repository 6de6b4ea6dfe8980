"""Market data as known at an instant: stored or replayed.

No bar that ended later and no payment made later than the instant is returned.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Final, Generic, Protocol, TypeVar

from django.db.models import Model, QuerySet, Subquery

from trading.models import Bar, FundingRate, MarketEvent, NewsItem
from trading.models.choices import INTERVALS
from trading.skills.schemas import MAX_EVENT_LOOKAHEAD_HOURS

LONGEST_LOOKBACK: Final = 500  # rows; no reader asks for more
PAGE: Final = 5_000  # rows read at a time
LONGEST_NEWS: Final = timedelta(days=7)  # that a skill looks back
LONGEST_AHEAD: Final = timedelta(hours=MAX_EVENT_LOOKAHEAD_HOURS)  # that it looks for events
_LONGEST: Final = max(INTERVALS.values())  # of a bar, and the longest that a schedule waits

Row = TypeVar("Row", bound=Model)


class Tape(Protocol):
    """The market's past as known at an instant."""

    def last_bars(self, symbol: str, interval: str, at: datetime, limit: int) -> list[Bar]:
        """Return the last closed bars, oldest first; `limit` is at most LONGEST_LOOKBACK."""

    def newest_bars(self, symbols: Collection[str], at: datetime) -> list[Bar]:
        """Return the last closed bar per symbol and interval."""

    def bars_ended(self, symbol: str, interval: str, after: datetime, until: datetime) -> list[Bar]:
        """Return the bars that ended within a range."""

    def last_rate(self, symbol: str, at: datetime) -> FundingRate | None:
        """Return the last funding payment."""

    def rates(self, symbol: str, after: datetime, until: datetime) -> list[FundingRate]:
        """Return the funding payments within a range, oldest first."""

    def news(self, after: datetime, until: datetime) -> list[NewsItem]:
        """Return the headlines within a range, oldest first."""

    def events(self, since: datetime, until: datetime) -> list[MarketEvent]:
        """Return the events between two instants, inclusive."""


class StoredTape:
    """The tape of the database."""

    def last_bars(self, symbol: str, interval: str, at: datetime, limit: int) -> list[Bar]:
        """Return the last closed bars, oldest first."""
        rows = Bar.objects.filter(symbol=symbol, interval=interval, opened_at__lte=at - INTERVALS[interval])
        return list(rows.order_by("-opened_at")[:limit])[::-1]

    def newest_bars(self, symbols: Collection[str], at: datetime) -> list[Bar]:
        """Return each symbol's last closed bars, in one query."""
        newest = [
            Subquery(
                Bar.objects.filter(symbol=symbol, interval=interval, opened_at__lte=at - length)
                .order_by("-opened_at")
                .values("pk")[:1]
            )
            for symbol in sorted(set(symbols))
            for interval, length in INTERVALS.items()
        ]
        return list(Bar.objects.filter(pk__in=newest)) if newest else []

    def bars_ended(self, symbol: str, interval: str, after: datetime, until: datetime) -> list[Bar]:
        """Return the bars that ended within a range."""
        length = INTERVALS[interval]
        rows = Bar.objects.filter(
            symbol=symbol, interval=interval, opened_at__gt=after - length, opened_at__lte=until - length
        )
        return list(rows.order_by("opened_at"))

    def last_rate(self, symbol: str, at: datetime) -> FundingRate | None:
        """Return the last funding payment."""
        return FundingRate.objects.filter(symbol=symbol, at__lte=at).order_by("-at").first()

    def rates(self, symbol: str, after: datetime, until: datetime) -> list[FundingRate]:
        """Return the funding payments within a range, oldest first."""
        return list(FundingRate.objects.filter(symbol=symbol, at__gt=after, at__lte=until).order_by("at"))

    def news(self, after: datetime, until: datetime) -> list[NewsItem]:
        """Return the headlines within a range, oldest first."""
        rows = NewsItem.objects.filter(published_at__gt=after, published_at__lte=until)
        return list(rows.order_by("published_at", "id"))

    def events(self, since: datetime, until: datetime) -> list[MarketEvent]:
        """Return the events between two instants, inclusive."""
        rows = MarketEvent.objects.filter(starts_at__gte=since, starts_at__lte=until)
        return list(rows.order_by("starts_at", "id"))


STORED: Final = StoredTape()


def finest_bars(tape: Tape, symbol: str, *, after: datetime, until: datetime) -> list[Bar]:
    """Return the shortest bars of each stretch of time, in order and without overlap."""
    kept: list[Bar] = []
    covered = timedelta(0)
    for interval, length in INTERVALS.items():
        taken = [(bar.opened_at, bar.closed_at) for bar in kept]
        for bar in tape.bars_ended(symbol, interval, after, until):
            if all(bar.opened_at + length <= begin or end <= bar.opened_at for begin, end in taken):
                kept.append(bar)
                covered += length
        if covered >= until - after:
            break
    return sorted(kept, key=lambda bar: bar.opened_at)


class ReplayTape:
    """A tape for backtests: read forward, page by page."""

    def __init__(self, starts_at: datetime) -> None:
        self._starts_at = starts_at
        self._bars: dict[tuple[str, str], _Window[Bar]] = {}
        self._rates: dict[str, _Window[FundingRate]] = {}
        self._news = _Window(NewsItem.objects.all(), "published_at", starts_at - LONGEST_NEWS, LONGEST_NEWS)
        self._events = _Window(MarketEvent.objects.all(), "starts_at", starts_at, LONGEST_AHEAD)

    def last_bars(self, symbol: str, interval: str, at: datetime, limit: int) -> list[Bar]:
        """Return the last closed bars, oldest first."""
        return self._bars_of(symbol, interval).last(at - INTERVALS[interval], limit)

    def newest_bars(self, symbols: Collection[str], at: datetime) -> list[Bar]:
        """Return the last closed bar per symbol and interval."""
        return [bar for symbol in symbols for interval in INTERVALS for bar in self.last_bars(symbol, interval, at, 1)]

    def bars_ended(self, symbol: str, interval: str, after: datetime, until: datetime) -> list[Bar]:
        """Return the bars that ended within a range."""
        length = INTERVALS[interval]
        return self._bars_of(symbol, interval).between(after - length, until - length)

    def last_rate(self, symbol: str, at: datetime) -> FundingRate | None:
        """Return the last funding payment."""
        last = self._rates_of(symbol).last(at, 1)
        return last[0] if last else None

    def rates(self, symbol: str, after: datetime, until: datetime) -> list[FundingRate]:
        """Return the funding payments within a range, oldest first."""
        return self._rates_of(symbol).between(after, until)

    def news(self, after: datetime, until: datetime) -> list[NewsItem]:
        """Return the headlines within a range, oldest first."""
        return self._news.between(after, until)

    def events(self, since: datetime, until: datetime) -> list[MarketEvent]:
        """Return the events between two instants, inclusive."""
        return self._events.between(since - timedelta.resolution, until)

    def has_bars(self, symbol: str, after: datetime, until: datetime) -> bool:
        """Tell whether a symbol has bars within a range."""
        rows = Bar.objects.filter(symbol=symbol, opened_at__gte=after, opened_at__lt=until)
        return rows.exists()

    def _bars_of(self, symbol: str, interval: str) -> "_Window[Bar]":
        window = self._bars.get((symbol, interval))
        if window is None:
            rows = Bar.objects.filter(symbol=symbol, interval=interval)
            window = self._bars[symbol, interval] = _Window(rows, "opened_at", self._starts_at)
        return window

    def _rates_of(self, symbol: str) -> "_Window[FundingRate]":
        window = self._rates.get(symbol)
        if window is None:
            rows = FundingRate.objects.filter(symbol=symbol)
            window = self._rates[symbol] = _Window(rows, "at", self._starts_at)
        return window


class _Window(Generic[Row]):
    """A moving window of ordered rows."""

    def __init__(self, rows: "QuerySet[Row]", column: str, starts_at: datetime, keeps: timedelta = _LONGEST) -> None:
        self._column, self._source, self._keeps = column, rows.order_by(column, "id"), keeps
        # A row that begins up to a day before the start may end within the first tick.
        begins = starts_at - _LONGEST
        before = rows.filter(**{f"{column}__lte": begins}).order_by(f"-{column}", "-id")
        self._rows = list(before[:LONGEST_LOOKBACK])[::-1]
        self._instants = [getattr(row, column) for row in self._rows]
        self._known_until = begins

    def last(self, at: datetime, limit: int) -> list[Row]:
        """Return the last rows of an instant."""
        self._read_until(at, since=at)
        end = bisect_right(self._instants, at)
        return self._rows[max(0, end - limit) : end]

    def between(self, after: datetime, until: datetime) -> list[Row]:
        """Return the rows within a range."""
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
