"""Reads of the journal: a week day by day, and its review."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Q

from chat.conversations.journal import list_day_notes, list_kept_between
from chat.models import Bookmark
from trading.asking.answers import FigureLine, build_link, describe_figure
from trading.asking.periods import parse_period
from trading.asking.planner import compare_groups, take_figure
from trading.asking.query import MEASURES, TradeQuery
from trading.asking.table import TradeTable
from trading.models import ReflectionNote, Trade
from trading.record.performance import Figure, measure_sum
from trading.record.trade_queries import TradeFilter, select_trades
from trading.rules.judge import Judgement
from trading.rules.services import judge_period, list_valid_rules

TRADES_SHOWN: Final = 40  # of a day
_DAY: Final = timedelta(days=1)
_REVIEWED: Final = ("net", "win_rate", "expectancy", "profit_factor", "fees")


@dataclass(frozen=True, slots=True)
class DayTrade:
    """A trade on the day it opened or closed, and what the rules say of it."""

    trade: Trade
    has_closed: bool  # on this day
    verdicts: Sequence[Judgement]

    @property
    def broken(self) -> list[Judgement]:
        return [one for one in self.verdicts if one.verdict == "broken"]

    @property
    def kept(self) -> int:
        return sum(one.verdict == "kept" for one in self.verdicts)


@dataclass(frozen=True, slots=True)
class JournalDay:
    day: date
    trades: Sequence[DayTrade]
    note: str
    entries: Sequence[Bookmark]

    @property
    def net(self) -> Figure:
        """That of the trades that closed."""
        return measure_sum([float(one.trade.realized_pnl_usd) for one in self.trades if one.has_closed])

    @property
    def left_out(self) -> int:
        """The number of trades that are not shown."""
        return max(0, len(self.trades) - TRADES_SHOWN)

    @property
    def link(self) -> str:
        return build_link({"period": self.day.isoformat()})


@dataclass(frozen=True, slots=True)
class JournalWeek:
    """The days of a week, from Monday on, without those that have not begun."""

    first: date
    last: date
    is_present: bool
    days: Sequence[JournalDay]
    rules: Sequence[Mapping[str, Any]]  # reading, kept, broken, unknown: of the trades that opened in the week

    @property
    def before(self) -> date:
        return self.first - 7 * _DAY

    @property
    def after(self) -> date:
        return self.first + 7 * _DAY


@dataclass(frozen=True, slots=True)
class Review:
    """A week in figures, computed from the record alone."""

    week: JournalWeek
    figures: Sequence[FigureLine]
    records: Sequence[FigureLine]  # the net of own trades and of agents
    symbols: Sequence[FigureLine]
    best: Trade | None
    worst: Trade | None
    lessons: Sequence[ReflectionNote]


def find_monday(text: str, *, today: date) -> date:
    """Return the Monday of the week that an address names; by default this week's."""
    try:
        day = min(date.fromisoformat(text), today)
    except ValueError:
        day = today
    day = max(day, date(2000, 1, 3))
    return day - day.weekday() * _DAY


def get_review(monday: date, *, zone: ZoneInfo, now: datetime) -> Review:
    """Return the review of a week in the reader's zone."""
    week = get_week(monday, zone=zone, now=now)
    words = f"{week.first}..{week.last}"
    period = parse_period(words, zone=zone, now=now)
    table = TradeTable(TradeQuery(zone=zone, period=period), measures=_REVIEWED, groups=("symbol", "record"))
    since, until = find_bounds(monday, zone)
    closed = [one.trade for day in week.days for one in day.trades if one.has_closed]
    ranked = sorted(closed, key=lambda trade: trade.realized_pnl_usd)
    notes = ReflectionNote.objects.filter(generated_at__gte=since, generated_at__lt=until)
    figures = [
        describe_figure(
            measure,
            MEASURES[measure].label,
            *take_figure(measure, table.list_values(measure)),
            link=build_link({"measure": measure, "period": words}),
        )
        for measure in _REVIEWED
    ]
    records, symbols = (
        [describe_figure("net", one.label, one.figure, one.unknown) for one in compare_groups(table, group, "net")]
        for group in ("record", "symbol")
    )
    return Review(
        week=week,
        figures=figures,
        records=records,
        symbols=symbols,
        best=ranked[-1] if ranked else None,
        worst=ranked[0] if len(ranked) > 1 else None,
        lessons=list(notes.select_related("skill").order_by("generated_at")),
    )


def find_bounds(monday: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return the instants at which a week begins and ends."""
    since, until = (datetime.combine(day, time(), zone) for day in (monday, monday + 7 * _DAY))
    return since, until


def get_week(monday: date, *, zone: ZoneInfo, now: datetime) -> JournalWeek:
    """Return the days of a week in the reader's zone."""
    since, until = find_bounds(monday, zone)
    here = Q(exit_at__gte=since, exit_at__lt=until) | Q(entry_at__gte=since, entry_at__lt=until)
    rows = select_trades(TradeFilter()).filter(here).select_related("deployment", "skill").defer("state")
    trades = list(rows.order_by("entry_at", "id"))
    verdicts, rules = _judge(trades, since, until)
    notes = list_day_notes(monday, monday + 6 * _DAY)
    kept: dict[date, list[Bookmark]] = {}
    for entry in list_kept_between(since, until):
        kept.setdefault(entry.created_at.astimezone(zone).date(), []).append(entry)
    by_day: dict[date, list[DayTrade]] = {}
    for trade in trades:
        opened = trade.entry_at.astimezone(zone).date()
        closed = trade.exit_at.astimezone(zone).date() if trade.exit_at else None
        for day in {opened, closed or opened}:
            by_day.setdefault(day, []).append(DayTrade(trade, day == closed, verdicts.get(trade.pk, [])))
    today = now.astimezone(zone).date()
    days = [
        JournalDay(day, by_day.get(day, []), notes.get(day, ""), kept.get(day, []))
        for number in range(7)
        if (day := monday + number * _DAY) <= today
    ]
    return JournalWeek(monday, monday + 6 * _DAY, monday + 7 * _DAY > today, days, rules)


def _judge(
    trades: Iterable[Trade], since: datetime, until: datetime
) -> tuple[Mapping[UUID, list[Judgement]], list[Mapping[str, Any]]]:
    """Return what the rules in use say of each trade, and of those that opened in the week together."""
    found: dict[UUID, list[Judgement]] = {}
    used = list_valid_rules()[::-1]
    counts = {rule.id: {"kept": 0, "broken": 0, "unknown": 0} for rule in used}
    first = min((trade.entry_at for trade in trades), default=since)
    for trip, one in judge_period(used, since=first, until=until):
        found.setdefault(trip.id, []).append(one)
        if trip.opened_at >= since:
            counts[one.rule_id][one.verdict] += 1
    return found, [{"reading": one.rule.describe(), **counts[one.id]} for one in used if any(counts[one.id].values())]
