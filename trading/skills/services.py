"""Write skills: drafts, versions, archive."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from config.lib.errors import StateConflict
from trading.models import BrokerKind, Deployment, DraftStatus, Skill, SkillDraft, SkillVersion
from trading.skills.patches import default_payload, merge_patch
from trading.skills.queries import DraftNotFound, get_skill, get_version
from trading.skills.schemas import FieldError, PayloadInvalid, SkillPayload, list_problems, parse_payload
from trading.skills.templates import apply_template


class SkillNameTaken(StateConflict):
    """Another skill has this name."""


class DraftOutdated(StateConflict):
    """The skill got another version since the draft was begun."""


class SkillInUse(StateConflict):
    """A skill that runs cannot be archived."""


class SkillArchived(StateConflict):
    """The skill is archived."""


def start_draft(*, skill_id: UUID | None = None, conversation_id: UUID | None = None, now: datetime) -> SkillDraft:
    """Return or start the open draft, noting its chat (settled 24). Raises SkillNotFound, SkillArchived."""
    base = None if skill_id is None else get_version(skill_id)
    if base is not None and base.skill.archived_at is not None:
        raise SkillArchived("This skill is archived. It can be read, not changed.")
    draft, _ = SkillDraft.objects.get_or_create(
        base_skill=base.skill if base else None,
        status=DraftStatus.EDITING,
        defaults={
            "base_version": base.version if base else None,
            "payload": base.payload if base else default_payload(),
            "is_untrusted": base.skill.is_untrusted if base else False,
            "conversation_id": conversation_id,
            "created_at": now,
            "updated_at": now,
        },
    )
    if conversation_id is not None and draft.conversation_id != conversation_id:
        draft.conversation_id = conversation_id
        draft.save(update_fields=["conversation_id"])
    return draft


def patch_draft(
    *, draft_id: UUID, patch: Mapping[str, object], is_untrusted: bool = False, now: datetime
) -> SkillDraft:
    """Set fields of a draft, which may stay incomplete. Raises DraftNotFound, PayloadInvalid.

    `is_untrusted`: written with text of others in view, which marks the draft and its skill for good.
    """
    draft = _lock_draft(draft_id)
    draft.is_untrusted |= is_untrusted
    return _write_draft(draft, merge_patch(draft.payload, patch), now)


def apply_template_to_draft(*, draft_id: UUID, template: str, now: datetime) -> SkillDraft:
    """Fill a draft from a shipped skill. Raises DraftNotFound, TemplateUnknown, PayloadInvalid."""
    draft = _lock_draft(draft_id)
    payload = apply_template(draft.payload, template)
    if draft.base_skill_id is not None:
        payload["trading_style"] = draft.payload["trading_style"]  # it is fixed, and a template only proposes
    return _write_draft(draft, payload, now)


def save_draft(*, draft_id: UUID, over_newer: bool = False, now: datetime) -> SkillVersion:
    """Save a draft as a version; `over_newer` ignores newer versions.

    Raises DraftNotFound, PayloadInvalid (also for the model), DraftOutdated, SkillNameTaken.
    """
    draft = _lock_draft(draft_id)
    payload = parse_payload(draft.payload)
    if problems := _model_problems(payload):
        raise PayloadInvalid(problems)
    if draft.base_skill_id is None:
        version = create_skill(payload, now, is_untrusted=draft.is_untrusted)
    else:
        version = _add_version(draft, draft.base_skill_id, payload, over_newer=over_newer, now=now)
    _end_draft(draft, DraftStatus.SAVED, now)
    return version


def discard_draft(*, draft_id: UUID, now: datetime) -> None:
    """Give a draft up. Raises DraftNotFound."""
    _end_draft(_lock_draft(draft_id), DraftStatus.DISCARDED, now)


def _end_draft(draft: SkillDraft, status: DraftStatus, now: datetime) -> None:
    draft.status, draft.updated_at = status, now
    draft.save(update_fields=["status", "updated_at"])


def archive_skill(*, skill_id: UUID, now: datetime) -> Skill:
    """Archive a skill, idempotently; keep its record. Raises SkillNotFound, SkillInUse."""
    skill = get_skill(skill_id)
    alive = Deployment.objects.filter(skill=skill, status__in=["running", "paused"])
    if alive.exclude(broker_kind=BrokerKind.BACKTEST).exists():
        raise SkillInUse("This skill is deployed. Stop its deployments first.")
    if skill.archived_at is None:
        skill.archived_at = now
        skill.save(update_fields=["archived_at"])
    return skill


def list_save_problems(payload: Mapping[str, object]) -> list[FieldError]:
    """Return what prevents saving: invalid fields, then disallowed models."""
    return list_problems(payload) or _model_problems(parse_payload(payload))


def list_agent_models(payload: SkillPayload) -> list[str]:
    """Return the agent's models in order: its own, the site's."""
    return _choose_models(payload.model, settings.TRADING_AGENT_MODEL)


def list_reflection_models(payload: SkillPayload) -> list[str]:
    """Return the reflection models in order: its own, the site's."""
    return _choose_models(payload.context.memory.reflection.model, settings.REFLECTION_MODEL)


