"""Find the due deployments and run their ticks."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final
from uuid import UUID, uuid4

from django.db import connections

from config.lib.owned import owned, owned_tx, system_tx
from config.lib.work.jobs import Clock, start_clock
from trading.agent.decide import model_client
from trading.market.tape import STORED
from trading.models import BrokerKind, DecisionSnapshot, Deployment, DeploymentCommand, DeploymentStatus
from trading.models.choices import INTERVALS
from trading.record.deployment_queries import get_deployment, list_deployments_to_tick
from trading.record.deployments import claim_deployment, release_deployment
from trading.record.trade_queries import utc_midnight
from trading.runs.commands import carry_out_commands
from trading.runs.runner import LEASE, Ticked, Ticker
from trading.skills.schemas import Schedule, parse_payload
from trading.skills.services import list_agent_models

logger = logging.getLogger(__name__)

DECISION_LIMIT: Final = timedelta(minutes=12)  # of all calls of the model in one tick
RETRIED_FOR: Final = 2 * LEASE  # how long a tick may be decided that was cut off before its decision
PATIENCE: Final = timedelta(seconds=90)  # how long a tick waits for the bar that ends at its instant


@dataclass(frozen=True, slots=True)
class Due:
    deployment_id: UUID
    user_id: int
    at: datetime | None


def list_due(now: datetime, *, user_id: int | None = None) -> list[Due]:
    """Return the due deployments of one user or all."""
    with system_tx("which deployments are due"):
        found = list_deployments_to_tick(user_id)
    due = []
    for deployment, has_command in found:
        try:
            at = find_due_instant(deployment, now)
        except Exception:
            logger.exception("When deployment %s is due cannot be told", deployment.pk)
            continue
        if has_command or at is not None:
            due.append(Due(deployment.pk, deployment.user_id, at))
    return due


def find_due_instant(deployment: Deployment, now: datetime) -> datetime | None:
    """Return the instant of the last due tick, if any."""
    if deployment.broker_kind != BrokerKind.PAPER:
        return None
    payload = parse_payload(deployment.version.payload)
    at = find_last_instant(payload.schedule, now)
    if _is_cut_off(deployment, at) and now - at < RETRIED_FOR:
        return at
    if at <= (deployment.last_tick_at or deployment.created_at):
        return None
    has_bars = all(_has_ended_bar(symbol, at) for symbol in payload.context.symbols)
    return at if has_bars or now - at >= PATIENCE else None


def _is_cut_off(deployment: Deployment, at: datetime) -> bool:
    if at != deployment.last_tick_at or deployment.status != DeploymentStatus.RUNNING:
        return False
    with owned(deployment.user_id):
        return not DecisionSnapshot.objects.filter(deployment=deployment, tick=deployment.last_tick).exists()


def find_last_instant(schedule: Schedule, now: datetime) -> datetime:
    """Return a schedule's last instant up to now, by UTC day."""
    first = utc_midnight(now) + schedule.offset
    return first + (now - first) // schedule.every * schedule.every


def _has_ended_bar(symbol: str, at: datetime) -> bool:
    return any(STORED.bars_ended(symbol, interval, at - timedelta(microseconds=1), at) for interval in INTERVALS)


@dataclass(frozen=True, slots=True)
class Ran:
    due: Due
    commands: Sequence[DeploymentCommand] = ()
    ticked: Ticked | None = None  # None: nothing was due but commands, or another runner is at it
    has_failed: bool = False  # the log says why


def run_due(now: datetime, *, user_id: int | None = None, workers: int = 1) -> Iterator[Ran]:
    """Run what is due, in parallel; log failures and continue."""
    clock = start_clock(now)  # the last of many may wait for minutes
    found = list_due(now, user_id=user_id)
    if workers == 1 or len(found) < 2:
        yield from (_run_safely(due, clock) for due in found)
        return
    waiting: SimpleQueue[Due] = SimpleQueue()
    done: SimpleQueue[Ran] = SimpleQueue()
    for due in found:
        waiting.put(due)
    for _ in range(min(workers, len(found))):
        # Daemons, unlike those of an executor: a model that is slow must not keep the process from ending.
        Thread(target=_run_waiting, args=(waiting, done, clock), name="runner", daemon=True).start()
    yield from (done.get() for _ in found)


def _run_waiting(waiting: "SimpleQueue[Due]", done: "SimpleQueue[Ran]", clock: Clock) -> None:
    with suppress(Empty):
        while True:
            due = waiting.get_nowait()
            ran = _run_safely(due, clock)
            connections.close_all()
            done.put(ran)


def _run_safely(due: Due, clock: Clock) -> Ran:
    try:
        return _run_deployment(due, clock())
    except Exception:
        logger.exception("Deployment %s failed", due.deployment_id)
        return Ran(due, has_failed=True)


def _run_deployment(due: Due, now: datetime) -> Ran:
    """Run one deployment's commands and tick, if not leased."""
    commands = carry_out_commands(due.deployment_id, user_id=due.user_id, now=now)
    if due.at is None:
        return Ran(due, commands)
    lease = uuid4()
    with owned_tx(due.user_id):
        is_ours = claim_deployment(deployment_id=due.deployment_id, lease=lease, until=now + LEASE, now=now)
        models = list_agent_models(parse_payload(get_deployment(due.deployment_id).version.payload))
    if not is_ours:
        return Ran(due, commands)
    # What raises here leaves the lease to run out: that is how long it is before it is tried again.
    with model_client(models, within=DECISION_LIMIT) as ask:
        ticked = Ticker(due.deployment_id, user_id=due.user_id, ask=ask).tick(due.at)
    with owned_tx(due.user_id):
        release_deployment(deployment_id=due.deployment_id, lease=lease)
    return Ran(due, commands, ticked)
