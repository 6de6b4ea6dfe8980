import json
from hashlib import sha256
from typing import Any, ClassVar
from uuid import uuid4

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from config.lib.owned import OwnedModel
from trading.models.columns import one_of_rule, together_rule


class TradingStyle(models.TextChoices):
    """How long positions last; fixed once a skill is saved."""

    DAY = "day", "Day"
    SWING = "swing", "Swing"
    POSITION = "position", "Position"


class DraftStatus(models.TextChoices):
    EDITING = "editing", "Editing"
    SAVED = "saved", "Saved"
    DISCARDED = "discarded", "Discarded"


class Skill(OwnedModel):
    """A strategy, through all its versions."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    name = models.CharField(max_length=80)  # as in the latest version
    trading_style = models.CharField(max_length=8, choices=TradingStyle)
    latest_version = models.PositiveIntegerField()
    is_untrusted = models.BooleanField(default=False)  # a model wrote words of it with text of others in view
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True, blank=True)

    frozen_columns: ClassVar[frozenset[str]] = frozenset({"trading_style"})

    class Meta(OwnedModel.Meta):
        db_table = "skills"
        indexes = (models.Index(fields=("user", "-updated_at"), name="skills_by_time"),)
        constraints = (
            models.UniqueConstraint(
                "user", Lower("name"), condition=Q(archived_at__isnull=True), name="skill_name_unique"
            ),
            one_of_rule("trading_style", TradingStyle.values, "skill_style_known"),
            models.CheckConstraint(condition=Q(latest_version__gte=1), name="skill_has_a_version"),
        )

    def __str__(self) -> str:
        return self.name


class SkillVersion(OwnedModel):
    """A skill's frozen payload."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    skill = models.ForeignKey(Skill, on_delete=models.CASCADE, related_name="versions", db_index=False)
    version = models.PositiveIntegerField()  # from 1, without holes
    payload = models.JSONField()  # trading.schemas.SkillPayload
    created_at = models.DateTimeField()

    frozen_columns: ClassVar[frozenset[str]] = frozenset({"skill", "skill_id", "version", "payload"})

    class Meta(OwnedModel.Meta):
        db_table = "skill_versions"
        constraints = (
            models.UniqueConstraint(fields=("skill", "version"), name="skill_version_once"),
            models.CheckConstraint(condition=Q(version__gte=1), name="skill_version_from_one"),
        )

    def __str__(self) -> str:
        return f"version {self.version}"


class SkillDraft(OwnedModel):
    """A skill being edited; its payload may be incomplete."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    base_skill = models.ForeignKey(Skill, models.CASCADE, related_name="drafts", null=True, blank=True, db_index=False)
    base_version = models.PositiveIntegerField(null=True, blank=True)
    payload: "models.JSONField[Any, Any]" = models.JSONField(default=dict)  # partial, in the stored spelling
    conversation_id = models.UUIDField(null=True, blank=True)  # provenance upwards is a plain id
    is_untrusted = models.BooleanField(default=False)  # a model wrote words of it with text of others in view
    status = models.CharField(max_length=9, choices=DraftStatus, default=DraftStatus.EDITING)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta(OwnedModel.Meta):
        db_table = "skill_drafts"
        indexes = (models.Index(fields=("user", "status", "-updated_at"), name="skill_drafts_by_status"),)
        constraints = (
            one_of_rule("status", DraftStatus.values, "skill_draft_status_known"),
            together_rule("skill_draft_base_is_whole", "base_skill", "base_version"),
            models.UniqueConstraint(
                fields=("user", "base_skill"),
                condition=Q(status="editing", base_skill__isnull=False),
                name="skill_draft_one_per_skill",
            ),
            models.UniqueConstraint(
                fields=("user",), condition=Q(status="editing", base_skill__isnull=True), name="skill_draft_one_new"
            ),
        )

    def __str__(self) -> str:
        return str(self.payload.get("name") or "Unnamed draft")

    @property
    def fingerprint(self) -> str:
        said = json.dumps(self.payload, sort_keys=True)
        return sha256(f"{self.pk} {self.updated_at.isoformat()} {said}".encode()).hexdigest()
