"""Skills and their drafts over REST."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ErrorDetail, ParseError, ValidationError
from rest_framework.response import Response

from config.lib.edge.second_factor import require_second_factor
from config.lib.rest.operations import NEW_OR_KNOWN, read, read_pages, write
from config.lib.rest.views import ApiView
from trading.api.serializers import skills as shapes
from trading.api.serializers.deployments import DeploymentSerializer
from trading.api.serializers.fields import skill_schema
from trading.models import DraftStatus, Skill, SkillDraft, SkillVersion
from trading.record.deployments import deploy_skill
from trading.record.trade_queries import get_skill_performance
from trading.skills import services
from trading.skills.queries import DraftNotFound, get_skill, get_version
from trading.skills.schemas import PayloadInvalid

_CHANGED = ("-updated_at", "id")


class SkillsView(ApiView):
    @read_pages("list_skills", "skills", shapes.SkillSerializer, shapes.SkillQuery, by=_CHANGED)
    def get(self, archived: bool) -> QuerySet[Skill]:
        """List skills, the last changed first."""
        return Skill.objects.filter(archived_at__isnull=not archived)


class SkillView(ApiView):
    @read("get_skill", "skills", shapes.WholeSkillSerializer)
    def get(self, skill_id: UUID) -> Response:
        """Return a skill with what its newest version says."""
        version = get_version(skill_id)
        skill = shapes.SkillSerializer(get_skill(skill_id)).data
        return Response({**skill, "payload": version.payload})


class VersionsView(ApiView):
    @read_pages("list_skill_versions", "skills", shapes.VersionSerializer, by=("-version", "id"))
    def get(self, skill_id: UUID) -> QuerySet[SkillVersion]:
        """List the versions of a skill, the newest first."""
        return SkillVersion.objects.filter(skill=get_skill(skill_id)).defer("payload")


class VersionView(ApiView):
    @read("get_skill_version", "skills", shapes.WholeVersionSerializer)
    def get(self, skill_id: UUID, version: int) -> SkillVersion:
        """Return a version with what it says."""
        return get_version(skill_id, version)


class DeploySkillView(ApiView):
    @write("deploy_skill", "skills", DeploymentSerializer, shapes.DeployInput, status=HTTPStatus.CREATED)
    def post(self, skill_id: UUID, **fields: Any) -> Any:
        """Set the newest version of a skill to run on paper."""
        now = timezone.now()
        require_second_factor(self.request, now=now)
        return deploy_skill(skill_id=skill_id, **fields, now=now)


class SkillPerformanceView(ApiView):
    @read("get_skill_performance", "skills", shapes.SkillPerformanceSerializer)
    def get(self, skill_id: UUID) -> Any:
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


class DraftsView(ApiView):
    @read_pages("list_drafts", "drafts", shapes.DraftSerializer, by=_CHANGED)
    def get(self) -> QuerySet[SkillDraft]:
        """List the drafts that are being edited, the last changed first."""
        return SkillDraft.objects.filter(status=DraftStatus.EDITING)

    @write("start_draft", "drafts", shapes.WholeDraftSerializer, shapes.DraftInput, status=NEW_OR_KNOWN)
    def post(self, **fields: Any) -> Any:
        """Create a draft of a skill; 200 if one exists."""
        now = timezone.now()
        draft = services.start_draft(**fields, now=now)
        return draft, draft.created_at == now


class DraftView(ApiView):
    @read("get_draft", "drafts", shapes.WholeDraftSerializer)
    def get(self, draft_id: UUID) -> SkillDraft:
        """Return a draft with what still keeps it from being saved."""
        return SkillDraft.objects.filter(pk=draft_id, status=DraftStatus.EDITING).first_or(
            DraftNotFound("There is no such draft any more.")
        )

    @extend_schema(request={"application/json": skill_schema(is_patch=True)})
    @write("patch_draft", "drafts", shapes.WholeDraftSerializer)
    @_point_at_fields()
    def patch(self, draft_id: UUID) -> SkillDraft:
        """Patch a draft: blocks merge, lists are replaced, all or nothing."""
        if not isinstance(self.request.data, dict):
            raise ParseError("A patch is an object.")
        return services.patch_draft(draft_id=draft_id, patch=self.request.data, now=timezone.now())

    @write("discard_draft", "drafts", None, status=HTTPStatus.NO_CONTENT)
    def delete(self, draft_id: UUID) -> None:
        """Give a draft up."""
        services.discard_draft(draft_id=draft_id, now=timezone.now())


class SaveDraftView(ApiView):
    @write("save_draft", "drafts", shapes.WholeVersionSerializer, shapes.SaveInput, status=NEW_OR_KNOWN)
    @_point_at_fields()
    def post(self, draft_id: UUID, over_newer: bool) -> Any:
        """Save a draft as a version; 200 if it changes nothing."""
        now = timezone.now()
        version = services.save_draft(draft_id=draft_id, over_newer=over_newer, now=now)
        return version, version.created_at == now


class TemplateView(ApiView):
    @write("apply_template", "drafts", shapes.WholeDraftSerializer, shapes.TemplateInput)
    @_point_at_fields()
    def post(self, draft_id: UUID, template: str) -> SkillDraft:
        """Fill a draft from a shipped template; keep its name."""
        return services.apply_template_to_draft(draft_id=draft_id, template=template, now=timezone.now())
