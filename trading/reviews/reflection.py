"""Closed trades to lessons, on a schedule (seed 002).

Only the worker with the run's lease reflects, so that several workers read a record once. It calls the model outside of
any transaction and checks its lease before it writes. `now` is the deployment's time, simulated in a backtest, and
decides what is due; `clock` is the wall clock, for leases.
"""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID, uuid4

from django.db.models import Case, Count, Exists, Min, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from config.lib.errors import StateConflict
from config.lib.figures import format_signed_whole_usd, format_usd
from config.lib.llm import door
from config.lib.llm.door import Completion, LLMUnavailable, cost_usd
from config.lib.owned import owned, owned_tx
from config.lib.text import prompt_line
from config.lib.work.defer import defer
from config.lib.work.jobs import Clock, Key
from config.lib.work.leases import LEASE, keep_row
from config.lib.work.spending import is_used_up, write_site_tokens
from trading.agent.context import trade_line
from trading.agent.prompts import REFLECTION, reflection_request
from trading.ledger.services import get_deployment
from trading.models import (
    AT_ONCE,
    BrokerKind,
    Deployment,
    DeploymentStatus,
    NoteStatus,
    ReflectionNote,
    ReflectionRun,
    Trade,
    WorkStatus,
)
from trading.record.notes import write_note
from trading.reviews.lessons import lint_lessons, parse_lessons
from trading.reviews.verdicts import ClosedNet, judge_groups, record_lines
from trading.skills.schemas import MemoryDial, PayloadInvalid, Schedule, SkillPayload, parse_payload
from trading.skills.services import list_reflection_models

logger = logging.getLogger(__name__)

MAX_WINDOW: Final = 100  # trades in one reflection, the newest
MAX_RECORD: Final = 500  # trades that lessons may name, the newest
_OF_RESULT: Final = ("symbol", "side", "entry_regime_tag", "realized_pnl_usd")
ANSWER_TOKENS: Final = 600  # more than is stored, so that the cut is between bullets
RETRY_AFTER: Final = timedelta(minutes=15)  # a failed reflection is not tried again before
REFLECT: Final = "reflect"  # the task
_NO_LESSONS: Final = "The model's answer held no lessons."
_WENT_AWAY: Final = "Its worker went away before the end."
_BROKE: Final = "It failed; the log says why."


class ReflectionIsOver(StateConflict):
    """A reflection has another status than the one to change."""


class ReflectionOutcome(StrEnum):
    WRITTEN = "written"
    NOT_DUE = "not due"
    UNDER_WAY = "under way"  # another worker is at it
    TAKEN_OVER = "taken over"  # by another worker, after the lease ran out
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ReflectionResult:
    outcome: ReflectionOutcome
    note: ReflectionNote | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class _ReflectionInput:
    payload: SkillPayload
    deployment: Deployment
    trades: Sequence[Trade]  # oldest exit first
    record: Sequence[Trade]  # newest exit first; begins with those
    results: Sequence[ClosedNet]  # of all closed trades, oldest exit first
    before: ReflectionNote | None


@dataclass(frozen=True, slots=True)
class _HeldRun:
    """The right to write lessons while the lease is ours."""

    run: ReflectionRun  # with the lease
    work: _ReflectionInput
    user_id: int
    clock: Clock
    started_at: datetime  # in the deployment's time
    claimed_at: datetime  # by the clock

    @property
    def now(self) -> datetime:
        """The deployment's time."""
        return self.started_at + (self.clock() - self.claimed_at)


def is_due(
    dial: MemoryDial,
    *,
    closed: int,
    waiting_since: datetime | None,
    reflected_at: datetime | None = None,
    failed_at: datetime | None = None,
    now: datetime,
) -> bool:
    """Tell whether a record is to be reflected on; `waiting_since` the first of the `closed` trades closed."""
    if not dial.enabled or not closed or waiting_since is None:
        return False
    if failed_at is not None and now < failed_at + RETRY_AFTER:
        return False
    match dial.reflection.cadence:
        case "per_n_trades":
            return closed >= dial.reflection.every_n_trades
        case "daily":
            daily = Schedule(type="daily", value=f"{dial.reflection.daily_hour_utc:02}:00")
            return (reflected_at or waiting_since) < daily.find_last(now)
    return False


def list_due(now: datetime) -> list[Key]:
    """Return the deployments due for reflection, oldest first: the owner's, or in the system's scope all."""
    alive = Deployment.objects.exclude(broker_kind=BrokerKind.BACKTEST).exclude(status=DeploymentStatus.STOPPED)
    rows = _read_states(alive.filter(user__is_active=True)).filter(Exists(_select_unread()))
    due = []
    for row in rows.select_related("version").order_by("created_at", "id"):
        try:
            payload = parse_payload(row.version.payload)
        except PayloadInvalid:
            logger.exception("Whether deployment %s is due cannot be told", row.pk)
            continue
        is_waiting = is_due(payload.context.memory, **_get_state(row), now=now)
        if is_waiting and not is_used_up(list_reflection_models(payload), now=now):
            due.append(Key(row.user_id, row.pk))
    return due


