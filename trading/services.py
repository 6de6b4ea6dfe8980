"""Writing skills, drafts, deployments and commands. Each function is one intention; call it inside `owned_tx(user)`.

Nothing here reaches a broker: what a user wants of a running deployment becomes a row that the runner claims.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q

from config.lib.errors import DomainError
from config.lib.owned import owner_id
from trading.models import (
    UNFINISHED,
    BacktestRun,
    Bar,
    BrokerKind,
    CommandKind,
    Deployment,
    DeploymentCommand,
    DeploymentStatus,
    DraftStatus,
    ExperienceTier,
    NoteStatus,
    ReflectionNote,
    Skill,
    SkillDraft,
    SkillVersion,
    Trade,
    Trader,
    WorkStatus,
)
from trading.queries import (
    DeploymentNotFound,
    DraftNotFound,
    get_backtest,
    get_deployment,
    get_skill,
    get_version,
)
from trading.schemas import (
    FieldError,
    PayloadInvalid,
    SkillPayload,
    default_payload,
    list_problems,
    merge_patch,
    parse_payload,
)
from trading.skill_templates import apply_template

STARTING_EQUITY_USD: Final = Decimal(10_000)
MAX_BACKTEST_TICKS: Final = 110_000  # three years of quarters of an hour
MAX_COST_BPS: Final = 1_000
MAX_BACKTEST: Final = timedelta(days=366 * 3)


class SkillNameTaken(DomainError):
    """Another skill of the owner has that name."""

    http_status = HTTPStatus.CONFLICT


class DraftOutdated(DomainError):
    """The skill got another version since the draft was begun."""

    http_status = HTTPStatus.CONFLICT


class TierUnknown(DomainError):
    """There is no such tier of experience."""


class SkillInUse(DomainError):
    """A skill that runs cannot be archived."""

    http_status = HTTPStatus.CONFLICT


class SkillArchived(DomainError):
    """A skill that was taken off the lists runs no more."""

    http_status = HTTPStatus.CONFLICT


class CommandRefused(DomainError):
    """The deployment is in no state for that."""

    http_status = HTTPStatus.CONFLICT


class PushRefused(DomainError):
    """The record of a deployment is kept by Keel, or is closed; no other program writes to it."""

    http_status = HTTPStatus.CONFLICT


class BacktestRefused(DomainError):
    """The range of a backtest makes no sense."""


class BacktestIsOver(DomainError):
    """A backtest that has ended cannot be cancelled."""

    http_status = HTTPStatus.CONFLICT


class LeaseLost(DomainError):
    """Somebody else took over the work meanwhile."""

    http_status = HTTPStatus.CONFLICT


class NoteNotFound(DomainError):
    """The owner has no such lessons."""

    http_status = HTTPStatus.NOT_FOUND


# --- Drafts and skills ---


def start_draft(*, skill_id: UUID | None = None, conversation_id: UUID | None = None, now: datetime) -> SkillDraft:
    """Return the draft being edited of a skill, or of a new one; begin it if there is none (settled 24).

    Args:
        conversation_id: the chat that writes it; the draft notes the last one.

    Raises:
        SkillNotFound: the owner has no such skill.
        SkillArchived: it is off the lists.
    """
    base = None if skill_id is None else get_version(skill_id)
    if base is not None and base.skill.archived_at is not None:
        raise SkillArchived("This skill is archived. It can be read, not changed.")
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
    if conversation_id is not None and started.conversation_id != conversation_id:
        started.conversation_id = conversation_id
        started.save(update_fields=["conversation_id"])
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
        PayloadInvalid: something is missing or wrong, or a model is not allowed.
        DraftOutdated: the skill has a newer version.
        SkillNameTaken: another skill has that name.
    """
    draft = _lock_draft(draft_id)
    payload = parse_payload(draft.payload)
    if problems := _model_problems(payload):
        raise PayloadInvalid(problems)
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


def list_save_problems(payload: Mapping[str, Any]) -> list[FieldError]:
    """Return what keeps a draft from being saved: what is missing or wrong, then models that are not allowed."""
    return list_problems(payload) or _model_problems(parse_payload(payload))


