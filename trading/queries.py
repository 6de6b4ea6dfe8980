"""Reading skills, deployments and their record: every function answers for the owner in scope."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Exists, F, Max, OuterRef, Q, Subquery, Sum

from config.lib.errors import DomainError
from config.lib.owned import owner_id
from config.lib.paging import place_of
from trading.models import (
    BacktestRun,
    BrokerKind,
    DecisionSnapshot,
    Deployment,
    DeploymentCommand,
    DraftStatus,
    EquityPoint,
    ExitKind,
    Fill,
    Order,
    OrderOrigin,
    OrderState,
    ReflectionNote,
    Skill,
    SkillDraft,
    SkillVersion,
    Trade,
    TradeQuerySet,
    Trader,
    TradeStatus,
    Verdict,
)
from trading.performance import ClosedTrade, EquityAt, Performance, summarise
from trading.positions import GAP_PREFIX, in_order
from trading.positions import Fill as Execution
from trading.schemas import changed_fields

PAGE_SIZE: Final = 50
_POINTS_AT_ONCE: Final = 2000  # of an equity curve, which may have hundreds of thousands
_ORDERS: Final[dict[str, tuple[Any, ...]]] = {
    "newest": ("-entry_tick_at", "-entry_at", "id"),
    "oldest": ("entry_tick_at", "entry_at", "id"),
    "best": ("-realized_pnl_usd", "id"),
    "worst": ("realized_pnl_usd", "id"),
    "longest": (F("holding_minutes").desc(nulls_last=True), "id"),
    "symbol": ("symbol", "-entry_tick_at", "id"),
}


class SkillNotFound(DomainError):
    """The owner has no such skill, or no such version of it."""

    http_status = HTTPStatus.NOT_FOUND


class DraftNotFound(DomainError):
    """The owner has no such draft that is still being edited."""

    http_status = HTTPStatus.NOT_FOUND


class DeploymentNotFound(DomainError):
    """The owner has no such deployment."""

    http_status = HTTPStatus.NOT_FOUND


class TradeNotFound(DomainError):
    """The owner has no such trade."""

    http_status = HTTPStatus.NOT_FOUND


class BacktestNotFound(DomainError):
    """The owner has no such backtest."""

    http_status = HTTPStatus.NOT_FOUND


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill with what a list says of it."""

    skill: Skill
    deployed_at: datetime | None  # the last time
    running: int  # deployments
    backtest: BacktestRun | None  # the last that is done


@dataclass(frozen=True, slots=True)
class ListedDeployment:
    """A deployment with what a list says of it."""

    deployment: Deployment
    positions: list[Trade]
    closed_trades: int
    net_usd: Decimal  # of all its trades, as far as realised
    decided_at: datetime | None
    refusals: list[DecisionSnapshot]  # of the last day, newest first, at most five


@dataclass(frozen=True, slots=True)
class SkillRecord:
    """The trades that speak for a skill, newest entry first, and the lessons that are in force, newest first."""

    trades: list[Trade]
    notes: list[ReflectionNote]
    backtest: BacktestRun | None  # whose they are; None: those of its deployments


@dataclass(frozen=True, slots=True)
class TradeFilter:
    """Which trades a page lists, and in which order; by default all, newest entry first."""

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
    with_backtests: bool = False
    order: str = "newest"  # a key of _ORDERS


@dataclass(frozen=True, slots=True)
class TradePage:
    """One page of trades: `total` fit the filter, on `pages` pages of which this is `number` (from 1)."""

    trades: list[Trade]
    total: int
    number: int
    pages: int
    net_usd: Decimal  # of all that fit


# --- Skills ---


def get_skill(skill_id: UUID) -> Skill:
    """Return a skill. Raises SkillNotFound."""
    skill: Skill | None = Skill.objects.filter(pk=skill_id).first()
    if skill is None:
        raise SkillNotFound("You have no such skill.")
    return skill


