"""Memory over REST: the same services as the pages."""

import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from http import HTTPStatus
from typing import ClassVar
from uuid import UUID

from django.db.models import Q
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.response import Response

from config.lib.llm.tokens import count_tokens
from config.lib.owned import owned_tx
from config.lib.paging import page_of
from config.lib.rest.views import ApiRequest, ApiView, PageQuery, page_serializer, paged
from config.lib.search.terms import has_words
from memory.api.serializers import (
    BlockQuery,
    BlockSerializer,
    DocumentInput,
    EventSerializer,
    EventsSerializer,
    FactChange,
    FactInput,
    FactQuery,
    FactSerializer,
    FactsSerializer,
    ImportedSerializer,
    LinkInput,
    LinksSerializer,
    ListInput,
    PlaceInput,
    PlacesSerializer,
    PlaceWrittenSerializer,
    ProposalQuery,
    ProposalSerializer,
    RecalledSerializer,
    RecallQuery,
    SwitchesInput,
    SwitchesSerializer,
    WrittenSerializer,
)
from memory.facts.document import memory_document
from memory.facts.exchange import import_document, import_list
from memory.facts.places import add_place, list_places, remove_place
from memory.facts.queries import find_last_version, get_switches, list_versions, next_block
from memory.facts.review import accept_proposal, dismiss_proposal, reopen_proposal
from memory.facts.schemas import MAX_DOCUMENT
from memory.facts.services import (
    archive_fact,
    confirm_fact,
    delete_fact,
    demote_fact,
    link_facts,
    promote_fact,
    remember_fact,
    restore_fact,
    set_switches,
    supersede_fact,
    unlink_facts,
)
from memory.facts.undo import undo_batch, undo_event
from memory.facts.versions import Written
from memory.models import Confidence, FactLink, FactSource, MemoryEvent, MemoryProposal, UserFact, UserFactQuerySet
from memory.recall.search import recall

_NEWEST = ("-created_at", "id")
Act = Callable[..., Written]


