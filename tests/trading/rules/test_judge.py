"""The judge against an oracle that reads the rules naively, trade by trade."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import get_args
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.lib.words.markets import CalendarKind
from config.lib.words.rules import (
    DailyLoss,
    Days,
    Events,
    Hours,
    Leverage,
    LossPause,
    RiskPerTrade,
    Rule,
    StopRequired,
    Symbols,
    TradesPerDay,
)
from tests.properties import examples
from trading.rules.books import COLUMNS, Background, EventCalendar, LocalDays, RoundTrip, ScheduledEvent, TripBook
from trading.rules.judge import ValidRule, judge_trips
from trading.rules.kinds import KINDS

D = Decimal
BEGINNING = datetime(2026, 3, 27, 12, tzinfo=UTC)  # Oslo's clocks change on the 29th
DEPLOYMENTS = (UUID(int=1), UUID(int=2))
ZONES = st.sampled_from(["UTC", "Europe/Oslo", "America/New_York", "Asia/Kolkata"])
AMOUNTS = st.sampled_from([None, D(-500), D(-120), D(-50), D(0), D(80), D(300)])


def make_trip(hours=0, **changes):
    opened_at = BEGINNING + timedelta(hours=hours)
    given_ = {"closed_at": opened_at + timedelta(minutes=30), "net_usd": D(10), "equity_usd": D(10_000)}
    given_ |= {"symbol": "BTC", "is_long": True, "entry_price": D(100), "size_usd": D(1000), "leverage": D(2)}
    given_ |= {"knows_stop": True, "stop_price": D(95), "book": "a", "deployment_id": DEPLOYMENTS[0]}
    values = {"id": uuid4(), "opened_at": opened_at, **given_, **changes}
    return RoundTrip(**{name: float(value) if isinstance(value, D) else value for name, value in values.items()})


@st.composite
def trips(draw):
    quarter = timedelta(minutes=15)
    found = []
    for _ in range(draw(st.integers(0, 14))):
        opened_at = BEGINNING + quarter * draw(st.integers(0, 4 * 24 * 4))
        closed_at = opened_at + quarter * draw(st.integers(0, 40)) if draw(st.booleans()) else None
        found.append(
            make_trip(
                opened_at=opened_at,
                closed_at=closed_at,
                net_usd=draw(AMOUNTS) if closed_at else None,
                book=draw(st.sampled_from("ab")),
                deployment_id=draw(st.sampled_from(DEPLOYMENTS)),
                symbol=draw(st.sampled_from(["BTC", "ETH/USDT", "SOLUSDT"])),
                is_long=draw(st.booleans()),
                leverage=draw(st.sampled_from([None, D(1), D("4.5"), D(5), D(6)])),
                knows_stop=draw(st.booleans()),
                stop_price=draw(st.sampled_from([None, D(90), D(95), D(100), D(105)])),
                equity_usd=draw(st.sampled_from([None, D(0), D(2500), D(10_000)])),
                is_added_to=draw(st.booleans()),
            )
        )
    return found


MINUTES = st.integers(0, 95).map(lambda number: number * 15)
RULES = {
    RiskPerTrade: st.builds(RiskPerTrade, limit=st.sampled_from([D(1), D(50)]), unit=st.sampled_from(["pct", "usd"])),
    Leverage: st.builds(Leverage, limit=st.just(D(5)), is_strict=st.booleans()),
    Symbols: st.builds(Symbols, mode=st.sampled_from(["only", "never"]), symbols=st.just(("BTC", "ETH"))),
    Hours: st.builds(Hours, mode=st.sampled_from(["only", "never"]), start=MINUTES, end=MINUTES, zone=ZONES).filter(
        lambda rule: rule.start != rule.end
    ),
    Days: st.builds(Days, mode=st.sampled_from(["only", "never"]), days=st.sampled_from([(5, 6), (4,)]), zone=ZONES),
    TradesPerDay: st.builds(TradesPerDay, limit=st.integers(0, 3), zone=ZONES),
    DailyLoss: st.builds(DailyLoss, limit=st.just(D(100)), unit=st.just("usd"), zone=ZONES)
    | st.builds(DailyLoss, limit=st.just(D(3)), unit=st.just("pct"), zone=ZONES),
    LossPause: st.builds(LossPause, losses=st.integers(1, 3), is_in_row=st.booleans(), minutes=st.none(), zone=ZONES)
    | st.builds(LossPause, losses=st.integers(1, 3), is_in_row=st.just(True), minutes=st.just(120), zone=ZONES),
    Events: st.builds(
        Events,
        kinds=st.sampled_from([(), (CalendarKind.CPI,), (CalendarKind.CPI, CalendarKind.FOMC)]),
        is_high=st.booleans(),
        before=st.sampled_from([0, 30, 600]),
        after=st.sampled_from([0, 60]),
        zone=ZONES,
    )
    | st.builds(Events, kinds=st.just((CalendarKind.CPI,)), before=st.none(), after=st.none(), zone=ZONES),
    StopRequired: st.just(StopRequired()),
}
ANY_RULE = st.one_of(*RULES.values())
EVENTS = st.lists(
    st.builds(
        ScheduledEvent,
        kind=st.sampled_from(["cpi", "fomc"]),
        at=st.integers(-120 * 24, 120 * 24).map(lambda hours: BEGINNING + timedelta(hours=hours)),
        is_high=st.booleans(),
        symbols=st.sampled_from([(), ("BTC",), ("SOL",)]),
    ),
    max_size=8,
)


def local(at, zone):
    return at.astimezone(ZoneInfo(zone))


def is_same_day(one, other, zone):
    return local(one, zone).date() == local(other, zone).date()


def tell(value, limit, *, is_strict=False):
    return "kept" if value < limit or (value == limit and not is_strict) else "broken"


def ask_oracle(rule, trip, record, events, equity):
    """Return the verdict, straight from what each kind of rule says."""
    return ORACLES[rule.kind](rule, trip, [one for one in record if one.book == trip.book], events, equity)


def oracle_risk(rule, trip, *_):
    if not trip.knows_stop or trip.stop_price is None or trip.is_added_to:
        return "unknown"
    lost = Fraction(trip.entry_price) - Fraction(trip.stop_price)
    risk = max(lost if trip.is_long else -lost, 0) * Fraction(trip.size_usd) / Fraction(trip.entry_price)
    if rule.unit == "usd":
        return tell(risk, rule.limit)
    return tell(100 * risk / Fraction(trip.equity_usd), rule.limit) if trip.equity_usd else "unknown"


def oracle_hours(rule, trip, *_):
    clock = local(trip.opened_at, rule.zone)
    at = timedelta(hours=clock.hour, minutes=clock.minute, seconds=clock.second) / timedelta(minutes=1)
    quarter = range(rule.start, rule.end if rule.start < rule.end else rule.end + 1440)  # trades open at whole minutes
    inside = at in quarter or at + 1440 in quarter or (rule.mode == "only" and at == rule.end)
    return "kept" if inside == (rule.mode == "only") else "broken"


def oracle_number(rule, trip, book, *_):
    day = [one for one in book if is_same_day(one.opened_at, trip.opened_at, rule.zone)]
    least = sum(one.opened_at < trip.opened_at for one in day) + 1
    most = sum(one.opened_at <= trip.opened_at for one in day)
    return "broken" if least > rule.limit else "kept" if most <= rule.limit else "unknown"


def list_before(trip, book):
    return [one for one in book if one.closed_at is not None and one.closed_at < trip.opened_at]


def oracle_daily_loss(rule, trip, book, events, equity):
    day = [one for one in list_before(trip, book) if is_same_day(one.closed_at, trip.opened_at, rule.zone)]
    if rule.unit == "pct":
        day = [one for one in day if one.deployment_id == trip.deployment_id]
    if None in [one.net_usd for one in day]:
        return "unknown"
    lost = -sum(one.net_usd for one in day)
    if lost <= 0:
        return "kept"
    if rule.unit == "pct" and not equity:
        return "unknown"
    limit = rule.limit if rule.unit == "usd" else D(equity) * rule.limit / 100
    return "broken" if lost >= limit else "kept"


def is_paused(rule, trip, before):
    """Tell whether the trade fell into a pause; every net is known."""
    day = [one for one in before if is_same_day(one.closed_at, trip.opened_at, rule.zone)]
    if not rule.is_in_row:
        return sum(one.net_usd < 0 for one in day) >= rule.losses
    counted = day if rule.minutes is None else before
    for at in {one.closed_at for one in counted}:
        if rule.minutes is not None and trip.opened_at - at > timedelta(minutes=rule.minutes):
            continue
        if any(one.closed_at == at and one.net_usd >= 0 for one in counted):
            continue
        wins = [one.closed_at for one in counted if one.closed_at <= at and one.net_usd >= 0]
        since = [one for one in counted if one.closed_at <= at and (not wins or one.closed_at > max(wins))]
        if len(since) >= rule.losses:
            return True
    return False


def oracle_pause(rule, trip, book, *_):
    before = list_before(trip, book)
    answers = {
        is_paused(rule, trip, [change_net(one, net) if one.net_usd is None else one for one in before])
        for net in (-1.0, 0.0)
    }
    return "unknown" if len(answers) > 1 else "broken" if answers == {True} else "kept"


def change_net(trip, net):
    return make_trip(opened_at=trip.opened_at, closed_at=trip.closed_at, net_usd=net, book=trip.book)


def oracle_events(rule, trip, book, events, _):
    coin = {"BTC": "BTC", "ETH/USDT": "ETH", "SOLUSDT": "SOL"}[trip.symbol]
    for event in events:
        if rule.before is None:
            near = is_same_day(event.at, trip.opened_at, rule.zone)
        else:
            begins, ends = event.at - timedelta(minutes=rule.before), event.at + timedelta(minutes=rule.after)
            near = begins <= trip.opened_at <= ends
        is_named = not event.symbols or trip.symbol in event.symbols or coin in event.symbols
        is_meant = (not rule.kinds or event.kind in rule.kinds) and (event.is_high or not rule.is_high)
        if near and is_meant and is_named:
            return "broken"
    for kind in rule.kinds or (None,):
        times = [event.at for event in events if kind in (None, event.kind)]
        before, after = ([at for at in times if at <= trip.opened_at], [at for at in times if at > trip.opened_at])
        if not before or not after or min(after) - max(before) > timedelta(days=100):
            return "unknown"
    return "kept"


ORACLES = {
    "risk_per_trade": oracle_risk,
    "leverage": lambda rule, trip, *_: (
        "unknown" if trip.leverage is None else tell(trip.leverage, rule.limit, is_strict=rule.is_strict)
    ),
    "symbols": lambda rule, trip, *_: (
        "kept" if (trip.symbol in ("BTC", "ETH/USDT")) == (rule.mode == "only") else "broken"
    ),
    "hours": oracle_hours,
    "days": lambda rule, trip, *_: (
        "kept" if (local(trip.opened_at, rule.zone).weekday() in rule.days) == (rule.mode == "only") else "broken"
    ),
    "trades_per_day": oracle_number,
    "daily_loss": oracle_daily_loss,
    "loss_pause": oracle_pause,
    "events": oracle_events,
    "stop_required": lambda _, trip, *__: (
        "unknown" if not trip.knows_stop else "broken" if trip.stop_price is None else "kept"
    ),
}


@given(
    trips(), st.lists(st.one_of(*RULES.values()), min_size=1, max_size=4), EVENTS, st.sampled_from([None, 0.0, 4000.0])
)
@settings(max_examples=examples(400))
def test_judge_trips_agrees_with_the_oracle(record, rules, events, equity):
    middle = BEGINNING + timedelta(days=2)
    valid = [ValidRule(uuid4(), rule, BEGINNING if n % 2 else middle, None) for n, rule in enumerate(rules)]
    found = judge_trips(record, valid, events=events, equity_at=lambda *_: equity)

    assert [[finding and finding[0] for finding in of] for of in found] == [
        [
            ask_oracle(one.rule, trip, record, events, equity) if trip.opened_at >= one.valid_from else None
            for trip in record
        ]
        for one in valid
    ]
    assert all(finding[1] for of in found for finding in of if finding and finding[0] != "kept")


def test_judge_trips_skips_rules_that_were_not_valid_at_the_entry():
    trip = make_trip(leverage=D(50))
    before = ValidRule(uuid4(), Leverage(limit=D(5)), BEGINNING - timedelta(days=2), trip.opened_at)
    later = ValidRule(uuid4(), Leverage(limit=D(5)), trip.opened_at + timedelta(seconds=1), None)
    assert judge_trips([trip], [before, later], equity_at=lambda *_: None) == [[None], [None]]


def test_each_kind_of_rule_has_a_judge_and_an_oracle():
    kinds = {kind.model_fields["kind"].default: kind for kind in get_args(Rule)}

    assert KINDS.keys() == {*kinds.values()}, "write the kind's judge and its row in KINDS of trading/rules/kinds.py"
    assert RULES.keys() == KINDS.keys(), "write rules of the kind in RULES above"
    assert ORACLES.keys() == kinds.keys(), "write what the kind says, trade by trade, in ORACLES above"


class Watched:
    """A value that notes which of its fields are read."""

    def __init__(self, value, read):
        self._value, self._read = value, read

    def __getattr__(self, name):
        self._read.add(name)
        return getattr(self._value, name)


@pytest.mark.parametrize("kind", RULES, ids=lambda kind: kind.__name__)
def test_row_of_a_kind_names_what_its_judge_looks_at(kind):
    """What a row does not name is not read from the database."""
    row, read, seen = KINDS[kind], set(), set()

    @given(trips(), RULES[kind], EVENTS)
    def judge_watched(record, rule, events):
        books = defaultdict(TripBook)
        watched = [Watched(trip, read) for trip in record]
        for trip in watched:
            books[trip.book].trips.append(trip)
        calendar = EventCalendar(sorted(events, key=lambda event: event.at))
        background = Background(books, LocalDays(getattr(rule, "zone", "UTC")), calendar, lambda *_: 4000.0)
        for trip in watched:
            row.judge(rule, trip, Watched(background, seen))

    judge_watched()
    where = f"{kind.__name__} of KINDS in trading/rules/kinds.py"
    missing = (read & COLUMNS.keys()) - {*row.reads}
    assert not missing, f"{where}: add {sorted(missing)} to `reads`"
    assert row.counts or seen.isdisjoint({"books", "find_day"}), f"{where}: say in `counts` which trades it counts"
    assert row.looks_at_events or "calendar" not in seen, f"{where}: set `looks_at_events`"
