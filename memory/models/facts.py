"""Facts, their links and tombstones."""

from datetime import datetime, timedelta
from typing import ClassVar, Final, Self
from uuid import uuid4

from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Length
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual

from config.lib.fields import ContentKeyField, NormalFormField, SearchTermsField
from config.lib.owned import OwnedManager, OwnedModel, OwnedQuerySet
from memory.wording import MAX_BODY, MAX_CONTENT, MAX_RELATION, MAX_SUMMARY, MAX_TOPIC, MIN_CONTENT, FactCategory

STALE_AFTER: Final = timedelta(days=60)  # seed 000: warn about a fact not referenced for that long
TRASH_KEPT: Final = timedelta(days=30)  # seed 001: a deleted fact can be restored for that long


class FactSource(models.TextChoices):
    CHAT = "chat", "Chat"
    PROFILE = "profile", "You"
    EXTRACTED = "extracted", "Learned"
    INFERRED = "inferred", "Observed"
    IMPORTED = "imported", "Imported"


class Confidence(models.TextChoices):
    """Whether the user said it or Keel concluded it."""

    ASSERTED = "asserted", "You said so"
    INFERRED = "inferred", "Inferred"


class ArchivedReason(models.TextChoices):
    SUPERSEDED = "superseded", "Replaced by a newer version"
    USER_ARCHIVED = "user_archived", "Archived by you"
    STAFF_ARCHIVED = "staff_archived", "Archived by staff"
    USER_DELETED = "user_deleted", "Deleted by you"
    USER_CORRECTED = "user_corrected", "Corrected by you"
    AGENT_FORGET = "agent_forget", "Forgotten in a chat"
    UNDONE = "undone", "Undone"
    EVICTED = "evicted", "Left out for space"
    MERGED = "merged", "Merged into another fact"


# These reasons end a fact that had been true: a forgotten one, and one whose words another fact took over.
TRUE_UNTIL_ARCHIVED: Final = (ArchivedReason.AGENT_FORGET, ArchivedReason.MERGED)


def hold_at(now: datetime) -> Q:
    """Return the condition of validity at `now`; the end is exclusive."""
    return Q(Q(valid_until__isnull=True) | Q(valid_until__gt=now), valid_from__lte=now)


class UserFactQuerySet(OwnedQuerySet["UserFact"]):
    def current(self, now: datetime) -> Self:
        """Keep the believed rows that are valid at `now` (aware UTC)."""
        return self.believed().filter(hold_at(now))

    def believed(self) -> Self:
        """Keep the rows that are not archived, valid now or not."""
        return self.filter(archived_at__isnull=True)

    def open(self, now: datetime) -> Self:
        """Keep the believed rows that are valid at `now` or later."""
        return self.believed().filter(Q(valid_until__isnull=True) | Q(valid_until__gt=now))

    def in_document(self) -> Self:
        """Keep the rows for which the memory document has room."""
        return self.filter(left_document_at__isnull=True)

    def last_of_lineage(self) -> Self:
        """Keep the newest row of each lineage."""
        return self.filter(superseded_by__isnull=True)

    def as_of(self, valid_at: datetime, known_at: datetime) -> Self:
        """Keep the facts true at `valid_at` as known at `known_at` (aware UTC).

        A row superseded by then was true until its successor began, a forgotten or merged one until it was archived,
        and neither where a newer row of its lineage tells of the same time. A row archived for another reason, such as
        a correction, was never true. With both times now these are the current rows (settled 3).
        """
        known = UserFact.objects.filter(created_at__lte=known_at)
        is_believed = Q(archived_at__isnull=True) | Q(archived_at__gt=known_at)
        is_superseded = Q(archived_reason=ArchivedReason.SUPERSEDED)
        until_archived = Q(archived_reason__in=TRUE_UNTIL_ARCHIVED, archived_at__gt=valid_at)
        has_successor = Exists(known.filter(supersedes=OuterRef("pk"), valid_from__lte=valid_at))
        # The undo of an edit brings a fact that had ended back for its whole period.
        is_newer = is_believed | Q(is_superseded | until_archived, created_at__gt=OuterRef("created_at"))
        is_told_again = Exists(
            known.filter(is_newer, hold_at(valid_at), lineage=OuterRef("lineage")).exclude(pk=OuterRef("pk"))
        )
        was_true = (is_superseded | until_archived) & ~has_successor & ~is_told_again
        return self.filter(is_believed | was_true, hold_at(valid_at), created_at__lte=known_at)

    def archived(self) -> Self:
        """Keep the newest row of each archived lineage outside of the trash."""
        return self.last_of_lineage().filter(archived_at__isnull=False, trashed_at__isnull=True)

    def in_trash(self) -> Self:
        """Keep the newest row of each trashed lineage."""
        return self.last_of_lineage().filter(trashed_at__isnull=False)

    def by_reference(self) -> Self:
        """Order by most recently referenced, then newest, then id (settled 7)."""
        return self.order_by("-last_referenced_at", "-created_at", "id")