def _read_states(rows: QuerySet[Deployment]) -> QuerySet[Deployment]:
    """Read with each deployment what `is_due` asks."""
    note = ReflectionNote.objects.filter(deployment=OuterRef("pk"), status=NoteStatus.ACTIVE)
    last = ReflectionRun.objects.filter(deployment=OuterRef("pk")).order_by("-started_at")
    unread = _select_unread().values("deployment")
    return rows.annotate(read_until=Coalesce(Subquery(note.values("window_end")[:1]), Value(AT_ONCE))).annotate(
        closed=Coalesce(Subquery(unread.annotate(number=Count("pk")).values("number")), 0),
        waiting_since=Subquery(unread.annotate(since=Min("exit_tick_at")).values("since")),
        reflected_at=Subquery(note.values("generated_at")[:1]),
        failed_at=Subquery(last.values(at=Case(When(status=WorkStatus.FAILED, then="finished_at")))[:1]),
    )


def _get_state(row: Deployment) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("closed", "waiting_since", "reflected_at", "failed_at")}


def _select_unread() -> QuerySet[Trade]:
    closed = Trade.objects.closed().order_by()
    return closed.filter(deployment=OuterRef("pk"), exit_tick_at__gt=OuterRef("read_until"))


def _find_work(deployment: Deployment, *, now: datetime, is_forced: bool = False) -> _ReflectionInput | None:
    """Return a reflection's input, None if none is due."""
    payload = parse_payload(deployment.version.payload)
    dial = payload.context.memory
    if not is_forced and dial.reflection.cadence == "off":
        return None
    state = _get_state(_read_states(Deployment.objects.filter(pk=deployment.pk)).get())
    if not is_forced and not is_due(dial, **state, now=now):
        return None
    closed = Trade.objects.closed().filter(deployment=deployment)
    length = min(max(state["closed"], dial.reflection.every_n_trades), MAX_WINDOW)
    record = list(closed.order_by("-exit_tick_at", "-exit_at", "id").defer("state")[:MAX_RECORD])
    if not record:
        return None
    columns = closed.order_by("exit_tick_at", "exit_at", "-id").values_list(*_OF_RESULT)
    before = ReflectionNote.objects.filter(deployment=deployment, status=NoteStatus.ACTIVE).first()
    results = [ClosedNet(*row) for row in columns]
    return _ReflectionInput(payload, deployment, record[length - 1 :: -1], record, results, before)


def cancel_reflection(*, run_id: UUID, now: datetime) -> None:
    """Cancel a running reflection; it counts as a failed try. Raises ReflectionIsOver."""
    _end_by_staff(run_id, WorkStatus.RUNNING, WorkStatus.FAILED, "Cancelled by staff.", now)


def retry_reflection(*, run_id: UUID, now: datetime) -> None:
    """End the wait after a failed reflection. Raises ReflectionIsOver."""
    run = _end_by_staff(run_id, WorkStatus.FAILED, WorkStatus.CANCELLED, "Failed; staff asked for a retry.", now)
    defer(REFLECT, Key(run.user_id, run.deployment_id))


def _end_by_staff(run_id: UUID, status: WorkStatus, target: WorkStatus, error: str, now: datetime) -> ReflectionRun:
    run: ReflectionRun | None = ReflectionRun.objects.filter(pk=run_id).first()
    if run is None or not _lock_deployment(run.deployment_id) or run.status != status:
        raise ReflectionIsOver(f"This reflection is not {status.label.lower()}.")
    _end_run(run, target, now, error=error)
    return run


def reflect_if_due(deployment_id: UUID, *, user_id: int, now: datetime, clock: Clock) -> ReflectionResult:
    """Reflect if due; otherwise lock nothing. Raises DeploymentNotFound."""
    with owned(user_id):
        work = _find_work(get_deployment(deployment_id, or_backtest=True), now=now)
    if work is None or is_used_up(list_reflection_models(work.payload), now=clock()):
        return ReflectionResult(ReflectionOutcome.NOT_DUE)
    return reflect(deployment_id, user_id=user_id, now=now, clock=clock)


def reflect(
    deployment_id: UUID, *, user_id: int, now: datetime, clock: Clock, is_forced: bool = False
) -> ReflectionResult:
    """Reflect on a record if due, or, `is_forced`, anyway; failures keep the old lessons. Raises DeploymentNotFound.

    Call it outside of any owner scope and event loop.
    """
    with owned_tx(user_id):
        claim = _claim_run(deployment_id, user_id=user_id, now=now, clock=clock, is_forced=is_forced)
    if isinstance(claim, ReflectionOutcome):
        return ReflectionResult(claim)
    run = claim.run
    assert run.lease is not None, "it was claimed"
    try:
        if is_used_up(list_reflection_models(claim.work.payload), now=clock()):
            raise LLMUnavailable("used_up")
        with keep_row(ReflectionRun, run.pk, run.lease, user_id=user_id, clock=clock):
            completion = door.run(_ask_model(claim.work))
        write_site_tokens(clock().date())
        lessons = parse_lessons(completion.text, is_torn=completion.finish_reason == "length")
        if not lessons:
            return _finish_run(claim, None, _NO_LESSONS)
        return _finish_run(claim, _make_note(claim, completion, lessons))
    except LLMUnavailable as problem:
        return _finish_run(claim, None, str(problem))
    except Exception:
        logger.exception("Reflection on deployment %s failed", deployment_id)
        return _finish_run(claim, None, _BROKE)


