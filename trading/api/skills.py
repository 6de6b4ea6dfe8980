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
from trading.api.serializers.deployments import DeploymentSerializer, NoteSerializer
from trading.api.serializers.fields import skill_schema
from trading.api.serializers.skills import (
    ComparedSerializer,
    CompareQuery,
    DeployInput,
    DraftInput,
    DraftSerializer,
    SaveInput,
    SkillPerformanceSerializer,
    SkillQuery,
    SkillSerializer,
    TemplateInput,
    VersionSerializer,
    WholeDraftSerializer,
    WholeSkillSerializer,
    WholeVersionSerializer,
)
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
    @describe_list("list_skills", "skills", SkillSerializer, SkillQuery)
    def get(self, request: ApiRequest) -> Response:
        """List skills, the last changed first."""
        query = self.query(SkillQuery)
        rows = Skill.objects.filter(archived_at__isnull=not query.pop("archived"))
        return answer_page(get_page(rows, by=_CHANGED, **query), SkillSerializer)


class SkillView(ApiView):
    @extend_schema(operation_id="get_skill", tags=["skills"], responses=WholeSkillSerializer)
    def get(self, request: ApiRequest, skill_id: UUID) -> Response:
        """Return a skill with what its newest version says."""
        version = get_version(skill_id)
        skill = SkillSerializer(get_skill(skill_id)).data
        return Response({**skill, "payload": version.payload})


class VersionsView(ApiView):
    @describe_list("list_skill_versions", "skills", VersionSerializer)
    def get(self, request: ApiRequest, skill_id: UUID) -> Response:
        """List the versions of a skill, the newest first."""
        rows = SkillVersion.objects.filter(skill=get_skill(skill_id)).defer("payload")
        return answer_page(get_page(rows, by=("-version", "id"), **self.query(PageQuery)), VersionSerializer)


class VersionView(ApiView):
    @extend_schema(operation_id="get_skill_version", tags=["skills"], responses=WholeVersionSerializer)
    def get(self, request: ApiRequest, skill_id: UUID, version: int) -> Response:
        """Return a version with what it says."""
        return Response(WholeVersionSerializer(get_version(skill_id, version)).data)


class CompareView(ApiView):
    @extend_schema(
        operation_id="compare_skill_versions", tags=["skills"], parameters=[CompareQuery], responses=ComparedSerializer
    )
    def get(self, request: ApiRequest, skill_id: UUID) -> Response:
        """Return each field that two versions of a skill differ in."""
        query = self.query(CompareQuery)
        changes = [
            {"field": field, "before": before, "after": after}
            for field, before, after in compare_versions(skill_id, **query)
        ]
        return Response(ComparedSerializer({**query, "changes": changes}).data)


class ArchiveSkillView(ApiView):
    @extend_schema(operation_id="archive_skill", tags=["skills"], request=None, responses=SkillSerializer)
    def post(self, request: ApiRequest, skill_id: UUID) -> Response:
        """Archive a skill that is not deployed; all it did is kept."""
        with owned_tx(request.user):
            skill = archive_skill(skill_id=skill_id, now=timezone.now())
        return Response(SkillSerializer(skill).data)


class DeploySkillView(ApiView):
    @extend_schema(
        operation_id="deploy_skill", tags=["skills"], request=DeployInput, responses={201: DeploymentSerializer}
    )
    def post(self, request: ApiRequest, skill_id: UUID) -> Response:
        """Set the newest version of a skill to run on paper."""
        fields = self.body(DeployInput)
        with owned_tx(request.user):
            deployment = deploy_skill(skill_id=skill_id, **fields, now=timezone.now())
        return Response(DeploymentSerializer(deployment).data, status=HTTPStatus.CREATED)


class SkillPerformanceView(ApiView):
    @extend_schema(operation_id="get_skill_performance", tags=["skills"], responses=SkillPerformanceSerializer)
    def get(self, request: ApiRequest, skill_id: UUID) -> Response:
        """Return a skill's performance by kind of deployment."""
        kinds = [
            {"broker_kind": kind, "performance": numbers} for kind, numbers in get_skill_performance(skill_id).items()
        ]
        return Response(SkillPerformanceSerializer({"kinds": kinds}).data)


class SkillNotesView(ApiView):
    @describe_list("list_skill_notes", "skills", NoteSerializer)
    def get(self, request: ApiRequest, skill_id: UUID) -> Response:
        """List a skill's own lessons, the newest first."""
        rows = ReflectionNote.objects.filter(skill=get_skill(skill_id), deployment__isnull=True)
        return answer_page(get_page(rows, by=("-generated_at", "id"), **self.query(PageQuery)), NoteSerializer)


def _respond_draft(draft: SkillDraft, status: int = HTTPStatus.OK) -> Response:
    problems = [{"field": error.field, "problem": error.problem} for error in list_problems(draft.payload)]
    whole = {**DraftSerializer(draft).data, "payload": draft.payload, "problems": problems}
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
    @describe_list("list_drafts", "drafts", DraftSerializer)
    def get(self, request: ApiRequest) -> Response:
        """List the drafts that are being edited, the last changed first."""
        rows = SkillDraft.objects.filter(status=DraftStatus.EDITING)
        return answer_page(get_page(rows, by=_CHANGED, **self.query(PageQuery)), DraftSerializer)

    @extend_schema(
        operation_id="start_draft",
        tags=["drafts"],
        request=DraftInput,
        responses={200: WholeDraftSerializer, 201: WholeDraftSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Create a draft of a skill; 200 if one exists."""
        fields, now = self.body(DraftInput), timezone.now()
        with owned_tx(request.user):
            draft = start_draft(**fields, now=now)
        return _respond_draft(draft, HTTPStatus.CREATED if draft.created_at == now else HTTPStatus.OK)


class DraftView(ApiView):
    @extend_schema(operation_id="get_draft", tags=["drafts"], responses=WholeDraftSerializer)
    def get(self, request: ApiRequest, draft_id: UUID) -> Response:
        """Return a draft with what still keeps it from being saved."""
        draft = SkillDraft.objects.filter(pk=draft_id, status=DraftStatus.EDITING).first()
        if draft is None:
            raise DraftNotFound("There is no such draft any more.")
        return _respond_draft(draft)

    @extend_schema(operation_id="patch_draft", tags=["drafts"], request=_PATCH, responses=WholeDraftSerializer)
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
        request=SaveInput,
        responses={200: WholeVersionSerializer, 201: WholeVersionSerializer},
    )
    def post(self, request: ApiRequest, draft_id: UUID) -> Response:
        """Save a draft as a version; 200 if it changes nothing."""
        fields, now = self.body(SaveInput), timezone.now()
        with _point_at_fields(), owned_tx(request.user):
            version = save_draft(draft_id=draft_id, **fields, now=now)
        status = HTTPStatus.CREATED if version.created_at == now else HTTPStatus.OK
        return Response(WholeVersionSerializer(version).data, status=status)


class TemplateView(ApiView):
    @extend_schema(
        operation_id="apply_template", tags=["drafts"], request=TemplateInput, responses=WholeDraftSerializer
    )
    def post(self, request: ApiRequest, draft_id: UUID) -> Response:
        """Fill a draft from a shipped template; keep its name."""
        fields = self.body(TemplateInput)
        with _point_at_fields(), owned_tx(request.user):
            draft = apply_template_to_draft(draft_id=draft_id, **fields, now=timezone.now())
        return _respond_draft(draft)
