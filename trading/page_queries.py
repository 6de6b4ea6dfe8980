"""What the pages of trades, backtests and the calendar ask; owned rows are those of the owner in scope."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Count, Max, Min, Q, Sum

from config.lib.paging import Page, page_of, place_of
from trading.deployment_queries import last_marks
from trading.exposure import Impact, impact
from trading.market import list_events, past_moves
from trading.models import (
    UNFINISHED,
    BacktestRun,
    Bar,
    BrokerKind,
    Deployment,
    Fill,
    MarketEvent,
    ReconcileState,
    Skill,
    SkillVersion,
    Trade,
)
from trading.performance import Performance
from trading.queries import (
    TradeFilter,
    TradePage,
    deployment_performance,
    get_backtest,
    get_trade,
    get_version,
    latest_equity,
    list_fills,
    page_of_trades,
    trades_that_fit,
)
from trading.schemas import INTERVALS, parse_payload

RUNS_OFFERED: Final = 50  # backtests to choose from in a filter, the newest
RUNS_ON_A_PAGE: Final = 25
EVENTS_SHOWN: Final = 200
POSITIONS_WEIGHED: Final = 50  # against events; each symbol of theirs costs a few queries
_EXPORTED_AT_ONCE: Final = 500


# --- The ledger ---


@dataclass(frozen=True, slots=True)
class TradeChoices:
    """What a filter of trades offers, as (id, what it is called)."""

    skills: list[tuple[str, str]]
    deployments: list[tuple[str, str]]
    symbols: list[str]
    runs: dict[str, tuple[str, UUID]]  # by the backtest's id: what it is called, and its deployment


@dataclass(frozen=True, slots=True)
class ListedTrade:
    """A trade with what a list says of it."""

    trade: Trade
    skill_name: str
    is_backtest: bool
    net_fraction: Decimal | None  # of `entry_size_usd`, unlevered (settled 29)
    held: timedelta | None  # None: still open


@dataclass(frozen=True, slots=True)
class Ledger:
    """One page of trades, and what is to be said of all that fit."""

    page: TradePage
    trades: list[ListedTrade]
    open_trades: int
    estimated: int
    gaps: int
    simulated: list[str]  # symbols on this page whose prices were made


def trade_choices(*, run_id: UUID | None = None) -> TradeChoices:
    """Return what a filter of trades offers: skills with archived ones, and the newest backtests with `run_id`'s."""
    names = {skill.pk: skill.name for skill in Skill.objects.order_by("name", "id")}
    deployments = Deployment.objects.exclude(broker_kind=BrokerKind.BACKTEST).order_by("-created_at", "id")
    runs = list(BacktestRun.objects.select_related("deployment").order_by("-created_at", "id")[:RUNS_OFFERED])
    if run_id is not None and all(run.pk != run_id for run in runs):
        runs += BacktestRun.objects.select_related("deployment").filter(pk=run_id)
    return TradeChoices(
        skills=[(str(pk), name) for pk, name in names.items()],
        deployments=[(str(one.pk), f"{names[one.skill_id]}: {one}") for one in deployments],
        symbols=list(Trade.objects.order_by().values_list("symbol", flat=True).distinct()),
        runs={str(run.pk): (f"{names[run.deployment.skill_id]}: {run}", run.deployment_id) for run in runs},
    )


def page_of_ledger(which: TradeFilter, number: int = 1) -> Ledger:
    """Return one page of the trades that fit; a number beyond the last page gives the last."""
    page = page_of_trades(which, number)
    counts = trades_that_fit(which).aggregate(
        still_open=Count("pk", filter=Q(status="open")),
        estimated=Count("pk", filter=Q(reconciled=ReconcileState.ESTIMATED)),
        gaps=Count("pk", filter=Q(reconciled=ReconcileState.GAP)),
    )
    deployments = Deployment.objects.in_bulk({trade.deployment_id for trade in page.trades})
    names = Skill.objects.in_bulk({trade.skill_id for trade in page.trades})
    return Ledger(
        page,
        [
            ListedTrade(
                trade,
                skill_name=names[trade.skill_id].name,
                is_backtest=deployments[trade.deployment_id].broker_kind == BrokerKind.BACKTEST,
                net_fraction=_net_fraction(trade),
                held=_held(trade),
            )
            for trade in page.trades
        ],
        open_trades=counts["still_open"],
        estimated=counts["estimated"],
        gaps=counts["gaps"],
        simulated=simulated_symbols({trade.symbol: trade.entry_at for trade in page.trades}),
    )


