"""Judge round trips by the rules that were valid when they opened. Pure.

A trade keeps a rule, breaks it, or Keel cannot tell and says why: what is not on record is never guessed. Trades of one
book (a skill on one kind of broker; all of the owner's accounts together) count together: their number in a day, their
losses in a row.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from config.lib.words import rules as grammar
from config.lib.words.markets import is_market
from config.lib.words.rules import Rule
from trading.record.performance import add_usd

Verdict = Literal["kept", "broken", "unknown"]
Finding = tuple[Verdict, str]  # and why, in words
EquityAt = Callable[[UUID, datetime], float | None]  # of a deployment; None: not known
KEPT: Final[Finding] = ("kept", "")
# A calendar knows events of a kind around an instant if the ones before and after it are near; others come irregularly.
EVENT_GAP: Final = timedelta(days=100)
NOT_READ: Final = float("nan")
_DAY: Final = timedelta(days=1)
_MINUTE: Final = timedelta(minutes=1)


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


@dataclass(frozen=True, slots=True)
class ValidRule:
    """A rule and when it holds; the end is exclusive."""

    id: UUID
    rule: Rule
    valid_from: datetime
    valid_until: datetime | None

    def holds_at(self, at: datetime) -> bool:
        """Tell whether it is valid at an instant."""
        return self.valid_from <= at and (self.valid_until is None or at < self.valid_until)


class Judgement(NamedTuple):
    rule: ValidRule
    trade_id: Any  # of its trip
    verdict: Verdict
    why: str

    @property
    def rule_id(self) -> UUID:
        return self.rule.id

    @property
    def reading(self) -> str:
        return grammar.describe_rule(self.rule.rule)

    @property
    def label(self) -> str:
        return "cannot tell" if self.verdict == "unknown" else self.verdict


@dataclass(frozen=True, slots=True)
class ScheduledEvent:
    kind: str
    at: datetime
    is_high: bool
    symbols: tuple[str, ...] = ()  # none: all


def iter_judgements(
    trips: Iterable[RoundTrip],
    rules: Sequence[ValidRule],
    *,
    events: Iterable[ScheduledEvent] = (),
    equity_at: EquityAt,
    only: Collection[Any] | None = None,
) -> Iterator[Judgement]:
    """Yield the judgements of each trip by each rule valid when it opened.

    `trips` holds the whole record of each book, since some rules count the trades before; `only` names those to
    judge.
    """
    given = list(trips)
    wanted = given if only is None else [trip for trip in given if trip.id in only]
    found = judge_trips(given, rules, events=events, equity_at=equity_at, wanted=wanted)
    for trip, *findings in zip(wanted, *found, strict=True):
        for one, finding in zip(rules, findings, strict=True):
            if finding is not None:
                yield Judgement(one, trip.id, *finding)


def judge_trips(
    trips: Sequence[RoundTrip],
    rules: Sequence[ValidRule],
    *,
    events: Iterable[ScheduledEvent] = (),
    equity_at: EquityAt,
    wanted: Sequence[RoundTrip] | None = None,
) -> list[list[Finding | None]]:
    """Return what each rule says of each trip, or of the wanted ones; None: it was not valid."""
    books: dict[str, _Book] = defaultdict(_Book)
    for trip in trips:
        books[trip.book].trips.append(trip)
    calendar = _Calendar(sorted(events, key=lambda event: event.at))
    asked = trips if wanted is None else wanted
    return [_judge_each(one, _choose_judge(one.rule, books, calendar, equity_at), asked) for one in rules]


def _judge_each(
    one: ValidRule, judge: Callable[[RoundTrip], Finding], trips: Sequence[RoundTrip]
) -> list[Finding | None]:
    holds = [one.valid_from <= trip.opened_at for trip in trips]
    if one.valid_until is not None:
        holds = [has_begun and trip.opened_at < one.valid_until for has_begun, trip in zip(holds, trips, strict=True)]
    if (key := _KEYS.get(type(one.rule))) is None:
        return [judge(trip) if is_valid else None for trip, is_valid in zip(trips, holds, strict=True)]
    keys = list(map(key, trips))
    known = {name: judge(trip) for name, trip in dict(zip(keys, trips, strict=True)).items()}
    return [known[name] if is_valid else None for name, is_valid in zip(keys, holds, strict=True)]


def _choose_judge(
    rule: Rule, books: Mapping[str, "_Book"], calendar: "_Calendar", equity_at: EquityAt
) -> Callable[[RoundTrip], Finding]:
    days = _Days(getattr(rule, "zone", "UTC"))
    match rule:
        case grammar.TradesPerDay() | grammar.DailyLoss() | grammar.LossPause():
            judge = _OF_A_DAY[type(rule)]
            return lambda trip: judge(rule, trip, books[trip.book], days.find(trip.opened_at)[0], equity_at)
        case grammar.Hours():
            return partial(_judge_hours, rule, rule.start * _MINUTE, rule.end * _MINUTE, days)
        case grammar.Events():
            return partial(calendar.judge, rule, days)
    return partial(_OF_ONE_TRIP[type(rule)], rule)


def _judge_risk(rule: grammar.RiskPerTrade, trip: RoundTrip) -> Finding:
    if not trip.knows_stop:
        return "unknown", "its stop is not known"
    if trip.stop_price is None:
        return "unknown", "without a stop its risk has no bound"
    if trip.is_added_to:
        return "unknown", "it was added to, and its stop may have moved"
    price = trip.entry_price
    distance = price - trip.stop_price if trip.is_long else trip.stop_price - price
    risk_usd = distance / price * trip.size_usd if distance > 0 else 0.0
    if rule.unit == "usd":
        return KEPT if _is_within(risk_usd, rule) else ("broken", f"${risk_usd:,.2f} at risk")
    if trip.equity_usd is None or trip.equity_usd <= 0:
        return "unknown", "the equity of its account is not known"
    share = risk_usd / trip.equity_usd * 100
    return KEPT if _is_within(share, rule) else ("broken", f"{share:.2f}% of equity at risk")


def _judge_leverage(rule: grammar.Leverage, trip: RoundTrip) -> Finding:
    if trip.leverage is None:
        return "unknown", "its leverage is not known"
    return KEPT if _is_within(trip.leverage, rule) else ("broken", f"it had {trip.leverage:.12g}x")


def _is_within(value: float, rule: grammar.RiskPerTrade | grammar.Leverage) -> bool:
    value, most = round(value, 9), float(rule.limit)  # so that a trade at the limit is at it
    return value < most or (value == most and not rule.is_strict)


def _judge_symbol(rule: grammar.Symbols, trip: RoundTrip) -> Finding:
    is_named = is_market(trip.symbol, rule.symbols)
    return KEPT if is_named == (rule.mode == "only") else ("broken", f"it was in {trip.symbol}")


def _judge_hours(rule: grammar.Hours, since: timedelta, until: timedelta, days: "_Days", trip: RoundTrip) -> Finding:
    at = trip.opened_at - days.find(trip.opened_at)[0]
    if days.is_clock_changed:
        local = trip.opened_at.astimezone(ZoneInfo(rule.zone)).replace(tzinfo=None)
        at = local - datetime.combine(local.date(), time())
    is_before_end = at <= until if rule.mode == "only" else at < until
    is_within = since <= at and is_before_end if since < until else since <= at or is_before_end
    if is_within == (rule.mode == "only"):
        return KEPT
    return "broken", f"it opened at {grammar.format_time(at // _MINUTE)}"


def _judge_day(rule: grammar.Days, trip: RoundTrip) -> Finding:
    local = trip.opened_at.astimezone(ZoneInfo(rule.zone))
    return KEPT if (local.weekday() in rule.days) == (rule.mode == "only") else ("broken", f"it opened on a {local:%A}")


def _judge_number(rule: grammar.TradesPerDay, trip: RoundTrip, book: "_Book", start: datetime, _: EquityAt) -> Finding:
    opened, limit = book.opened, rule.limit
    place = bisect_left(opened, trip.opened_at)
    before = place - book.find_first(start)
    if before >= limit:
        return "broken", f"{before} had opened before it that day"
    one_too_many = place + limit - before
    if one_too_many >= len(opened) or opened[one_too_many] > trip.opened_at:
        return KEPT
    return "unknown", "several opened at the same instant"


def _judge_daily_loss(
    rule: grammar.DailyLoss, trip: RoundTrip, book: "_Book", start: datetime, equity_at: EquityAt
) -> Finding:
    closed = book.list_closed(start, trip.opened_at)
    if rule.unit == "pct":  # a share belongs to one account
        closed = [one for one in closed if one.deployment_id == trip.deployment_id]
    nets = [one.net_usd for one in closed]
    if any(net is None for net in nets):
        return "unknown", "the net of a trade that closed before it that day is not known"
    loss = -add_usd(net for net in nets if net is not None)
    if loss <= 0:
        return KEPT
    limit_usd = float(rule.limit)
    if rule.unit == "pct":
        equity = equity_at(trip.deployment_id, start)
        if equity is None or equity <= 0:
            return "unknown", "the equity of its account that morning is not known"
        limit_usd = equity * limit_usd / 100
    return KEPT if loss < round(limit_usd, 8) else ("broken", f"${loss:,.2f} were lost before it that day")


def _judge_pause(rule: grammar.LossPause, trip: RoundTrip, book: "_Book", start: datetime, _: EquityAt) -> Finding:
    closed = book.list_closed(start if rule.minutes is None else None, trip.opened_at)
    if rule.minutes is None and not rule.is_in_row:
        losses = sum(one.net_usd is not None and one.net_usd < 0 for one in closed)
        if losses >= rule.losses:
            return "broken", f"{losses} losses closed before it that day"
        if losses + sum(one.net_usd is None for one in closed) >= rule.losses:
            return "unknown", "the net of a trade that closed before it is not known"
        return KEPT
    since = start if rule.minutes is None else trip.opened_at - timedelta(minutes=rule.minutes)
    sure = _find_streak_end(closed, rule.losses, since, is_unknown_loss=False)
    if sure is not None:
        count = "a loss" if rule.losses == 1 else f"{rule.losses} losses in a row"
        return "broken", f"{count} came before it"
    if _find_streak_end(closed, rule.losses, since, is_unknown_loss=True) is not None:
        return "unknown", "the net of a trade that closed before it is not known"
    return KEPT


def _find_streak_end(
    closed: Sequence[RoundTrip], losses: int, since: datetime, *, is_unknown_loss: bool
) -> datetime | None:
    """Return the last instant after `since` at which the newest trades were all losses, losses of an instant first."""
    streak, found = 0, None
    for number, one in enumerate(closed):
        is_loss = is_unknown_loss if one.net_usd is None else one.net_usd < 0
        streak = streak + 1 if is_loss else 0
        is_last = number + 1 == len(closed) or closed[number + 1].closed_at != one.closed_at
        if is_last and streak >= losses and one.closed_at is not None and one.closed_at >= since:
            found = one.closed_at
    return found


def _judge_stop(_: grammar.StopRequired, trip: RoundTrip) -> Finding:
    if not trip.knows_stop:
        return "unknown", "its stop is not known"
    return KEPT if trip.stop_price is not None else ("broken", "it opened without a stop")


_OF_ONE_TRIP: Final[Mapping[type[Rule], Callable[[Any, RoundTrip], Finding]]] = {
    grammar.RiskPerTrade: _judge_risk,
    grammar.Leverage: _judge_leverage,
    grammar.Symbols: _judge_symbol,
    grammar.Days: _judge_day,
    grammar.StopRequired: _judge_stop,
}
_OF_A_DAY: Final[Mapping[type[Rule], Callable[..., Finding]]] = {  # by the book, and when the trip's day began
    grammar.TradesPerDay: _judge_number,
    grammar.DailyLoss: _judge_daily_loss,
    grammar.LossPause: _judge_pause,
}
_KEYS: Final[Mapping[type[Rule], Callable[[RoundTrip], object]]] = {  # trips with an equal one are judged alike
    grammar.Leverage: attrgetter("leverage"),
    grammar.Symbols: attrgetter("symbol"),
    grammar.StopRequired: attrgetter("knows_stop", "stop_price"),
}


class _Days:
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
            self._bounds = start, end = midnight.astimezone(UTC), (midnight + _DAY).astimezone(UTC)
            self.is_clock_changed = end - start != _DAY
        return self._bounds


@dataclass
class _Book:
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


class _Calendar:
    def __init__(self, events: Sequence[ScheduledEvent]) -> None:
        self._events = events
        self._instants: dict[str, list[datetime]] = {}
        for event in events:
            for kind in ("", event.kind):  # "": of any kind
                self._instants.setdefault(kind, []).append(event.at)

    def judge(self, rule: grammar.Events, days: _Days, trip: RoundTrip) -> Finding:
        """Judge a trade by a rule about events."""
        start, end = self._find_window(rule, days, trip.opened_at)
        instants = self._instants.get("", [])
        for event in self._events[bisect_left(instants, start) : bisect_right(instants, end)]:
            is_meant = (not rule.kinds or event.kind in rule.kinds) and (event.is_high or not rule.is_high)
            if is_meant and is_market(trip.symbol, event.symbols):
                return "broken", f"{event.kind.replace('_', ' ')} was at {event.at:%Y-%m-%d %H:%M} UTC"
        if all(self._covers(kind, trip.opened_at) for kind in rule.kinds or ("",)):
            return KEPT
        return "unknown", "the calendar has no such events around that time"

    def _find_window(self, rule: grammar.Events, days: _Days, at: datetime) -> tuple[datetime, datetime]:
        """Return between which instants, both included, an event forbids the entry."""
        if rule.before is None or rule.after is None:
            start, end = days.find(at)
            return start, end - timedelta(microseconds=1)
        return at - timedelta(minutes=rule.after), at + timedelta(minutes=rule.before)

    def _covers(self, kind: str, at: datetime) -> bool:
        instants = self._instants.get(kind, [])
        place = bisect_right(instants, at)
        return 0 < place < len(instants) and instants[place] - instants[place - 1] <= EVENT_GAP