def allowed_models() -> list[str]:
    """Return the models that a skill may name (settled 31)."""
    return list(settings.ALLOWED_MODELS)


def agent_models(payload: SkillPayload) -> list[str]:
    """Return the models of a skill's agent, tried in turn: its own while it is allowed, then the site's."""
    return _models(payload.model, settings.TRADING_AGENT_MODEL)


def reflection_models(payload: SkillPayload) -> list[str]:
    """Return the models that write a skill's lessons, tried in turn: its own while it is allowed, then the site's."""
    return _models(payload.context.memory.reflection.model, settings.REFLECTION_MODEL)


def _models(own: str | None, of_site: str) -> list[str]:
    is_allowed = own is not None and own in allowed_models()  # an old version may name one that is allowed no more
    return list(dict.fromkeys([own, of_site])) if own and is_allowed else [of_site]


def _model_problems(payload: SkillPayload) -> list[FieldError]:
    named = {"model": payload.model, "context.memory.reflection.model": payload.context.memory.reflection.model}
    allowed = allowed_models()
    return [
        FieldError(
            field, f"the model {model} is not allowed here; choose one of {', '.join(allowed)}, or none for the site's"
        )
        for field, model in named.items()
        if model is not None and model not in allowed
    ]


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


# --- The trader ---


def choose_tier(*, tier: str) -> None:
    """Note how much the owner in scope has traded. Raises TierUnknown."""
    if tier not in ExperienceTier.values:
        raise TierUnknown(f"There is no tier {tier}. Take one of {', '.join(ExperienceTier.values)}.")
    Trader.objects.filter(pk=owner_id()).update(experience_tier=tier)


# --- Deployments ---


def deploy_skill(
    *,
    skill_id: UUID,
    broker_kind: str = BrokerKind.PAPER,
    starting_equity_usd: Decimal = STARTING_EQUITY_USD,
    now: datetime,
) -> Deployment:
    """Set the newest version of a skill to run; the runner ticks it from now on.

    Raises:
        SkillNotFound: the owner has no such skill.
        SkillArchived: it is off the lists.
    """
    version = get_version(skill_id)
    if version.skill.archived_at is not None:
        raise SkillArchived("This skill is archived. Save it under another name to go on with it.")
    deployment: Deployment = Deployment.objects.create(
        skill=version.skill,
        version=version,
        broker_kind=broker_kind,
        starting_equity_usd=starting_equity_usd,
        created_at=now,
    )
    return deployment


def get_pushed_deployment(deployment_id: UUID) -> Deployment:
    """Return a deployment that another program runs, and may still push its record to.

    Raises:
        DeploymentNotFound: the owner has no such deployment.
        PushRefused: Keel runs it, or it is stopped.
    """
    deployment = get_deployment(deployment_id)
    if deployment.broker_kind != BrokerKind.LIVE:
        raise PushRefused("Keel runs this deployment and keeps its record itself.")
    if deployment.status == DeploymentStatus.STOPPED:
        raise PushRefused("This deployment is stopped. Make another one for the program that goes on.")
    return deployment


def request_command(*, deployment_id: UUID, kind: str, now: datetime) -> DeploymentCommand:
    """Tell the runner what to do with a deployment; the same wish again returns the one that waits.

    Raises:
        DeploymentNotFound: the owner has no such deployment.
        CommandRefused: it is in no state for that.
    """
    deployment = get_deployment(deployment_id)
    Deployment.objects.select_for_update().get(pk=deployment.pk)
    waiting = DeploymentCommand.objects.filter(deployment=deployment, kind=kind, status__in=UNFINISHED).first()
    if waiting is not None:
        same: DeploymentCommand = waiting
        return same
    if refusal := _refusal(deployment, CommandKind(kind)):
        raise CommandRefused(refusal)
    command: DeploymentCommand = DeploymentCommand.objects.create(deployment=deployment, kind=kind, created_at=now)
    return command


def list_possible_commands(deployment: Deployment) -> list[CommandKind]:
    """Return what a deployment could be told now."""
    return [kind for kind in CommandKind if not _refusal(deployment, kind)]