class FactsView(ApiView):
    """The facts."""

    @extend_schema(
        operation_id="list_facts", tags=["facts"], parameters=[FactQuery], responses=page_serializer(FactSerializer)
    )
    def get(self, request: ApiRequest) -> Response:
        """List facts, the newest first."""
        query = self.query(FactQuery)
        page = {name: query.pop(name) for name in ("cursor", "limit")}
        return paged(page_of(select_facts(**query, now=timezone.now()), by=_NEWEST, **page), FactSerializer)

    @extend_schema(
        operation_id="add_fact",
        tags=["facts"],
        request=FactInput,
        responses={200: WrittenSerializer, 201: WrittenSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Add a fact; 200 when it is known already."""
        fields = self.body(FactInput)
        with owned_tx(request.user):
            written = remember_fact(
                **fields, confidence=Confidence.ASSERTED, source=FactSource.PROFILE, now=timezone.now()
            )
        status = HTTPStatus.OK if written.event is None else HTTPStatus.CREATED
        return Response(WrittenSerializer(written).data, status=status)


class RecallView(ApiView):
    """Finding facts."""

    @extend_schema(operation_id="recall_facts", tags=["facts"], parameters=[RecallQuery], responses=RecalledSerializer)
    def get(self, request: ApiRequest) -> Response:
        """Find current facts by words and by meaning, best first; also those that no prompt carries."""
        query = self.query(RecallQuery)
        with self.door_closed():
            found = recall(request.user.pk, **query, now=timezone.now())
        return Response(RecalledSerializer(found).data)


class FactView(ApiView):
    """One fact; the id of any of its versions leads to the newest."""

    @extend_schema(operation_id="get_fact", tags=["facts"], responses=FactSerializer)
    def get(self, request: ApiRequest, fact_id: UUID) -> Response:
        """Return the newest version of a fact."""
        return Response(FactSerializer(_newest(fact_id)).data)

    @extend_schema(operation_id="change_fact", tags=["facts"], request=FactChange, responses=WrittenSerializer)
    def patch(self, request: ApiRequest, fact_id: UUID) -> Response:
        """Correct a fact: a new version takes the place of the one named, which must be the newest."""
        fields = self.body(FactChange)
        with owned_tx(request.user):
            given = {"content": _newest(fact_id).content, **fields}
            written = supersede_fact(fact_id=fact_id, **given, now=timezone.now())
        return Response(WrittenSerializer(written).data)

    @extend_schema(operation_id="delete_fact", tags=["facts"], responses=WrittenSerializer)
    def delete(self, request: ApiRequest, fact_id: UUID) -> Response:
        """Put a fact into the trash, from which it can be restored for 30 days."""
        with owned_tx(request.user):
            written = delete_fact(fact_id=fact_id, now=timezone.now())
        return Response(WrittenSerializer(written).data)


class HistoryView(ApiView):
    """The versions of a fact."""

    @extend_schema(operation_id="list_fact_history", tags=["facts"], responses=FactsSerializer)
    def get(self, request: ApiRequest, fact_id: UUID) -> Response:
        """List all versions of a fact, oldest first."""
        return Response(FactsSerializer({"versions": list_versions(_newest(fact_id).lineage)}).data)


class ActView(ApiView):
    """Something done to a fact that needs no further word."""

    act: ClassVar[Act]

    def post(self, request: ApiRequest, fact_id: UUID) -> Response:
        """Do it."""
        with owned_tx(request.user):
            written = type(self).act(fact_id=fact_id, now=timezone.now())
        return Response(WrittenSerializer(written).data)


def _act_view(name: str, act: Act) -> type[ActView]:
    schema = extend_schema(operation_id=f"{name}_fact", tags=["facts"], request=None, responses=WrittenSerializer)
    docstring = (act.__doc__ or "").partition("\n")[0]
    view = type(f"{name.capitalize()}View", (ActView,), {"act": staticmethod(act), "__doc__": docstring})
    return extend_schema_view(post=schema)(view)


ConfirmView = _act_view("confirm", confirm_fact)
PromoteView = _act_view("promote", promote_fact)
DemoteView = _act_view("demote", demote_fact)
ArchiveView = _act_view("archive", archive_fact)
RestoreView = _act_view("restore", restore_fact)


class LinksView(ApiView):
    """The relations of a fact."""

    @extend_schema(operation_id="list_links", tags=["facts"], responses=LinksSerializer)
    def get(self, request: ApiRequest, fact_id: UUID) -> Response:
        """List the relations of a fact to facts that are held true."""
        return Response(LinksSerializer({"links": select_links(_newest(fact_id))}).data)

    @extend_schema(
        operation_id="link_facts",
        tags=["facts"],
        request=LinkInput,
        responses={200: LinksSerializer, 201: LinksSerializer},
    )
    def post(self, request: ApiRequest, fact_id: UUID) -> Response:
        """Relate a fact to another; 200 when they are so related already."""
        fields = self.body(LinkInput)
        with owned_tx(request.user):
            fact = _newest(fact_id)
            event = link_facts(
                from_id=str(fact.pk), to_id=fields["to"], relation=fields["relation"], now=timezone.now()
            )
            links = select_links(fact)
        status = HTTPStatus.OK if event is None else HTTPStatus.CREATED
        return Response(LinksSerializer({"links": links}).data, status=status)


class LinkView(ApiView):
    """One relation."""

    @extend_schema(operation_id="unlink_facts", tags=["facts"], responses=EventSerializer)
    def delete(self, request: ApiRequest, link_id: UUID) -> Response:
        """Take a relation away."""
        with owned_tx(request.user):
            event = unlink_facts(link_id=link_id, now=timezone.now())
        return Response(EventSerializer(event).data)


class EventsView(ApiView):
    """The undo log."""

    @extend_schema(
        operation_id="list_memory_events",
        tags=["memory"],
        parameters=[PageQuery],
        responses=page_serializer(EventSerializer),
    )
    def get(self, request: ApiRequest) -> Response:
        """List what was written to memory, the newest first."""
        return paged(page_of(MemoryEvent.objects.all(), by=_NEWEST, **self.query(PageQuery)), EventSerializer)


class UndoView(ApiView):
    """Taking a write back."""

    @extend_schema(operation_id="undo_memory_event", tags=["memory"], request=None, responses=EventSerializer)
    def post(self, request: ApiRequest, event_id: UUID) -> Response:
        """Take one write back; a second time changes nothing more."""
        with owned_tx(request.user):
            event = undo_event(event_id=event_id, now=timezone.now())
        return Response(EventSerializer(event).data)


class UndoBatchView(ApiView):
    """Taking writes back together."""

    @extend_schema(operation_id="undo_memory_batch", tags=["memory"], request=None, responses=EventsSerializer)
    def post(self, request: ApiRequest, batch_id: UUID) -> Response:
        """Take all writes of a batch back, or none."""
        with owned_tx(request.user):
            events = undo_batch(batch_id=batch_id, now=timezone.now())
        return Response(EventsSerializer({"events": events}).data)


class BlockView(ApiView):
    """What prompts carry."""

    @extend_schema(operation_id="get_memory_block", tags=["memory"], parameters=[BlockQuery], responses=BlockSerializer)
    def get(self, request: ApiRequest) -> Response:
        """Return the block that the next chat with an assistant starts with."""
        block = next_block(assistant=self.query(BlockQuery)["assistant"], now=timezone.now())
        return Response(BlockSerializer({**asdict(block), "tokens": count_tokens(block.text)}).data)


class DocumentView(ApiView):
    """The memory document."""

    max_body_bytes = 4 * MAX_DOCUMENT

    @extend_schema(operation_id="export_memory", tags=["memory"], responses=DocumentInput)
    def get(self, request: ApiRequest) -> Response:
        """Return everything Keel knows, as one document."""
        return Response(memory_document(now=timezone.now()).model_dump(mode="json"))

    @extend_schema(operation_id="import_memory", tags=["memory"], request=DocumentInput, responses=ImportedSerializer)
    def post(self, request: ApiRequest) -> Response:
        """Bring a document in; what is known already is left as it is."""
        self.body(DocumentInput)
        text = json.dumps(request.data, ensure_ascii=False)
        with owned_tx(request.user):
            done = import_document(text=text, now=timezone.now())
        return Response(ImportedSerializer(done).data)


class ListView(ApiView):
    """Facts from elsewhere."""

    max_body_bytes = 4 * MAX_DOCUMENT

    @extend_schema(operation_id="import_fact_list", tags=["memory"], request=ListInput, responses=ImportedSerializer)
    def post(self, request: ApiRequest) -> Response:
        """Propose the facts of a plain list; each is saved when its owner accepts it."""
        fields = self.body(ListInput)
        with owned_tx(request.user):
            done = import_list(**fields, now=timezone.now())
        return Response(ImportedSerializer(done).data)


class SwitchesView(ApiView):
    """What memory may do."""

    @extend_schema(operation_id="get_memory_switches", tags=["memory"], responses=SwitchesSerializer)
    def get(self, request: ApiRequest) -> Response:
        """Return the switches."""
        return Response(SwitchesSerializer(get_switches()).data)

    @extend_schema(
        operation_id="set_memory_switches", tags=["memory"], request=SwitchesInput, responses=SwitchesSerializer
    )
    def patch(self, request: ApiRequest) -> Response:
        """Set a switch, or both."""
        fields = self.body(SwitchesInput)
        with owned_tx(request.user):
            switches = set_switches(**fields)
        return Response(SwitchesSerializer(switches).data)


class ProposalsView(ApiView):
    """What waits for its owner."""

    @extend_schema(
        operation_id="list_proposals",
        tags=["proposals"],
        parameters=[ProposalQuery],
        responses=page_serializer(ProposalSerializer),
    )
    def get(self, request: ApiRequest) -> Response:
        """List proposals, the newest first."""
        query = self.query(ProposalQuery)
        rows = MemoryProposal.objects.filter(status=query.pop("status"))
        return paged(page_of(rows, by=_NEWEST, **query), ProposalSerializer)


class DecideView(ApiView):
    """Deciding about a proposal."""

    decide: ClassVar[Callable[..., MemoryProposal]]

    def post(self, request: ApiRequest, proposal_id: UUID) -> Response:
        """Do it."""
        with owned_tx(request.user):
            proposal = type(self).decide(proposal_id=proposal_id, now=timezone.now())
        return Response(ProposalSerializer(proposal).data)


def _decide_view(name: str, decide: Callable[..., MemoryProposal]) -> type[DecideView]:
    schema = extend_schema(
        operation_id=f"{name}_proposal", tags=["proposals"], request=None, responses=ProposalSerializer
    )
    docstring = (decide.__doc__ or "").partition("\n")[0]
    view = type(f"{name.capitalize()}View", (DecideView,), {"decide": staticmethod(decide), "__doc__": docstring})
    return extend_schema_view(post=schema)(view)


AcceptView = _decide_view("accept", accept_proposal)
DismissView = _decide_view("dismiss", dismiss_proposal)
ReopenView = _decide_view("reopen", reopen_proposal)


class PlacesView(ApiView):
    """The places."""

    @extend_schema(operation_id="list_places", tags=["places"], responses=PlacesSerializer)
    def get(self, request: ApiRequest) -> Response:
        """List all places, by name."""
        return Response(PlacesSerializer({"places": list_places()}).data)

    @extend_schema(
        operation_id="save_place",
        tags=["places"],
        request=PlaceInput,
        responses={200: PlaceWrittenSerializer, 201: PlaceWrittenSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Save a place, or bring a known one up to date; 200 when nothing changed."""
        fields = self.body(PlaceInput)
        with owned_tx(request.user):
            written = add_place(**fields, now=timezone.now())
        status = HTTPStatus.OK if written.event is None else HTTPStatus.CREATED
        return Response(PlaceWrittenSerializer(written).data, status=status)


class PlaceView(ApiView):
    """One place."""

    @extend_schema(operation_id="remove_place", tags=["places"], responses=PlaceWrittenSerializer)
    def delete(self, request: ApiRequest, place_id: UUID) -> Response:
        """Take a place away; undoing the event brings it back."""
        with owned_tx(request.user):
            written = remove_place(id=place_id, now=timezone.now())
        return Response(PlaceWrittenSerializer(written).data)


def _newest(fact_id: UUID) -> UserFact:
    fact = find_last_version(fact_id)
    if fact is None:
        raise Http404
    return fact


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
    """Return the facts that fit, in no order; an empty filter fits all. An instant wins over `state`."""
    rows = _as_of(valid_at or now, known_at or now) if valid_at or known_at else _in_state(state, now)
    given = {"category": category, "source": source, "confidence": confidence}
    rows = rows.filter(has_words(q, "normalised", "topic"), **{name: value for name, value in given.items() if value})
    return rows if topic is None else rows.filter(topic=topic)


def select_links(fact: UserFact) -> list[FactLink]:
    """Return the relations of a believed fact to believed facts, first made first."""
    believed = UserFact.objects.believed()
    links = FactLink.objects.filter(Q(from_fact=fact) | Q(to_fact=fact), from_fact__in=believed, to_fact__in=believed)
    return list(links.order_by("created_at", "id"))


def _as_of(valid_at: datetime, known_at: datetime) -> UserFactQuerySet:
    return UserFact.objects.as_of(valid_at, known_at)


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
