"""Deployments: deploy, commands, leases, halts."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Q, Window
from django.db.models.functions import RowNumber, TruncDay

from config.lib.errors import StateConflict
from config.lib.owned import owner_id
from config.lib.proofs import Door, Proof, require_factor
from config.lib.work.defer import defer
from config.lib.work.jobs import Key
from config.lib.work.retention import delete_batch
from trading.ledger.services import get_deployment
from trading.models import (
    UNFINISHED,
    BrokerKind,
    CommandKind,
    Deployment,
    DeploymentCommand,
    DeploymentStatus,
    EquityPoint,
    SkillVersion,
    Trade,
    WorkStatus,
)
from trading.skills.queries import get_version
from trading.skills.services import SkillArchived

TICK: Final = "tick_deployment"  # the task
STARTING_EQUITY_USD: Final = Decimal(10_000)


class CommandRefused(StateConflict):
    """The deployment cannot take this command now."""


class PushRefused(StateConflict):
    """Another program may not write this deployment's record."""


class SkillIsRecord(StateConflict):
    """The skill holds the user's own trades."""


class LeaseLost(StateConflict):
    """Another runner has the lease."""


def deploy_skill(
    *,
    skill_id: UUID,
    broker_kind: str = BrokerKind.PAPER,
    starting_equity_usd: Decimal | None = None,
    proof: Proof,
    now: datetime,
) -> Deployment:
    """Deploy the newest version of a skill. Raises SkillNotFound, SkillArchived, SkillIsRecord, ProofRefused.

    Paper begins with STARTING_EQUITY_USD by default; of an account elsewhere the equity is not known.
    """
    require_factor(proof, now=now)
    if starting_equity_usd is None and broker_kind != BrokerKind.LIVE:
        starting_equity_usd = STARTING_EQUITY_USD
    version = get_deployable_version(skill_id)
    return Deployment.objects.create(
        skill=version.skill,
        version=version,
        broker_kind=broker_kind,
        starting_equity_usd=starting_equity_usd,
        created_at=now,
    )


def get_deployable_version(skill_id: UUID) -> SkillVersion:
    """Return the newest version of a skill. Raises SkillNotFound, SkillArchived, SkillIsRecord."""
    version = get_version(skill_id)
    if Deployment.objects.filter(skill=skill_id).exclude(label="").exists():
        raise SkillIsRecord(f"“{version.skill.name}” holds the trades that you made yourself. There is nothing to run.")
    if version.skill.archived_at is not None:
        raise SkillArchived("This skill is archived. Save it under another name to go on with it.")
    return version


def get_pushed_deployment(deployment_id: UUID) -> Deployment:
    """Return a running deployment of another program. Raises DeploymentNotFound, PushRefused."""
    deployment = get_deployment(deployment_id)
    if deployment.broker_kind != BrokerKind.LIVE:
        raise PushRefused("Keel runs this deployment and keeps its record itself.")
    if deployment.status == DeploymentStatus.STOPPED:
        raise PushRefused("This deployment is stopped. Create another one for your program.")
    return deployment


def request_command(*, deployment_id: UUID, kind: str, proof: Proof, now: datetime) -> DeploymentCommand:
    """Queue a command once. Raises DeploymentNotFound, CommandRefused, ProofRefused."""
    require_factor(proof, now=now)
    deployment = get_deployment(deployment_id)
    Deployment.objects.select_for_update().get(pk=deployment.pk)
    if waiting := find_waiting_command(deployment, kind):
        return waiting
    if refusal := _find_refusal(deployment, CommandKind(kind)):
        raise CommandRefused(refusal)
    Deployment.objects.filter(pk=deployment.pk).update(due_at=now)
    defer(TICK, Key(owner_id(), deployment.pk))
    is_staff = proof.door is Door.STAFF
    return DeploymentCommand.objects.create(deployment=deployment, kind=kind, is_by_staff=is_staff, created_at=now)


def find_waiting_command(deployment: Deployment, kind: str) -> DeploymentCommand | None:
    """Return the unfinished command of a kind, if any."""
    return DeploymentCommand.objects.filter(deployment=deployment, kind=kind, status__in=UNFINISHED).first()


def list_possible_commands(deployment: Deployment) -> list[CommandKind]:
    """Return the commands that a deployment allows now."""
    return [kind for kind in CommandKind if not _find_refusal(deployment, kind)]