def trades_after(which: TradeFilter, cursor: str = "") -> Page[Trade]:
    """Return the next trades that fit, newest entry first, some hundred at once. Raises CursorRefused."""
    rows = trades_that_fit(which).defer("state")
    return page_of(rows, by=("-entry_tick_at", "-entry_at", "id"), cursor=cursor, limit=_EXPORTED_AT_ONCE)


def simulated_symbols(seen_at: Mapping[str, datetime]) -> list[str]:
    """Return the symbols, of those given with an instant, whose bars of the day up to then were made by a model."""
    day = timedelta(days=1)
    windows = [Q(symbol=symbol, opened_at__range=(at - day, at)) for symbol, at in seen_at.items()]
    if not windows:
        return []
    rows = Bar.objects.filter(reduce(or_, windows), is_simulated=True, interval__in=INTERVALS)
    return sorted(rows.order_by().values_list("symbol", flat=True).distinct())


def simulated_symbols_of(skill_id: UUID) -> list[str]:
    """Return the symbols that a skill has closed trades of, in backtests too, whose prices were made."""
    rows = Trade.objects.filter(skill=skill_id, status="closed").order_by().values("symbol")
    # A symbol that is real once is never simulated again, so its first trade tells.
    return simulated_symbols({row["symbol"]: row["first"] for row in rows.annotate(first=Min("entry_at"))})


def _net_fraction(trade: Trade) -> Decimal | None:
    return trade.realized_pnl_usd / trade.entry_size_usd if trade.entry_size_usd else None


def _held(trade: Trade) -> timedelta | None:
    return None if trade.holding_minutes is None else timedelta(minutes=float(trade.holding_minutes))


# --- One trade ---


@dataclass(frozen=True, slots=True)
class ShownFill:
    """A fill of a trade."""

    fill: Fill
    value_usd: Decimal  # at its price, without its fee


@dataclass(frozen=True, slots=True)
class ShownTrade:
    """A trade with all that its page says of it."""

    trade: Trade
    fills: list[ShownFill]
    run: BacktestRun | None  # whose trade it is
    net_fraction: Decimal | None  # of `entry_size_usd`, unlevered (settled 29)
    held: timedelta | None
    simulated: list[str]  # its symbol, if its prices were made


def show_trade(trade_id: UUID) -> ShownTrade:
    """Return a trade with its fills. Raises TradeNotFound."""
    trade = get_trade(trade_id)
    return ShownTrade(
        trade,
        fills=[ShownFill(fill, abs(fill.quantity) * fill.price) for fill in list_fills(trade)],
        run=BacktestRun.objects.filter(deployment=trade.deployment_id).first(),
        net_fraction=_net_fraction(trade),
        held=_held(trade),
        simulated=simulated_symbols({trade.symbol: trade.entry_at}),
    )


# --- Backtests ---


@dataclass(frozen=True, slots=True)
class ListedBacktest:
    """A backtest with what a list says of it."""

    run: BacktestRun
    skill: Skill
    version: int
    closed_trades: int
    net_usd: Decimal  # of all its trades, as far as realised


@dataclass(frozen=True, slots=True)
class BacktestPage:
    """One page of backtests, newest first; `number` counts from 1."""

    runs: list[ListedBacktest]
    number: int
    pages: int

    @property
    def is_under_way(self) -> bool:
        """Whether one of them waits or runs, so that the page will be another soon."""
        return any(is_under_way(listed.run) for listed in self.runs)