def get_version(skill_id: UUID, version: int | None = None) -> SkillVersion:
    """Return a version of a skill, by default the newest. Raises SkillNotFound."""
    number = get_skill(skill_id).latest_version if version is None else version
    found: SkillVersion | None = SkillVersion.objects.filter(skill=skill_id, version=number).first()
    if found is None:
        raise SkillNotFound("This skill has no such version.")
    return found


def list_versions(skill_id: UUID) -> list[SkillVersion]:
    """Return the versions of a skill, newest first. Raises SkillNotFound."""
    return list(SkillVersion.objects.filter(skill=get_skill(skill_id)).order_by("-version"))


def compare_versions(skill_id: UUID, old: int, new: int) -> list[tuple[str, Any, Any]]:
    """Return (path, before, after) for each field that two versions differ in. Raises SkillNotFound."""
    return changed_fields(get_version(skill_id, old).payload, get_version(skill_id, new).payload)


def list_skills() -> list[ListedSkill]:
    """Return the skills that are not archived, last changed first."""
    skills = list(Skill.objects.filter(archived_at__isnull=True).order_by("-updated_at", "id"))
    deployments = Deployment.objects.exclude(broker_kind=BrokerKind.BACKTEST)
    counted = (
        deployments.order_by()
        .values("skill")
        .annotate(last=Max("created_at"), live=Count("pk", filter=Q(status="running")))
    )
    by_skill = {row["skill"]: row for row in counted}
    skill_of = dict(Deployment.objects.filter(broker_kind=BrokerKind.BACKTEST).values_list("pk", "skill"))
    done = BacktestRun.objects.filter(status="done").order_by("finished_at").values_list("deployment", "pk")
    last_run = {skill_of[deployment]: run for deployment, run in done}
    runs = BacktestRun.objects.in_bulk(last_run.values())
    return [
        ListedSkill(
            skill,
            deployed_at=by_skill.get(skill.pk, {}).get("last"),
            running=by_skill.get(skill.pk, {}).get("live", 0),
            backtest=runs.get(last_run.get(skill.pk)),
        )
        for skill in skills
    ]


def list_open_drafts() -> list[SkillDraft]:
    """Return the drafts that could be resumed, last changed first."""
    return list(SkillDraft.objects.filter(status=DraftStatus.EDITING).order_by("-updated_at", "id"))


def experience_tier() -> str | None:
    """Return how much the owner in scope has traded; None if they were not asked yet."""
    tier: str | None = Trader.objects.values_list("experience_tier", flat=True).get(pk=owner_id())
    return tier


# --- Deployments ---


def get_deployment(deployment_id: UUID, *, or_backtest: bool = False) -> Deployment:
    """Return a deployment, a backtest's only on request. Raises DeploymentNotFound."""
    rows = Deployment.objects.filter(pk=deployment_id).select_related("skill", "version")
    deployment: Deployment | None = rows.first()
    if deployment is None or (deployment.broker_kind == BrokerKind.BACKTEST and not or_backtest):
        raise DeploymentNotFound("You have no such deployment.")
    return deployment


def find_backtest_of(deployment: Deployment) -> BacktestRun | None:
    """Return the run that a deployment belongs to; None: it is no backtest's."""
    run: BacktestRun | None = BacktestRun.objects.filter(deployment=deployment).first()
    return run


