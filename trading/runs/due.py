"""Find the due deployments, carry out what users told them, and run their ticks."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Final
from uuid import UUID, uuid4

from django.db import OperationalError, transaction
from django.db.models import Q

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.work.defer import defer
from config.lib.work.jobs import Key, start_clock
from config.lib.work.leases import LEASE, keep_row
from trading.agent.decide import model_client
from trading.ledger.services import DeploymentNotFound, get_deployment, lock_deployment
from trading.models import (
    Bar,
    CommandKind,
    DecisionSnapshot,
    Deployment,
    DeploymentCommand,
    DeploymentStatus,
    Order,
    OrderOrigin,
    OrderSide,
    OrderState,
    Trade,
)
from trading.models.choices import INTERVALS
from trading.record import deployments
from trading.record.deployment_queries import is_to_tick, list_deployments_to_look_at
from trading.reviews.reflection import REFLECT
from trading.runs.orders import submit_orders
from trading.runs.runner import Ticked, Ticker
from trading.skills.schemas import PayloadInvalid, SkillPayload, parse_payload
from trading.skills.services import list_agent_models

logger = logging.getLogger(__name__)

DECISION_LIMIT: Final = timedelta(minutes=12)  # of all calls of the model in one tick
RETRIED_FOR: Final = timedelta(minutes=30)  # how long a tick may be decided that was cut off before its decision
PATIENCE: Final = timedelta(seconds=90)  # how long a tick waits for the bar that ends at its instant


def list_due(now: datetime) -> list[Key]:
    """Return the due deployments whose bars are there, in the system's scope."""
    rows = list_deployments_to_look_at(now)
    waits: dict[UUID, set[tuple[str, datetime]]] = {}
    for deployment in rows:
        try:
            payload = parse_payload(deployment.version.payload)
        except PayloadInvalid:
            continue  # its task fails, and the admin shows why
        at = payload.schedule.find_last(now)
        if deployment.due_at == at and now - at < PATIENCE:
            waits[deployment.pk] = {(symbol, at) for symbol in payload.context.symbols}
    ended = _find_ended_bars(set().union(*waits.values()))
    return [Key(row.user_id, row.pk) for row in rows if waits.get(row.pk, set()) <= ended]


def _find_ended_bars(wanted: set[tuple[str, datetime]]) -> set[tuple[str, datetime]]:
    """Return the pairs of symbol and instant at which a bar of any length ended."""
    if not wanted:
        return set()
    instants = {at for _, at in wanted}
    lengths = [
        Q(interval=interval, opened_at__in=[at - length for at in instants]) for interval, length in INTERVALS.items()
    ]
    bars = Bar.objects.filter(reduce(or_, lengths), symbol__in={symbol for symbol, _ in wanted})
    found = bars.values_list("symbol", "interval", "opened_at")
    return {(symbol, opened_at + INTERVALS[interval]) for symbol, interval, opened_at in found} & wanted


def find_due_instant(deployment: Deployment, payload: SkillPayload, now: datetime) -> datetime | None:
    """Return the instant of the last due tick, if any; needs the owner's scope."""
    if not is_to_tick(deployment):
        return None
    at = payload.schedule.find_last(now)
    is_recent = at == deployment.last_tick_at and now - at < RETRIED_FOR
    if is_recent and deployment.status == DeploymentStatus.RUNNING:  # it is decided if it was cut off before that
        decided = DecisionSnapshot.objects.filter(deployment=deployment, tick=deployment.last_tick)
        return None if decided.exists() else at
    if at <= (deployment.last_tick_at or deployment.created_at):
        return None
    wanted = {(symbol, at) for symbol in payload.context.symbols}
    return at if now - at >= PATIENCE or _find_ended_bars(wanted) == wanted else None


def _find_next_look(deployment: Deployment, payload: SkillPayload, now: datetime) -> datetime | None:
    """Return when the runner is to look at a deployment next: at the instant that waits for its bars, or the next."""
    if not is_to_tick(deployment):
        return None
    at = payload.schedule.find_last(now)
    is_waiting = at > (deployment.last_tick_at or deployment.created_at)
    return at if is_waiting else at + payload.schedule.every