class UserFact(OwnedModel):
    """A version of a fact; changed content is a new row."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    lineage = models.UUIDField(editable=False)  # the id of the lineage's first row
    supersedes = models.OneToOneField(
        "self", on_delete=models.RESTRICT, null=True, blank=True, related_name="superseded_by", editable=False
    )
    category = models.CharField(max_length=20, choices=FactCategory, default=FactCategory.FACT)
    topic = models.CharField(max_length=MAX_TOPIC, blank=True)  # slug, or empty
    content = models.CharField(max_length=MAX_CONTENT)  # one line; injected into prompts
    summary = models.CharField(max_length=MAX_SUMMARY, blank=True)  # injected instead of content when set
    body = models.TextField(max_length=MAX_BODY, blank=True)  # found by recall, never injected
    normalised = NormalFormField(source="content")
    content_key = ContentKeyField(source="content")
    subject = models.CharField(max_length=64, blank=True, editable=False)  # finds facts that may exclude each other
    source = models.CharField(max_length=10, choices=FactSource)
    confidence = models.CharField(max_length=10, choices=Confidence)
    score = models.FloatField(null=True, blank=True)  # None: explicit; 0..1 as extracted, without decay
    valid_from = models.DateTimeField()
    valid_until = models.DateTimeField(null=True, blank=True)  # exclusive; None: no end
    created_at = models.DateTimeField()  # when this version was written
    learned_at = models.DateTimeField()  # when the lineage's first version was written
    archived_at = models.DateTimeField(null=True, blank=True)
    archived_reason = models.CharField(max_length=16, choices=ArchivedReason, blank=True)
    trashed_at = models.DateTimeField(null=True, blank=True)
    left_document_at = models.DateTimeField(null=True, blank=True)  # since when the memory document has no room for it
    last_referenced_at = models.DateTimeField()  # set when the coach's block is rendered with it
    last_confirmed_at = models.DateTimeField(null=True, blank=True)  # set by an affirmation only
    conversation_id = models.UUIDField(null=True, blank=True)  # a plain id: memory may not point to chat
    quotes = models.JSONField(default=list, blank=True)  # [{"message_id": int, "start": int, "end": int}]
    skill_id = models.UUIDField(null=True, blank=True)  # reserved: facts for one skill
    # Ids from an imported document: {"id", "conversation_id", "message_id"}, optional texts.
    external = models.JSONField(default=dict, blank=True)
    search_terms = SearchTermsField(sources=("content", "summary", "body"), statement="content")
    period = ""  # of a block: when it holds, if it has an end, such as "until 2027-03-01"

    # A changed content is a new row (`memory.facts.services`), because the derived columns would go stale.
    frozen_columns: ClassVar[frozenset[str]] = frozenset(
        {"content", "summary", "body", "normalised", "content_key", "subject", "search_terms"}
    )

    objects = OwnedManager.from_queryset(UserFactQuerySet)()  # type: ignore[misc]  # a manager with verbs of its own

    class Meta(OwnedModel.Meta):
        db_table = "user_facts"
        indexes = (
            models.Index(
                fields=("user", "-last_referenced_at", "-created_at", "id"),
                name="user_facts_by_reference",
                condition=Q(archived_at__isnull=True),
            ),
            # All three, because SQLite prefers the index with the most columns of a condition; the others let the page
            # count without reading rows.
            models.Index(
                fields=("user", "archived_at", "left_document_at", "topic", "valid_until"),
                name="user_facts_in_document",
            ),
            # For the advisor's block: each category by rank; the last two columns let it count without reading rows.
            models.Index(
                fields=("user", "archived_at", "category", "score", "-created_at", "-id", "valid_from", "valid_until"),
                name="user_facts_by_category",
            ),
            models.Index(fields=("user", "lineage", "created_at"), name="user_facts_by_lineage"),
            # In the order of the query: else SQLite, to which a common subject looks like no filter, reads all facts.
            models.Index(
                fields=("user", "subject", "-created_at", "id"),
                name="user_facts_by_subject",
                condition=Q(archived_at__isnull=True),
            ),
            models.Index(fields=("user", "-archived_at"), name="user_facts_archived"),
            models.Index(
                fields=("user", "trashed_at"), name="user_facts_trashed", condition=Q(trashed_at__isnull=False)
            ),
        )
        constraints = (
            models.UniqueConstraint(
                fields=("user", "content_key"), condition=Q(archived_at__isnull=True), name="user_fact_said_once"
            ),
            models.UniqueConstraint(
                fields=("user", "lineage"), condition=Q(archived_at__isnull=True), name="user_fact_one_believed_version"
            ),
            models.CheckConstraint(condition=Q(category__in=FactCategory.values), name="user_fact_category_known"),
            models.CheckConstraint(condition=Q(source__in=FactSource.values), name="user_fact_source_known"),
            models.CheckConstraint(condition=Q(confidence__in=Confidence.values), name="user_fact_confidence_known"),
            models.CheckConstraint(
                condition=Q(GreaterThanOrEqual(Length("content"), MIN_CONTENT))
                & Q(LessThanOrEqual(Length("content"), MAX_CONTENT)),
                name="user_fact_content_length",
            ),
            models.CheckConstraint(
                condition=Q(score__isnull=True) | Q(score__gte=0, score__lte=1), name="user_fact_score_is_a_share"
            ),
            models.CheckConstraint(
                condition=Q(score__isnull=True) | Q(source__in=["extracted", "inferred"], confidence="inferred"),
                name="user_fact_only_learned_has_score",
            ),
            models.CheckConstraint(
                condition=Q(archived_at__isnull=True, archived_reason="")
                | Q(archived_at__isnull=False, archived_reason__in=ArchivedReason.values),
                name="user_fact_archived_for_a_reason",
            ),
            models.CheckConstraint(
                condition=Q(trashed_at__isnull=True) | Q(archived_at__isnull=False), name="user_fact_trash_is_archived"
            ),
            models.CheckConstraint(
                condition=Q(valid_until__isnull=True) | Q(valid_until__gt=F("valid_from")),
                name="user_fact_ends_after_start",
            ),
            models.CheckConstraint(condition=~Q(supersedes=F("id")), name="user_fact_not_its_own_successor"),
        )

    def __str__(self) -> str:
        return self.content

    @property
    def line(self) -> str:
        return self.summary or self.content

    @property
    def is_inferred(self) -> bool:
        return self.confidence == Confidence.INFERRED

    @property
    def affirmed_at(self) -> datetime:
        return max(self.valid_from, self.last_confirmed_at or self.valid_from)

    @property
    def is_archived(self) -> bool:
        return self.archived_at is not None

    @property
    def gone_at(self) -> datetime | None:
        """When the trash erases the fact, if trashed."""
        return None if self.trashed_at is None else self.trashed_at + TRASH_KEPT

    def is_over(self, now: datetime) -> bool:
        """Tell whether a fact has ended, by `now` or when it was written."""
        # `now` is when the turn began; a fact written during the turn is not in the future.
        return self.valid_until is not None and self.valid_until <= max(now, self.created_at)

    def is_valid_at(self, now: datetime) -> bool:
        """Tell whether a fact is valid at `now` or was when written."""
        return self.valid_from <= max(now, self.created_at) and not self.is_over(now)

    def is_stale(self, now: datetime) -> bool:
        """Tell whether no coach's prompt had it for 60 days."""
        return now - self.last_referenced_at >= STALE_AFTER


