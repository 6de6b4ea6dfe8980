"""Read skills, versions and drafts."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Max, Q

from config.lib.errors import NotFound
from config.lib.owned import owner_id
from trading.models import BacktestRun, BrokerKind, Deployment, DraftStatus, Skill, SkillDraft, SkillVersion, Trader
from trading.skills.patches import list_changes


class SkillNotFound(NotFound):
    """The owner has no such skill or version."""


class DraftNotFound(NotFound):
    """There is no such draft."""


@dataclass(frozen=True, slots=True)
class ListedSkill:
    skill: Skill
    deployed_at: datetime | None  # the last time
    running: int  # deployments
    backtest: BacktestRun | None  # the last that is done


def get_skill(skill_id: UUID) -> Skill:
    """Return a skill. Raises SkillNotFound."""
    return Skill.objects.filter(pk=skill_id).first_or(SkillNotFound("You have no such skill."))


def get_version(skill_id: UUID, version: int | None = None) -> SkillVersion:
    """Return a version of a skill, by default the newest. Raises SkillNotFound."""
    rows = SkillVersion.objects.filter(skill=skill_id, **({} if version is None else {"version": version}))
    return rows.order_by("-version").first_or(SkillNotFound("This skill has no such version."))


def list_versions(skill_id: UUID) -> list[SkillVersion]:
    """Return the versions of a skill, newest first."""
    return list(SkillVersion.objects.filter(skill=skill_id).order_by("-version"))


def compare_versions(skill_id: UUID, old: int, new: int) -> list[tuple[str, object, object]]:
    """Return (path, before, after) per changed field. Raises SkillNotFound."""
    return list_changes(get_version(skill_id, old).payload, get_version(skill_id, new).payload)


def list_skills() -> list[ListedSkill]:
    """Return the active skills, last changed first."""
    skills = list(Skill.objects.filter(archived_at__isnull=True).order_by("-updated_at", "id"))
    deployments = Deployment.objects.exclude(broker_kind=BrokerKind.BACKTEST).order_by().values("skill")
    counted = deployments.annotate(last=Max("created_at"), live=Count("pk", filter=Q(status="running")))
    by_skill = {row["skill"]: row for row in counted}
    skill_of = dict(Deployment.objects.filter(broker_kind=BrokerKind.BACKTEST).values_list("pk", "skill"))
    done = BacktestRun.objects.filter(status="done").order_by("finished_at").values_list("deployment", "pk")
    last_run = {skill_of[deployment]: run for deployment, run in done}
    runs = BacktestRun.objects.in_bulk(last_run.values())
    return [
        ListedSkill(
            skill,
            deployed_at=by_skill.get(skill.pk, {}).get("last"),
            running=by_skill.get(skill.pk, {}).get("live", 0),
            backtest=runs.get(last_run.get(skill.pk)),
        )
        for skill in skills
    ]


def list_open_drafts() -> list[SkillDraft]:
    """Return the open drafts, last changed first."""
    return list(SkillDraft.objects.filter(status=DraftStatus.EDITING).order_by("-updated_at", "id"))


def experience_tier() -> str | None:
    """Return the owner's experience tier; None if not asked."""
    return Trader.objects.values_list("experience_tier", flat=True).get(pk=owner_id())


def list_archived_skills() -> list[Skill]:
    """Return the archived skills, last archived first."""
    return list(Skill.objects.filter(archived_at__isnull=False).order_by("-archived_at", "id"))


def find_open_draft(skill_id: UUID | None) -> SkillDraft | None:
    """Return a skill's open draft; None means a new skill."""
    return SkillDraft.objects.filter(status=DraftStatus.EDITING, base_skill=skill_id).first()


def find_draft_of_chat(conversation_id: UUID) -> SkillDraft | None:
    """Return the open draft that a chat wrote last."""
    rows = SkillDraft.objects.filter(conversation_id=conversation_id, status=DraftStatus.EDITING)
    return rows.order_by("-updated_at", "id").first()
