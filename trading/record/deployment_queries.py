"""Read deployments, their commands and open positions."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, TypeVar
from uuid import UUID

from django.db.models import CharField, Count, FloatField, Max, Min, Model, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Cast, Coalesce

from trading import models
from trading.ledger.services import get_deployment
from trading.market.queries import Mark, find_marks
from trading.market.tape import REAL
from trading.record.decisions import LONG_COLUMNS
from trading.record.performance import EquityAt, thin_curve
from trading.record.trade_values import TradeValues

MAX_COMMANDS: Final = 10
MAX_TO_LOOK_AT: Final = 2_000  # deployments in one query
_IS_CLOSED: Final = Q(status=models.TradeStatus.CLOSED)
_SUMS: Final = {  # of `Totals`
    "sum_closed_trades": Count("pk", filter=_IS_CLOSED),
    "sum_net_usd": Sum("realized_pnl_usd", filter=_IS_CLOSED),
    "sum_fees_usd": Sum("fees_usd", filter=_IS_CLOSED),
    "sum_funding_usd": Sum("funding_usd", filter=_IS_CLOSED),
    "sum_open_trades": Count("pk", filter=~_IS_CLOSED),
    "sum_open_so_far_usd": Sum("realized_pnl_usd", filter=~_IS_CLOSED),
    "sum_estimated": Count("pk", filter=Q(reconciled=models.ReconcileState.ESTIMATED)),
    "sum_gaps": Count("pk", filter=Q(reconciled=models.ReconcileState.GAP)),
}
M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of a record: closed trades, and what open ones realised so far."""

    closed_trades: int = 0
    net_usd: Decimal = Decimal(0)  # of closed trades: gross - fees + funding
    fees_usd: Decimal = Decimal(0)
    funding_usd: Decimal = Decimal(0)
    open_trades: int = 0
    open_so_far_usd: Decimal = Decimal(0)  # net that open trades have realised, without their mark
    estimated: int = 0  # trades of either kind that fills explain in part
    gaps: int = 0  # with a part of their history missing


@dataclass(frozen=True, slots=True)
class ListedDeployment:
    deployment: models.Deployment
    positions: list[models.Trade]
    totals: Totals
    decided_at: datetime | None
    equity_usd: Decimal | None  # None: neither a point nor a deposit is known
    refusals: list[models.DecisionSnapshot]  # of the last day, newest first, at most five


class OpenPosition(TradeValues):
    """An open trade at its mark; `stop_price` is the present one."""

    @property
    def notional_usd(self) -> Decimal | None:
        return None if self.mark_price is None else abs(self.trade.quantity) * self.mark_price


@dataclass(frozen=True, slots=True)
class Marked:
    positions: dict[UUID, list[OpenPosition]]  # by deployment
    simulated: list[str]  # the symbols they trade or hold whose prices are made by a model


class Newest(list[M]):
    """The first rows of a query; `is_cut`: there are more."""

    def __init__(self, rows: "QuerySet[M]", limit: int) -> None:
        found = list(rows[: limit + 1])
        super().__init__(found[:limit])
        self.is_cut = len(found) > limit


def list_deployments(now: datetime, *, deployment_id: UUID | None = None) -> list[ListedDeployment]:
    """Return deployments without backtests', running ones first, then newest. Raises DeploymentNotFound."""
    decided = models.DecisionSnapshot.objects.filter(deployment=OuterRef("pk")).order_by("-tick").values("tick_at")[:1]
    equity = models.EquityPoint.objects.filter(deployment=OuterRef("pk")).order_by("-at").values("equity_usd")[:1]
    which = {} if deployment_id is None else {"deployment": get_deployment(deployment_id)}
    deployments = list(
        models.Deployment.objects.exclude(broker_kind=models.BrokerKind.BACKTEST)
        .filter(**({} if deployment_id is None else {"pk": deployment_id}))
        .select_related("skill", "version")
        .annotate(decided_at=Subquery(decided), equity_usd=Coalesce(Subquery(equity), "starting_equity_usd"))
        .order_by("-created_at", "id")
    )
    totals = sum_trades(models.Trade.objects.filter(**which))
    positions: dict[UUID, list[models.Trade]] = defaultdict(list)
    for trade in models.Trade.objects.open().filter(**which).newest_first():
        positions[trade.deployment_id].append(trade)
    refusals: dict[UUID, list[models.DecisionSnapshot]] = defaultdict(list)
    since = now - timedelta(days=1)
    refused = models.DecisionSnapshot.objects.filter(**which, verdict=models.Verdict.REFUSED, tick_at__gte=since)
    for snapshot in refused.defer(*LONG_COLUMNS).order_by("-tick_at"):
        refusals[snapshot.deployment_id].append(snapshot)
    return [
        ListedDeployment(
            deployment,
            positions[deployment.pk],
            totals[deployment.pk],
            decided_at=deployment.decided_at,
            equity_usd=deployment.equity_usd,
            refusals=refusals[deployment.pk][:5],
        )
        for deployment in sorted(deployments, key=lambda one: one.status != "running")
    ]