def list_deployments(now: datetime, *, deployment_id: UUID | None = None) -> list[ListedDeployment]:
    """Return the deployments that are not backtests', running ones first, then newest; in a handful of queries.

    Raises:
        DeploymentNotFound: there is none of that id, where one is named.
    """
    decided = DecisionSnapshot.objects.filter(deployment=OuterRef("pk")).order_by("-tick").values("tick_at")[:1]
    which = {} if deployment_id is None else {"deployment": get_deployment(deployment_id)}
    deployments = list(
        Deployment.objects.exclude(broker_kind=BrokerKind.BACKTEST)
        .filter(**({} if deployment_id is None else {"pk": deployment_id}))
        .select_related("skill", "version")
        .annotate(decided_at=Subquery(decided))
        .order_by("-created_at", "id")
    )
    totals = {
        row["deployment"]: row
        for row in Trade.objects.filter(**which)
        .order_by()
        .values("deployment")
        .annotate(net=Sum("realized_pnl_usd"), closed=Count("pk", filter=Q(status="closed")))
    }
    positions: dict[UUID, list[Trade]] = {}
    for trade in Trade.objects.open().filter(**which).newest_first():
        positions.setdefault(trade.deployment_id, []).append(trade)
    refusals: dict[UUID, list[DecisionSnapshot]] = {}
    since = now - timedelta(days=1)
    refused = DecisionSnapshot.objects.filter(**which, verdict=Verdict.REFUSED, tick_at__gte=since)
    for snapshot in refused.defer("system_prompt", "context", "steps").order_by("-tick_at"):
        refusals.setdefault(snapshot.deployment_id, []).append(snapshot)
    listed = [
        ListedDeployment(
            deployment,
            positions=positions.get(deployment.pk, []),
            closed_trades=totals.get(deployment.pk, {}).get("closed", 0),
            net_usd=totals.get(deployment.pk, {}).get("net", Decimal(0)),
            decided_at=deployment.decided_at,
            refusals=refusals.get(deployment.pk, [])[:5],
        )
        for deployment in deployments
    ]
    return sorted(listed, key=lambda one: one.deployment.status != "running")


def get_backtest(run_id: UUID) -> BacktestRun:
    """Return a backtest. Raises BacktestNotFound."""
    run: BacktestRun | None = BacktestRun.objects.filter(pk=run_id).select_related("deployment").first()
    if run is None:
        raise BacktestNotFound("You have no such backtest.")
    return run


def list_deployments_to_tick(user_id: int | None = None) -> list[tuple[Deployment, bool]]:
    """Return the deployments on paper that run or hold something, and all that are told something.

    Each with whether a command waits. Of what other programs run, only commands are the runner's business.

    Call it inside `system_tx`, for everybody's or one user's.
    """
    mine = {"deployment": OuterRef("pk")}
    commands = DeploymentCommand.objects.filter(**mine, status__in=["pending", "running"])
    held = Trade.objects.filter(**mine, status=TradeStatus.OPEN)
    sent = Order.objects.filter(**mine, state=OrderState.PENDING)
    rows = (
        Deployment.objects.annotate(has_command=Exists(commands))
        .filter(
            Q(has_command=True)
            | (Q(broker_kind=BrokerKind.PAPER) & (Q(status="running") | Exists(held) | Exists(sent)))
        )
        .filter(user__is_active=True)
        .select_related("version")
        .order_by("last_tick_at", "created_at", "id")
    )
    if user_id is not None:
        rows = rows.filter(user=user_id)
    return [(deployment, deployment.has_command) for deployment in rows]


def count_orders(deployment: Deployment, *, since: datetime) -> int:
    """Return how many orders of the agent risk has let through since an instant."""
    rows = Order.objects.filter(deployment=deployment, origin=OrderOrigin.AGENT, proposed_at__gte=since)
    count: int = rows.exclude(state=OrderState.REFUSED).count()
    return count


def list_backtests_to_run(now: datetime) -> list[tuple[UUID, int]]:
    """Return (run, user) of the backtests that wait, or whose runner went away; oldest first, inside `system_tx`."""
    is_free = Q(status="pending") | Q(status="running", lease_until__lte=now)
    rows = BacktestRun.objects.filter(is_free, user__is_active=True).order_by("created_at", "id")
    return list(rows.values_list("pk", "user_id"))


# --- Trades ---


