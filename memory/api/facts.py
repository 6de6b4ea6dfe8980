"""Facts and their links over REST."""

from datetime import datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from config.lib.owned import owned_tx
from config.lib.paging import get_page
from config.lib.rest.views import ApiRequest, ApiView, answer_page, page_serializer
from config.lib.search.terms import build_word_filter
from memory.api.actions import make_action_view
from memory.api.serializers import (
    EventSerializer,
    FactChange,
    FactInput,
    FactQuery,
    FactSerializer,
    FactsSerializer,
    LinkInput,
    LinksSerializer,
    RecalledSerializer,
    RecallQuery,
    WrittenSerializer,
)
from memory.claims.validity import Validity
from memory.facts import services
from memory.facts.history import list_versions
from memory.facts.queries import find_last_version, list_links
from memory.models import Confidence, FactSource, UserFact, UserFactQuerySet
from memory.recall.search import recall_for_user


class FactsView(ApiView):
    @extend_schema(
        operation_id="list_facts", tags=["facts"], parameters=[FactQuery], responses=page_serializer(FactSerializer)
    )
    def get(self, request: ApiRequest) -> Response:
        """List facts, the newest first."""
        query = self.query(FactQuery)
        page = {name: query.pop(name) for name in ("cursor", "limit")}
        return answer_page(
            get_page(select_facts(**query, now=timezone.now()), by=("-created_at", "id"), **page), FactSerializer
        )

    @extend_schema(
        operation_id="add_fact",
        tags=["facts"],
        request=FactInput,
        responses={200: WrittenSerializer, 201: WrittenSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Add a fact; 200 when it is known already."""
        fields = _replace_dates(self.body(FactInput))
        with owned_tx(request.user):
            written = services.remember_fact(
                **fields, confidence=Confidence.ASSERTED, source=FactSource.PROFILE, now=timezone.now()
            )
        status = HTTPStatus.OK if written.event is None else HTTPStatus.CREATED
        return Response(WrittenSerializer(written).data, status=status)


class RecallView(ApiView):
    @extend_schema(operation_id="recall_facts", tags=["facts"], parameters=[RecallQuery], responses=RecalledSerializer)
    def get(self, request: ApiRequest) -> Response:
        """Search current facts, hidden ones included, best first."""
        query = self.query(RecallQuery)
        with self.door_closed():
            found = recall_for_user(request.user.pk, **query, now=timezone.now())
        return Response(RecalledSerializer(found).data)


class FactView(ApiView):
    """One fact; the id of any version leads to the newest."""

    @extend_schema(operation_id="get_fact", tags=["facts"], responses=FactSerializer)
    def get(self, request: ApiRequest, fact_id: UUID) -> Response:
        """Return the newest version of a fact."""
        return Response(FactSerializer(_get_newest(fact_id)).data)

    @extend_schema(operation_id="change_fact", tags=["facts"], request=FactChange, responses=WrittenSerializer)
    def patch(self, request: ApiRequest, fact_id: UUID) -> Response:
        """Correct a fact; the id must be that of the newest version."""
        fields = self.body(FactChange)
        with owned_tx(request.user):
            newest = _get_newest(fact_id)
            given = {"content": newest.content, **_replace_dates(fields, newest)}
            written = services.supersede_fact(fact_id=fact_id, **given, now=timezone.now())
        return Response(WrittenSerializer(written).data)

    @extend_schema(operation_id="delete_fact", tags=["facts"], responses=WrittenSerializer)
    def delete(self, request: ApiRequest, fact_id: UUID) -> Response:
        """Move a fact to the trash for 30 days."""
        with owned_tx(request.user):
            written = services.delete_fact(fact_id=fact_id, now=timezone.now())
        return Response(WrittenSerializer(written).data)


class HistoryView(ApiView):
    @extend_schema(operation_id="list_fact_history", tags=["facts"], responses=FactsSerializer)
    def get(self, request: ApiRequest, fact_id: UUID) -> Response:
        """List all versions of a fact, oldest first."""
        return Response(FactsSerializer({"versions": list_versions(_get_newest(fact_id).lineage)}).data)


ConfirmView = make_action_view("confirm", "fact", services.confirm_fact, WrittenSerializer)
PromoteView = make_action_view("promote", "fact", services.promote_fact, WrittenSerializer)
DemoteView = make_action_view("demote", "fact", services.demote_fact, WrittenSerializer)
ArchiveView = make_action_view("archive", "fact", services.archive_fact, WrittenSerializer)
RestoreView = make_action_view("restore", "fact", services.restore_fact, WrittenSerializer)


class LinksView(ApiView):
    @extend_schema(operation_id="list_links", tags=["facts"], responses=LinksSerializer)
    def get(self, request: ApiRequest, fact_id: UUID) -> Response:
        """List the links of a fact to believed facts."""
        return Response(LinksSerializer({"links": list_links(_get_newest(fact_id))}).data)

    @extend_schema(
        operation_id="link_facts",
        tags=["facts"],
        request=LinkInput,
        responses={200: LinksSerializer, 201: LinksSerializer},
    )
    def post(self, request: ApiRequest, fact_id: UUID) -> Response:
        """Link a fact to another; 200 when that link exists."""
        fields = self.body(LinkInput)
        with owned_tx(request.user):
            fact = _get_newest(fact_id)
            event = services.link_facts(
                from_id=str(fact.pk), to_id=fields["to"], relation=fields["relation"], now=timezone.now()
            )
            links = list_links(fact)
        status = HTTPStatus.OK if event is None else HTTPStatus.CREATED
        return Response(LinksSerializer({"links": links}).data, status=status)


class LinkView(ApiView):
    @extend_schema(operation_id="unlink_facts", tags=["facts"], responses=EventSerializer)
    def delete(self, request: ApiRequest, link_id: UUID) -> Response:
        """Remove a link."""
        with owned_tx(request.user):
            event = services.unlink_facts(link_id=link_id, now=timezone.now())
        return Response(EventSerializer(event).data)


def _get_newest(fact_id: UUID) -> UserFact:
    fact = find_last_version(fact_id)
    if fact is None:
        raise Http404
    return fact


def _replace_dates(fields: dict[str, Any], newest: UserFact | None = None) -> dict[str, Any]:
    """Replace the two dates by `validity`; an omitted date stays that of the newest version."""
    dates = {name: fields[name] for name in ("valid_from", "valid_until") if name in fields}
    if not dates:
        return fields
    begins, ends = (dates.get(name, newest and getattr(newest, name)) for name in ("valid_from", "valid_until"))
    kept = {name: value for name, value in fields.items() if name not in dates}
    return {**kept, "validity": Validity(begins, ends)}


def select_facts(
    *,
    state: str,
    q: str,
    category: str,
    source: str,
    confidence: str,
    topic: str | None,
    valid_at: datetime | None,
    known_at: datetime | None,
    now: datetime,
) -> UserFactQuerySet:
    """Return matching facts, unordered; an instant overrides `state`."""
    rows = _in_state(state, now)
    if valid_at or known_at:
        rows = UserFact.objects.as_of(valid_at or now, known_at or now)
    given = {"category": category, "source": source, "confidence": confidence}
    rows = rows.filter(
        build_word_filter(q, "normalised", "topic"), **{name: value for name, value in given.items() if value}
    )
    return rows if topic is None else rows.filter(topic=topic)


def _in_state(state: str, now: datetime) -> UserFactQuerySet:
    rows: UserFactQuerySet = UserFact.objects.last_of_lineage()
    match state:
        case "trash":
            return rows.filter(trashed_at__isnull=False)
        case "archived":
            return rows.filter(archived_at__isnull=False, trashed_at__isnull=True)
        case "believed":
            return rows.filter(archived_at__isnull=True)
    return rows.current(now)