def sum_trades(trades: models.TradeQuerySet) -> Mapping[UUID, Totals]:
    """Return the sums of trades by deployment, zeros without trades."""
    rows = trades.order_by().values("deployment").annotate(**_SUMS)
    return defaultdict(Totals, {row.pop("deployment"): _read_totals(row) for row in rows})


def total_trades(trades: models.TradeQuerySet) -> Totals:
    """Return the sums of trades."""
    return _read_totals(trades.aggregate(**_SUMS))


def _read_totals(row: Mapping[str, Any]) -> Totals:
    return Totals(**{name.removeprefix("sum_"): value for name, value in row.items() if value is not None})


def list_deployments_to_look_at(now: datetime) -> list[models.Deployment]:
    """Return the deployments that the runner is to look at and nobody holds, in the system's scope."""
    rows = models.Deployment.objects.filter(due_at__lte=now, user__is_active=True).exclude(
        broker_kind=models.BrokerKind.BACKTEST
    )
    rows = rows.filter(Q(lease__isnull=True) | Q(lease_until__lte=now)).select_related("version")
    return list(rows.order_by("due_at", "id")[:MAX_TO_LOOK_AT])


def is_to_tick(deployment: models.Deployment) -> bool:
    """Tell whether the clock ticks a deployment: on paper and running, or with a position or a pending order."""
    if deployment.broker_kind != models.BrokerKind.PAPER:
        return False
    return (
        deployment.status == models.DeploymentStatus.RUNNING
        or models.Trade.objects.open().filter(deployment=deployment).exists()
        or models.Order.objects.filter(
            deployment=deployment, state__in=[models.OrderState.PENDING, models.OrderState.PARTLY_FILLED]
        ).exists()
    )


def list_commands(deployment_id: UUID) -> Newest[models.DeploymentCommand]:
    """Return the last commands of a deployment, newest first."""
    rows = models.DeploymentCommand.objects.filter(deployment=deployment_id)
    return Newest(rows.order_by("-created_at", "id"), MAX_COMMANDS)


def mark_positions(held: Iterable[tuple[models.Deployment, Sequence[models.Trade]]], now: datetime) -> Marked:
    """Return the open trades of deployments at their marks."""
    given = list(held)
    trades = [trade for _, held_by_one in given for trade in held_by_one]
    agents = {one.pk: one for one, _ in given if one.broker_kind != models.BrokerKind.LIVE}
    traded = {symbol for agent in agents.values() for symbol in agent.version.payload["context"]["symbols"]}
    stored = find_marks({trade.symbol for trade in trades} | traded, now)
    marks = _mark_trades(trades, stored, lambda made: {one for one in made if one.deployment_id not in agents}, now)
    seen = [*marks.values(), *(mark for symbol, mark in stored.items() if symbol in traded)]
    return Marked(
        {deployment.pk: list_open_positions(deployment, held_by_one, marks) for deployment, held_by_one in given},
        sorted({mark.bar.symbol for mark in seen if mark.bar.is_simulated}),
    )


def find_trade_marks(trades: Iterable[models.Trade], now: datetime) -> dict[UUID, Mark]:
    """Return the last known price of each trade, by its id; own trades see real bars only (settled 41)."""
    held = list(trades)
    return _mark_trades(held, find_marks({trade.symbol for trade in held}, now), find_own, now)


def _mark_trades(
    held: Iterable[models.Trade],
    stored: Mapping[str, Mark],
    find_own_of: Callable[[Collection[models.Trade]], set[models.Trade]],
    now: datetime,
) -> dict[UUID, Mark]:
    """Return the mark of each trade: the stored one, or the real one where that is simulated and the trade is own."""
    known = [trade for trade in held if trade.symbol in stored]
    own = find_own_of([trade for trade in known if stored[trade.symbol].bar.is_simulated])
    real = find_marks({trade.symbol for trade in own}, now, REAL)
    found = ((trade, (real if trade in own else stored).get(trade.symbol)) for trade in known)
    return {trade.pk: mark for trade, mark in found if mark is not None}


def find_own(trades: Collection[models.Trade]) -> set[models.Trade]:
    """Return those of the trades that the user or a program of theirs made, not an agent of Keel."""
    if not trades:
        return set()
    live = models.Deployment.objects.filter(broker_kind=models.BrokerKind.LIVE)
    known = set(live.filter(pk__in={trade.deployment_id for trade in trades}).values_list("pk", flat=True))
    return {trade for trade in trades if trade.deployment_id in known}