def carry_out_commands(deployment_id: UUID, *, user_id: int, now: datetime) -> list[DeploymentCommand]:
    """Run a deployment's waiting commands, oldest first; one that cannot be done fails, the others go on.

    Only a database that is busy or gone leaves it to the next round.
    """
    done: list[DeploymentCommand] = []
    while True:
        with owned_tx(user_id):
            deployment = lock_deployment(deployment_id)
            command = deployments.find_next_command(deployment_id)
            if command is None:
                return done
            outcome, has_failed = _run_command(command, deployment, now)
            deployments.finish_command(command, outcome, has_failed=has_failed, now=now)
            done.append(command)


def _run_command(command: DeploymentCommand, deployment: Deployment, now: datetime) -> tuple[str, bool]:
    """Run a command atomically; return its outcome and failure."""
    try:
        with transaction.atomic():
            outcome = deployments.apply_command(command=command, now=now)
            if command.kind == CommandKind.FLATTEN:
                _close_positions(deployment, now)
    except (OperationalError, DeploymentNotFound):
        raise
    except DomainError as error:
        logger.warning("Command %s of deployment %s was refused: %s", command.pk, deployment.pk, error)
        return f"It could not be done: {error}", True
    except Exception:
        logger.exception("Command %s of deployment %s failed", command.pk, deployment.pk)
        return "It could not be done. Nothing was changed; the log of the runner says why.", True
    return outcome, False


def _close_positions(deployment: Deployment, now: datetime) -> None:
    orders = [
        Order.objects.create(
            deployment=deployment,
            tick=deployment.last_tick,
            origin=OrderOrigin.COMMAND,
            symbol=symbol,
            side=OrderSide.CLOSE,
            reason="Closed at your command.",
            state=OrderState.PENDING,
            proposed_at=now,
            updated_at=now,
        )
        for symbol in sorted(Trade.objects.open().filter(deployment=deployment).values_list("symbol", flat=True))
    ]
    submit_orders(deployment, orders, at=now)


@dataclass(frozen=True, slots=True)
class Ran:
    commands: Sequence[DeploymentCommand] = ()
    ticked: Ticked | None = None  # None: nothing was due but commands, or another runner is at it


def run_deployment(key: Key, *, now: datetime) -> Ran:
    """Run one deployment's commands and its due tick, in own scopes. Raises DeploymentNotFound."""
    user_id, deployment_id = key
    commands = carry_out_commands(deployment_id, user_id=user_id, now=now)
    lease = uuid4()
    with owned_tx(user_id):
        deployment = get_deployment(deployment_id)
        payload = parse_payload(deployment.version.payload)
        at = find_due_instant(deployment, payload, now)
        if at is None:
            look = _find_next_look(deployment, payload, now)
            deployments.schedule_look(deployment_id=deployment_id, at=look, seen=deployment.due_at)
            return Ran(commands)
        is_ours = deployments.claim_deployment(deployment_id=deployment_id, lease=lease, until=now + LEASE, now=now)
        models = list_agent_models(payload)
    if not is_ours:
        return Ran(commands)
    clock = start_clock(now)
    held = keep_row(Deployment, deployment_id, lease, user_id=user_id, clock=clock)
    try:
        with held, model_client(models, clock=clock, within=DECISION_LIMIT) as ask:
            ticked = Ticker(deployment_id, user_id=user_id, ask=ask).tick(at)
    except Exception:
        with owned_tx(user_id):
            deployments.release_deployment(deployment_id=deployment_id, lease=lease)
        raise
    with owned_tx(user_id):
        deployments.release_deployment(deployment_id=deployment_id, lease=lease)
        look = _find_next_look(get_deployment(deployment_id), payload, now)
        deployments.schedule_look(deployment_id=deployment_id, at=look, seen=deployment.due_at)
        if ticked.closed:
            defer(REFLECT, key)
    return Ran(commands, ticked)