def iter_trades(deployment_id: UUID | None = None) -> Iterator[Trade]:
    """Yield the trades of a deployment, or all but those of backtests; newest entry first."""
    rows = trades_that_fit(TradeFilter(deployment_id=deployment_id, with_backtests=deployment_id is not None))
    yield from rows.newest_first().iterator(chunk_size=500)


def page_of_trades(which: TradeFilter, number: int = 1) -> TradePage:
    """Return one page of the trades that fit; a number beyond the last page gives the last."""
    rows = trades_that_fit(which)
    count = rows.aggregate(total=Count("pk"), net=Sum("realized_pnl_usd"))
    place = place_of(number, total=count["total"], size=PAGE_SIZE)
    order = _ORDERS.get(which.order, _ORDERS["newest"])
    found = list(rows.order_by(*order).defer("state")[place.rows])
    return TradePage(found, count["total"], place.number, place.pages, count["net"] or Decimal(0))


def find_trades(trade_ids: Iterable[UUID]) -> list[Trade]:
    """Return the trades of these ids that there are, newest entry first."""
    return list(Trade.objects.filter(pk__in=set(trade_ids)).newest_first())


def get_trade(trade_id: UUID) -> Trade:
    """Return a trade. Raises TradeNotFound."""
    trade: Trade | None = (
        Trade.objects.filter(pk=trade_id)
        .select_related("deployment", "skill", "entry_snapshot", "exit_snapshot")
        .first()
    )
    if trade is None:
        raise TradeNotFound("You have no such trade.")
    return trade


def list_fills(trade: Trade) -> list[Fill]:
    """Return the fills of a trade in the ledger's order; one that crossed zero is part of two trades.

    Fills of one instant may be of several trades: a trade runs from its own first fill to that of the next. A trade
    that began without a fill is cut by time alone.
    """
    fills = _fills_in_order(trade)
    numbers = {fill.fill_id: number for number, fill in enumerate(fills)}
    rows = Trade.objects.filter(deployment=trade.deployment_id, symbol=trade.symbol, entry_at__gte=trade.entry_at)
    if trade.exit_at:
        rows = rows.filter(entry_at__lte=trade.exit_at)
    begun = sorted(_beginning(name, numbers) for name in rows.values_list("first_fill_id", flat=True))
    own = _beginning(trade.first_fill_id, numbers)
    following, is_by_fill = next((one for one in begun if one > own), (len(fills), False))
    # What crossed zero began the next trade itself; what is reported after a gap found that trade open.
    is_shared = is_by_fill and (trade.exit_kind == ExitKind.FLIP or fills[following].is_liquidation)
    return fills[max(own[0], 0) : following + is_shared]


def _beginning(first_fill_id: str, numbers: Mapping[str, int]) -> tuple[int, bool]:
    """Return where a trade begins among numbered fills, and whether by that fill or by the gap before it."""
    name = first_fill_id.removeprefix(GAP_PREFIX)
    return numbers.get(name, -1), name in numbers and name == first_fill_id


def _fills_in_order(trade: Trade) -> list[Fill]:
    """Return the fills of a trade's symbol between its ends, both included, in the order in which the venue made them.

    The order is found from the instant before on: what was held then tells where the chain of the first one begins.
    """
    rows = Fill.objects.filter(deployment=trade.deployment_id, symbol=trade.symbol).order_by("at", "id")
    before = rows.filter(at__lt=trade.entry_at).values_list("at", flat=True).last()
    if trade.exit_at:
        rows = rows.filter(at__lte=trade.exit_at)
    by_id = {fill.fill_id: fill for fill in rows.filter(at__gte=before or trade.entry_at)}
    executions = [
        Execution(fill.fill_id, fill.symbol, fill.at, fill.quantity, fill.price, start_quantity=fill.start_quantity)
        for fill in by_id.values()
    ]
    ordered = [by_id[one.fill_id] for one in in_order(executions, Decimal(0))]
    return [fill for fill in ordered if fill.at >= trade.entry_at]


