"""Skills and their drafts over REST."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ErrorDetail, ParseError, ValidationError
from rest_framework.response import Response

from config.lib.owned import owned_tx
from config.lib.paging import get_page
from config.lib.rest.views import ApiRequest, ApiView, PageQuery, answer_page
from trading.api.schema import describe_list
from trading.api.serializers import skills as shapes
from trading.api.serializers.deployments import DeploymentSerializer, NoteSerializer
from trading.api.serializers.fields import skill_schema
from trading.models import DraftStatus, ReflectionNote, Skill, SkillDraft, SkillVersion
from trading.record.deployments import deploy_skill
from trading.record.trade_queries import get_skill_performance
from trading.skills.queries import DraftNotFound, compare_versions, get_skill, get_version
from trading.skills.schemas import PayloadInvalid, list_problems
from trading.skills.services import (
    apply_template_to_draft,
    archive_skill,
    discard_draft,
    patch_draft,
    save_draft,
    start_draft,
)

_CHANGED = ("-updated_at", "id")
_PATCH = {"application/json": skill_schema(is_patch=True)}


class SkillsView(ApiView):
    @describe_list("list_skills", "skills", shapes.SkillSerializer, shapes.SkillQuery)
    def get(self, request: ApiRequest) -> Response:
        """List skills, the last changed first."""
        query = self.query(shapes.SkillQuery)
        rows = Skill.objects.filter(archived_at__isnull=not query.pop("archived"))
        return answer_page(get_page(rows, by=_CHANGED, **query), shapes.SkillSerializer)


class SkillView(ApiView):
    @extend_schema(operation_id="get_skill", tags=["skills"], responses=shapes.WholeSkillSerializer)
    def get(self, request: ApiRequest, skill_id: UUID) -> Response:
        """Return a skill with what its newest version says."""
        version = get_version(skill_id)
        skill = shapes.SkillSerializer(get_skill(skill_id)).data
        return Response({**skill, "payload": version.payload})


class VersionsView(ApiView):
    @describe_list("list_skill_versions", "skills", shapes.VersionSerializer)
    def get(self, request: ApiRequest, skill_id: UUID) -> Response:
        """List the versions of a skill, the newest first."""
        rows = SkillVersion.objects.filter(skill=get_skill(skill_id)).defer("payload")
        return answer_page(get_page(rows, by=("-version", "id"), **self.query(PageQuery)), shapes.VersionSerializer)


class VersionView(ApiView):
    @extend_schema(operation_id="get_skill_version", tags=["skills"], responses=shapes.WholeVersionSerializer)
    def get(self, request: ApiRequest, skill_id: UUID, version: int) -> Response:
        """Return a version with what it says."""
        return Response(shapes.WholeVersionSerializer(get_version(skill_id, version)).data)


class CompareView(ApiView):
    @extend_schema(
        operation_id="compare_skill_versions",
        tags=["skills"],
        parameters=[shapes.CompareQuery],
        responses=shapes.ComparedSerializer,
    )
    def get(self, request: ApiRequest, skill_id: UUID) -> Response:
        """Return each field that two versions of a skill differ in."""
        query = self.query(shapes.CompareQuery)
        changes = [
            {"field": field, "before": before, "after": after}
            for field, before, after in compare_versions(skill_id, **query)
        ]
        return Response(shapes.ComparedSerializer({**query, "changes": changes}).data)


class ArchiveSkillView(ApiView):
    @extend_schema(operation_id="archive_skill", tags=["skills"], request=None, responses=shapes.SkillSerializer)
    def post(self, request: ApiRequest, skill_id: UUID) -> Response:
        """Archive a skill that is not deployed; all it did is kept."""
        with owned_tx(request.user):
            skill = archive_skill(skill_id=skill_id, now=timezone.now())
        return Response(shapes.SkillSerializer(skill).data)


class DeploySkillView(ApiView):
    @extend_schema(
        operation_id="deploy_skill", tags=["skills"], request=shapes.DeployInput, responses={201: DeploymentSerializer}
    )
    def post(self, request: ApiRequest, skill_id: UUID) -> Response:
        """Set the newest version of a skill to run on paper."""
        fields = self.body(shapes.DeployInput)
        with owned_tx(request.user):
            deployment = deploy_skill(skill_id=skill_id, **fields, now=timezone.now())
        return Response(DeploymentSerializer(deployment).data, status=HTTPStatus.CREATED)


class SkillPerformanceView(ApiView):
    @extend_schema(operation_id="get_skill_performance", tags=["skills"], responses=shapes.SkillPerformanceSerializer)
    def get(self, request: ApiRequest, skill_id: UUID) -> Response:
        """Return a skill's performance by kind of deployment."""
        kinds = [
            {"broker_kind": kind, "performance": numbers} for kind, numbers in get_skill_performance(skill_id).items()
        ]
        return Response(shapes.SkillPerformanceSerializer({"kinds": kinds}).data)