def _find_refusal(deployment: Deployment, kind: CommandKind) -> str:
    if deployment.broker_kind == BrokerKind.LIVE and kind not in {CommandKind.STOP, CommandKind.REDEPLOY}:
        return "Another program runs this deployment; tell it there."
    status = deployment.status
    match kind:
        case CommandKind.PAUSE if status != DeploymentStatus.RUNNING:
            return "Only a running deployment can be paused."
        case CommandKind.RESUME if status != DeploymentStatus.PAUSED:
            return "Only a paused deployment can be resumed."
        case CommandKind.STOP if status == DeploymentStatus.STOPPED:
            return "This deployment is stopped already."
        case CommandKind.FLATTEN if not Trade.objects.filter(deployment=deployment, status="open").exists():
            return "There is no open position to close."
        case CommandKind.REDEPLOY if status == DeploymentStatus.STOPPED:
            return "This deployment is stopped. Deploy the skill again."
        case CommandKind.REDEPLOY if deployment.version.version == deployment.skill.latest_version:
            return "It runs the newest version already."
    return ""


def find_next_command(deployment_id: UUID) -> DeploymentCommand | None:
    """Return the oldest waiting command, if any; needs the deployment's lock."""
    rows = DeploymentCommand.objects.filter(deployment=deployment_id, status=WorkStatus.PENDING)
    return rows.order_by("created_at", "id").first()


def apply_command(*, command: DeploymentCommand, now: datetime) -> str:
    """Apply a command to the row; describe it. Raises DeploymentNotFound."""
    deployment = get_deployment(command.deployment_id)
    if refusal := _find_refusal(deployment, CommandKind(command.kind)):
        return refusal  # another command was applied first
    match CommandKind(command.kind):
        case CommandKind.PAUSE:
            deployment.status = DeploymentStatus.PAUSED
        case CommandKind.RESUME:
            deployment.status = DeploymentStatus.RUNNING
        case CommandKind.STOP:
            deployment.status, deployment.stopped_at = DeploymentStatus.STOPPED, now
        case CommandKind.REDEPLOY:
            deployment.version = get_version(deployment.skill_id)
        case CommandKind.FLATTEN:
            return "All positions are to be closed at the open of the next bar; the next tick shows it."
    deployment.save(update_fields=["status", "stopped_at", "version"])
    return f"Runs version {deployment.version.version}; it is {deployment.get_status_display().lower()}."


def finish_command(command: DeploymentCommand, outcome: str, *, has_failed: bool, now: datetime) -> None:
    """Save the end of a command, in the transaction that carries it out."""
    command.status = WorkStatus.FAILED if has_failed else WorkStatus.DONE
    command.outcome, command.finished_at = outcome[:280], now
    command.save(update_fields=["status", "outcome", "finished_at"])


def claim_deployment(*, deployment_id: UUID, lease: UUID, until: datetime, now: datetime) -> bool:
    """Claim a deployment for a tick; False if leased."""
    is_free = Q(lease__isnull=True) | Q(lease_until__lte=now)
    rows = Deployment.objects.filter(is_free, pk=deployment_id)
    return bool(rows.update(lease=lease, lease_until=until))


def release_deployment(*, deployment_id: UUID, lease: UUID) -> None:
    """Release a deployment if the lease is still ours."""
    Deployment.objects.filter(pk=deployment_id, lease=lease).update(lease=None, lease_until=None)


def schedule_look(*, deployment_id: UUID, at: datetime | None, seen: datetime | None) -> None:
    """Set when the runner looks at a deployment next, unless a command has set it since it was `seen`."""
    Deployment.objects.filter(pk=deployment_id, due_at=seen).update(due_at=at)


def halt_deployment(*, deployment_id: UUID, code: str, until: datetime) -> None:
    """Halt a deployment; never shorten a longer halt."""
    rows = Deployment.objects.filter(Q(halted_until__isnull=True) | Q(halted_until__lt=until), pk=deployment_id)
    rows.update(halt_code=code, halted_until=until)


def lift_halt(*, deployment_id: UUID, now: datetime) -> bool:
    """End an expired halt; tell whether there was one."""
    rows = Deployment.objects.filter(pk=deployment_id, halted_until__lte=now)
    return bool(rows.update(halt_code="", halted_until=None))


def thin_equity(before: datetime) -> int:
    """Keep of each day before an instant the last, the lowest and the highest equity; return how many points went.

    So daily returns and the deepest fall stay what they were. At most BATCH points go.
    """
    days: dict[str, Any] = {"partition_by": [F("deployment"), TruncDay("at", tzinfo=UTC)]}
    points = EquityPoint.objects.filter(at__lt=before).annotate(
        newest=Window(RowNumber(), order_by="-at", **days),
        lowest=Window(RowNumber(), order_by=("equity_usd", "at"), **days),
        highest=Window(RowNumber(), order_by=("-equity_usd", "at"), **days),
    )
    return delete_batch(points.filter(newest__gt=1, lowest__gt=1, highest__gt=1))