def _refusal(deployment: Deployment, kind: CommandKind) -> str:
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
    if refusal := _refusal(deployment, CommandKind(command.kind)):
        return refusal  # another command came before it
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


def finish_command(*, command_id: UUID, lease: UUID, outcome: str, has_failed: bool = False, now: datetime) -> None:
    """Note how a claimed command ended. Raises LeaseLost."""
    status = WorkStatus.FAILED if has_failed else WorkStatus.DONE
    rows = DeploymentCommand.objects.filter(pk=command_id, lease=lease, status=WorkStatus.RUNNING)
    if not rows.update(status=status, outcome=outcome[:280], finished_at=now, lease=None, lease_until=None):
        raise LeaseLost("Another runner took this command over.")


def claim_deployment(*, deployment_id: UUID, lease: UUID, until: datetime, now: datetime) -> bool:
    """Take a deployment for a tick, unless another runner holds it."""
    is_free = Q(lease__isnull=True) | Q(lease_until__lte=now)
    rows = Deployment.objects.filter(is_free, pk=deployment_id)
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
    if not 0 <= slippage_bps < MAX_COST_BPS or abs(fee_bps) >= MAX_COST_BPS:
        raise BacktestRefused(f"Fees and slippage are below {MAX_COST_BPS} basis points, and slippage costs.")
    payload = parse_payload(get_version(skill_id).payload)
    if (ends_at - starts_at) // payload.schedule.every > MAX_BACKTEST_TICKS:
        raise BacktestRefused(f"That would be more than {MAX_BACKTEST_TICKS:,} ticks. Choose a shorter time.")
    symbols = payload.context.symbols
    bars = Bar.objects.filter(symbol__in=symbols, opened_at__gte=starts_at, opened_at__lt=ends_at)
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
        is_simulated=bars.filter(is_simulated=True).exists(),
        created_at=now,
    )
    return run


def cancel_backtest(*, run_id: UUID, now: datetime) -> BacktestRun:
    """End a backtest that waits or runs; what it did so far is kept, and its runner stops at its next step.

    Raises:
        BacktestNotFound: the owner has no such backtest.
        BacktestIsOver: it has ended already.
    """
    rows = BacktestRun.objects.filter(pk=run_id, status__in=UNFINISHED)
    is_ended = rows.update(status=WorkStatus.CANCELLED, finished_at=now, lease=None, lease_until=None)
    run = get_backtest(run_id)
    if not is_ended:
        raise BacktestIsOver(f"This backtest is over: {run.get_status_display().lower()}.")
    return run


def claim_backtest(*, run_id: UUID, lease: UUID, until: datetime, now: datetime) -> bool:
    """Take a backtest that waits, or whose runner went away."""
    is_free = Q(status=WorkStatus.PENDING) | Q(status=WorkStatus.RUNNING, lease_until__lte=now)
    rows = BacktestRun.objects.filter(is_free, pk=run_id)
    return bool(rows.update(status=WorkStatus.RUNNING, lease=lease, lease_until=until))


def note_progress(*, run_id: UUID, lease: UUID, done: int, total: int, until: datetime) -> None:
    """Note how far a claimed backtest is, and hold it longer. Raises LeaseLost."""
    rows = BacktestRun.objects.filter(pk=run_id, lease=lease, status=WorkStatus.RUNNING)
    if not rows.update(ticks_done=done, ticks_total=total, lease_until=until):
        raise LeaseLost("This backtest was cancelled, or another runner took it over.")


def finish_backtest(
    *,
    run_id: UUID,
    lease: UUID,
    status: str,
    summary: Mapping[str, Any] | None = None,
    error: str = "",
    now: datetime,
) -> None:
    """Note how a claimed backtest ended. Raises LeaseLost."""
    rows = BacktestRun.objects.filter(pk=run_id, lease=lease, status=WorkStatus.RUNNING)
    over = {"finished_at": now, "lease": None, "lease_until": None}
    if not rows.update(status=status, summary=summary or {}, error=error[:280], **over):
        raise LeaseLost("This backtest was cancelled, or another runner took it over.")


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
