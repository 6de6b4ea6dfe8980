"""Skills, their versions and drafts over REST."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ParseError, ValidationError

from config.lib.edge.second_factor import read_proof
from config.lib.rest.operations import NEW_OR_KNOWN, action, describe, read, read_page, write
from config.lib.rest.views import ApiViewSet, InputSerializer, PageQuery
from trading.api.deployments import DeploymentSerializer
from trading.api.fields import AmountField, ExactRowSerializer, PayloadField, ValueSerializer, skill_schema, usd_field
from trading.models import DraftStatus, Skill, SkillDraft, SkillVersion
from trading.record.deployments import deploy_skill
from trading.record.trade_queries import get_skill_performance
from trading.skills import services
from trading.skills.queries import DraftNotFound, get_skill, get_version
from trading.skills.schemas import PayloadInvalid, list_problems
from trading.skills.templates import TEMPLATES

MAX_VERSION = 2**31 - 1


class SkillQuery(PageQuery):
    archived = serializers.BooleanField(default=False, help_text="Those that were archived, instead of the others.")


class SkillSerializer(ExactRowSerializer):
    """A skill, without what it says."""

    class Meta:
        model = Skill
        fields = ("id", "name", "trading_style", "latest_version", "created_at", "updated_at", "archived_at")


class WholeSkillSerializer(SkillSerializer):
    """A skill with what its newest version says."""

    payload = PayloadField(read_only=True)


class VersionSerializer(ExactRowSerializer):
    """A version of a skill, without what it says."""

    class Meta:
        model = SkillVersion
        fields = ("id", "skill", "version", "created_at")


class WholeVersionSerializer(VersionSerializer):
    """A version of a skill. It never changes."""

    payload = PayloadField(read_only=True)


class DeployInput(InputSerializer):
    """How to set a skill to run on paper."""

    starting_equity_usd = usd_field(required=False, min_value=1)


class DrawdownSerializer(ValueSerializer):
    """The deepest fall of an account from a peak."""

    usd = AmountField()
    fraction = serializers.FloatField(help_text="0..1 of the peak; above 1 if the account went below zero.")


class PerformanceSerializer(ValueSerializer):
    """Performance of closed trades; null: too few to say."""

    trades = serializers.IntegerField()
    wins = serializers.IntegerField()
    net_usd = AmountField()
    gross_usd = AmountField()
    fees_usd = AmountField()
    funding_usd = AmountField(allow_null=True, help_text="Received above zero; null: not known.")
    win_rate_fraction = serializers.FloatField(allow_null=True)
    win_rate_interval_fraction = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="Where it lies with about 90 %: from, to."
    )
    profit_factor = serializers.FloatField(allow_null=True, help_text="Won over lost; null without losses.")
    profit_factor_interval = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        allow_null=True,
        help_text="Where it lies with about 90 %: from, to; to null is not bounded.",
    )
    expectancy_usd = AmountField(allow_null=True, help_text="The mean net of a trade.")
    expectancy_interval_usd = serializers.ListField(
        child=AmountField(), allow_null=True, help_text="Where that mean lies with about 90 %: from, to."
    )
    mean_holding_minutes = serializers.FloatField(allow_null=True, help_text="How long a trade lasted.")
    sharpe = serializers.FloatField(allow_null=True, help_text="Of daily equity, yearly; null below 20 days.")
    sharpe_days = serializers.IntegerField(allow_null=True, help_text="How many daily returns it is computed from.")
    sharpe_interval = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="Where it lies with about 90 %: from, to."
    )
    equity_days = serializers.IntegerField(help_text="Of the curve of the drawdown.")
    max_drawdown = DrawdownSerializer(allow_null=True)
    is_too_few = serializers.BooleanField(help_text="Fewer than five trades say nothing.")


class KindPerformanceSerializer(ValueSerializer):
    """What a skill's trades of one kind of deployment come to."""

    broker_kind = serializers.CharField()
    performance = PerformanceSerializer()


class SkillPerformanceSerializer(ValueSerializer):
    """What a skill's trades come to, by the kind of deployment; never backtests and real trades in one number."""

    kinds = KindPerformanceSerializer(many=True)


class DraftSerializer(ExactRowSerializer):
    """A skill being written, without what it says so far."""

    name = serializers.CharField(source="__str__", read_only=True)

    class Meta:
        model = SkillDraft
        fields = ("id", "name", "base_skill", "base_version", "status", "created_at", "updated_at")


class DraftProblemSerializer(ValueSerializer):
    """What still keeps a draft from being saved."""

    field = serializers.CharField(allow_blank=True, help_text="Such as `context.symbols[0]`; empty: the whole.")
    problem = serializers.CharField()


class WholeDraftSerializer(DraftSerializer):
    """A skill being written: anything may still be missing."""

    payload = serializers.DictField(read_only=True, help_text="As a skill's, as far as it goes.")
    problems = DraftProblemSerializer(many=True, read_only=True)

    def to_representation(self, instance: Any) -> dict[str, Any]:
        instance.problems = list_problems(instance.payload)
        shown: dict[str, Any] = super().to_representation(instance)
        return shown


class DraftInput(InputSerializer):
    """What to write a draft of."""

    skill_id = serializers.UUIDField(default=None, allow_null=True, help_text="Null: of a new skill.")


