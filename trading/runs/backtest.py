"""Backtests: the runner's ticks over past bars.

A run is claimed by lease and continues after the last tick in the ledger. The next runner to claim an interrupted run
finishes it with the same numbers.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from django.conf import settings
from pydantic_core import to_jsonable_python

from config.lib.llm.door import LLMUnavailable
from config.lib.owned import owned, owned_tx
from config.lib.work.jobs import Clock
from config.lib.work.leases import LEASE, keep_row
from config.lib.work.spending import is_used_up
from trading.agent.decide import Ask, answer_at_once, model_client
from trading.market.tape import STORED, ReplayTape
from trading.models import BacktestRun, Deployment, WorkStatus
from trading.record.backtests import claim_backtest, finish_backtest, get_backtest, note_progress
from trading.record.deployment_queries import count_failed
from trading.record.deployments import LeaseLost
from trading.record.trade_queries import read_account
from trading.reviews.reflection import ReflectionOutcome, ReflectionResult, reflect_if_due
from trading.runs.orders import ON_PAPER
from trading.runs.runner import Ticked, Ticker, TickOutcome
from trading.skills.schemas import Schedule, SkillPayload, parse_payload
from trading.skills.services import list_agent_models

logger = logging.getLogger(__name__)

REPLAYED_AT_ONCE: Final = 96  # ticks of a transaction; SQLite lets nobody else write for some 0.1 s
PROGRESS_EVERY: Final = timedelta(seconds=1)
NO_BARS: Final = "There are no bars of these symbols in that range. Import some, then start it again."
FAILED_TICKS: Final = "At {} ticks no decision was made; the decisions say why."
BROKE: Final = "It broke off by an error on our side; the log says which."


@dataclass(frozen=True, slots=True)
class BacktestProgress:
    ticks_done: int
    ticks_total: int
    at: datetime  # in the simulated time


Report = Callable[[BacktestProgress], None]


def run_backtest(
    run_id: UUID,
    *,
    user_id: int,
    clock: Clock,
    ask: Ask | None = None,
    report: Report = lambda _: None,
    lease: UUID | None = None,
) -> WorkStatus:
    """Run or resume a backtest in own scopes, unless it has ended or is held elsewhere. Raises BacktestNotFound.

    `clock` is the machine's, for leases. `ask` is the model; None: the skill's and the site's. `report` is told how
    far it is. `lease`: of a caller that has claimed the run.
    """
    with owned_tx(user_id):
        if lease is None:
            lease = uuid4()
            claim_backtest(run_id=run_id, lease=lease, until=clock() + LEASE, now=clock())
        run = get_backtest(run_id)
    if run.lease != lease:
        return WorkStatus(run.status)
    summary, status, problem = None, WorkStatus.FAILED, ""
    try:
        with keep_row(BacktestRun, run_id, lease, user_id=user_id, clock=clock):
            _play_ticks(run, lease, user_id=user_id, clock=clock, ask=ask, report=report)
        with owned(user_id):
            summary, failed = summarise_run(run.deployment), count_failed(run.deployment)
        status, problem = WorkStatus.DONE, FAILED_TICKS.format(failed) if failed else ""
    except LeaseLost:
        logger.info("Backtest %s was cancelled or taken over", run_id)
    except LLMUnavailable as refusal:
        problem = str(refusal)
    except NoBars:
        problem = NO_BARS
    except Exception:
        logger.exception("Backtest %s failed", run_id)
        problem = BROKE
    with suppress(LeaseLost), owned_tx(user_id):
        finish_backtest(run_id=run_id, lease=lease, status=status, summary=summary, error=problem, now=clock())
    with owned(user_id):
        return WorkStatus(get_backtest(run_id).status)


class NoBars(Exception):
    """There is nothing to play."""


def _play_ticks(run: BacktestRun, lease: UUID, *, user_id: int, clock: Clock, ask: Ask | None, report: Report) -> None:
    deployment = run.deployment
    with owned(user_id):
        payload = parse_payload(deployment.version.payload)
    instants = list(schedule_instants(payload.schedule, run.starts_at, run.ends_at))
    left = [at for at in instants if deployment.last_tick_at is None or at >= deployment.last_tick_at]
    tape = ReplayTape(left[0] - payload.schedule.every if left else run.ends_at)
    if not any(STORED.bars(symbol, run.starts_at, run.ends_at).exists() for symbol in payload.context.symbols):
        raise NoBars
    costs = replace(ON_PAPER, fee_bps=run.fee_bps, slippage_bps=run.slippage_bps, volume_share=run.volume_pct / 100)
    told_at: datetime | None = None
    with ExitStack() as stack:
        models = [settings.OFFLINE_MODEL] if run.by_rules else list_agent_models(payload)
        is_replay = ask is None and answer_at_once(models)
        ask = ask or stack.enter_context(model_client(models, clock=clock))
        ticker = Ticker(
            deployment.pk, user_id=user_id, ask=ask, tape=tape, costs=costs, keeps_contexts=not run.by_rules
        )

        def note(done: int, at: datetime) -> None:
            nonlocal told_at
            number, now = len(instants) - len(left) + done, clock()
            if is_replay or told_at is None or now - told_at >= PROGRESS_EVERY or number == len(instants):
                told_at = now
                with owned_tx(user_id):
                    note_progress(run_id=run.pk, lease=lease, done=number, total=len(instants), until=now + LEASE)
                report(BacktestProgress(number, len(instants), at))

        if is_replay:
            _replay_instants(ticker, left, payload, clock=clock, reflects=run.reflects, note=note)
            return
        affordable = _while_tokens_last(left, models, clock)
        for done, at in play_instants(ticker, affordable, payload, clock=clock, reflects=run.reflects):
            note(done, at)


def _replay_instants(
    ticker: Ticker,
    instants: Sequence[datetime],
    payload: SkillPayload,
    *,
    clock: Clock,
    reflects: bool,
    note: Callable[[int, datetime], None],
) -> None:
    """Tick as `play_instants` does, many ticks in a transaction; one that breaks off leaves nothing."""
    done = 0
    while done < len(instants):
        with owned_tx(ticker.user_id):
            for at in instants[done : done + REPLAYED_AT_ONCE]:
                ticked, done = ticker.replay(at), done + 1
                if is_reflecting := reflects and _may_be_due(ticked, payload):
                    break
            ticker.save()
            note(done, at)
        if is_reflecting:
            _reflect(ticker, at, clock)


def _while_tokens_last(instants: Iterable[datetime], models: Sequence[str], clock: Clock) -> Iterator[datetime]:
    """Yield the instants; a backtest that stops here goes on where it stood when staff retry it."""
    for at in instants:
        if is_used_up(models, now=clock()):
            raise LLMUnavailable("used_up")
        yield at


def play_instants(
    ticker: Ticker,
    instants: Iterable[datetime],
    payload: SkillPayload,
    *,
    clock: Clock,
    reflects: bool = True,
    gives_up: bool = False,
) -> Iterator[tuple[int, datetime]]:
    """Tick at each instant and reflect when it is due; yield how many are done, and the last.

    `gives_up`: a reflection that fails is the last one that is tried.
    """
    for number, at in enumerate(instants, start=1):
        ticked = ticker.tick(at)
        if reflects and _may_be_due(ticked, payload):
            reflected = _reflect(ticker, at, clock)
            reflects = not (gives_up and reflected.outcome == ReflectionOutcome.FAILED)
        yield number, at


def _may_be_due(ticked: Ticked, payload: SkillPayload) -> bool:
    is_daily = payload.context.memory.reflection.cadence == "daily"
    return bool(ticked.closed or ticked.outcome == TickOutcome.REPEATED or is_daily)


def _reflect(ticker: Ticker, at: datetime, clock: Clock) -> ReflectionResult:
    reflected = reflect_if_due(ticker.deployment_id, user_id=ticker.user_id, now=at, clock=clock)
    if reflected.note is not None:
        ticker.forget()
    return reflected


def schedule_instants(schedule: Schedule, starts_at: datetime, ends_at: datetime) -> Iterator[datetime]:
    """Yield a schedule's instants within a range, inclusive."""
    at = schedule.find_last(starts_at)
    if at < starts_at:
        at += schedule.every
    while at <= ends_at:
        yield at
        at += schedule.every


def summarise_run(deployment: Deployment) -> dict[str, Any]:
    """Return a backtest's performance as JSON; durations in seconds."""
    numbers: dict[str, Any] = to_jsonable_python(read_account(deployment).numbers, timedelta_mode="float")
    return numbers