def _choose_models(own: str | None, of_site: str) -> list[str]:
    # An old version may name a model that is allowed no more.
    return list(dict.fromkeys([own, of_site])) if own and own in settings.ALLOWED_MODELS else [of_site]


def _model_problems(payload: SkillPayload) -> list[FieldError]:
    named = {"model": payload.model, "context.memory.reflection.model": payload.context.memory.reflection.model}
    allowed = settings.ALLOWED_MODELS
    return [
        FieldError(
            field, f"the model {model} is not allowed here; choose one of {', '.join(allowed)}, or none for the site's"
        )
        for field, model in named.items()
        if model is not None and model not in allowed
    ]


def _lock_draft(draft_id: UUID) -> SkillDraft:
    rows = SkillDraft.objects.select_for_update().filter(pk=draft_id, status=DraftStatus.EDITING)
    return rows.first_or(DraftNotFound("There is no such draft any more."))


def _write_draft(draft: SkillDraft, payload: dict[str, Any], now: datetime) -> SkillDraft:
    if draft.base_skill_id is not None:
        fixed = get_skill(draft.base_skill_id).trading_style
        if payload.get("trading_style", fixed) != fixed:
            raise PayloadInvalid([FieldError("trading_style", f"is fixed as {fixed} since the skill was first saved")])
    draft.payload, draft.updated_at = payload, now
    draft.save(update_fields=["payload", "is_untrusted", "updated_at"])
    return draft


@contextmanager
def _claim_name(name: str) -> Iterator[None]:
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        raise SkillNameTaken(f"You have a skill named {name} already. Choose another name.") from error


def create_skill(payload: SkillPayload, now: datetime, *, is_untrusted: bool = False) -> SkillVersion:
    """Create a skill with its first version. Raises SkillNameTaken."""
    with _claim_name(payload.name):
        skill = Skill.objects.create(
            name=payload.name,
            trading_style=payload.trading_style,
            latest_version=1,
            is_untrusted=is_untrusted,
            created_at=now,
            updated_at=now,
        )
    return SkillVersion.objects.create(skill=skill, version=1, payload=payload.stored(), created_at=now)


def _add_version(
    draft: SkillDraft, skill_id: UUID, payload: SkillPayload, *, over_newer: bool, now: datetime
) -> SkillVersion:
    skill = Skill.objects.select_for_update().get(pk=skill_id)
    if skill.latest_version != draft.base_version and not over_newer:
        raise DraftOutdated(
            f"The skill is at version {skill.latest_version} by now; this draft is of version {draft.base_version}."
        )
    latest = get_version(skill.pk)
    if parse_payload(latest.payload) == payload:
        return latest
    skill.name, skill.latest_version, skill.updated_at = payload.name, skill.latest_version + 1, now
    skill.is_untrusted |= draft.is_untrusted
    with _claim_name(payload.name):
        skill.save(update_fields=["name", "latest_version", "is_untrusted", "updated_at"])
    return SkillVersion.objects.create(
        skill=skill, version=skill.latest_version, payload=payload.stored(), created_at=now
    )