def _lock_deployment(deployment_id: UUID) -> bool:
    """Lock a deployment until the transaction ends; False: it is gone."""
    return bool(Deployment.objects.select_for_update().filter(pk=deployment_id))


def _claim_run(
    deployment_id: UUID, *, user_id: int, now: datetime, clock: Clock, is_forced: bool
) -> _HeldRun | ReflectionOutcome:
    """Claim a new run, or one with an expired lease."""
    claimed_at = clock()
    _lock_deployment(deployment_id)
    deployment = get_deployment(deployment_id, or_backtest=True)
    running = ReflectionRun.objects.filter(deployment=deployment_id, status=WorkStatus.RUNNING)
    if running.filter(lease_until__gt=claimed_at).exists():
        return ReflectionOutcome.UNDER_WAY
    work = _find_work(deployment, now=now, is_forced=is_forced)
    run: ReflectionRun | None = running.first()
    if work is None:
        if run is not None:
            _end_run(run, WorkStatus.CANCELLED, now, error=_WENT_AWAY)
        return ReflectionOutcome.NOT_DUE
    if run is None:
        run = ReflectionRun(deployment_id=deployment_id, started_at=now)
    run.lease, run.lease_until = uuid4(), claimed_at + LEASE
    run.save()
    return _HeldRun(run, work, user_id, clock, now, claimed_at)


def _end_run(run: ReflectionRun, status: WorkStatus, at: datetime, **values: object) -> None:
    rows = ReflectionRun.objects.filter(pk=run.pk)
    rows.update(status=status, finished_at=at, lease=None, lease_until=None, **values)


def _finish_run(claim: _HeldRun, note: ReflectionNote | None, error: str = "") -> ReflectionResult:
    """Write the note, or without one what failed, unless another worker took the run over."""
    if error:
        logger.warning("Reflection on deployment %s: %s", claim.run.deployment_id, error)
    with owned_tx(claim.user_id):
        rows = ReflectionRun.objects.filter(pk=claim.run.pk, lease=claim.run.lease, status=WorkStatus.RUNNING)
        if not _lock_deployment(claim.run.deployment_id) or (run := rows.first()) is None:
            return ReflectionResult(ReflectionOutcome.TAKEN_OVER)
        if note is None:
            _end_run(run, WorkStatus.FAILED, claim.now, error=error[:280])
            return ReflectionResult(ReflectionOutcome.FAILED, error=error)
        note = write_note(note=note, now=claim.started_at)
        _end_run(run, WorkStatus.DONE, claim.now, note=note)
    return ReflectionResult(ReflectionOutcome.WRITTEN, note)


async def _ask_model(work: _ReflectionInput) -> Completion:
    request = reflection_request(
        work.payload,
        record_lines=record_lines(judge_groups(work.results, symbols=work.payload.context.symbols)),
        record_trades=len(work.results),
        trade_lines=[review_line(trade) for trade in work.trades],
        before=work.before,
    )
    messages = [{"role": "system", "content": REFLECTION}, {"role": "user", "content": request}]
    return await door.complete(messages, models=list_reflection_models(work.payload), max_tokens=ANSWER_TOKENS)


def review_line(trade: Trade) -> str:
    """Return a closed trade's line with details for a review."""
    reason = prompt_line(trade.exit_reason).replace('"', "'")
    return (
        f"{trade_line(trade)} | regime={trade.entry_regime_tag} exit={trade.exit_kind}"
        f" MFE={format_signed_whole_usd(trade.mfe_usd)} MAE={format_signed_whole_usd(trade.mae_usd)}"
        f" fees={format_usd(trade.fees_usd)}" + (f' "{reason}"' if reason else "")
    )


def _make_note(claim: _HeldRun, completion: Completion, lessons: str) -> ReflectionNote:
    work = claim.work
    findings = lint_lessons(
        lessons, avoid=work.payload.strategy.avoid, trades=work.record, symbols=work.payload.context.symbols
    )
    return ReflectionNote(
        skill_id=work.deployment.skill_id,
        skill_version=work.deployment.version.version,
        deployment=work.deployment,
        window_start=min(trade.entry_tick_at for trade in work.trades),
        window_end=max(trade.exit_tick_at for trade in work.trades if trade.exit_tick_at),
        trades_considered=len(work.trades),
        trade_ids=[str(trade.pk) for trade in work.record],
        built_on=work.before,
        lessons_text=lessons,
        findings=[{name: str(value) for name, value in asdict(finding).items()} for finding in findings],
        model_used=completion.model[:120],
        input_tokens=completion.usage.prompt_tokens,
        output_tokens=completion.usage.completion_tokens,
        cost_usd=cost_usd(completion.model, completion.usage),
    )
