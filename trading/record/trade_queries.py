"""Read trades, equity and the performance of a skill."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any, Final
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import DateTimeField, Exists, F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce, ExtractHour, ExtractIsoWeekDay

from config.lib.errors import NotFound
from config.lib.queries import Columns, ManyIds
from trading import models
from trading.ledger.executions import Execution, sort_fills
from trading.ledger.positions import GAP_PREFIX
from trading.models.choices import INTERVALS, WEEKDAYS
from trading.record.deployment_queries import FundingOnRecord, Totals, find_last_backtest, read_curve, total_trades
from trading.record.performance import ClosedTrade, EquityAt, Performance, summarise_trades
from trading.skills.queries import get_skill

PAGE_SIZE: Final = 50
_OF_CLOSED: Final = (  # of `ClosedTrade`
    *("realized_pnl_usd", "gross_pnl_usd", "fees_usd", "funding_usd", "holding_minutes", "entry_at", "symbol"),
)
ORDERS: Final[Mapping[str, tuple[str, tuple[Any, ...]]]] = {  # with their labels
    "newest": ("Newest entry", ("-entry_tick_at", "-entry_at", "id")),
    "oldest": ("Oldest entry", ("entry_tick_at", "entry_at", "id")),
    "best": ("Most won", ("-realized_pnl_usd", "id")),
    "worst": ("Most lost", ("realized_pnl_usd", "id")),
    "longest": ("Held longest", (F("holding_minutes").desc(nulls_last=True), "id")),
    "symbol": ("Symbol", ("symbol", "-entry_tick_at", "id")),
}


class TradeNotFound(NotFound):
    """The user has no such trade."""


@dataclass(frozen=True, slots=True)
class TradeFilter:
    deployment_id: UUID | None = None
    skill_id: UUID | None = None
    symbol: str = ""
    side: str = ""
    status: str = ""
    exit_kind: str = ""
    regime: str = ""
    words: str = ""  # in the reasons
    reconciled: str = ""
    since: date | None = None  # the day of the entry in UTC, as `until`; both are part of it
    until: date | None = None
    note_id: UUID | None = None  # the trades that lessons were drawn from, also of a backtest
    trade_ids: Collection[UUID] | None = None  # no others
    closed_from: datetime | None = None
    closed_before: datetime | None = None
    hour: str = ""  # of the entry in `zone`, 00 to 23
    weekday: str = ""  # of the entry in `zone`, one of WEEKDAYS
    zone: tzinfo = UTC
    tag: str = ""
    with_backtests: bool = False
    order: str = "newest"  # a key of ORDERS


@dataclass(frozen=True, slots=True)
class SkillRecord:
    """A skill's closed trades and notes, newest first."""

    trades: list[models.Trade]
    notes: list[models.ReflectionNote]
    backtest: models.BacktestRun | None  # whose they are; None: those of its deployments


def get_trade(trade_id: UUID) -> models.Trade:
    """Return a trade. Raises TradeNotFound."""
    rows = models.Trade.objects.filter(pk=trade_id)
    rows = rows.select_related("deployment", "skill", "entry_snapshot", "exit_snapshot")
    return rows.first_or(TradeNotFound("You have no such trade."))


def find_trades(trade_ids: Iterable[UUID]) -> list[models.Trade]:
    """Return the trades with these ids, newest entry first."""
    return list(name_owners(models.Trade.objects.filter(pk__in=set(trade_ids)).newest_first()))


def name_owners(rows: models.TradeQuerySet) -> models.TradeQuerySet:
    """Read the skill with each trade, and whether it `is_backtest`."""
    runs = models.BacktestRun.objects.filter(deployment=OuterRef("deployment"))
    return rows.select_related("skill").annotate(is_backtest=Exists(runs)).defer("state")


def get_trade_page(which: TradeFilter, number: int = 1) -> tuple["Page[models.Trade]", Totals]:
    """Return one page of trades and the totals of all that fit."""
    rows = select_trades(which)
    totals = total_trades(rows)
    paginator = Paginator(name_owners(rows.order_by(*ORDERS[which.order][1])), PAGE_SIZE)
    paginator.count = totals.closed_trades + totals.open_trades
    return paginator.get_page(number), totals


