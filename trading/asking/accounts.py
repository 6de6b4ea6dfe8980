"""The accounts at an instant: results, equity, positions, decisions and lessons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.urls import reverse

from config.lib.queries import compiled
from trading.asking.answers import build_link
from trading.asking.periods import parse_period
from trading.asking.query import RECORDS, TradeQuery
from trading.asking.table import TradeTable
from trading.models import BrokerKind, DecisionSnapshot, Deployment, EquityPoint, ReflectionNote, Trade, TradeStatus
from trading.models.deployments import Verdict
from trading.record.deployment_queries import OpenPosition, mark_positions
from trading.record.performance import Figure, measure_sum, total_usd
from trading.record.trade_queries import TradeFilter, select_trades
from trading.skills.schemas import Schedule

PERIOD: Final = "last 30 days"
_ACCOUNTS: Final[Mapping[str, str]] = {"own": "Own accounts", "agents": "Agents"}
_LATE: Final = timedelta(minutes=15)  # how long a runner may take
_DAY: Final = timedelta(days=1)
_DECISION: Final = ("tick", "tick_at", "verdict")
_NOTE: Final = ("id", "generated_at", "lessons_text", "trades_considered")


@dataclass(frozen=True, slots=True)
class AccountNow:
    """A deployment that is no backtest; None: not known, or there is none."""

    deployment: Deployment
    positions: Sequence[OpenPosition]
    equity_usd: Sequence[Decimal | None]  # at each instant that was asked for
    decided: Mapping[str, Any] | None  # the last decision: tick, tick_at, verdict
    note: Mapping[str, Any] | None  # the lessons in use: id, generated_at, lessons_text, trades_considered
    next_at: datetime | None  # of the next decision, while it runs
    is_late: bool  # the runner has missed the last one

    @property
    def record(self) -> str:
        return "own" if self.deployment.broker_kind == BrokerKind.LIVE else "agents"

    @property
    def verdict_label(self) -> str:
        return str(Verdict(self.decided["verdict"]).label) if self.decided else ""


@dataclass(frozen=True, slots=True)
class Result:
    """What own trades or agents made; `points` are equity where it is known, else the summed nets of the period."""

    record: str  # a key of RECORDS
    today: Figure
    period: Figure
    points: Sequence[tuple[datetime, Decimal]]
    of_equity: Sequence[UUID]  # the accounts whose equity it is; none: it is not known

    @property
    def label(self) -> str:
        return RECORDS[self.record]

    @property
    def account_label(self) -> str:
        return _ACCOUNTS[self.record]

    @property
    def is_equity(self) -> bool:
        return bool(self.of_equity)

    @property
    def equity_link(self) -> str:
        """The address of the account, or of all of them."""
        if len(self.of_equity) == 1:
            return reverse("trading:deployment", args=self.of_equity)
        return reverse("trading:deployments")

    @property
    def equity_usd(self) -> Decimal:
        return self.points[-1][1]

    @property
    def change_usd(self) -> Decimal:
        return self.points[-1][1] - self.points[0][1]

    @property
    def figures(self) -> list[tuple[str, Figure, str]]:
        """The nets of today and of the period, each with the address of its trades."""
        found = (("Today", "today", self.today), ("30 days", PERIOD, self.period))
        return [(name, one, build_link({"period": words, "record": self.record})) for name, words, one in found]


@dataclass(frozen=True, slots=True)
class AccountsNow:
    """All accounts, running ones first, and what they made."""

    accounts: Sequence[AccountNow]
    results: Sequence[Result]
    simulated: Sequence[str]  # symbols with prices made by a model

    @property
    def positions(self) -> list[tuple[AccountNow, OpenPosition]]:
        """The open positions, newest first."""
        found = [(account, one) for account in self.accounts for one in account.positions]
        return sorted(found, key=lambda pair: pair[1].trade.entry_at, reverse=True)


def get_accounts(*, zone: ZoneInfo, now: datetime) -> AccountsNow:
    """Return the accounts and their results, of the last 30 days in the reader's zone; four queries."""
    period = parse_period(PERIOD, zone=zone, now=now)
    assert period is not None
    assert period.starts_at is not None
    days = [period.starts_at + number * _DAY for number in range(30)]  # by the wall clock of the zone
    instants = [*days, now]
    deployments = sorted(_list_deployments(days[0], instants), key=lambda one: one.status != "running")
    held: dict[UUID, list[Trade]] = {one.pk: [] for one in deployments}
    for trade in _list_open():
        held[trade.deployment_id].append(trade)
    marked = mark_positions([(one, held[one.pk]) for one in deployments], now)
    accounts = [_read_account(one, marked.positions.get(one.pk, []), len(instants), now) for one in deployments]
    table = TradeTable(TradeQuery(zone=zone, period=period), groups=("month", "record"))
    records = {one.deployment.pk: one.record for one in accounts}
    results = [_sum_record(record, table, records, accounts, instants) for record in RECORDS]
    shown = [one for one in results if one.points]
    return AccountsNow(accounts, shown, marked.simulated)


