"""Reflection notes: read, write, keep."""

from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import F, Q

from config.lib.errors import NotFound
from trading.ledger.services import DeploymentNotFound, get_deployment
from trading.models import BrokerKind, Deployment, NoteStatus, ReflectionNote, Skill, Trade
from trading.record.deployment_queries import Newest

MAX_NOTES: Final = 20
MAX_LESSONS: Final = 50  # notes that are searched for a trade


class NoteNotFound(NotFound):
    """There are no such lessons."""


def get_note(deployment_id: UUID, note_id: UUID) -> ReflectionNote:
    """Return lessons of a deployment. Raises DeploymentNotFound, NoteNotFound."""
    deployment = get_deployment(deployment_id)
    return ReflectionNote.objects.filter(pk=note_id, deployment=deployment).first_or(
        NoteNotFound("There are no such lessons.")
    )


def find_active_note(deployment: Deployment, at: datetime | None = None) -> ReflectionNote | None:
    """Return the deployment's note that is active, or was at an instant, else its skill's (settled 28).

    A backtest has its own alone.
    """
    which = Q(deployment=deployment)
    if deployment.broker_kind != BrokerKind.BACKTEST:
        which |= Q(deployment__isnull=True)
    when = Q(status="active")
    if at is not None:
        # A note that is written after a tick has the tick's instant in a backtest.
        when = Q(Q(superseded_at__isnull=True) | Q(superseded_at__gte=at), generated_at__lt=at)
    rows = ReflectionNote.objects.filter(which, when, skill=deployment.skill_id).defer("trade_ids")  # read by each tick
    return rows.order_by(F("deployment").asc(nulls_last=True), "-generated_at").first()


def list_active_notes(deployments: Collection[Deployment]) -> list[ReflectionNote]:
    """Return the notes in prompts of deployments, newest first."""
    of_skills = Q(deployment__isnull=True, skill__in={one.skill_id for one in deployments})
    rows = ReflectionNote.objects.filter(
        Q(deployment__in=[one.pk for one in deployments]) | of_skills, status="active"
    ).order_by("-generated_at", "id")
    notes = list(rows)
    own = {note.deployment_id for note in notes}
    shared = {one.skill_id for one in deployments if one.pk not in own}
    return [note for note in notes if note.deployment_id is not None or note.skill_id in shared]


def list_notes(deployment_id: UUID) -> Newest[ReflectionNote]:
    """Return a deployment's notes: active first, then newest."""
    rows = ReflectionNote.objects.filter(deployment=deployment_id).select_related("built_on")
    return Newest(rows.order_by("status", "-generated_at", "id"), MAX_NOTES)


def list_lessons_of(trade: Trade) -> list[ReflectionNote]:
    """Return the lessons that rest on a trade, newest first; they rest on closed ones."""
    if trade.exit_at is None:
        return []
    rows = ReflectionNote.objects.filter(deployment=trade.deployment_id, window_end__gte=trade.exit_at)
    return [note for note in rows.order_by("-generated_at", "id")[:MAX_LESSONS] if str(trade.pk) in note.trade_ids]


def list_skill_notes(skill_id: UUID) -> Newest[ReflectionNote]:
    """Return a skill's notes: active first, then newest."""
    rows = ReflectionNote.objects.filter(skill=skill_id, deployment__isnull=True).select_related("kept_from")
    return Newest(rows.order_by("status", "-generated_at", "id"), MAX_NOTES)


def write_note(*, note: ReflectionNote, now: datetime) -> ReflectionNote:
    """Activate a note under lock and supersede the old one."""
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
    """Copy a note to the skill (settled 28). Raises NoteNotFound."""
    note = ReflectionNote.objects.filter(pk=note_id, deployment__isnull=False).first_or(
        NoteNotFound("There are no such lessons.")
    )
    names = ("skill_version", "window_start", "window_end", "trades_considered", "trade_ids", "lessons_text")
    same = {name: getattr(note, name) for name in (*names, "model_used", "findings")}
    copy = ReflectionNote(skill_id=note.skill_id, deployment=None, kept_from=note, generated_at=now, **same)
    return write_note(note=copy, now=now)
