"""What a rule looks at: trips, their days and books, and the calendar. All own accounts are one book. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from functools import cached_property
from typing import Any, Final, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

EquityAt = Callable[[UUID, datetime], float | None]  # of a deployment; None: not known
# A calendar knows events of a kind around an instant if the ones before and after it are near; others come irregularly.
EVENT_GAP: Final = timedelta(days=100)
NOT_READ: Final = float("nan")
DAY: Final = timedelta(days=1)


class RoundTrip(NamedTuple):
    """A round trip, as far as rules ask; None: not known, or still open."""

    id: Any  # the trade's, or the trip's place in a table
    book: str
    deployment_id: UUID
    symbol: str
    is_long: bool
    opened_at: datetime
    closed_at: datetime | None
    entry_price: float
    size_usd: float
    leverage: float | None
    net_usd: float | None  # of a closed trade; None: part of it is missing
    equity_usd: float | None = None  # of its account when it opened
    knows_stop: bool = False
    stop_price: float | None = None  # of the order that opened it; None, if known: it had none
    is_added_to: bool = False  # later orders may have moved the stop


# The fields that only some kinds of rules read, and the columns of trades that they take: a column takes long to read.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "closed_at": ("exit_at",),
    "entry_price": ("entry_price",),
    "size_usd": ("entry_size_usd",),
    "leverage": ("entry_leverage",),
    "net_usd": ("exit_at", "realized_pnl_usd", "unpriced_fees", "reconciled"),
    "equity_usd": (),
    **dict.fromkeys(("knows_stop", "stop_price", "is_added_to"), ("entry_snapshot", "exit_at")),
}


class ScheduledEvent(NamedTuple):
    kind: str
    at: datetime
    is_high: bool
    symbols: tuple[str, ...] = ()  # none: all


class LocalDays:
    """The days of a zone; mostly the next trade opened on the day of the last one."""

    def __init__(self, zone: str) -> None:
        self._zone = ZoneInfo(zone)
        self._bounds = datetime.max.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
        self.is_clock_changed = False  # on the day of the last answer

    def find(self, at: datetime) -> tuple[datetime, datetime]:
        """Return the first instant of a local day and of the next one."""
        start, end = self._bounds
        if not start <= at < end:
            midnight = datetime.combine(at.astimezone(self._zone).date(), time(), self._zone)
            self._bounds = start, end = midnight.astimezone(UTC), (midnight + DAY).astimezone(UTC)
            self.is_clock_changed = end - start != DAY
        return self._bounds


@dataclass
class TripBook:
    trips: list[RoundTrip] = field(default_factory=list)
    _start: datetime | None = None
    _first: int = 0

    @cached_property
    def opened(self) -> list[datetime]:
        return sorted(trip.opened_at for trip in self.trips)

    def find_first(self, start: datetime) -> int:
        """Return the place of the first that opened since an instant; mostly it is that of the last call."""
        if start != self._start:
            self._start, self._first = start, bisect_left(self.opened, start)
        return self._first

    @cached_property
    def closed(self) -> list[RoundTrip]:
        """The closed ones in the order of their exits, losses first."""
        rows = [trip for trip in self.trips if trip.closed_at is not None]
        return sorted(rows, key=lambda trip: (trip.closed_at, trip.net_usd or 0.0))

    @cached_property
    def _exits(self) -> list[datetime]:
        return [trip.closed_at for trip in self.closed if trip.closed_at is not None]

    def list_closed(self, since: datetime | None, before: datetime) -> list[RoundTrip]:
        """Return those that closed in a range, its end excluded."""
        start = 0 if since is None else bisect_left(self._exits, since)
        return self.closed[start : bisect_left(self._exits, before)]


class EventCalendar:
    def __init__(self, events: Sequence[ScheduledEvent]) -> None:
        self._events = events
        self._instants: dict[str, list[datetime]] = {}
        for event in events:
            for kind in ("", event.kind):  # "": of any kind
                self._instants.setdefault(kind, []).append(event.at)

    def list_between(self, start: datetime, end: datetime) -> Sequence[ScheduledEvent]:
        """Return the events of a range, both ends included."""
        instants = self._instants.get("", [])
        return self._events[bisect_left(instants, start) : bisect_right(instants, end)]

    def covers(self, kind: str, at: datetime) -> bool:
        """Tell whether it knows the events of a kind, or of any (""), around an instant."""
        instants = self._instants.get(kind, [])
        place = bisect_right(instants, at)
        return 0 < place < len(instants) and instants[place] - instants[place - 1] <= EVENT_GAP


class Background(NamedTuple):
    """What one rule sees beside a trip."""

    books: Mapping[str, TripBook]
    days: LocalDays  # of the rule's zone
    calendar: EventCalendar
    equity_at: EquityAt

    def find_day(self, trip: RoundTrip) -> tuple[TripBook, datetime]:
        """Return the book of a trip, and when its day began."""
        return self.books[trip.book], self.days.find(trip.opened_at)[0]