def select_trades(which: TradeFilter) -> models.TradeQuerySet:
    """Return the trades that fit, unordered."""
    rows: models.TradeQuerySet = models.Trade.objects.all()
    if which.note_id is not None:
        noted = models.ReflectionNote.objects.filter(pk=which.note_id).values_list("trade_ids", flat=True).first()
        rows = rows.filter(pk__in=noted or [])
    elif not which.with_backtests:
        rows = rows.exclude(
            deployment__in=models.Deployment.objects.filter(broker_kind=models.BrokerKind.BACKTEST).values("pk")
        )
    given: Mapping[str, Any] = {
        "deployment": which.deployment_id,
        "skill": which.skill_id,
        "symbol": which.symbol.upper(),
        "side": which.side,
        "status": which.status,
        "exit_kind": which.exit_kind,
        "entry_regime_tag": which.regime,
        "reconciled": which.reconciled,
        "entry_at__gte": which.since and datetime.combine(which.since, time.min, UTC),
        "entry_at__lte": which.until and datetime.combine(which.until, time.max, UTC),
        "exit_at__gte": which.closed_from,
        "exit_at__lt": which.closed_before,
    }
    rows = rows.filter(**{name: value for name, value in given.items() if value})
    if which.trade_ids is not None:
        rows = rows.filter(pk__in=ManyIds(which.trade_ids))
    if which.hour:
        rows = rows.alias(hour=ExtractHour("entry_at", tzinfo=which.zone)).filter(hour=int(which.hour))
    if which.weekday:
        number = WEEKDAYS.index(which.weekday) + 1
        rows = rows.alias(day=ExtractIsoWeekDay("entry_at", tzinfo=which.zone)).filter(day=number)
    if which.tag:
        rows = rows.filter(pk__in=models.TradeRemark.objects.filter(tags__contains=f",{which.tag},").values("trade_id"))
    if which.words:
        rows = rows.filter(Q(entry_reason__icontains=which.words) | Q(exit_reason__icontains=which.words))
    return rows


def iter_trades(deployment_id: UUID | None = None) -> Iterator[models.Trade]:
    """Yield a deployment's trades or all without backtests', newest first."""
    rows = select_trades(TradeFilter(deployment_id=deployment_id, with_backtests=deployment_id is not None))
    yield from rows.newest_first().iterator(chunk_size=500)


def list_open(deployment_id: UUID) -> list[models.Trade]:
    """Return a deployment's open trades, newest entry first."""
    return list(models.Trade.objects.open().filter(deployment=deployment_id).newest_first())


def list_last_closed(which: TradeFilter, limit: int) -> list[models.Trade]:
    """Return the last closed trades, newest entry first."""
    return list(select_trades(which).closed().newest_first().defer("state")[:limit])


def list_symbols_in_use() -> list[str]:
    """Return symbols held, then those of running deployments."""
    held = (
        select_trades(TradeFilter(status=models.TradeStatus.OPEN)).order_by("symbol").values_list("symbol", flat=True)
    )
    running = models.Deployment.objects.exclude(broker_kind=models.BrokerKind.BACKTEST).filter(status="running")
    versions = models.SkillVersion.objects.filter(pk__in=running.values("version")).order_by("-created_at", "id")
    payloads = versions.values_list("payload", flat=True)
    return list(dict.fromkeys([*held, *(symbol for payload in payloads for symbol in payload["context"]["symbols"])]))


def list_fills(trade: models.Trade) -> list[models.Fill]:
    """Return a trade's fills in ledger order, crossing ones included, up to the first fill of the next trade."""
    fills = _sort_trade_fills(trade)
    numbers = {fill.fill_id: number for number, fill in enumerate(fills)}
    at_exit = sum(fill.at == trade.exit_at for fill in fills)
    if trade.first_fill_id in numbers and at_exit <= 1 and trade.reconciled == models.ReconcileState.EXACT:
        return fills[numbers[trade.first_fill_id] :]  # no other trade begins before its end
    rows = models.Trade.objects.filter(
        deployment=trade.deployment_id, symbol=trade.symbol, entry_at__gte=trade.entry_at
    )
    if trade.exit_at:
        rows = rows.filter(entry_at__lte=trade.exit_at)
    begun = sorted(_find_beginning(name, numbers) for name in rows.values_list("first_fill_id", flat=True))
    own = _find_beginning(trade.first_fill_id, numbers)
    following, is_by_fill = next((one for one in begun if one > own), (len(fills), False))
    # A fill across zero begins the next trade; a fill reported after a gap finds that trade open.
    is_shared = is_by_fill and (trade.exit_kind == models.ExitKind.FLIP or fills[following].is_liquidation)
    return fills[max(own[0], 0) : following + is_shared]


