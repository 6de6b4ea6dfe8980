"""The undo log, memory block, documents, lists and places over REST."""

import json
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers
from rest_framework.response import Response

from config.lib.edge.second_factor import read_proof
from config.lib.llm.tokens import count_tokens
from config.lib.rest.operations import NEW_OR_KNOWN, act, action, read, read_page, write
from config.lib.rest.views import ApiViewSet, InputSerializer, ReadOnlySerializer, define_answer
from memory import wording
from memory.facts.document import export_document
from memory.facts.places import add_place, remove_place
from memory.facts.queries import get_next_block, list_places
from memory.facts.schemas import MAX_DOCUMENT, MemoryDocument
from memory.facts.undo import undo_event
from memory.models import MemoryEvent, Place
from memory.transfer.arrival import MAX_ARCHIVE, Archive, check_archive, import_archive
from memory.transfer.documents import import_document, parse_document
from memory.transfer.foreign import ForeignFact
from memory.transfer.lists import import_list, parse_list


class EventSerializer(ReadOnlySerializer):
    """One write to memory, as the undo log has it."""

    class Meta:
        model = MemoryEvent
        fields = (
            *("id", "kind", "lineage", "before", "after", "place", "batch_id"),
            *("conversation_id", "message_id", "is_by_staff", "created_at", "undone_at"),
        )


class BlockQuery(InputSerializer):
    """The assistant whose block to return."""

    assistant = serializers.ChoiceField(["coach", "advisor", "companion"], default="coach")


class BlockSerializer(serializers.Serializer[Any]):
    """The memory block of an assistant's next chat; reading marks nothing."""

    text = serializers.CharField(allow_blank=True)
    sha256 = serializers.CharField()
    tokens = serializers.IntegerField()
    fact_ids = serializers.ListField(child=serializers.UUIDField())


class DocumentInput(InputSerializer):
    """A memory document, as exported."""

    facts = serializers.ListField(child=serializers.DictField())
    placer_user_datapoints = serializers.ListField(child=serializers.DictField())
    metadata = serializers.DictField()


class ArchiveInput(InputSerializer):
    """The file `memory.json` of an export; its `schema.json` describes the rows."""

    format = serializers.ChoiceField(choices=["keel-memory"])
    version = serializers.IntegerField()
    facts = serializers.ListField(child=serializers.DictField())
    links = serializers.ListField(child=serializers.DictField(), default=list)
    places = serializers.ListField(child=serializers.DictField(), default=list)
    proposals = serializers.ListField(child=serializers.DictField(), default=list)
    switches = serializers.DictField(required=False)


class ListInput(InputSerializer):
    """A plain list of facts, one a line."""

    text = serializers.CharField(max_length=MAX_DOCUMENT, trim_whitespace=False)


class ImportedSerializer(serializers.Serializer[Any]):
    """The result of an import; its writes are one batch."""

    batch_id = serializers.UUIDField(allow_null=True)
    added = serializers.IntegerField()
    known = serializers.IntegerField()
    refused = serializers.ListField(child=serializers.CharField(), help_text="What was left out, and why.")


class PlaceInput(InputSerializer):
    """A place to save; a known `place_id` updates its place."""

    place_id = serializers.CharField(max_length=wording.MAX_PLACE_ID)
    name = serializers.CharField(max_length=wording.MAX_PLACE_NAME)
    notes = serializers.CharField(required=False, max_length=wording.MAX_PLACE_NOTES, allow_blank=True)


class PlaceSerializer(ReadOnlySerializer):
    """A place of interest."""

    conversations = serializers.IntegerField(help_text="That mention it.")
    last_mentioned_at = serializers.DateTimeField(allow_null=True)

    class Meta:
        model = Place
        fields = ("id", "place_id", "name", "notes", "added_at", "conversations", "last_mentioned_at")


PlacesSerializer = define_answer("Places", "All places.", places=PlaceSerializer(many=True))


class PlaceWrittenSerializer(serializers.Serializer[Any]):
    """A written place and its undo event, null without a change."""

    id = serializers.UUIDField(source="place.pk")
    place_id = serializers.CharField(source="place.place_id")
    event_id = serializers.UUIDField(source="event.pk", default=None, allow_null=True)


class EventViewSet(ApiViewSet):
    areas = frozenset(("facts",))
    lookup_url_kwarg = "event_id"

    @read_page("list_memory_events", EventSerializer)
    def list(self) -> QuerySet[MemoryEvent]:
        """List the writes to memory, the newest first."""
        return MemoryEvent.objects.all()

    undo = act("undo_memory_event", undo_event, EventSerializer, "Undo one write; a second time changes nothing.")


class MemoryViewSet(ApiViewSet):
    areas = frozenset(("facts",))

    @read("get_memory_block", BlockSerializer, BlockQuery)
    @action(detail=False)
    def block(self, assistant: str) -> Any:
        """Return the block of an assistant's next chat."""
        block = get_next_block(assistant=assistant, now=timezone.now())
        return {**asdict(block), "tokens": count_tokens(block.text)}

    @read("export_memory", DocumentInput)
    @action(detail=False, max_body_bytes=4 * MAX_DOCUMENT)
    def document(self) -> Response:
        """Return everything Keel knows as one document."""
        document = export_document(proof=read_proof(self.request), now=timezone.now())
        return Response(document.model_dump(mode="json"))

    @document.mapping.post  # type: ignore[untyped-decorator]
    @write(
        "import_memory",
        ImportedSerializer,
        DocumentInput,
        parse=lambda fields: parse_document(json.dumps(fields, ensure_ascii=False)),
    )
    def import_document(self, document: MemoryDocument) -> Any:
        """Import a document; known facts and places stay unchanged."""
        return import_document(document, now=timezone.now())

    @write("import_memory_archive", ImportedSerializer, ArchiveInput, parse=check_archive)
    @action(detail=False, methods=["post"], max_body_bytes=MAX_ARCHIVE)
    def archive(self, archive: Archive) -> Any:
        """Import `memory.json` of an export as it was; what is known stays unchanged."""
        return import_archive(archive, now=timezone.now())

    @write("import_fact_list", ImportedSerializer, ListInput, parse=lambda fields: parse_list(fields["text"]))
    @action(detail=False, methods=["post"], url_path="list", max_body_bytes=4 * MAX_DOCUMENT)
    def import_list(self, facts: list[ForeignFact]) -> Any:
        """Propose the facts of a plain list; accepting one saves it."""
        return import_list(facts, now=timezone.now())


class PlaceViewSet(ApiViewSet):
    areas = frozenset(("facts",))
    lookup_url_kwarg = "place_id"

    @read("list_places", PlacesSerializer)
    def list(self) -> Any:
        """List all places, by name."""
        return {"places": list_places("name")}

    @write("save_place", PlaceWrittenSerializer, PlaceInput, status=NEW_OR_KNOWN)
    def create(self, **fields: Any) -> Any:
        """Save or update a place; 200 when nothing changed."""
        written = add_place(**fields, now=timezone.now())
        return written, written.event is not None

    @write("remove_place", PlaceWrittenSerializer)
    def destroy(self, place_id: UUID) -> Any:
        """Remove a place; undoing the event restores it."""
        return remove_place(id=place_id, now=timezone.now())
