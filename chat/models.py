import hashlib
from datetime import datetime
from typing import ClassVar, Final, Self
from uuid import uuid4

from django.db import models
from django.db.models import F, Q

from config.lib.fields import SearchTermsField
from config.lib.owned import OwnedManager, OwnedModel, OwnedQuerySet
from memory.models import TRASH_KEPT
from trading.models.deployments import ActionType

MAX_TITLE: Final = 80


class AssistantName(models.TextChoices):
    COACH = "coach", "Coach"
    ADVISOR = "advisor", "Advisor"
    COMPANION = "companion", "Companion"


class ConversationStatus(models.TextChoices):
    ACTIVE = "active", "Active"
    CLOSING = "closing", "Closing"
    IDLE = "idle", "Idle"
    ARCHIVED = "archived", "Archived"


class Role(models.TextChoices):
    USER = "user", "You"
    ASSISTANT = "assistant", "Keel"


class MessageStatus(models.TextChoices):
    COMPLETE = "complete", "Complete"
    STREAMING = "streaming", "Streaming"
    INTERRUPTED = "interrupted", "Interrupted"
    FAILED = "failed", "Failed"


class Conversation(OwnedModel):
    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    assistant = models.CharField(max_length=10, choices=AssistantName, default=AssistantName.COACH)
    opening_context = models.JSONField(default=dict, blank=True)  # {"mode": "ops"} and, by mode, what it is about
    status = models.CharField(max_length=10, choices=ConversationStatus, default=ConversationStatus.ACTIVE)
    title = models.CharField(max_length=MAX_TITLE, blank=True)
    # The memory block its prompts carry, frozen at the first turn.
    snapshot = models.ForeignKey("MemorySnapshot", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    is_temporary = models.BooleanField(default=False)  # teaches Keel nothing, and is deleted when it ends
    created_at = models.DateTimeField()
    last_message_at = models.DateTimeField()
    left_at = models.DateTimeField(null=True, blank=True)  # its page was left then; no socket of it is known since
    trashed_at = models.DateTimeField(null=True, blank=True)  # a separate axis from `status`
    # Closing: the holder of the lease extracts; the sweep takes an expired lease.
    closing_token = models.UUIDField(null=True, blank=True)
    closing_until = models.DateTimeField(null=True, blank=True)
    extracted_through = models.BigIntegerField(default=0)  # id of the last message that an extraction was sent
    summary = models.TextField(blank=True)  # the extractor's summary of the chat
    is_title_chosen = models.BooleanField(default=False)  # by the user or by a model: no first words any more
    extraction_pending = models.BooleanField(default=False)  # the last try failed
    extraction_tries = models.PositiveSmallIntegerField(default=0)
    extraction_due_at = models.DateTimeField(null=True, blank=True)  # when the next try is due

    class Meta(OwnedModel.Meta):
        db_table = "agent_conversations"
        indexes = (
            models.Index(fields=("user", "-last_message_at"), name="conversations_by_recency"),
            # What the sweep looks for, over all users.
            models.Index(fields=("status", "last_message_at"), name="conversations_to_close"),
            models.Index(
                fields=("extraction_due_at",), name="conversations_to_extract", condition=Q(extraction_pending=True)
            ),
            models.Index(fields=("trashed_at",), name="conversations_trashed", condition=Q(trashed_at__isnull=False)),
        )
        constraints = (
            models.CheckConstraint(
                condition=Q(assistant__in=AssistantName.values), name="conversation_assistant_known"
            ),
            models.CheckConstraint(condition=Q(status__in=ConversationStatus.values), name="conversation_status_known"),
            models.CheckConstraint(
                condition=Q(status="closing", closing_token__isnull=False, closing_until__isnull=False)
                | ~Q(status="closing") & Q(closing_token__isnull=True, closing_until__isnull=True),
                name="conversation_closing_has_lease",
            ),
        )

    def __str__(self) -> str:
        return self.title or "New chat"

    @property
    def kept_until(self) -> datetime | None:
        """When a chat in the trash is deleted for good."""
        return self.trashed_at and self.trashed_at + TRASH_KEPT


class MemorySnapshot(OwnedModel):
    """The memory block of one conversation, byte for byte."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="snapshots")
    text = models.TextField(blank=True)  # empty: there was nothing to say
    sha256 = models.CharField(max_length=64)  # of the text, hex
    fact_ids = models.JSONField(default=list)  # [uuid], in the order of the lines
    created_at = models.DateTimeField()

    class Meta(OwnedModel.Meta):
        db_table = "memory_snapshots"
        indexes = (models.Index(fields=("user", "conversation", "created_at"), name="snapshots_by_conversation"),)

    def __str__(self) -> str:
        return f"{len(self.fact_ids)} facts, {self.sha256[:12]}"

    @property
    def is_erased(self) -> bool:
        """Whether the text was deleted; an empty block differs by digest."""
        return not self.text and self.sha256 != hashlib.sha256(b"").hexdigest()


class MessageQuerySet(OwnedQuerySet["Message"]):
    def shown(self) -> Self:
        """Keep the messages that no retry or edit replaced."""
        return self.filter(replaced_at__isnull=True)

    def streaming(self) -> Self:
        return self.filter(status=MessageStatus.STREAMING)


class Message(OwnedModel):
    """A user's message or a whole reply with its ordered parts."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="messages")
    role = models.CharField(max_length=10, choices=Role)
    status = models.CharField(max_length=12, choices=MessageStatus, default=MessageStatus.COMPLETE)
    content = models.TextField(blank=True)  # the user's words; of a reply, its text alone
    parts = models.JSONField(default=list, blank=True)  # replies: chat.parts
    client_id = models.UUIDField(null=True, blank=True)  # the sender's: a resend is not a second message
    reply_to = models.ForeignKey("self", on_delete=models.CASCADE, null=True, blank=True, related_name="replies")
    snapshot = models.ForeignKey(MemorySnapshot, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # Replies: what Keel wrote before the user's words in the message that the model answered (chat.parts).
    preamble = models.JSONField(default=list, blank=True)
    model = models.CharField(max_length=120, blank=True)  # the one that answered
    usage = models.JSONField(null=True, blank=True)  # {"prompt_tokens": int, "completion_tokens": int, ...}
    reserved_tokens = models.PositiveIntegerField(default=0)  # of the day's budget, while the reply is written
    error = models.CharField(max_length=300, blank=True)  # why the reply ended early, as shown
    created_at = models.DateTimeField()  # of a reply: the clock its prompt was given
    finished_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)  # the turn that writes it was alive then
    stop_requested_at = models.DateTimeField(null=True, blank=True)  # read by the process that runs the turn
    replaced_at = models.DateTimeField(null=True, blank=True)  # a retry, or an edit of what it answered, took its place
    is_continuation = models.BooleanField(default=False)  # a reply that goes on where the one before it broke off
    # Replies: text that the user did not type (news, trade reasons, imports) was in the model's view.
    is_untrusted = models.BooleanField(default=False)
    search_terms = SearchTermsField(sources=("content",))  # of a reply: set when it ends, not while it grows

    objects = OwnedManager.from_queryset(MessageQuerySet)()  # type: ignore[misc]  # a manager with verbs of its own

    class Meta(OwnedModel.Meta):
        db_table = "agent_messages"
        indexes = (
            models.Index(fields=("user", "conversation", "id"), name="messages_by_conversation"),
            models.Index(fields=("user", "role", "created_at"), name="messages_by_time"),
            models.Index(fields=("heartbeat_at",), name="messages_streaming", condition=Q(status="streaming")),
        )
        constraints = (
            models.CheckConstraint(condition=Q(role__in=Role.values), name="message_role_known"),
            models.CheckConstraint(condition=Q(status__in=MessageStatus.values), name="message_status_known"),
            models.UniqueConstraint(
                fields=("conversation", "client_id"), condition=Q(client_id__isnull=False), name="message_sent_once"
            ),
            models.UniqueConstraint(
                fields=("conversation",), condition=Q(status="streaming"), name="message_one_turn_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(role="assistant") | Q(status="complete", content__gt=""), name="message_user_says_something"
            ),
            models.CheckConstraint(
                condition=~Q(status="streaming") | Q(heartbeat_at__isnull=False), name="message_streaming_has_heartbeat"
            ),
            models.CheckConstraint(condition=~Q(reply_to=F("id")), name="message_not_its_own_reply"),
        )

    def __str__(self) -> str:
        return f"{self.get_role_display()}: {self.content[:60]}"

    @property
    def is_streaming(self) -> bool:
        return self.status == MessageStatus.STREAMING


class ConversationSummary(OwnedModel):
    """The summary that replaces older messages in prompts."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="summaries", db_index=False)
    text = models.TextField()
    sha256 = models.CharField(max_length=64)  # of the text, hex
    through = models.BigIntegerField()  # id of the last summarised message
    is_untrusted = models.BooleanField(default=False)  # it was made from text that the user did not type
    model = models.CharField(max_length=120)
    created_at = models.DateTimeField()
    replaced_at = models.DateTimeField(null=True, blank=True)  # an edit changed the summarised messages

    class Meta(OwnedModel.Meta):
        db_table = "conversation_summaries"
        verbose_name_plural = "conversation summaries"
        indexes = (models.Index(fields=("user", "conversation", "-through"), name="summaries_by_conversation"),)
        constraints = (models.CheckConstraint(condition=Q(text__gt=""), name="summary_says_something"),)

    def __str__(self) -> str:
        return self.text[:60]


class PromptText(OwnedModel):
    sha256 = models.CharField(max_length=64)  # of the text, hex
    text = models.TextField()

    class Meta(OwnedModel.Meta):
        db_table = "prompt_texts"
        constraints = (models.UniqueConstraint(fields=("user", "sha256"), name="prompt_text_once"),)

    def __str__(self) -> str:
        return self.sha256[:12]


class Receipt(OwnedModel):
    """The parts of a reply's prompt, from which it is rebuilt."""

    reply = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="receipt")
    segments = models.JSONField(default=list)  # [{"name", "sha256"}]: the system prompt, in its order
    summary = models.ForeignKey(ConversationSummary, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    message_ids = models.JSONField(default=list)  # of the history, oldest first
    tools_sha256 = models.CharField(max_length=64)  # of their schemas, which are a PromptText
    models_asked = models.JSONField(default=list)  # in turn, until one answered
    effort = models.CharField(max_length=10, blank=True, default="")  # of reasoning; empty: the provider's default
    sha256 = models.CharField(max_length=64)  # of all that was sent first, hex

    class Meta(OwnedModel.Meta):
        db_table = "prompt_receipts"

    def __str__(self) -> str:
        return self.sha256[:12]


class CardStatus(models.TextChoices):
    PENDING = "pending", "Waiting for you"
    CONFIRMED = "confirmed", "Confirmed"
    CANCELLED = "cancelled", "Cancelled"
    EXPIRED = "expired", "Expired"


class ActionCard(OwnedModel):
    """An action to confirm, with the state it was drawn for."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="cards", db_index=False)
    type = models.CharField(max_length=14, choices=ActionType)
    payload = models.JSONField()  # what runs: ids and numbers, checked when the card was drawn
    lines = models.JSONField()  # [[label, text]]: what the card says, drawn from rows
    fingerprint = models.CharField(max_length=64)  # sha256 of the state it was drawn for; any other refuses it
    digest = models.CharField(
        max_length=64
    )  # sha256 of type, payload, lines and fingerprint: only the shown action runs
    status = models.CharField(max_length=9, choices=CardStatus, default=CardStatus.PENDING)
    outcome = models.JSONField(default=dict, blank=True)  # {"command_id" | "deployment_id" | "run_id": "..."}
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)

    frozen_columns: ClassVar[frozenset[str]] = frozenset({"type", "payload", "lines", "fingerprint", "digest"})

    class Meta(OwnedModel.Meta):
        db_table = "action_cards"
        indexes = (
            models.Index(fields=("user", "conversation", "created_at"), name="cards_by_conversation"),
            # What the sweep looks for, over all users.
            models.Index(fields=("expires_at",), name="cards_waiting", condition=Q(status="pending")),
        )
        constraints = (
            models.CheckConstraint(condition=Q(type__in=ActionType.values), name="card_type_known"),
            models.CheckConstraint(condition=Q(status__in=CardStatus.values), name="card_status_known"),
            models.CheckConstraint(
                condition=Q(status="pending", decided_at__isnull=True)
                | (~Q(status="pending") & Q(decided_at__isnull=False)),
                name="card_decided_has_its_time",
            ),
            models.CheckConstraint(condition=Q(expires_at__gt=F("created_at")), name="card_lives_a_while"),
        )

    def __str__(self) -> str:
        return f"{self.get_type_display()}: {self.get_status_display()}"


class Bookmark(OwnedModel):
    """A bookmarked reply; its copied text outlives the chat."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    message = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    text = models.TextField()
    note = models.CharField(max_length=500, blank=True)  # the user's own
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta(OwnedModel.Meta):
        db_table = "bookmarks"
        indexes = (models.Index(fields=("user", "-created_at"), name="bookmarks_by_time"),)
        constraints = (
            models.UniqueConstraint(
                fields=("user", "message"), condition=Q(message__isnull=False), name="bookmark_once_per_reply"
            ),
            models.CheckConstraint(condition=Q(text__gt=""), name="bookmark_keeps_something"),
        )

    def __str__(self) -> str:
        return self.note or self.text[:60]

    @property
    def conversation(self) -> Conversation | None:
        """Its chat, if that still exists."""
        return self.message.conversation if self.message else None

    @property
    def shown_id(self) -> int | None:
        """The id of its message in that chat; None after an edit or a retry."""
        return self.message.pk if self.message and self.message.replaced_at is None else None


class DayNote(OwnedModel):
    day = models.DateField()  # in the user's zone when they wrote it
    text = models.TextField(max_length=4000)
    updated_at = models.DateTimeField()

    class Meta(OwnedModel.Meta):
        db_table = "day_notes"
        constraints = (
            models.UniqueConstraint(fields=("user", "day"), name="day_note_once_a_day"),
            models.CheckConstraint(condition=Q(text__gt=""), name="day_note_says_something"),
        )

    def __str__(self) -> str:
        return f"{self.day}: {self.text[:60]}"


class UsageDay(OwnedModel):
    day = models.DateField()
    turns = models.PositiveIntegerField(default=0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)
    cached_tokens = models.PositiveBigIntegerField(default=0)  # of the prompt tokens, read from a provider's cache
    cache_write_tokens = models.PositiveBigIntegerField(default=0)  # of the prompt tokens, written to one
    reserved_tokens = models.PositiveBigIntegerField(default=0)  # by turns that are under way
    cost_usd = models.DecimalField(max_digits=14, decimal_places=6, default=0)  # as far as prices are known
    saved_usd = models.DecimalField(
        max_digits=14, decimal_places=6, default=0
    )  # by caching, as far as prices are known

    class Meta(OwnedModel.Meta):
        db_table = "usage_days"
        constraints = (models.UniqueConstraint(fields=("user", "day"), name="usage_once_a_day"),)

    def __str__(self) -> str:
        return f"{self.day}: {self.used_tokens} tokens"

    @property
    def used_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens
