"""Facts over REST."""

from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from rest_framework import serializers

from config.lib.rest.operations import NEW_OR_KNOWN, act, action, read, read_page, write
from config.lib.rest.views import ApiViewSet, InputSerializer, PageQuery, ReadOnlySerializer, define_answer
from memory import wording
from memory.claims.validity import Validity
from memory.facts import services
from memory.facts.history import list_versions
from memory.facts.queries import FactFilter, find_last_version, select_facts
from memory.facts.review import close_fulfilled
from memory.models import Confidence, FactCategory, FactSource, UserFact, UserFactQuerySet
from memory.recall.search import MAX_RECALLED, recall_for_user


class FactSerializer(ReadOnlySerializer):
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


FactsSerializer = define_answer("Facts", "All versions of a fact, oldest first.", versions=FactSerializer(many=True))


class FactViewSet(ApiViewSet):
    """Facts; the id of any version leads to the newest."""

    areas = frozenset(("facts",))
    lookup_url_kwarg = "fact_id"

    @read_page("list_facts", FactSerializer, FactQuery)
    def list(self, **query: Any) -> UserFactQuerySet:
        """List facts, the newest first."""
        wanted = FactFilter(shelf=query.pop("state"), words=query.pop("q"), **query)
        return select_facts(wanted, timezone.now())

    @write("add_fact", WrittenSerializer, FactInput, status=NEW_OR_KNOWN)
    def create(self, **fields: Any) -> Any:
        """Add a fact; 200 when it is known already."""
        now = timezone.now()
        words = {**_replace_dates(fields), "confidence": Confidence.ASSERTED, "source": FactSource.PROFILE}
        written = services.remember_fact(**words, now=now)
        close_fulfilled(conversation_id=None, now=now)
        return written, written.event is not None

    @read("recall_facts", RecalledSerializer, RecallQuery)
    @action(detail=False)
    def recall(self, **query: Any) -> Any:
        """Search current facts, hidden ones included, best first."""
        with self.door_closed():
            return recall_for_user(self.user.pk, **query, now=timezone.now())

    @read("get_fact", FactSerializer)
    def retrieve(self, fact_id: UUID) -> UserFact:
        """Return the newest version of a fact."""
        return _get_newest(fact_id)

    @write("change_fact", WrittenSerializer, FactChange)
    def partial_update(self, fact_id: UUID, **fields: Any) -> Any:
        """Correct a fact; the id must be that of the newest version."""
        newest = _get_newest(fact_id)
        given = {"content": newest.content, **_replace_dates(fields, newest)}
        return services.supersede_fact(fact_id=fact_id, **given, now=timezone.now())

    @write("delete_fact", WrittenSerializer)
    def destroy(self, fact_id: UUID) -> Any:
        """Move a fact to the trash for 30 days."""
        return services.delete_fact(fact_id=fact_id, now=timezone.now())

    @read("list_fact_history", FactsSerializer)
    @action(detail=True)
    def history(self, fact_id: UUID) -> Any:
        """List all versions of a fact, oldest first."""
        return {"versions": list_versions(_get_newest(fact_id).lineage)}

    confirm = act("confirm_fact", services.confirm_fact, WrittenSerializer)
    promote = act("promote_fact", services.promote_fact, WrittenSerializer)
    demote = act("demote_fact", services.demote_fact, WrittenSerializer)
    archive = act("archive_fact", services.archive_fact, WrittenSerializer)
    restore = act("restore_fact", services.restore_fact, WrittenSerializer)


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