class SaveInput(InputSerializer):
    """How to save a draft."""

    over_newer = serializers.BooleanField(
        default=False, help_text="Also if the skill got another version since the draft was begun."
    )


class TemplateInput(InputSerializer):
    """Which of the skills that Keel ships to fill a draft from."""

    template = serializers.ChoiceField(list(TEMPLATES))


class SkillViewSet(ApiViewSet):
    areas = frozenset(("agents",))
    lookup_url_kwarg = "skill_id"

    @read_page("list_skills", SkillSerializer, SkillQuery)
    def list(self, archived: bool) -> QuerySet[Skill]:
        """List skills, the last changed first."""
        return Skill.objects.filter(archived_at__isnull=not archived).order_by("-updated_at", "id")

    @read("get_skill", WholeSkillSerializer)
    def retrieve(self, skill_id: UUID) -> Any:
        """Return a skill with what its newest version says."""
        skill: Any = get_skill(skill_id)
        skill.payload = get_version(skill_id).payload
        return skill

    @read_page("list_skill_versions", VersionSerializer)
    @action(detail=True)
    def versions(self, skill_id: UUID) -> QuerySet[SkillVersion]:
        """List the versions of a skill, the newest first."""
        return SkillVersion.objects.filter(skill=get_skill(skill_id)).defer("payload").order_by("-version", "id")

    @read("get_skill_version", WholeVersionSerializer)
    @action(detail=True, url_path="versions/<int:version>")
    def version(self, skill_id: UUID, version: int) -> SkillVersion:
        """Return a version with what it says."""
        return get_version(skill_id, version)

    @write("deploy_skill", DeploymentSerializer, DeployInput, status=HTTPStatus.CREATED)
    @action(detail=True, methods=["post"])
    def deploy(self, skill_id: UUID, **fields: Any) -> Any:
        """Set the newest version of a skill to run on paper."""
        return deploy_skill(skill_id=skill_id, **fields, proof=read_proof(self.request), now=timezone.now())

    @read("get_skill_performance", SkillPerformanceSerializer)
    @action(detail=True)
    def performance(self, skill_id: UUID) -> Any:
        """Return a skill's performance by kind of deployment."""
        found = get_skill_performance(skill_id).items()
        return {"kinds": [{"broker_kind": kind, "performance": numbers} for kind, numbers in found]}


@contextmanager
def _point_at_fields() -> Iterator[None]:
    """Report payload errors like body errors, by field pointer."""
    try:
        yield
    except PayloadInvalid as error:
        found: dict[str, list[ErrorDetail]] = {}
        for one in error.errors:
            pointer = "/".join(re.findall(r"[^.\[\]]+", one.field)) or "non_field_errors"
            found.setdefault(pointer, []).append(ErrorDetail(one.problem, code="invalid"))
        raise ValidationError(found) from error


class DraftViewSet(ApiViewSet):
    areas = frozenset(("agents",))
    lookup_url_kwarg = "draft_id"

    @read_page("list_drafts", DraftSerializer)
    def list(self) -> QuerySet[SkillDraft]:
        """List the drafts that are being edited, the last changed first."""
        return SkillDraft.objects.filter(status=DraftStatus.EDITING).order_by("-updated_at", "id")

    @write("start_draft", WholeDraftSerializer, DraftInput, status=NEW_OR_KNOWN)
    def create(self, **fields: Any) -> Any:
        """Create a draft of a skill; 200 if one exists."""
        now = timezone.now()
        draft = services.start_draft(**fields, now=now)
        return draft, draft.created_at == now

    @read("get_draft", WholeDraftSerializer)
    def retrieve(self, draft_id: UUID) -> SkillDraft:
        """Return a draft with what still keeps it from being saved."""
        return SkillDraft.objects.filter(pk=draft_id, status=DraftStatus.EDITING).first_or(
            DraftNotFound("There is no such draft any more.")
        )

    @describe(request={"application/json": skill_schema(is_patch=True)})
    @write("patch_draft", WholeDraftSerializer)
    @_point_at_fields()
    def partial_update(self, draft_id: UUID) -> SkillDraft:
        """Patch a draft: blocks merge, lists are replaced, all or nothing."""
        if not isinstance(self.request.data, dict):
            raise ParseError("A patch is an object.")
        return services.patch_draft(draft_id=draft_id, patch=self.request.data, now=timezone.now())

    @write("discard_draft", None, status=HTTPStatus.NO_CONTENT)
    def destroy(self, draft_id: UUID) -> None:
        """Give a draft up."""
        services.discard_draft(draft_id=draft_id, now=timezone.now())

    @write("save_draft", WholeVersionSerializer, SaveInput, status=NEW_OR_KNOWN)
    @action(detail=True, methods=["post"])
    @_point_at_fields()
    def save(self, draft_id: UUID, over_newer: bool) -> Any:
        """Save a draft as a version; 200 if it changes nothing."""
        now = timezone.now()
        version = services.save_draft(draft_id=draft_id, over_newer=over_newer, now=now)
        return version, version.created_at == now

    @write("apply_template", WholeDraftSerializer, TemplateInput)
    @action(detail=True, methods=["post"])
    @_point_at_fields()
    def template(self, draft_id: UUID, template: str) -> SkillDraft:
        """Fill a draft from a shipped template; keep its name."""
        return services.apply_template_to_draft(draft_id=draft_id, template=template, now=timezone.now())