def list_closed(deployment_id: UUID, limit: int) -> list[Trade]:
    """Return the last closed trades of one deployment, newest entry first (seed 002)."""
    return list(Trade.objects.closed().filter(deployment=deployment_id).newest_first().defer("state")[:limit])


def list_open(deployment_id: UUID) -> list[Trade]:
    """Return the positions of one deployment, newest entry first."""
    return list(Trade.objects.open().filter(deployment=deployment_id).newest_first())


def last_closed(which: TradeFilter, limit: int) -> list[Trade]:
    """Return the last closed trades that fit, newest entry first."""
    return list(trades_that_fit(which).closed().newest_first().defer("state")[:limit])


def list_symbols_in_use() -> list[str]:
    """Return the symbols of open positions, then those of what runs; of backtests none."""
    held = trades_that_fit(TradeFilter(status=TradeStatus.OPEN)).order_by("symbol").values_list("symbol", flat=True)
    running = Deployment.objects.exclude(broker_kind=BrokerKind.BACKTEST).filter(status="running")
    versions = SkillVersion.objects.filter(pk__in=running.values("version")).order_by("-created_at", "id")
    payloads = versions.values_list("payload", flat=True)
    return list(dict.fromkeys([*held, *(symbol for payload in payloads for symbol in payload["context"]["symbols"])]))


def trades_that_fit(which: TradeFilter) -> TradeQuerySet:
    """Return the trades that fit, in no order; what pages, sums and exports are cut from."""
    rows: TradeQuerySet = Trade.objects.all()
    if not which.with_backtests:
        rows = rows.exclude(deployment__in=Deployment.objects.filter(broker_kind=BrokerKind.BACKTEST).values("pk"))
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
    }
    rows = rows.filter(**{name: value for name, value in given.items() if value})
    if which.words:
        rows = rows.filter(Q(entry_reason__icontains=which.words) | Q(exit_reason__icontains=which.words))
    return rows


# --- Performance and lessons ---


def deployment_performance(deployment: Deployment) -> Performance:
    """Return the numbers of one deployment."""
    points = _iter_equity(deployment)
    return summarise(_closed(Q(deployment=deployment)), points, starting_equity_usd=deployment.starting_equity_usd)


def skill_performance(skill_id: UUID) -> dict[str, Performance]:
    """Return a skill's numbers by broker kind, for those with a trade. Raises SkillNotFound.

    Sharpe and drawdown are of an account, so they stand only where the kind has one deployment.
    """
    skill = get_skill(skill_id)
    by_kind: dict[str, list[Deployment]] = {}
    for deployment in Deployment.objects.filter(skill=skill).order_by("created_at"):
        by_kind.setdefault(deployment.broker_kind, []).append(deployment)
    found = {}
    for kind, deployments in by_kind.items():
        if len(deployments) == 1:
            found[kind] = deployment_performance(deployments[0])
        else:
            found[kind] = summarise(_closed(Q(deployment__in=[one.pk for one in deployments])))
    return {kind: numbers for kind, numbers in found.items() if numbers.trades}


def record_of_skill(skill_id: UUID, limit: int) -> SkillRecord:
    """Return the last closed trades of a skill and its lessons; before its deployments closed one, its last backtest's.

    What is kept for the skill is part of either. Raises SkillNotFound.
    """
    skill = get_skill(skill_id)
    trades = last_closed(TradeFilter(skill_id=skill.pk), limit)
    run = None if trades else _last_backtest(skill)
    if run is not None:
        trades = last_closed(TradeFilter(deployment_id=run.deployment_id, with_backtests=True), limit)
    of_backtests = Deployment.objects.filter(skill=skill, broker_kind=BrokerKind.BACKTEST).values("pk")
    which = Q(deployment__isnull=True) | (Q(deployment=run.deployment_id) if run else ~Q(deployment__in=of_backtests))
    notes = ReflectionNote.objects.filter(which, skill=skill, status="active").order_by("-generated_at", "id")
    return SkillRecord(trades, list(notes), run)


