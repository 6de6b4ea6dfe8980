"""Writing skills, drafts, deployments and commands. Each function is one intention; call it inside `owned_tx(user)`.

Nothing here reaches a broker: what a user wants of a running deployment becomes a row that the runner claims.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q

from config.lib.errors import DomainError
from trading.models import (
    BacktestRun,
    BrokerKind,
    CommandKind,
    Deployment,
    DeploymentCommand,
    DeploymentStatus,
    DraftStatus,
    NoteStatus,
    ReflectionNote,
    Skill,
    SkillDraft,
    SkillVersion,
    Trade,
    WorkStatus,
)
from trading.queries import DeploymentNotFound, DraftNotFound, get_deployment, get_skill, get_version
from trading.schemas import FieldError, PayloadInvalid, SkillPayload, default_payload, merge_patch, parse_payload
from trading.skill_templates import apply_template

STARTING_EQUITY_USD: Final = Decimal(10_000)
MAX_BACKTEST: Final = timedelta(days=366 * 3)


class SkillNameTaken(DomainError):
    """Another skill of the owner has that name."""


class DraftOutdated(DomainError):
    """The skill got another version since the draft was begun."""


class SkillInUse(DomainError):
    """A skill that runs cannot be archived."""


class CommandRefused(DomainError):
    """The deployment is in no state for that."""


class BacktestRefused(DomainError):
    """The range of a backtest makes no sense."""


class LeaseLost(DomainError):
    """Somebody else took over the work meanwhile."""


class NoteNotFound(DomainError):
    """The owner has no such lessons."""


# --- Drafts and skills ---


def start_draft(*, skill_id: UUID | None = None, conversation_id: UUID | None = None, now: datetime) -> SkillDraft:
    """Return the draft being edited of a skill, or of a new one; begin it if there is none (settled 24).

    Raises:
        SkillNotFound: the owner has no such skill.
    """
    base = None if skill_id is None else get_version(skill_id)
    draft, _ = SkillDraft.objects.get_or_create(
        base_skill=base.skill if base else None,
        status=DraftStatus.EDITING,
        defaults={
            "base_version": base.version if base else None,
            "payload": base.payload if base else default_payload(),
            "conversation_id": conversation_id,
            "created_at": now,
            "updated_at": now,
        },
    )
    started: SkillDraft = draft
    return started


def patch_draft(*, draft_id: UUID, patch: Mapping[str, Any], now: datetime) -> SkillDraft:
    """Set fields of a draft; what it says may still be incomplete.

    Raises:
        DraftNotFound: the owner has no such draft in editing.
        PayloadInvalid: a field is unknown or wrong; nothing was changed.
    """
    draft = _lock_draft(draft_id)
    return _write_draft(draft, merge_patch(draft.payload, patch), now)


def apply_template_to_draft(*, draft_id: UUID, template: str, now: datetime) -> SkillDraft:
    """Fill a draft from a shipped skill. Raises DraftNotFound, TemplateUnknown, PayloadInvalid."""
    draft = _lock_draft(draft_id)
    payload = apply_template(draft.payload, template)
    if draft.base_skill_id is not None:
        payload["trading_style"] = draft.payload["trading_style"]  # it is fixed, and a template only proposes
    return _write_draft(draft, payload, now)


def save_draft(*, draft_id: UUID, over_newer: bool = False, now: datetime) -> SkillVersion:
    """Make a draft a version of its skill, or a new skill; one that changes nothing makes no version.

    Args:
        over_newer: also if the skill got another version since the draft was begun.

    Raises:
        DraftNotFound: the owner has no such draft in editing.
        PayloadInvalid: something is missing or wrong.
        DraftOutdated: the skill has a newer version.
        SkillNameTaken: another skill has that name.
    """
    draft = _lock_draft(draft_id)
    payload = parse_payload(draft.payload)
    if draft.base_skill_id is None:
        version = _create_skill(payload, now)
    else:
        version = _add_version(draft, draft.base_skill_id, payload, over_newer=over_newer, now=now)
    draft.status, draft.updated_at = DraftStatus.SAVED, now
    draft.save(update_fields=["status", "updated_at"])
    return version


def discard_draft(*, draft_id: UUID, now: datetime) -> None:
    """Give a draft up. Raises DraftNotFound."""
    draft = _lock_draft(draft_id)
    draft.status, draft.updated_at = DraftStatus.DISCARDED, now
    draft.save(update_fields=["status", "updated_at"])


def archive_skill(*, skill_id: UUID, now: datetime) -> Skill:
    """Take a skill off the lists, with all it did kept; idempotent. Raises SkillNotFound, SkillInUse."""
    skill = get_skill(skill_id)
    alive = Deployment.objects.filter(skill=skill, status__in=["running", "paused"])
    if alive.exclude(broker_kind=BrokerKind.BACKTEST).exists():
        raise SkillInUse("This skill is deployed. Stop its deployments first.")
    if skill.archived_at is None:
        skill.archived_at = now
        skill.save(update_fields=["archived_at"])
    return skill


def _lock_draft(draft_id: UUID) -> SkillDraft:
    rows = SkillDraft.objects.select_for_update().filter(pk=draft_id, status=DraftStatus.EDITING)
    draft: SkillDraft | None = rows.first()
    if draft is None:
        raise DraftNotFound("There is no such draft any more.")
    return draft


def _write_draft(draft: SkillDraft, payload: dict[str, Any], now: datetime) -> SkillDraft:
    if draft.base_skill_id is not None:
        fixed = get_skill(draft.base_skill_id).trading_style
        if payload.get("trading_style", fixed) != fixed:
            raise PayloadInvalid([FieldError("trading_style", f"is fixed as {fixed} since the skill was first saved")])
    draft.payload, draft.updated_at = payload, now
    draft.save(update_fields=["payload", "updated_at"])
    return draft


def _create_skill(payload: SkillPayload, now: datetime) -> SkillVersion:
    try:
        with transaction.atomic():
            skill = Skill.objects.create(
                name=payload.name,
                trading_style=payload.trading_style,
                latest_version=1,
                created_at=now,
                updated_at=now,
            )
    except IntegrityError as error:
        raise SkillNameTaken(f"You have a skill named {payload.name} already. Choose another name.") from error
    version: SkillVersion = SkillVersion.objects.create(
        skill=skill, version=1, payload=payload.stored(), created_at=now
    )
    return version


def _add_version(
    draft: SkillDraft, skill_id: UUID, payload: SkillPayload, *, over_newer: bool, now: datetime
) -> SkillVersion:
    skill: Skill = Skill.objects.select_for_update().get(pk=skill_id)
    if skill.latest_version != draft.base_version and not over_newer:
        raise DraftOutdated(
            f"The skill is at version {skill.latest_version} by now; this draft is of version {draft.base_version}."
        )
    latest = get_version(skill.pk)
    if parse_payload(latest.payload) == payload:
        return latest
    skill.name, skill.latest_version, skill.updated_at = payload.name, skill.latest_version + 1, now
    try:
        with transaction.atomic():
            skill.save(update_fields=["name", "latest_version", "updated_at"])
    except IntegrityError as error:
        raise SkillNameTaken(f"You have a skill named {payload.name} already. Choose another name.") from error
    version: SkillVersion = SkillVersion.objects.create(
        skill=skill, version=skill.latest_version, payload=payload.stored(), created_at=now
    )
    return version


# --- Deployments ---


def deploy_skill(
    *,
    skill_id: UUID,
    broker_kind: str = BrokerKind.PAPER,
    starting_equity_usd: Decimal = STARTING_EQUITY_USD,
    now: datetime,
) -> Deployment:
    """Set the newest version of a skill to run; the runner ticks it from now on. Raises SkillNotFound."""
    version = get_version(skill_id)
    deployment: Deployment = Deployment.objects.create(
        skill=version.skill,
        version=version,
        broker_kind=broker_kind,
        starting_equity_usd=starting_equity_usd,
        created_at=now,
    )
    return deployment


def request_command(*, deployment_id: UUID, kind: str, now: datetime) -> DeploymentCommand:
    """Tell the runner what to do with a deployment; the same wish again returns the one that waits.

    Raises:
        DeploymentNotFound: the owner has no such deployment.
        CommandRefused: it is in no state for that.
    """
    deployment = get_deployment(deployment_id)
    Deployment.objects.select_for_update().get(pk=deployment.pk)
    waiting = DeploymentCommand.objects.filter(deployment=deployment, kind=kind, status__in=_WAITING).first()
    if waiting is not None:
        same: DeploymentCommand = waiting
        return same
    if refusal := _refusal(deployment, CommandKind(kind)):
        raise CommandRefused(refusal)
    command: DeploymentCommand = DeploymentCommand.objects.create(deployment=deployment, kind=kind, created_at=now)
    return command


_WAITING: Final = (WorkStatus.PENDING, WorkStatus.RUNNING)


def _refusal(deployment: Deployment, kind: CommandKind) -> str:
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
            return "This deployment is stopped. Deploy the skill anew."
        case CommandKind.REDEPLOY if deployment.version.version == deployment.skill.latest_version:
            return "It runs the newest version already."
    return ""


def claim_command(*, deployment_id: UUID, lease: UUID, until: datetime, now: datetime) -> DeploymentCommand | None:
    """Take the oldest command of a deployment that waits, or whose runner went away; None if there is none."""
    is_free = Q(status=WorkStatus.PENDING) | Q(status=WorkStatus.RUNNING, lease_until__lte=now)
    rows = DeploymentCommand.objects.filter(is_free, deployment=deployment_id)
    for command in rows.order_by("created_at", "id"):
        if rows.filter(pk=command.pk).update(status=WorkStatus.RUNNING, lease=lease, lease_until=until):
            command.refresh_from_db()
            claimed: DeploymentCommand = command
            return claimed
    return None


def carry_out(*, command: DeploymentCommand, now: datetime) -> str:
    """Do what a command asks of the deployment's row, and say so in words; positions are the runner's business.

    Raises:
        DeploymentNotFound: the deployment is gone.
    """
    deployment = get_deployment(command.deployment_id)
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
            return "All positions are to be closed."
    deployment.save(update_fields=["status", "stopped_at", "version"])
    return f"Runs version {deployment.version.version}; it is {deployment.get_status_display().lower()}."


def finish_command(*, command_id: UUID, lease: UUID, outcome: str, has_failed: bool = False, now: datetime) -> None:
    """Note how a claimed command ended. Raises LeaseLost."""
    status = WorkStatus.FAILED if has_failed else WorkStatus.DONE
    rows = DeploymentCommand.objects.filter(pk=command_id, lease=lease, status=WorkStatus.RUNNING)
    if not rows.update(status=status, outcome=outcome[:280], finished_at=now, lease=None, lease_until=None):
        raise LeaseLost("Another runner took this command over.")


def claim_deployment(*, deployment_id: UUID, lease: UUID, until: datetime, now: datetime) -> bool:
    """Take a running deployment for a tick, unless another runner holds it."""
    is_free = Q(lease__isnull=True) | Q(lease_until__lte=now)
    rows = Deployment.objects.filter(is_free, pk=deployment_id, status=DeploymentStatus.RUNNING)
    return bool(rows.update(lease=lease, lease_until=until))


def release_deployment(*, deployment_id: UUID, lease: UUID) -> None:
    """Give a deployment back after a tick; one that another runner holds by now is left alone."""
    Deployment.objects.filter(pk=deployment_id, lease=lease).update(lease=None, lease_until=None)


def halt_deployment(*, deployment_id: UUID, code: str, until: datetime) -> None:
    """Keep a deployment from opening positions for a time; a longer halt that stands is kept."""
    rows = Deployment.objects.filter(Q(halted_until__isnull=True) | Q(halted_until__lt=until), pk=deployment_id)
    rows.update(halt_code=code, halted_until=until)


def lift_halt(*, deployment_id: UUID, now: datetime) -> bool:
    """End a halt whose time is over; tell whether there was one."""
    rows = Deployment.objects.filter(pk=deployment_id, halted_until__lte=now)
    return bool(rows.update(halt_code="", halted_until=None))


# --- Backtests ---


def start_backtest(
    *,
    skill_id: UUID,
    starts_at: datetime,
    ends_at: datetime,
    starting_equity_usd: Decimal = STARTING_EQUITY_USD,
    fee_bps: Decimal = Decimal(4),
    slippage_bps: Decimal = Decimal(2),
    reflects: bool = True,
    is_simulated: bool = False,
    now: datetime,
) -> BacktestRun:
    """Queue a backtest of a skill's newest version, on a deployment of its own.

    Raises:
        SkillNotFound: the owner has no such skill.
        BacktestRefused: the range is in the future, empty or too long.
    """
    if not starts_at < ends_at <= now:
        raise BacktestRefused("A backtest begins before it ends, and ends in the past.")
    if ends_at - starts_at > MAX_BACKTEST:
        raise BacktestRefused("A backtest covers three years at most.")
    deployment = deploy_skill(
        skill_id=skill_id, broker_kind=BrokerKind.BACKTEST, starting_equity_usd=starting_equity_usd, now=now
    )
    run: BacktestRun = BacktestRun.objects.create(
        deployment=deployment,
        starts_at=starts_at,
        ends_at=ends_at,
        fee_bps=fee_bps,
        slippage_bps=slippage_bps,
        reflects=reflects,
        is_simulated=is_simulated,
        created_at=now,
    )
    return run


# --- Lessons ---


def write_note(*, note: ReflectionNote, now: datetime) -> ReflectionNote:
    """Make a new note the active one of its deployment, or of its skill; the one before it is superseded.

    The deployment is locked, so that of two reflections one follows on the other.
    """
    if note.deployment_id is not None and not Deployment.objects.select_for_update().filter(pk=note.deployment_id):
        raise DeploymentNotFound("You have no such deployment.")
    Skill.objects.select_for_update().get(pk=note.skill_id)
    scope = Q(deployment=note.deployment_id) if note.deployment_id else Q(deployment__isnull=True)
    active = ReflectionNote.objects.filter(scope, skill=note.skill_id, status=NoteStatus.ACTIVE)
    active.update(status=NoteStatus.SUPERSEDED, superseded_at=now)
    note.status, note.generated_at = NoteStatus.ACTIVE, now
    note.save(force_insert=True)
    return note


def keep_note_for_skill(*, note_id: UUID, now: datetime) -> ReflectionNote:
    """Keep a deployment's lessons for all deployments of the skill (settled 28). Raises NoteNotFound."""
    note: ReflectionNote | None = ReflectionNote.objects.filter(pk=note_id, deployment__isnull=False).first()
    if note is None:
        raise NoteNotFound("There are no such lessons.")
    kept = {
        name: getattr(note, name)
        for name in ("skill_version", "window_start", "window_end", "trades_considered", "lessons_text")
    }
    cost = {name: getattr(note, name) for name in ("model_used", "findings")}
    copy = ReflectionNote(skill_id=note.skill_id, deployment=None, generated_at=now, **kept, **cost)
    return write_note(note=copy, now=now)