@compiled
def _list_open() -> QuerySet[Trade]:
    return select_trades(TradeFilter(status=TradeStatus.OPEN)).newest_first().defer("state")


@compiled
def _list_deployments(since: datetime, instants: list[datetime]) -> QuerySet[Deployment]:
    """Return the deployments of the time since an instant, with the columns that `_read_account` reads."""
    mine = {"deployment": OuterRef("pk")}
    decisions = DecisionSnapshot.objects.filter(**mine).order_by("-tick")
    notes = ReflectionNote.objects.filter(**mine, status="active")
    equity = EquityPoint.objects.filter(**mine).order_by("-at").values("equity_usd")
    columns = {f"decision_{name}": Subquery(decisions.values(name)[:1]) for name in _DECISION}
    columns |= {f"note_{name}": Subquery(notes.values(name)[:1]) for name in _NOTE}
    columns |= {f"equity_{place}": Subquery(equity.filter(at__lte=at)[:1]) for place, at in enumerate(instants)}
    rows = Deployment.objects.exclude(broker_kind=BrokerKind.BACKTEST)
    holding = Q(pk__in=Trade.objects.open().values("deployment"))  # a stopped one keeps its positions
    rows = rows.filter(Q(stopped_at__isnull=True) | Q(stopped_at__gte=since) | holding)
    return rows.select_related("skill", "version").annotate(**columns).order_by("-created_at", "id")


def _read_account(
    deployment: Deployment, positions: Sequence[OpenPosition], instants: int, now: datetime
) -> AccountNow:
    columns = vars(deployment)
    # Balances of an own account are entered by hand: what was paid in between two is no profit.
    equity = [None if deployment.label else columns[f"equity_{place}"] for place in range(instants)]
    first = next((value for value in equity if value is not None), None)
    # Before its first point, an account is worth what it started with: a new one shall not read as a gain.
    before = deployment.starting_equity_usd if deployment.starting_equity_usd is not None else first
    decided, note = (
        {name: columns[f"{kind}_{name}"] for name in names} if columns[f"{kind}_{names[0]}"] is not None else None
        for kind, names in (("decision", _DECISION), ("note", _NOTE))
    )
    next_at, is_late = None, False
    if deployment.broker_kind == BrokerKind.PAPER and deployment.status == "running":
        schedule = Schedule.model_validate(deployment.version.payload.get("schedule", {}))
        next_at = schedule.find_last(now) + schedule.every
        is_late = (deployment.last_tick_at or deployment.created_at) < schedule.find_last(now - _LATE)
    return AccountNow(
        deployment, positions, [before if value is None else value for value in equity], decided, note, next_at, is_late
    )


def _sum_record(
    record: str,
    table: TradeTable,
    records: Mapping[UUID, str],
    accounts: Sequence[AccountNow],
    instants: Sequence[datetime],
) -> Result:
    """Return the result of own trades or of agents, `instants` being the days' beginnings and now."""
    rows = zip(table["deployment"], table["exit_at"], table["realized_pnl_usd"], strict=True)
    # A deployment that stopped before the period and closed a trade in it is in no list; only agents are stopped.
    nets = [(at, net) for pk, at, net in rows if records.get(pk, "agents") == record]
    today, whole = (measure_sum([net for at, net in nets if at >= since]) for since in (instants[-2], instants[0]))
    known = [one for one in accounts if one.record == record and one.equity_usd[-1] is not None]
    if known:
        by_instant = zip(*(one.equity_usd for one in known), strict=True)
        levels = [sum((value for value in values if value is not None), Decimal(0)) for values in by_instant]
    elif nets:
        levels = [total_usd(net for closed_at, net in nets if closed_at < at) for at in instants]
    else:
        levels = []
    points = list(zip(instants, levels, strict=False))
    return Result(record, today, whole, points, [one.deployment.pk for one in known])
