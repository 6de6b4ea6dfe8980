"""The undo log, memory block, document, switches, proposals and places over REST."""

import json
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.response import Response

from config.lib.llm.tokens import count_tokens
from config.lib.rest.operations import NEW_OR_KNOWN, make_act_view, read, read_pages, write
from config.lib.rest.views import ApiView
from memory.api import serializers as shapes
from memory.facts.document import build_document
from memory.facts.places import add_place, remove_place
from memory.facts.queries import get_next_block, list_places
from memory.facts.schemas import MAX_DOCUMENT, MemoryDocument
from memory.facts.undo import undo_event
from memory.models import MemoryEvent
from memory.transfer.arrival import MAX_ARCHIVE, Archive, check_archive, import_archive
from memory.transfer.documents import import_document, parse_document
from memory.transfer.foreign import ForeignFact
from memory.transfer.lists import import_list, parse_list


class EventsView(ApiView):
    @read_pages("list_memory_events", "memory", shapes.EventSerializer)
    def get(self) -> QuerySet[MemoryEvent]:
        """List the writes to memory, the newest first."""
        return MemoryEvent.objects.all()


UndoView = make_act_view(
    "undo_memory_event", "memory", undo_event, shapes.EventSerializer, "Undo one write; a second time changes nothing."
)


class BlockView(ApiView):
    @read("get_memory_block", "memory", shapes.BlockSerializer, shapes.BlockQuery)
    def get(self, assistant: str) -> Any:
        """Return the block of an assistant's next chat."""
        block = get_next_block(assistant=assistant, now=timezone.now())
        return {**asdict(block), "tokens": count_tokens(block.text)}


class DocumentView(ApiView):
    max_body_bytes = 4 * MAX_DOCUMENT

    @read("export_memory", "memory", shapes.DocumentInput)
    def get(self) -> Response:
        """Return everything Keel knows as one document."""
        return Response(build_document(now=timezone.now()).model_dump(mode="json"))

    @write(
        "import_memory",
        "memory",
        shapes.ImportedSerializer,
        shapes.DocumentInput,
        parse=lambda fields: parse_document(json.dumps(fields, ensure_ascii=False)),
    )
    def post(self, document: MemoryDocument) -> Any:
        """Import a document; known facts and places stay unchanged."""
        return import_document(document, now=timezone.now())


class ArchiveView(ApiView):
    max_body_bytes = MAX_ARCHIVE

    @write("import_memory_archive", "memory", shapes.ImportedSerializer, shapes.ArchiveInput, parse=check_archive)
    def post(self, archive: Archive) -> Any:
        """Import `memory.json` of an export as it was; what is known stays unchanged."""
        return import_archive(archive, now=timezone.now())


class ListView(ApiView):
    max_body_bytes = 4 * MAX_DOCUMENT

    @write(
        "import_fact_list",
        "memory",
        shapes.ImportedSerializer,
        shapes.ListInput,
        parse=lambda fields: parse_list(fields["text"]),
    )
    def post(self, facts: list[ForeignFact]) -> Any:
        """Propose the facts of a plain list; accepting one saves it."""
        return import_list(facts, now=timezone.now())


class PlacesView(ApiView):
    @read("list_places", "places", shapes.PlacesSerializer)
    def get(self) -> Any:
        """List all places, by name."""
        return {"places": list_places("name")}

    @write("save_place", "places", shapes.PlaceWrittenSerializer, shapes.PlaceInput, status=NEW_OR_KNOWN)
    def post(self, **fields: Any) -> Any:
        """Save or update a place; 200 when nothing changed."""
        written = add_place(**fields, now=timezone.now())
        return written, written.event is not None


class PlaceView(ApiView):
    @write("remove_place", "places", shapes.PlaceWrittenSerializer)
    def delete(self, place_id: UUID) -> Any:
        """Remove a place; undoing the event restores it."""
        return remove_place(id=place_id, now=timezone.now())