def _sort_trade_fills(trade: models.Trade) -> list[models.Fill]:
    """Return the symbol's fills between a trade's ends, in the order that what was held before tells."""
    rows = models.Fill.objects.filter(deployment=trade.deployment_id, symbol=trade.symbol).order_by("at", "id")
    before = Subquery(rows.filter(at__lt=trade.entry_at).order_by("-at").values("at")[:1])
    rows = rows.filter(at__gte=Coalesce(before, Value(trade.entry_at, output_field=DateTimeField())))
    if trade.exit_at:
        rows = rows.filter(at__lte=trade.exit_at)
    by_id = {fill.fill_id: fill for fill in rows}
    names = ("fill_id", "symbol", "at", "quantity", "price", "start_quantity", "source_order")
    executions = [Execution(**{name: getattr(fill, name) for name in names}) for fill in by_id.values()]
    ordered = [by_id[one.fill_id] for one in sort_fills(executions, Decimal(0))]
    return [fill for fill in ordered if fill.at >= trade.entry_at]


def _find_beginning(first_fill_id: str, numbers: Mapping[str, int]) -> tuple[int, bool]:
    """Return a trade's first fill number; False for a gap."""
    name = first_fill_id.removeprefix(GAP_PREFIX)
    return numbers.get(name, -1), name in numbers and name == first_fill_id


def get_skill_record(skill_id: UUID, limit: int) -> SkillRecord:
    """Return the last closed trades and lessons of a skill or else of its last backtest. Raises SkillNotFound."""
    skill = get_skill(skill_id)
    trades = list_last_closed(TradeFilter(skill_id=skill.pk), limit)
    run = None if trades else find_last_backtest(skill=skill)
    if run is not None:
        trades = list_last_closed(TradeFilter(deployment_id=run.deployment_id, with_backtests=True), limit)
    of_backtests = models.Deployment.objects.filter(skill=skill, broker_kind=models.BrokerKind.BACKTEST).values("pk")
    which = Q(deployment__isnull=True) | (Q(deployment=run.deployment_id) if run else ~Q(deployment__in=of_backtests))
    notes = models.ReflectionNote.objects.filter(which, skill=skill, status="active").order_by("-generated_at", "id")
    return SkillRecord(trades, list(notes), run)


def find_simulated_symbols(seen_at: Mapping[str, datetime]) -> list[str]:
    """Return the symbols with simulated bars the day before."""
    day = timedelta(days=1)
    windows = [Q(symbol=symbol, opened_at__range=(at - day, at)) for symbol, at in seen_at.items()]
    if not windows:
        return []
    rows = models.Bar.objects.filter(reduce(or_, windows), is_simulated=True, interval__in=INTERVALS)
    return sorted(rows.order_by().values_list("symbol", flat=True).distinct())


@dataclass(frozen=True, slots=True)
class AccountRecord:
    """The record of one deployment: the same rows for figures and charts."""

    numbers: Performance
    closed: list[ClosedTrade]
    curve: list[EquityAt]


def read_account(deployment: models.Deployment) -> AccountRecord:
    """Return the record of one deployment."""
    closed, curve = _read_closed([deployment]), read_curve(deployment)
    numbers = _summarise([deployment], closed, _find_funding(closed), curve)
    return AccountRecord(numbers, closed[deployment.pk], curve)


def _read_closed(deployments: Sequence[models.Deployment]) -> dict[UUID, list[ClosedTrade]]:
    found: dict[UUID, list[ClosedTrade]] = {one.pk: [] for one in deployments}
    rows = models.Trade.objects.closed().filter(deployment__in=found).order_by()
    columns = Columns(rows, ("deployment", *_OF_CLOSED), as_floats=True)
    trades = map(ClosedTrade, *(columns[name] for name in _OF_CLOSED))
    for pk, trade in zip(columns["deployment"], trades, strict=True):
        found[pk].append(trade)
    return found


