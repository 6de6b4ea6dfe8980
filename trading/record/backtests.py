"""Backtests: start, claim, finish, list; the rules of a range."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, cast
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import Count, Max, Min, OuterRef, Prefetch, Q, Subquery, Value
from django.db.models.functions import Coalesce

from config.lib.errors import DomainError, NotFound, StateConflict
from config.lib.owned import OwnedQuerySet
from config.lib.work.defer import defer
from config.lib.work.jobs import Key
from trading import models
from trading.models.choices import INTERVALS
from trading.record.deployment_queries import sum_trades
from trading.record.deployments import STARTING_EQUITY_USD, LeaseLost, get_deployable_version
from trading.record.performance import EquityAt, Performance, measure_share_held
from trading.record.trade_queries import AccountRecord, list_open, read_account
from trading.skills.queries import get_version
from trading.skills.schemas import SkillPayload, parse_payload

PLAY: Final = "play_backtest"  # the task
RUNS_ON_A_PAGE: Final = 25
RUNS_OFFERED: Final = 50  # to compare with, the newest
MAX_BACKTEST: Final = timedelta(days=366 * 3)
MAX_BACKTEST_TICKS: Final = 110_000  # three years of quarters of an hour
MAX_COST_BPS: Final = 1_000
VOLUME_PCT: Final = Decimal(10)  # of a bar's volume that orders may take, unless a backtest says otherwise
USUAL_DAYS: Final = 30  # of a backtest without given days
PACED_TICKS: Final = 5  # the first decisions include the start, so they tell no pace


class BacktestNotFound(NotFound):
    """The user has no such backtest."""


class BacktestRefused(DomainError):
    """The range of a backtest makes no sense."""


class BacktestIsOver(StateConflict):
    """The backtest has ended."""


@dataclass(frozen=True, slots=True)
class ShownBacktest:
    run: models.BacktestRun
    record: AccountRecord | None  # None: it is not over
    held: list[models.Trade]  # that were open when it ended
    model: str  # that decided first; empty before the first decision

    @property
    def numbers(self) -> Performance | None:
        """Its figures; None: it is not over."""
        return self.record.numbers if self.record else None

    @property
    def curve(self) -> list[EquityAt]:
        return self.record.curve if self.record else []

    @property
    def equity_usd(self) -> Decimal | None:
        return self.curve[-1].equity_usd if self.curve else self.run.deployment.starting_equity_usd

    @property
    def share_held(self) -> float:
        """The share of its time with a position."""
        run, closed = self.run, self.record.closed if self.record else []
        spans = [(trade.opened_at, trade.closed_at) for trade in closed]
        spans += [(trade.entry_at, run.ends_at) for trade in self.held]
        return measure_share_held(spans, run.starts_at, run.ends_at)

    def measure_time_left(self, now: datetime) -> timedelta | None:
        """Return how long the rest takes at the pace so far, None without one."""
        run = self.run
        if run.started_at is None or run.ticks_done < PACED_TICKS:
            return None
        return (now - run.started_at) / run.ticks_done * (run.ticks_total - run.ticks_done)


@dataclass(frozen=True, slots=True)
class BarsInRange:
    interval: str
    symbols: Mapping[str, int]  # how many of each
    is_simulated: bool

    @property
    def total(self) -> int:
        return sum(self.symbols.values())

    @property
    def missing(self) -> list[str]:
        return [symbol for symbol, bars in self.symbols.items() if not bars]


def get_backtest(run_id: UUID) -> models.BacktestRun:
    """Return a backtest, with the `model` that decided first. Raises BacktestNotFound."""
    return _select_runs().filter(pk=run_id).first_or(BacktestNotFound("You have no such backtest."))


def _select_runs() -> "OwnedQuerySet[models.BacktestRun]":
    """Return backtests with their deployments, skills and versions, and the `model` that decided first."""
    deployments: Any = Prefetch("deployment", models.Deployment.objects.select_related("skill", "version"))
    first = (
        models.DecisionSnapshot.objects.filter(deployment=OuterRef("deployment")).order_by("tick").values("model")[:1]
    )
    rows: Any = models.BacktestRun.objects.annotate(model=Subquery(first))
    return cast("OwnedQuerySet[models.BacktestRun]", rows.prefetch_related(deployments))


def start_backtest(
    *,
    skill_id: UUID,
    starts_at: datetime,
    ends_at: datetime,
    starting_equity_usd: Decimal = STARTING_EQUITY_USD,
    fee_bps: Decimal = Decimal(4),
    slippage_bps: Decimal = Decimal(2),
    volume_pct: Decimal = VOLUME_PCT,
    reflects: bool = True,
    by_rules: bool = False,
    now: datetime,
) -> models.BacktestRun:
    """Queue a backtest on its own deployment. Raises SkillNotFound, BacktestRefused."""
    if not 0 <= slippage_bps < MAX_COST_BPS or abs(fee_bps) >= MAX_COST_BPS:
        raise BacktestRefused(f"Fees and slippage are below {MAX_COST_BPS} basis points, and slippage costs.")
    if not 0 <= volume_pct <= 100:
        raise BacktestRefused("The share of the volume is 0 to 100%.")
    version = get_deployable_version(skill_id)
    payload = parse_payload(version.payload)
    count_ticks(payload, starts_at, ends_at, now)
    symbols = payload.context.symbols
    bars = models.Bar.objects.filter(symbol__in=symbols, opened_at__gte=starts_at, opened_at__lt=ends_at)
    deployment = models.Deployment.objects.create(
        skill=version.skill,
        version=version,
        broker_kind=models.BrokerKind.BACKTEST,
        starting_equity_usd=starting_equity_usd,
        created_at=now,
    )
    run: models.BacktestRun = models.BacktestRun.objects.create(
        deployment=deployment,
        starts_at=starts_at,
        ends_at=ends_at,
        fee_bps=fee_bps,
        slippage_bps=slippage_bps,
        volume_pct=volume_pct,
        reflects=reflects,
        by_rules=by_rules,
        is_simulated=bars.filter(is_simulated=True).exists(),
        created_at=now,
    )
    defer(PLAY, Key(run.user_id, run.pk))
    return run


def count_ticks(payload: SkillPayload, starts_at: datetime, ends_at: datetime, now: datetime) -> int:
    """Return a range's number of ticks. Raises BacktestRefused."""
    if not starts_at < ends_at <= now:
        raise BacktestRefused("A backtest begins before it ends, and ends in the past.")
    if ends_at - starts_at > MAX_BACKTEST:
        raise BacktestRefused("A backtest covers three years at most.")
    ticks = (ends_at - starts_at) // payload.schedule.every
    if ticks > MAX_BACKTEST_TICKS:
        raise BacktestRefused(f"That would be more than {MAX_BACKTEST_TICKS:,} ticks. Choose a shorter time.")
    return ticks


def resolve_range(
    skill_id: UUID, starts_on: date | None, ends_on: date | None, now: datetime
) -> tuple[datetime, datetime]:
    """Return a range, by default thirty days. Raises SkillNotFound, BacktestRefused."""
    first_day, last_day = suggest_days(skill_id, now, ends_on)
    first_day = starts_on or first_day
    if not first_day <= last_day <= now.astimezone(UTC).date():
        raise BacktestRefused("A backtest begins before it ends, and ends in the past.")
    return get_instants(first_day, last_day, now)


def suggest_days(skill_id: UUID, now: datetime, last_day: date | None = None) -> tuple[date, date]:
    """Return the last thirty UTC days with bars, or those until a day. Raises SkillNotFound."""
    span = find_bar_span(skill_id)
    if last_day is None:
        last_day = ((min(span[1], now) if span else now) - timedelta(microseconds=1)).astimezone(UTC).date()
    first_day = last_day - timedelta(days=USUAL_DAYS - 1)
    if span and (begin := span[0].astimezone(UTC).date()) <= last_day:
        first_day = max(first_day, begin)
    return first_day, last_day


def get_instants(first_day: date, last_day: date, now: datetime) -> tuple[datetime, datetime]:
    """Return the instants of two UTC days; today ends now."""
    starts_at = datetime.combine(first_day, time(), UTC)
    return starts_at, min(datetime.combine(last_day, time(), UTC) + timedelta(days=1), max(now, starts_at))


def find_bar_span(skill_id: UUID) -> tuple[datetime, datetime] | None:
    """Return the first and last instant with bars. Raises SkillNotFound."""
    context = parse_payload(get_version(skill_id).payload).context
    # A query a symbol: each end is then one step into the index of bars, however many there are.
    ends: list[dict[str, Any]] = [
        models.Bar.objects.filter(symbol=symbol, interval=context.bars_interval).aggregate(
            first=Min("opened_at"), last=Max("opened_at")
        )
        for symbol in context.symbols
    ]
    known = [end for end in ends if end["first"] is not None]
    if not known:
        return None
    last = max(end["last"] for end in known) + INTERVALS[context.bars_interval]
    return min(end["first"] for end in known), last


def count_bars(skill_id: UUID, starts_at: datetime, ends_at: datetime) -> BarsInRange:
    """Count the bars of the newest version within a range. Raises SkillNotFound."""
    context = parse_payload(get_version(skill_id).payload).context
    rows = models.Bar.objects.filter(
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
        {symbol: counted.get(symbol, {}).get("bars", 0) for symbol in context.symbols},
        is_simulated=any(row["made"] for row in counted.values()),
    )


def cancel_backtest(*, run_id: UUID, now: datetime) -> models.BacktestRun:
    """Cancel a backtest at its next step. Raises BacktestNotFound, BacktestIsOver."""
    rows = models.BacktestRun.objects.filter(pk=run_id, status__in=models.UNFINISHED)
    is_ended = rows.update(status=models.WorkStatus.CANCELLED, finished_at=now, lease=None, lease_until=None)
    run = get_backtest(run_id)
    if not is_ended:
        raise BacktestIsOver(f"This backtest is over: {run.get_status_display().lower()}.")
    return run


