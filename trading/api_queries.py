"""What the API lists: selections that its pages are cut from, in no order. Each function answers for the owner."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from trading.models import (
    BacktestRun,
    BrokerKind,
    DecisionSnapshot,
    Deployment,
    DeploymentCommand,
    DraftStatus,
    EquityPoint,
    ReflectionNote,
    Skill,
    SkillDraft,
    SkillVersion,
)
from trading.queries import DraftNotFound, get_deployment, get_skill

# --- Skills ---


def select_skills(*, archived: bool) -> "QuerySet[Skill]":
    """Return the skills that are archived, or those that are not."""
    rows: QuerySet[Skill] = Skill.objects.filter(archived_at__isnull=not archived)
    return rows


def select_versions(skill_id: UUID) -> "QuerySet[SkillVersion]":
    """Return the versions of a skill, without their payloads. Raises SkillNotFound."""
    rows: QuerySet[SkillVersion] = SkillVersion.objects.filter(skill=get_skill(skill_id)).defer("payload")
    return rows


def select_drafts() -> "QuerySet[SkillDraft]":
    """Return the drafts that are being edited."""
    rows: QuerySet[SkillDraft] = SkillDraft.objects.filter(status=DraftStatus.EDITING)
    return rows


def get_draft(draft_id: UUID) -> SkillDraft:
    """Return a draft that is being edited. Raises DraftNotFound."""
    draft = select_drafts().filter(pk=draft_id).first()
    if draft is None:
        raise DraftNotFound("There is no such draft any more.")
    return draft


def select_skill_notes(skill_id: UUID) -> "QuerySet[ReflectionNote]":
    """Return the lessons kept for a skill, those of the past too. Raises SkillNotFound."""
    rows: QuerySet[ReflectionNote] = ReflectionNote.objects.filter(skill=get_skill(skill_id), deployment__isnull=True)
    return rows


# --- Deployments ---


def select_deployments(*, skill_id: UUID | None, broker_kind: str, status: str) -> "QuerySet[Deployment]":
    """Return the deployments that fit and are not backtests', with their versions; an empty filter fits all."""
    rows: QuerySet[Deployment] = Deployment.objects.exclude(broker_kind=BrokerKind.BACKTEST)
    return rows.filter(**_given(skill=skill_id, broker_kind=broker_kind, status=status)).select_related("version")


def select_notes(deployment_id: UUID) -> "QuerySet[ReflectionNote]":
    """Return the lessons of a deployment or a backtest's, those of the past too. Raises DeploymentNotFound."""
    deployment = get_deployment(deployment_id, or_backtest=True)
    rows: QuerySet[ReflectionNote] = ReflectionNote.objects.filter(deployment=deployment)
    return rows


def select_decisions(deployment_id: UUID, *, verdict: str) -> "QuerySet[DecisionSnapshot]":
    """Return what the ticks of a deployment or a backtest's decided, without texts. Raises DeploymentNotFound."""
    deployment = get_deployment(deployment_id, or_backtest=True)
    rows = DecisionSnapshot.objects.filter(deployment=deployment, **_given(verdict=verdict))
    without_texts: QuerySet[DecisionSnapshot] = rows.defer("system_prompt", "context", "steps")
    return without_texts


def select_equity(deployment_id: UUID, *, since: datetime | None, until: datetime | None) -> "QuerySet[EquityPoint]":
    """Return the curve of a deployment or a backtest's, from one instant to another. Raises DeploymentNotFound."""
    deployment = get_deployment(deployment_id, or_backtest=True)
    rows: QuerySet[EquityPoint] = EquityPoint.objects.filter(deployment=deployment)
    return rows.filter(**_given(at__gte=since, at__lte=until))


def select_commands(deployment_id: UUID) -> "QuerySet[DeploymentCommand]":
    """Return what a deployment was told. Raises DeploymentNotFound."""
    rows: QuerySet[DeploymentCommand] = DeploymentCommand.objects.filter(deployment=get_deployment(deployment_id))
    return rows


# --- Backtests ---


def select_backtests(*, skill_id: UUID | None = None, status: str = "") -> "QuerySet[BacktestRun]":
    """Return the backtests that fit, with their deployments and versions; an empty filter fits all."""
    rows: QuerySet[BacktestRun] = BacktestRun.objects.all()
    if status:
        rows = rows.filter(status=status)
    if skill_id is not None:
        rows = rows.filter(deployment__in=Deployment.objects.filter(skill=skill_id).values("pk"))
    return rows.prefetch_related(Prefetch("deployment", Deployment.objects.select_related("version")))


def _given(**filters: Any) -> dict[str, Any]:
    return {name: value for name, value in filters.items() if value not in (None, "")}