def _find_funding(closed: Mapping[UUID, list[ClosedTrade]]) -> FundingOnRecord:
    return FundingOnRecord({trade.symbol for trades in closed.values() for trade in trades})


def _summarise(
    deployments: Sequence[models.Deployment],
    closed: Mapping[UUID, list[ClosedTrade]],
    known: FundingOnRecord,
    curve: Iterable[EquityAt] = (),
) -> Performance:
    """Return the numbers of deployments together; funding that one of them does not know is not known."""
    trades = [trade for one in deployments for trade in closed[one.pk]]
    start = deployments[0].starting_equity_usd if len(deployments) == 1 else None
    numbers = summarise_trades(trades, curve, starting_equity_usd=start)
    asked = [one for one in deployments if closed[one.pk] and not any(trade.funding_usd for trade in closed[one.pk])]
    is_known = all(_knows_funding(one, closed[one.pk], known) for one in asked)
    return numbers if is_known else replace(numbers, funding_usd=None)


def _knows_funding(deployment: models.Deployment, trades: Sequence[ClosedTrade], known: FundingOnRecord) -> bool:
    """Tell whether a deployment knows the funding of one of its symbols."""
    since, until = min(trade.opened_at for trade in trades), max(trade.closed_at for trade in trades)
    return any(known.covers(deployment, symbol, since, until) for symbol in {trade.symbol for trade in trades})


@dataclass(frozen=True, slots=True)
class SkillAccounts:
    """The deployments of a skill, newest first, with those of backtests, and what they made."""

    deployments: list[models.Deployment]
    performance: dict[str, Performance]  # by broker kind
    first_trades: dict[str, datetime]  # by symbol: when the first one of an agent that closed was entered


def get_skill_performance(skill_id: UUID) -> dict[str, Performance]:
    """Return a skill's performance by broker kind. Raises SkillNotFound."""
    return read_skill_accounts(skill_id).performance


def read_skill_accounts(skill_id: UUID) -> SkillAccounts:
    """Return a skill's deployments and performance, of several without Sharpe. Raises SkillNotFound."""
    rows = models.Deployment.objects.filter(skill=skill_id).select_related("version")
    deployments = list(rows.order_by("-created_at", "id"))
    if not deployments:
        get_skill(skill_id)
    closed = _read_closed(deployments)
    known, found = _find_funding(closed), {}
    first_trades: dict[str, datetime] = {}
    of_agents = [one.pk for one in deployments if one.broker_kind != models.BrokerKind.LIVE]
    for trade in (trade for pk in of_agents for trade in closed[pk]):
        first_trades[trade.symbol] = min(trade.opened_at, first_trades.get(trade.symbol, trade.opened_at))
    for kind in dict.fromkeys(one.broker_kind for one in reversed(deployments)):
        own = [one for one in deployments if one.broker_kind == kind]
        if any(closed[one.pk] for one in own):
            found[kind] = _summarise(own, closed, known, read_curve(own[0]) if len(own) == 1 else ())
    return SkillAccounts(deployments, found, first_trades)


def get_latest_equity(deployment: models.Deployment, until: datetime | None = None) -> Decimal | None:
    """Return the equity before an instant, or at start; None: not known."""
    return list_equity([(deployment, until)])[0]


def list_equity(asked: Sequence[tuple[models.Deployment, datetime | None]]) -> list[Decimal | None]:
    """Return the equity of accounts, each before an instant (None: the latest) or at start, in one query."""
    points = models.EquityPoint.objects.order_by("-at").values("pk")
    newest = [
        Subquery(points.filter(deployment=one, **({"at__lte": until} if until else {}))[:1]) for one, until in asked
    ]
    found = list(models.EquityPoint.objects.filter(pk__in=newest).order_by("at")) if asked else []
    by_account = {one.pk: [point for point in found if point.deployment_id == one.pk] for one, _ in asked}
    return [
        next(
            (point.equity_usd for point in reversed(by_account[one.pk]) if until is None or point.at <= until),
            one.starting_equity_usd,
        )
        for one, until in asked
    ]


def utc_midnight(at: datetime) -> datetime:
    """Return 00:00 UTC of an instant's day."""
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
