"""The serializers of memory's REST API."""

from typing import Any

from rest_framework import serializers

from config.lib.rest.views import InputSerializer, PageQuery, RowSerializer
from memory import wording
from memory.facts.schemas import MAX_DOCUMENT
from memory.models import Confidence, FactCategory, FactSource, MemoryEvent, Place, UserFact
from memory.recall.search import MAX_RECALLED


class FactSerializer(RowSerializer):
    """One version of a fact; all its versions share `lineage`."""

    class Meta:
        model = UserFact
        fields = (
            *("id", "lineage", "supersedes", "category", "topic", "content", "summary", "body"),
            *("source", "confidence", "score", "valid_from", "valid_until", "created_at", "learned_at"),
            *("archived_at", "archived_reason", "trashed_at", "last_referenced_at", "last_confirmed_at"),
            *("conversation_id", "quotes"),
        )


class FactQuery(PageQuery):
    """Which facts to list."""

    state = serializers.ChoiceField(
        ["current", "believed", "archived", "trash"],
        default="current",
        help_text="current: true now. believed: not archived, also what has ended or not begun. trash: deleted.",
    )
    q = serializers.CharField(default="", max_length=200, help_text="Each word must be in the fact or its topic.")
    category = serializers.ChoiceField(FactCategory.choices, default="")
    source = serializers.ChoiceField(FactSource.choices, default="")  # type: ignore[assignment]
    confidence = serializers.ChoiceField(Confidence.choices, default="")
    topic = serializers.CharField(default=None, max_length=wording.MAX_TOPIC, allow_null=True)
    valid_at = serializers.DateTimeField(default=None, help_text="What was true then; wins over `state`.")
    known_at = serializers.DateTimeField(default=None, help_text="As Keel knew it then; goes with `valid_at`.")


class FactInput(InputSerializer):
    """A fact to add, said outright by its owner. Without dates the words say when it holds."""

    content = serializers.CharField(max_length=wording.MAX_CONTENT, help_text="One line of 4 to 500 characters.")
    topic = serializers.CharField(default="", max_length=wording.MAX_TOPIC, allow_blank=True)
    category = serializers.ChoiceField(FactCategory.choices, default=None, allow_null=True)
    detail = serializers.CharField(default="", max_length=wording.MAX_BODY, allow_blank=True)
    valid_from = serializers.DateTimeField(required=False, allow_null=True, help_text="Null: from now on.")
    valid_until = serializers.DateTimeField(required=False, allow_null=True, help_text="Exclusive. Null: no end.")


class FactChange(InputSerializer):
    """Changes to a fact; omitted fields stay unchanged. Without dates changed words say when the fact holds."""

    content = serializers.CharField(required=False, max_length=wording.MAX_CONTENT)
    topic = serializers.CharField(required=False, max_length=wording.MAX_TOPIC, allow_blank=True)
    category = serializers.ChoiceField(FactCategory.choices, required=False)
    summary = serializers.CharField(required=False, max_length=wording.MAX_SUMMARY, allow_blank=True)
    detail = serializers.CharField(required=False, max_length=wording.MAX_BODY, allow_blank=True)
    valid_from = serializers.DateTimeField(required=False, allow_null=True, help_text="Null: from now on.")
    valid_until = serializers.DateTimeField(required=False, allow_null=True, help_text="Exclusive. Null: no end.")


class WrittenSerializer(serializers.Serializer[Any]):
    """A written fact and its undo event, null without a change."""

    fact = FactSerializer()
    event_id = serializers.UUIDField(source="event.pk", default=None, allow_null=True)


class RecallQuery(InputSerializer):
    """The query of a recall."""

    query = serializers.CharField(max_length=500)
    limit = serializers.IntegerField(default=10, min_value=1, max_value=MAX_RECALLED)


class RecalledFactSerializer(serializers.Serializer[Any]):
    """A fact that answers the query."""

    fact = FactSerializer()
    origin = serializers.ChoiceField(["stated", "inferred"])
    score = serializers.FloatField(allow_null=True, help_text="0..1 as extracted; null: said outright.")


class RecalledSerializer(serializers.Serializer[Any]):
    """The best answers, best first."""

    rows = RecalledFactSerializer(many=True)
    total = serializers.IntegerField()
    truncated = serializers.BooleanField()


class FactsSerializer(serializers.Serializer[Any]):
    """All versions of a fact, oldest first."""

    versions = FactSerializer(many=True)


class EventSerializer(RowSerializer):
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


class PlaceSerializer(RowSerializer):
    """A place of interest."""

    conversations = serializers.IntegerField(help_text="That mention it.")
    last_mentioned_at = serializers.DateTimeField(allow_null=True)

    class Meta:
        model = Place
        fields = ("id", "place_id", "name", "notes", "added_at", "conversations", "last_mentioned_at")


class PlacesSerializer(serializers.Serializer[Any]):
    """All places."""

    places = PlaceSerializer(many=True)


class PlaceWrittenSerializer(serializers.Serializer[Any]):
    """A written place and its undo event, null without a change."""

    id = serializers.UUIDField(source="place.pk")
    place_id = serializers.CharField(source="place.place_id")
    event_id = serializers.UUIDField(source="event.pk", default=None, allow_null=True)
