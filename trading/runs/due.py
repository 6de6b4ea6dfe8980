"""Find the due deployments and run their ticks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Final
from uuid import UUID, uuid4

from django.db.models import Q

from config.lib.owned import owned_tx
from config.lib.work.defer import defer
from config.lib.work.jobs import Key, start_clock
from config.lib.work.leases import LEASE, keep_row
from trading.agent.decide import model_client
from trading.ledger.services import get_deployment
from trading.models import Bar, DecisionSnapshot, Deployment, DeploymentCommand, DeploymentStatus
from trading.models.choices import INTERVALS
from trading.record.deployment_queries import is_to_tick, list_deployments_to_look_at
from trading.record.deployments import claim_deployment, release_deployment, schedule_look
from trading.reviews.reflection import REFLECT
from trading.runs.commands import carry_out_commands
from trading.runs.runner import Ticked, Ticker
from trading.skills.schemas import PayloadInvalid, SkillPayload, parse_payload
from trading.skills.services import list_agent_models

DECISION_LIMIT: Final = timedelta(minutes=12)  # of all calls of the model in one tick
RETRIED_FOR: Final = timedelta(minutes=30)  # how long a tick may be decided that was cut off before its decision
PATIENCE: Final = timedelta(seconds=90)  # how long a tick waits for the bar that ends at its instant


def list_due(now: datetime) -> list[Key]:
    """Return the due deployments whose bars are there, in the system's scope."""
    deployments = list_deployments_to_look_at(now)
    waits: dict[UUID, set[tuple[str, datetime]]] = {}
    for deployment in deployments:
        try:
            payload = parse_payload(deployment.version.payload)
        except PayloadInvalid:
            continue  # its task fails, and the admin shows why
        at = payload.schedule.find_last(now)
        if deployment.due_at == at and now - at < PATIENCE:
            waits[deployment.pk] = {(symbol, at) for symbol in payload.context.symbols}
    ended = _find_ended_bars(set().union(*waits.values()))
    return [Key(row.user_id, row.pk) for row in deployments if waits.get(row.pk, set()) <= ended]


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
    if _is_cut_off(deployment, at) and now - at < RETRIED_FOR:
        return at
    if at <= (deployment.last_tick_at or deployment.created_at):
        return None
    wanted = {(symbol, at) for symbol in payload.context.symbols}
    return at if now - at >= PATIENCE or _find_ended_bars(wanted) == wanted else None


def _is_cut_off(deployment: Deployment, at: datetime) -> bool:
    if at != deployment.last_tick_at or deployment.status != DeploymentStatus.RUNNING:
        return False
    return not DecisionSnapshot.objects.filter(deployment=deployment, tick=deployment.last_tick).exists()


def _find_next_look(deployment: Deployment, payload: SkillPayload, now: datetime) -> datetime | None:
    """Return when the runner is to look at a deployment next: at the instant that waits for its bars, or the next."""
    if not is_to_tick(deployment):
        return None
    at = payload.schedule.find_last(now)
    is_waiting = at > (deployment.last_tick_at or deployment.created_at)
    return at if is_waiting else at + payload.schedule.every


@dataclass(frozen=True, slots=True)
class Ran:
    key: Key
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
            schedule_look(deployment_id=deployment_id, at=look, seen=deployment.due_at)
            return Ran(key, commands)
        is_ours = claim_deployment(deployment_id=deployment_id, lease=lease, until=now + LEASE, now=now)
        models = list_agent_models(payload)
    if not is_ours:
        return Ran(key, commands)
    held = keep_row(Deployment, deployment_id, lease, user_id=user_id, clock=start_clock(now))
    try:
        with held, model_client(models, within=DECISION_LIMIT) as ask:
            ticked = Ticker(deployment_id, user_id=user_id, ask=ask).tick(at)
    except Exception:
        with owned_tx(user_id):
            release_deployment(deployment_id=deployment_id, lease=lease)
        raise
    with owned_tx(user_id):
        release_deployment(deployment_id=deployment_id, lease=lease)
        look = _find_next_look(get_deployment(deployment_id), payload, now)
        schedule_look(deployment_id=deployment_id, at=look, seen=deployment.due_at)
        if ticked.closed:
            defer(REFLECT, key)
    return Ran(key, commands, ticked)