@dataclass(frozen=True, slots=True)
class ShownBacktest:
    """A backtest with all that its page says of it."""

    run: BacktestRun
    skill: Skill
    version: int
    numbers: Performance | None  # None: it is not over
    open_trades: int  # that were open when it ended
    equity_usd: Decimal  # what the account came to, open positions at their mark


@dataclass(frozen=True, slots=True)
class BarCount:
    """How many bars of a symbol there are in a range."""

    symbol: str
    bars: int


@dataclass(frozen=True, slots=True)
class BarsInRange:
    """The bars that a backtest would be played over."""

    interval: str
    symbols: list[BarCount]
    is_simulated: bool

    @property
    def total(self) -> int:
        """How many there are of all symbols."""
        return sum(one.bars for one in self.symbols)

    @property
    def missing(self) -> list[str]:
        """The symbols of which there are none."""
        return [one.symbol for one in self.symbols if not one.bars]


def is_under_way(run: BacktestRun) -> bool:
    """Tell whether a backtest waits or runs."""
    return run.status in UNFINISHED


def page_of_backtests(number: int = 1) -> BacktestPage:
    """Return one page of backtests; a number beyond the last page gives the last."""
    rows = BacktestRun.objects.select_related("deployment").order_by("-created_at", "id")
    place = place_of(number, total=rows.count(), size=RUNS_ON_A_PAGE)
    runs = list(rows[place.rows])
    skills = Skill.objects.in_bulk({run.deployment.skill_id for run in runs})
    versions = SkillVersion.objects.defer("payload").in_bulk({run.deployment.version_id for run in runs})
    totals = {
        row["deployment"]: row
        for row in Trade.objects.filter(deployment__in=[run.deployment_id for run in runs])
        .order_by()
        .values("deployment")
        .annotate(net=Sum("realized_pnl_usd"), closed=Count("pk", filter=Q(status="closed")))
    }
    return BacktestPage(
        [
            ListedBacktest(
                run,
                skill=skills[run.deployment.skill_id],
                version=versions[run.deployment.version_id].version,
                closed_trades=totals.get(run.deployment_id, {}).get("closed", 0),
                net_usd=totals.get(run.deployment_id, {}).get("net", Decimal(0)),
            )
            for run in runs
        ],
        place.number,
        place.pages,
    )


def show_backtest(run_id: UUID) -> ShownBacktest:
    """Return a backtest, with its numbers once it is over. Raises BacktestNotFound."""
    run = get_backtest(run_id)
    deployment = run.deployment
    return ShownBacktest(
        run,
        skill=deployment.skill,
        version=deployment.version.version,
        numbers=None if is_under_way(run) else deployment_performance(deployment),
        open_trades=Trade.objects.open().filter(deployment=deployment).count(),
        equity_usd=latest_equity(deployment),
    )


def backtest_skills() -> list[tuple[str, str]]:
    """Return the skills that can be backtested, last changed first, as (id, what it is called)."""
    skills = Skill.objects.filter(archived_at__isnull=True).order_by("-updated_at", "id")
    return [(str(skill.pk), f"{skill.name}, version {skill.latest_version}") for skill in skills]


def count_bars(skill_id: UUID, starts_at: datetime, ends_at: datetime) -> BarsInRange:
    """Count the bars of the newest version's symbols and interval that lie within a range. Raises SkillNotFound."""
    context = parse_payload(get_version(skill_id).payload).context
    rows = Bar.objects.filter(
        symbol__in=context.symbols,
        interval=context.bars_interval,
        opened_at__gte=starts_at,
        opened_at__lte=ends_at - INTERVALS[context.bars_interval],
    )
    counted = {
        row["symbol"]: row
        for row in rows.order_by()
        .values("symbol")
        .annotate(bars=Count("pk"), made=Count("pk", filter=Q(is_simulated=True)))
    }
    return BarsInRange(
        context.bars_interval,
        [BarCount(symbol, counted.get(symbol, {}).get("bars", 0)) for symbol in context.symbols],
        is_simulated=any(row["made"] for row in counted.values()),
    )