def list_open_positions(
    deployment: models.Deployment, trades: Iterable[models.Trade], marks: Mapping[UUID, Mark]
) -> list[OpenPosition]:
    """Return open trades with their marks, by the id of each, and stop prices."""
    holdings = deployment.account.get("holdings", {})  # as `brokers.paper` states it
    stops = {symbol: holding["stop_price"] for symbol, holding in holdings.items()}
    prices = {pk: mark.price for pk, mark in marks.items()}
    return [
        OpenPosition(trade, prices.get(trade.pk), Decimal(stop) if (stop := stops.get(trade.symbol)) else None)
        for trade in trades
    ]


def read_curve(deployment: models.Deployment) -> list[EquityAt]:
    """Return the points of a curve that its figures and its picture need, read as text and floats for speed."""
    if deployment.label:
        return []  # balances by hand: what was paid in between two is no profit
    columns = Cast("at", CharField()), Cast("equity_usd", FloatField())
    rows = models.EquityPoint.objects.filter(deployment=deployment).order_by("at").values_list(*columns)
    return thin_curve(list(rows), float(deployment.starting_equity_usd or 0))


def find_backtest_of(deployment: models.Deployment) -> models.BacktestRun | None:
    """Return the backtest of a deployment, if it has one."""
    return models.BacktestRun.objects.filter(deployment=deployment).first()


def find_last_backtest(**which: models.Skill | models.SkillVersion) -> models.BacktestRun | None:
    """Return the last backtest to finish of a `skill` or a `version`."""
    deployments = models.Deployment.objects.filter(**which, broker_kind=models.BrokerKind.BACKTEST)
    rows = models.BacktestRun.objects.filter(deployment__in=deployments.values("pk"), status=models.WorkStatus.DONE)
    return rows.order_by("-finished_at", "id").first()


def find_last_decision(deployment: models.Deployment, before: datetime | None = None) -> models.DecisionSnapshot | None:
    """Return the last decision, or that before an instant, without its texts."""
    rows = models.DecisionSnapshot.objects.filter(deployment=deployment, **({"tick_at__lt": before} if before else {}))
    return rows.defer(*LONG_COLUMNS).order_by("-tick").first()


def count_failed(deployment: models.Deployment) -> int:
    """Return the number of failed decisions."""
    return models.DecisionSnapshot.objects.filter(deployment=deployment, verdict=models.Verdict.FAILED).count()


def count_orders(deployment: models.Deployment, *, since: datetime) -> int:
    """Return the number of the agent's accepted orders since an instant."""
    rows = models.Order.objects.filter(deployment=deployment, origin=models.OrderOrigin.AGENT, proposed_at__gte=since)
    return rows.exclude(state=models.OrderState.REFUSED).count()


class FundingOnRecord:
    """What is known of funding: payments, or on paper the rates of a time."""

    def __init__(self, symbols: Collection[str]) -> None:
        self._symbols = symbols

    @cached_property
    def _paid(self) -> set[tuple[UUID, str]]:
        payments = models.FundingPayment.objects.filter(symbol__in=self._symbols).order_by()
        return set(payments.values_list("deployment", "symbol").distinct())

    @cached_property
    def _rates(self) -> dict[str, tuple[datetime, datetime]]:
        rates = models.FundingRate.objects.filter(symbol__in=self._symbols).order_by().values_list("symbol")
        return {symbol: (first, last) for symbol, first, last in rates.annotate(Min("at"), Max("at"))}

    def covers(self, deployment: models.Deployment, symbol: str, since: datetime, until: datetime) -> bool:
        """Tell whether the funding of a time is on record."""
        if deployment.broker_kind == models.BrokerKind.LIVE:
            return (deployment.pk, symbol) in self._paid
        day, span = timedelta(days=1), self._rates.get(symbol)
        return span is not None and span[0] <= until + day and since - day <= span[1]


def knows_funding(deployment: models.Deployment, symbols: Collection[str], since: datetime, until: datetime) -> bool:
    """Tell whether funding of one of the symbols is on record."""
    known = FundingOnRecord(symbols)
    return any(known.covers(deployment, symbol, since, until) for symbol in symbols)


def count_payments(trade: models.Trade) -> int:
    """Return the number of funding payments while a trade was held."""
    rows = models.FundingPayment.objects.filter(
        deployment=trade.deployment_id, symbol=trade.symbol, at__gt=trade.entry_at
    )
    return rows.filter(**({"at__lte": trade.exit_at} if trade.exit_at else {})).count()
