import hashlib
from typing import Any, ClassVar, Final, Self
from uuid import uuid4

from django.db import models
from django.db.models import F, Q

from config.lib.fields import SearchTermsField
from config.lib.owned import OwnedModel, OwnedQuerySet, ScopedManager

MAX_TITLE: Final = 80


class AssistantName(models.TextChoices):
    """Which face of the memory a conversation speaks with."""

    COACH = "coach", "Coach"
    ADVISOR = "advisor", "Advisor"
    COMPANION = "companion", "Companion"


class ConversationStatus(models.TextChoices):
    """Where a conversation stands in its life."""

    ACTIVE = "active", "Active"
    CLOSING = "closing", "Closing"
    IDLE = "idle", "Idle"
    ARCHIVED = "archived", "Archived"


class Role(models.TextChoices):
    """Whose message it is."""

    USER = "user", "You"
    ASSISTANT = "assistant", "Keel"


class MessageStatus(models.TextChoices):
    """How far a message got; only replies are ever anything but complete."""

    COMPLETE = "complete", "Complete"
    STREAMING = "streaming", "Streaming"
    INTERRUPTED = "interrupted", "Interrupted"
    FAILED = "failed", "Failed"


class Conversation(OwnedModel):
    """One chat between a user and Keel."""

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
    # Closing: whoever holds the lease extracts; a lease that ran out is taken by the sweep.
    closing_token = models.UUIDField(null=True, blank=True)
    closing_until = models.DateTimeField(null=True, blank=True)
    extracted_through = models.BigIntegerField(default=0)  # id of the last message that an extraction was sent
    summary = models.TextField(blank=True)  # of what was extracted, as the extractor put it
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


class MemorySnapshot(OwnedModel):
    """A memory block as it was rendered for one conversation: what its prompts carried, byte for byte."""

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
        """Whether its text was deleted; the digest tells what it was from a block that was empty."""
        return not self.text and self.sha256 != hashlib.sha256(b"").hexdigest()


class MessageQuerySet(OwnedQuerySet["Message"]):
    """Messages of the owner in scope."""

    def shown(self) -> Self:
        """Keep the messages that the user and the model see: not those that a retry replaced."""
        return self.filter(replaced_at__isnull=True)

    def streaming(self) -> Self:
        """Keep the replies that are being written."""
        return self.filter(status=MessageStatus.STREAMING)


MessageManager = ScopedManager.from_queryset(MessageQuerySet)


class Message(OwnedModel):
    """What the user typed, or one whole reply: its text, tool calls and memory lines are its ordered parts."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="messages")
    role = models.CharField(max_length=10, choices=Role)
    status = models.CharField(max_length=12, choices=MessageStatus, default=MessageStatus.COMPLETE)
    content = models.TextField(blank=True)  # the user's words; of a reply, its text alone
    parts = models.JSONField(default=list, blank=True)  # replies: chat.parts
    client_id = models.UUIDField(null=True, blank=True)  # the sender's: a resend is not a second message
    reply_to = models.ForeignKey("self", on_delete=models.CASCADE, null=True, blank=True, related_name="replies")
    snapshot = models.ForeignKey(MemorySnapshot, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    model = models.CharField(max_length=120, blank=True)  # the one that answered
    usage = models.JSONField(null=True, blank=True)  # {"prompt_tokens": int, "completion_tokens": int, ...}
    error = models.CharField(max_length=300, blank=True)  # why the reply ended early, as shown
    created_at = models.DateTimeField()  # of a reply: the clock its prompt was given
    finished_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)  # the turn that writes it was alive then
    stop_requested_at = models.DateTimeField(null=True, blank=True)  # read by the process that runs the turn
    replaced_at = models.DateTimeField(null=True, blank=True)  # a retry took its place
    # Replies: text that the user did not type (news, trade reasons, imports) was in the model's view.
    is_untrusted = models.BooleanField(default=False)
    search_terms = SearchTermsField(sources=("content",))  # of a reply: set when it ends, not while it grows

    objects: ClassVar[Any] = MessageManager()  # type: ignore[assignment]

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
                fields=("conversation", "client_id"),
                condition=Q(client_id__isnull=False),
                name="message_sent_once",
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
