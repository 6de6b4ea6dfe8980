"""What the API lists: selections that its pages are cut from, in no order. Each function answers for the owner."""

from uuid import UUID

from django.db.models import QuerySet

from chat.models import Bookmark, Conversation, Message, Role, UsageDay
from chat.queries import get_conversation


def select_conversations(*, status: str = "", trashed: bool = False) -> "QuerySet[Conversation]":
    """Return the conversations in the trash, or those that are not; an empty status fits all."""
    rows: QuerySet[Conversation] = Conversation.objects.filter(trashed_at__isnull=not trashed)
    return rows.filter(status=status) if status else rows


def select_messages(conversation_id: UUID) -> "QuerySet[Message]":
    """Return the messages of a conversation that are shown. Raises ConversationNotFound."""
    rows = Message.objects.shown().filter(conversation=get_conversation(conversation_id))
    shown: QuerySet[Message] = rows.defer("search_terms")
    return shown


def find_reply(reply_id: int) -> Message | None:
    """Return a reply, also one that a retry has replaced."""
    reply: Message | None = Message.objects.filter(pk=reply_id, role=Role.ASSISTANT).defer("search_terms").first()
    return reply


def find_conversation_of(client_id: UUID) -> UUID | None:
    """Return the conversation that a message was sent to under this id."""
    rows = Message.objects.filter(role=Role.USER, client_id=client_id).order_by("-pk")
    found: UUID | None = rows.values_list("conversation_id", flat=True).first()
    return found


def select_bookmarks() -> "QuerySet[Bookmark]":
    """Return the replies that the journal keeps."""
    rows: QuerySet[Bookmark] = Bookmark.objects.all()
    return rows


def select_usage() -> "QuerySet[UsageDay]":
    """Return the days on which chats used a model."""
    rows: QuerySet[UsageDay] = UsageDay.objects.all()
    return rows