def retry_backtest(*, run_id: UUID, now: datetime) -> models.BacktestRun:
    """Start a failed or cancelled backtest again. Raises BacktestNotFound, BacktestRefused, SkillNotFound."""
    run = get_backtest(run_id)
    if run.status not in {models.WorkStatus.FAILED, models.WorkStatus.CANCELLED}:
        raise BacktestRefused(f"Only a failed or cancelled backtest can be retried; this one is {run.status}.")
    names = ("starts_at", "ends_at", "fee_bps", "slippage_bps", "volume_pct", "reflects", "by_rules")
    same: dict[str, Any] = {name: getattr(run, name) for name in names}
    begun = run.deployment
    return start_backtest(skill_id=begun.skill_id, starting_equity_usd=begun.starting_equity_usd, now=now, **same)


def claim_backtest(*, run_id: UUID, lease: UUID, until: datetime, now: datetime) -> bool:
    """Claim a backtest that waits or whose lease expired."""
    is_free = Q(status=models.WorkStatus.PENDING) | Q(status=models.WorkStatus.RUNNING, lease_until__lte=now)
    rows = models.BacktestRun.objects.filter(is_free, pk=run_id)
    begun = Coalesce("started_at", Value(now))
    return bool(rows.update(status=models.WorkStatus.RUNNING, lease=lease, lease_until=until, started_at=begun))


def note_progress(*, run_id: UUID, lease: UUID, done: int, total: int, until: datetime) -> None:
    """Save a backtest's progress and extend its lease. Raises LeaseLost."""
    _change_claimed(run_id, lease, ticks_done=done, ticks_total=total, lease_until=until)


def finish_backtest(
    *, run_id: UUID, lease: UUID, status: str, summary: Mapping[str, Any] | None = None, error: str = "", now: datetime
) -> None:
    """Save the end of a claimed backtest. Raises LeaseLost."""
    over = {"finished_at": now, "lease": None, "lease_until": None}
    _change_claimed(run_id, lease, status=status, summary=summary or {}, error=error[:280], **over)


def _change_claimed(run_id: UUID, lease: UUID, /, **changes: Any) -> None:
    rows = models.BacktestRun.objects.filter(pk=run_id, lease=lease, status=models.WorkStatus.RUNNING)
    if not rows.update(**changes):
        raise LeaseLost("This backtest was cancelled, or another runner took it over.")


def list_backtests_to_run(now: datetime) -> list[Key]:
    """Return the claimable backtests, oldest first, in the system's scope."""
    is_free = Q(status="pending") | Q(status="running", lease_until__lte=now)
    rows = models.BacktestRun.objects.filter(is_free, user__is_active=True).order_by("created_at", "id")
    return [Key(user_id, pk) for user_id, pk in rows.values_list("user_id", "pk")]


def get_backtest_page(number: int) -> "Page[Any]":
    """Return one page of backtests, each with the totals of its trades."""
    page: Page[Any] = Paginator(_select_runs().order_by("-created_at", "id"), RUNS_ON_A_PAGE).get_page(number)
    totals = sum_trades(models.Trade.objects.filter(deployment__in=[run.deployment_id for run in page]))
    page.object_list = [(run, totals[run.deployment_id]) for run in page]
    return page


def show_backtests(run_ids: Sequence[UUID]) -> list[ShownBacktest]:
    """Return backtests with their performance once they ended. Raises BacktestNotFound."""
    runs = _select_runs().in_bulk(run_ids)
    if len(runs) < len(set(run_ids)):
        raise BacktestNotFound("You have no such backtest.")
    return [
        ShownBacktest(
            run,
            record=None if is_under_way(run) else read_account(run.deployment),
            held=list_open(run.deployment_id),
            model=vars(run)["model"] or "",
        )
        for run in (runs[pk] for pk in run_ids)
    ]


def list_finished() -> list[tuple[str, str]]:
    """Return (id, label) of the newest finished backtests."""
    runs = _select_runs().filter(status=models.WorkStatus.DONE).order_by("-created_at", "id")[:RUNS_OFFERED]
    label = (
        "{0.skill.name} v{0.version.version}, {1.starts_at:%d %b} to {1.ends_at:%d %b}, run {1.created_at:%d %b %H:%M}"
    )
    return [(str(run.pk), label.format(run.deployment, run)) for run in runs]


def list_backtest_skills() -> list[tuple[str, str]]:
    """Return (id, label) of skills that can be played, last changed first."""
    records = models.Deployment.objects.exclude(label="").values("skill")  # of the user's own trades
    skills = models.Skill.objects.filter(archived_at__isnull=True).exclude(pk__in=records).order_by("-updated_at", "id")
    return [(str(skill.pk), f"{skill.name}, version {skill.latest_version}") for skill in skills]


def is_under_way(run: models.BacktestRun) -> bool:
    """Tell whether a backtest waits or runs."""
    return run.status in models.UNFINISHED