class SkillNotesView(ApiView):
    @describe_list("list_skill_notes", "skills", NoteSerializer)
    def get(self, request: ApiRequest, skill_id: UUID) -> Response:
        """List a skill's own lessons, the newest first."""
        rows = ReflectionNote.objects.filter(skill=get_skill(skill_id), deployment__isnull=True)
        return answer_page(get_page(rows, by=("-generated_at", "id"), **self.query(PageQuery)), NoteSerializer)


def _respond_draft(draft: SkillDraft, status: int = HTTPStatus.OK) -> Response:
    problems = [{"field": error.field, "problem": error.problem} for error in list_problems(draft.payload)]
    whole = {**shapes.DraftSerializer(draft).data, "payload": draft.payload, "problems": problems}
    return Response(whole, status=status)


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
    @describe_list("list_drafts", "drafts", shapes.DraftSerializer)
    def get(self, request: ApiRequest) -> Response:
        """List the drafts that are being edited, the last changed first."""
        rows = SkillDraft.objects.filter(status=DraftStatus.EDITING)
        return answer_page(get_page(rows, by=_CHANGED, **self.query(PageQuery)), shapes.DraftSerializer)

    @extend_schema(
        operation_id="start_draft",
        tags=["drafts"],
        request=shapes.DraftInput,
        responses={200: shapes.WholeDraftSerializer, 201: shapes.WholeDraftSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Create a draft of a skill; 200 if one exists."""
        fields, now = self.body(shapes.DraftInput), timezone.now()
        with owned_tx(request.user):
            draft = start_draft(**fields, now=now)
        return _respond_draft(draft, HTTPStatus.CREATED if draft.created_at == now else HTTPStatus.OK)


class DraftView(ApiView):
    @extend_schema(operation_id="get_draft", tags=["drafts"], responses=shapes.WholeDraftSerializer)
    def get(self, request: ApiRequest, draft_id: UUID) -> Response:
        """Return a draft with what still keeps it from being saved."""
        draft = SkillDraft.objects.filter(pk=draft_id, status=DraftStatus.EDITING).first()
        if draft is None:
            raise DraftNotFound("There is no such draft any more.")
        return _respond_draft(draft)

    @extend_schema(operation_id="patch_draft", tags=["drafts"], request=_PATCH, responses=shapes.WholeDraftSerializer)
    def patch(self, request: ApiRequest, draft_id: UUID) -> Response:
        """Patch a draft: blocks merge, lists are replaced, all or nothing."""
        patch = request.data
        if not isinstance(patch, dict):
            raise ParseError("A patch is an object.")
        with _point_at_fields(), owned_tx(request.user):
            draft = patch_draft(draft_id=draft_id, patch=patch, now=timezone.now())
        return _respond_draft(draft)

    @extend_schema(operation_id="discard_draft", tags=["drafts"], responses={204: None})
    def delete(self, request: ApiRequest, draft_id: UUID) -> Response:
        """Give a draft up."""
        with owned_tx(request.user):
            discard_draft(draft_id=draft_id, now=timezone.now())
        return Response(status=HTTPStatus.NO_CONTENT)


class SaveDraftView(ApiView):
    @extend_schema(
        operation_id="save_draft",
        tags=["drafts"],
        request=shapes.SaveInput,
        responses={200: shapes.WholeVersionSerializer, 201: shapes.WholeVersionSerializer},
    )
    def post(self, request: ApiRequest, draft_id: UUID) -> Response:
        """Save a draft as a version; 200 if it changes nothing."""
        fields, now = self.body(shapes.SaveInput), timezone.now()
        with _point_at_fields(), owned_tx(request.user):
            version = save_draft(draft_id=draft_id, **fields, now=now)
        status = HTTPStatus.CREATED if version.created_at == now else HTTPStatus.OK
        return Response(shapes.WholeVersionSerializer(version).data, status=status)


class TemplateView(ApiView):
    @extend_schema(
        operation_id="apply_template",
        tags=["drafts"],
        request=shapes.TemplateInput,
        responses=shapes.WholeDraftSerializer,
    )
    def post(self, request: ApiRequest, draft_id: UUID) -> Response:
        """Fill a draft from a shipped template; keep its name."""
        fields = self.body(shapes.TemplateInput)
        with _point_at_fields(), owned_tx(request.user):
            draft = apply_template_to_draft(draft_id=draft_id, **fields, now=timezone.now())
        return _respond_draft(draft)