def span_of_bars(skill_id: UUID) -> tuple[datetime, datetime] | None:
    """Return when the first bar of the newest version's symbols and interval begins and the last ends; None for none.

    Raises:
        SkillNotFound: the owner has no such skill.
    """
    context = parse_payload(get_version(skill_id).payload).context
    # A query a symbol: each end is then one step into the index of bars, however many there are.
    ends: list[dict[str, Any]] = [
        Bar.objects.filter(symbol=symbol, interval=context.bars_interval).aggregate(
            first=Min("opened_at"), last=Max("opened_at")
        )
        for symbol in context.symbols
    ]
    known = [end for end in ends if end["first"] is not None]
    if not known:
        return None
    last = max(end["last"] for end in known) + INTERVALS[context.bars_interval]
    return min(end["first"] for end in known), last


# --- The calendar ---


@dataclass(frozen=True, slots=True)
class ShownExposure:
    """An open position against an event that is to come."""

    trade: Trade
    notional_usd: Decimal  # at the last price known
    past: Impact  # what events of its kind did to the symbol in the hour after


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event with the positions that it concerns."""

    event: MarketEvent
    is_past: bool
    exposures: list[ShownExposure]


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """The events of a day in the reader's zone, in order of time."""

    day: date
    events: list[ShownEvent]


@dataclass(frozen=True, slots=True)
class Calendar:
    """The days of a range that have an event."""

    days: list[CalendarDay]
    events: int
    is_cut: bool  # there are more than EVENTS_SHOWN
    positions: int  # that are open, but for those of backtests
    is_simulated: bool  # whether an event is of the simulated market


def show_calendar(
    starts_at: datetime,
    ends_at: datetime,
    *,
    kinds: Collection[str] = (),
    symbols: Collection[str] = (),
    min_importance: float = 0.0,
    zone: ZoneInfo,
    now: datetime,
) -> Calendar:
    """Return the events from an instant until before another, by day, with the exposure of open positions.

    The queries are bounded by the kinds of events and the symbols of positions, whatever the range.
    """
    found = list_events(
        starts_at,
        until=ends_at - timedelta(microseconds=1),
        kinds=kinds,
        symbols=symbols,
        min_importance=min_importance,
    )
    events = found[:EVENTS_SHOWN]
    positions = _positions()
    weighed = _weigh((event for event in events if event.starts_at >= now), positions, now)
    days: dict[date, list[ShownEvent]] = {}
    for event in events:
        shown = ShownEvent(event, is_past=event.starts_at < now, exposures=weighed.get(event.pk, []))
        days.setdefault(event.starts_at.astimezone(zone).date(), []).append(shown)
    return Calendar(
        [CalendarDay(day, of_day) for day, of_day in days.items()],
        events=len(events),
        is_cut=len(found) > EVENTS_SHOWN,
        positions=len(positions),
        is_simulated=any(event.is_simulated for event in events),
    )


def _positions() -> list[Trade]:
    """Return the open positions, also of deployments that are paused or stopped: neither closes any (settled 32)."""
    rows = trades_that_fit(TradeFilter(status="open")).select_related("skill").defer("state")
    return list(rows.order_by("symbol", "entry_at", "id")[:POSITIONS_WEIGHED])


def _weigh(events: Iterable[MarketEvent], positions: list[Trade], now: datetime) -> dict[int, list[ShownExposure]]:
    marks = last_marks({trade.symbol for trade in positions}, now)
    moves: dict[tuple[str, str], list[float]] = {}
    found: dict[int, list[ShownExposure]] = {}
    for event in events:
        for trade in positions:
            symbol, kind = trade.symbol, (event.kind, trade.symbol)
            if event.symbols and symbol not in event.symbols:
                continue
            if kind not in moves:
                moves[kind] = past_moves(event.kind, symbol, now)
            price = marks[symbol].price if symbol in marks else trade.entry_price
            past = impact(moves[kind], is_long=trade.side == "long")
            found.setdefault(event.pk, []).append(ShownExposure(trade, abs(trade.quantity) * price, past))
    return found
