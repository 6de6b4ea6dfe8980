"""The undo log, memory block, document and switches over REST."""

import json
from dataclasses import asdict
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from config.lib.llm.tokens import count_tokens
from config.lib.owned import owned_tx
from config.lib.paging import get_page
from config.lib.rest.views import ApiRequest, ApiView, PageQuery, answer_page, page_serializer
from memory.api.serializers import (
    ArchiveInput,
    BlockQuery,
    BlockSerializer,
    DocumentInput,
    EventSerializer,
    EventsSerializer,
    ImportedSerializer,
    ListInput,
    SwitchesInput,
    SwitchesSerializer,
)
from memory.facts.document import build_document
from memory.facts.exchange import import_document
from memory.facts.queries import get_next_block, get_switches
from memory.facts.schemas import MAX_DOCUMENT
from memory.facts.services import set_switches
from memory.facts.undo import undo_batch, undo_event
from memory.models import MemoryEvent
from memory.transfer.arrival import MAX_ARCHIVE, import_archive
from memory.transfer.lists import import_list


class EventsView(ApiView):
    @extend_schema(
        operation_id="list_memory_events",
        tags=["memory"],
        parameters=[PageQuery],
        responses=page_serializer(EventSerializer),
    )
    def get(self, request: ApiRequest) -> Response:
        """List the writes to memory, the newest first."""
        return answer_page(
            get_page(MemoryEvent.objects.all(), by=("-created_at", "id"), **self.query(PageQuery)), EventSerializer
        )


class UndoView(ApiView):
    @extend_schema(operation_id="undo_memory_event", tags=["memory"], request=None, responses=EventSerializer)
    def post(self, request: ApiRequest, event_id: UUID) -> Response:
        """Undo one write; a second time changes nothing."""
        with owned_tx(request.user):
            event = undo_event(event_id=event_id, now=timezone.now())
        return Response(EventSerializer(event).data)


class UndoBatchView(ApiView):
    @extend_schema(operation_id="undo_memory_batch", tags=["memory"], request=None, responses=EventsSerializer)
    def post(self, request: ApiRequest, batch_id: UUID) -> Response:
        """Undo all writes of a batch, or none."""
        with owned_tx(request.user):
            events = undo_batch(batch_id=batch_id, now=timezone.now())
        return Response(EventsSerializer({"events": events}).data)


class BlockView(ApiView):
    @extend_schema(operation_id="get_memory_block", tags=["memory"], parameters=[BlockQuery], responses=BlockSerializer)
    def get(self, request: ApiRequest) -> Response:
        """Return the block of an assistant's next chat."""
        block = get_next_block(assistant=self.query(BlockQuery)["assistant"], now=timezone.now())
        return Response(BlockSerializer({**asdict(block), "tokens": count_tokens(block.text)}).data)


class DocumentView(ApiView):
    max_body_bytes = 4 * MAX_DOCUMENT

    @extend_schema(operation_id="export_memory", tags=["memory"], responses=DocumentInput)
    def get(self, request: ApiRequest) -> Response:
        """Return everything Keel knows as one document."""
        return Response(build_document(now=timezone.now()).model_dump(mode="json"))

    @extend_schema(operation_id="import_memory", tags=["memory"], request=DocumentInput, responses=ImportedSerializer)
    def post(self, request: ApiRequest) -> Response:
        """Import a document; known facts and places stay unchanged."""
        self.body(DocumentInput)
        text = json.dumps(request.data, ensure_ascii=False)
        with owned_tx(request.user):
            done = import_document(text=text, now=timezone.now())
        return Response(ImportedSerializer(done).data)


class ArchiveView(ApiView):
    max_body_bytes = MAX_ARCHIVE

    @extend_schema(
        operation_id="import_memory_archive", tags=["memory"], request=ArchiveInput, responses=ImportedSerializer
    )
    def post(self, request: ApiRequest) -> Response:
        """Import `memory.json` of an export as it was; what is known stays unchanged."""
        self.body(ArchiveInput)
        with owned_tx(request.user):
            done = import_archive(text=json.dumps(request.data), now=timezone.now())
        return Response(ImportedSerializer(done).data)


class ListView(ApiView):
    max_body_bytes = 4 * MAX_DOCUMENT

    @extend_schema(operation_id="import_fact_list", tags=["memory"], request=ListInput, responses=ImportedSerializer)
    def post(self, request: ApiRequest) -> Response:
        """Propose the facts of a plain list; accepting one saves it."""
        fields = self.body(ListInput)
        with owned_tx(request.user):
            done = import_list(**fields, now=timezone.now())
        return Response(ImportedSerializer(done).data)


class SwitchesView(ApiView):
    @extend_schema(operation_id="get_memory_switches", tags=["memory"], responses=SwitchesSerializer)
    def get(self, request: ApiRequest) -> Response:
        """Return the switches."""
        return Response(SwitchesSerializer(get_switches()).data)

    @extend_schema(
        operation_id="set_memory_switches", tags=["memory"], request=SwitchesInput, responses=SwitchesSerializer
    )
    def patch(self, request: ApiRequest) -> Response:
        """Set one switch or both."""
        fields = self.body(SwitchesInput)
        with owned_tx(request.user):
            switches = set_switches(**fields)
        return Response(SwitchesSerializer(switches).data)
