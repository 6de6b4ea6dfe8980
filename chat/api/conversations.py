"""Conversations over REST."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers
from rest_framework.response import Response

from chat.api.fields import OpeningInput, PartsField, TitleField
from chat.api.values import message_values
from chat.conversations import lifecycle
from chat.conversations.queries import get_conversation
from chat.conversations.search import MAX_HITS, search_conversations
from chat.conversations.services import rename_conversation, start_conversation
from chat.models import AssistantName, Conversation, ConversationStatus, Message, MessageStatus, Role
from chat.turns import live
from chat.turns.replies import request_stop
from config.lib.owned import owned_tx
from config.lib.paging import get_page
from config.lib.rest.operations import action, describe, read, read_page, write
from config.lib.rest.views import (
    ApiRequest,
    ApiViewSet,
    InputSerializer,
    PageQuery,
    ReadOnlySerializer,
    page_serializer,
)


class ConversationQuery(PageQuery):
    status = serializers.ChoiceField(ConversationStatus.choices, default="")
    trashed = serializers.BooleanField(default=False, help_text="Those in the trash, instead of the others.")


class ConversationInput(InputSerializer):
    """A new conversation; the model sees its focus, the user does not."""

    assistant = serializers.ChoiceField(AssistantName.choices, default=None, help_text="Left out: the site's default.")
    temporary = serializers.BooleanField(
        default=False, help_text="It teaches Keel nothing, and is deleted when it ends."
    )
    opening_context = OpeningInput(default=None)


class TitleInput(InputSerializer):
    """A new title."""

    title = TitleField()


class ConversationSerializer(ReadOnlySerializer):
    """A conversation, without its messages."""

    opening_context = serializers.DictField(
        child=serializers.CharField(), read_only=True, help_text="`mode`, and what the chat is about, as it was opened."
    )

    class Meta:
        model = Conversation
        fields = (
            *("id", "assistant", "title", "status", "is_temporary", "opening_context"),
            *("created_at", "last_message_at", "trashed_at"),
        )


class StoppedSerializer(serializers.Serializer[Any]):
    """Whether a running turn was asked to stop."""

    was_running = serializers.BooleanField(help_text="A reply was being written; it ends soon, and what it says stays.")


class MessageQuery(PageQuery):
    order = serializers.ChoiceField(["oldest", "newest"], default="oldest", help_text="Which comes first.")


class MessageSerializer(serializers.Serializer[Any]):
    """What the user typed, or one reply."""

    id = serializers.IntegerField()
    role = serializers.ChoiceField(Role.choices)
    status = serializers.ChoiceField(MessageStatus.choices)
    content = serializers.CharField(help_text="The words alone; of a reply, Markdown.")
    parts = PartsField(help_text="Of a reply: its text, tool calls, memory lines and cards, in order.")
    error = serializers.CharField(help_text="Why a reply ended early; empty when it did not.")
    model = serializers.CharField(help_text="The one that answered.")
    usage = serializers.DictField(allow_null=True, help_text="Tokens: `prompt_tokens`, `completion_tokens`, ...")
    client_id = serializers.UUIDField(allow_null=True, help_text="That the sender gave the message.")
    reply_to = serializers.IntegerField(allow_null=True, help_text="Of a reply: the message that it answers.")
    is_continuation = serializers.BooleanField(help_text="It goes on where the reply before it broke off.")
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class ConversationSearchQuery(InputSerializer):
    q = serializers.CharField(max_length=200, help_text="Any of these words, or what is near to them in meaning.")
    limit = serializers.IntegerField(default=20, min_value=1, max_value=MAX_HITS)


class RangeField(serializers.ListField):
    """Where a word stands: start and end (exclusive), in characters."""

    child = serializers.IntegerField()


class HitSerializer(serializers.Serializer[Any]):
    """A conversation that answers, with the message that does so best."""

    conversation = ConversationSerializer()
    message_id = serializers.IntegerField(allow_null=True, help_text="Null: its title alone answers.")
    snippet = serializers.CharField(help_text="Of that message, on one line.")
    snippet_ranges = serializers.ListField(child=RangeField(), help_text="Where the words stand in the snippet.")
    title_ranges = serializers.ListField(child=RangeField(), help_text="Where they stand in the title.")
    score = serializers.FloatField(help_text="Comparable within one answer only.")


class HitsSerializer(serializers.Serializer[Any]):
    """The best conversations, best first."""

    items = HitSerializer(many=True, source="rows")
    total = serializers.IntegerField(help_text="How many answer; of very common words, among the newest messages.")
    truncated = serializers.BooleanField(help_text="There are more than the items.")


class ConversationViewSet(ApiViewSet):
    areas = frozenset(("chats",))
    lookup_url_kwarg = "conversation_id"

    @read_page("list_conversations", ConversationSerializer, ConversationQuery)
    def list(self, status: str, trashed: bool) -> QuerySet[Conversation]:
        """List conversations, that of the latest message first."""
        rows: QuerySet[Conversation] = Conversation.objects.filter(trashed_at__isnull=not trashed)
        return (rows.filter(status=status) if status else rows).order_by("-last_message_at", "id")

    @write("start_conversation", ConversationSerializer, ConversationInput, status=HTTPStatus.CREATED)
    def create(self, assistant: str | None, temporary: bool, opening_context: Any) -> Conversation:
        """Make an empty conversation; `POST chat/` without one makes it by itself."""
        now = timezone.now()
        return start_conversation(assistant=assistant, is_temporary=temporary, opening=opening_context, now=now)

    @read("search_conversations", HitsSerializer, ConversationSearchQuery)
    @action(detail=False)
    def search(self, q: str, limit: int) -> Any:
        """Search titles and messages, best first, without trashed and temporary chats."""
        return search_conversations(query=q, limit=limit)

    @read("get_conversation", ConversationSerializer)
    def retrieve(self, conversation_id: UUID) -> Conversation:
        """Return a conversation, also one in the trash."""
        return get_conversation(conversation_id)

    @write("rename_conversation", ConversationSerializer, TitleInput)
    def partial_update(self, conversation_id: UUID, title: str) -> Conversation:
        """Set the title of a conversation."""
        rename_conversation(conversation_id=conversation_id, title=title)
        return get_conversation(conversation_id)

    @write("trash_conversation", ConversationSerializer)
    def destroy(self, conversation_id: UUID) -> Conversation:
        """Move a conversation to the trash for 30 days."""
        lifecycle.trash_conversation(conversation_id=conversation_id, now=timezone.now())
        return get_conversation(conversation_id)

    @write("close_conversation", ConversationSerializer, status=HTTPStatus.ACCEPTED)
    @action(detail=True, methods=["post"])
    def close(self, conversation_id: UUID) -> Conversation:
        """Have an active conversation closed: within a minute Keel learns from it, and lets it rest."""
        lifecycle.request_close(conversation_id=conversation_id, now=timezone.now())
        return get_conversation(conversation_id)

    @describe(operation_id="stop_conversation", request=None, responses={202: StoppedSerializer})
    @action(detail=True, methods=["post"])
    def stop(self, request: ApiRequest, conversation_id: UUID) -> Response:
        """Stop the running reply of a conversation; its text is kept."""
        with owned_tx(request.user):
            get_conversation(conversation_id)
            was_running = request_stop(conversation_id=conversation_id, now=timezone.now())
        # The row is read within a second, in whichever process it runs; in this one it need not wait.
        async_to_sync(_stop_here)(conversation_id)
        return Response(StoppedSerializer({"was_running": was_running}).data, status=HTTPStatus.ACCEPTED)

    @read("list_messages", page_serializer(MessageSerializer), MessageQuery)
    @action(detail=True)
    def messages(self, conversation_id: UUID, order: str, **place: Any) -> Any:
        """List a conversation's messages, with the saved text of a running reply."""
        rows = Message.objects.shown().filter(conversation=get_conversation(conversation_id)).defer("search_terms")
        page = get_page(rows, by=("id",) if order == "oldest" else ("-id",), **place)
        return {"items": message_values(page.items), "next_cursor": page.next_cursor}


async def _stop_here(conversation_id: UUID) -> None:
    if (turn := live.find_turn(conversation_id)) is not None:
        turn.control.stop()