def _last_backtest(skill: Skill) -> BacktestRun | None:
    of_skill = Deployment.objects.filter(skill=skill, broker_kind=BrokerKind.BACKTEST).values("pk")
    runs = BacktestRun.objects.filter(deployment__in=of_skill, status="done").order_by("-finished_at", "id")
    run: BacktestRun | None = runs.first()
    return run


def utc_midnight(at: datetime) -> datetime:
    """Return when the day of an instant began, in UTC."""
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def equity_at_midnight(deployment: Deployment, now: datetime) -> Decimal:
    """Return the equity at 00:00 UTC of the day of `now`, or what the deployment started with."""
    rows = EquityPoint.objects.filter(deployment=deployment, at__lte=utc_midnight(now)).order_by("-at")
    point: EquityPoint | None = rows.first()
    equity: Decimal = point.equity_usd if point else deployment.starting_equity_usd
    return equity


def latest_equity(deployment: Deployment) -> Decimal:
    """Return the equity after the last tick, or what the deployment started with."""
    point: EquityPoint | None = EquityPoint.objects.filter(deployment=deployment).order_by("-at").first()
    equity: Decimal = point.equity_usd if point else deployment.starting_equity_usd
    return equity


def find_last_decision(deployment: Deployment) -> DecisionSnapshot | None:
    """Return what the last tick decided, without its texts; None before the first."""
    rows = DecisionSnapshot.objects.filter(deployment=deployment).defer("system_prompt", "context", "steps")
    snapshot: DecisionSnapshot | None = rows.order_by("-tick").first()
    return snapshot


def count_failed(deployment: Deployment) -> int:
    """Return how many ticks came to no decision."""
    count: int = DecisionSnapshot.objects.filter(deployment=deployment, verdict=Verdict.FAILED).count()
    return count


def find_active_note(deployment: Deployment) -> ReflectionNote | None:
    """Return the lessons that a deployment's prompt carries: its own, else those kept for the skill (settled 28).

    A backtest has its own alone: what is kept for the skill may have been learned after its time.
    """
    which = Q(deployment=deployment)
    if deployment.broker_kind != BrokerKind.BACKTEST:
        which |= Q(deployment__isnull=True)
    rows = ReflectionNote.objects.filter(which, skill=deployment.skill_id)
    note: ReflectionNote | None = rows.filter(status="active").order_by(F("deployment").asc(nulls_last=True)).first()
    return note


def list_active_notes(deployments: Collection[Deployment]) -> list[ReflectionNote]:
    """Return the lessons that the prompts of deployments carry, as `find_active_note` does; each once, newest first."""
    of_skills = Q(deployment__isnull=True, skill__in={one.skill_id for one in deployments})
    rows = ReflectionNote.objects.filter(
        Q(deployment__in=[one.pk for one in deployments]) | of_skills, status="active"
    ).order_by("-generated_at", "id")
    notes = list(rows)
    own = {note.deployment_id for note in notes}
    shared = {one.skill_id for one in deployments if one.pk not in own}
    return [note for note in notes if note.deployment_id is not None or note.skill_id in shared]


def _iter_equity(deployment: Deployment) -> Iterator[EquityAt]:
    rows = EquityPoint.objects.filter(deployment=deployment).order_by("at").values_list("at", "equity_usd")
    return (EquityAt(at, equity) for at, equity in rows.iterator(chunk_size=_POINTS_AT_ONCE))


def _closed(which: Q) -> list[ClosedTrade]:
    rows = Trade.objects.filter(which, status=TradeStatus.CLOSED).values_list(
        "realized_pnl_usd", "gross_pnl_usd", "fees_usd", "funding_usd", "holding_minutes"
    )
    return [
        ClosedTrade(net, gross, fees, funding, timedelta(minutes=float(minutes)))
        for net, gross, fees, funding, minutes in rows
    ]