class FactLink(OwnedModel):
    """A relation between two facts, shown while both are believed."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    from_fact = models.ForeignKey(UserFact, on_delete=models.CASCADE, db_column="from_id", related_name="+")
    to_fact = models.ForeignKey(UserFact, on_delete=models.CASCADE, db_column="to_id", related_name="+")
    relation = models.CharField(max_length=MAX_RELATION)  # one line: "relates_to", "contradicts", ...
    event = models.ForeignKey(  # the write that made it; its undo removes it
        "MemoryEvent", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

    class Meta(OwnedModel.Meta):
        db_table = "memory_links"
        constraints = (
            models.UniqueConstraint(fields=("user", "from_fact", "to_fact", "relation"), name="memory_link_once"),
            models.CheckConstraint(condition=~Q(from_fact=F("to_fact")), name="memory_link_not_to_itself"),
            models.CheckConstraint(condition=Q(relation__gt=""), name="memory_link_has_a_relation"),
        )

    def __str__(self) -> str:
        return f"{self.from_fact_id} {self.relation} {self.to_fact_id}"


class Tombstone(OwnedModel):
    """A forgotten fact's keyed digest, valid until its owner repeats it."""

    category = models.CharField(max_length=20, choices=FactCategory)
    topic = models.CharField(max_length=MAX_TOPIC, blank=True)  # a digest too (`versions.digest_topic`)
    digest = models.CharField(max_length=64)  # keyed by the user, so equal texts of two users differ
    message_ids = models.JSONField(default=list, blank=True)  # the messages that the forgotten fact quoted
    event = models.ForeignKey("MemoryEvent", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField()

    class Meta(OwnedModel.Meta):
        db_table = "memory_tombstones"
        indexes = (models.Index(fields=("user", "digest"), name="memory_tombstones_by_digest"),)
        constraints = (
            models.CheckConstraint(condition=Q(category__in=FactCategory.values), name="tombstone_category_known"),
        )

    def __str__(self) -> str:
        return f"{self.get_category_display()}, {self.created_at:%Y-%m-%d}"
