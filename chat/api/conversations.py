"""Conversations over REST."""

from datetime import datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from chat.api.serializers import conversations as shapes
from chat.api.values import message_values
from chat.conversations import lifecycle
from chat.conversations.queries import get_conversation
from chat.conversations.search import search_conversations
from chat.conversations.services import rename_conversation, start_conversation
from chat.models import Conversation, Message
from chat.turns import live
from chat.turns.replies import request_stop
from config.lib.owned import owned_tx
from config.lib.paging import get_page
from config.lib.rest.operations import describe_pages, make_act_view, read, read_pages, write
from config.lib.rest.views import ApiRequest, ApiView


class ConversationsView(ApiView):
    @read_pages(
        "list_conversations",
        "conversations",
        shapes.ConversationSerializer,
        shapes.ConversationQuery,
        by=("-last_message_at", "id"),
    )
    def get(self, status: str, trashed: bool) -> QuerySet[Conversation]:
        """List conversations, that of the latest message first."""
        rows: QuerySet[Conversation] = Conversation.objects.filter(trashed_at__isnull=not trashed)
        return rows.filter(status=status) if status else rows

    @write(
        "start_conversation",
        "conversations",
        shapes.ConversationSerializer,
        shapes.ConversationInput,
        status=HTTPStatus.CREATED,
    )
    def post(self, assistant: str | None, temporary: bool, opening_context: Any) -> Conversation:
        """Make an empty conversation; `POST chat/` without one makes it by itself."""
        now = timezone.now()
        return start_conversation(assistant=assistant, is_temporary=temporary, opening=opening_context, now=now)


class ConversationView(ApiView):
    @read("get_conversation", "conversations", shapes.ConversationSerializer)
    def get(self, conversation_id: UUID) -> Conversation:
        """Return a conversation, also one in the trash."""
        return get_conversation(conversation_id)

    @write("rename_conversation", "conversations", shapes.ConversationSerializer, shapes.TitleInput)
    def patch(self, conversation_id: UUID, title: str) -> Conversation:
        """Set the title of a conversation."""
        rename_conversation(conversation_id=conversation_id, title=title)
        return get_conversation(conversation_id)

    @write("trash_conversation", "conversations", shapes.ConversationSerializer)
    def delete(self, conversation_id: UUID) -> Conversation:
        """Move a conversation to the trash for 30 days."""
        lifecycle.trash_conversation(conversation_id=conversation_id, now=timezone.now())
        return get_conversation(conversation_id)


def _act_view(name: str, act: Any, says: str, status: int = HTTPStatus.OK) -> type[ApiView]:
    def run(conversation_id: UUID, now: datetime) -> Conversation:
        act(conversation_id=conversation_id, now=now)
        return get_conversation(conversation_id)

    answer = shapes.ConversationSerializer
    return make_act_view(f"{name}_conversation", "conversations", run, answer, says, status=status)


CloseView = _act_view(
    "close",
    lifecycle.request_close,
    "Have an active conversation closed: within a minute Keel learns from it, and lets it rest.",
    HTTPStatus.ACCEPTED,
)


class StopView(ApiView):
    @extend_schema(
        operation_id="stop_conversation",
        tags=["conversations"],
        request=None,
        responses={202: shapes.StoppedSerializer},
    )
    def post(self, request: ApiRequest, conversation_id: UUID) -> Response:
        """Stop the running reply of a conversation; its text is kept."""
        with owned_tx(request.user):
            get_conversation(conversation_id)
            was_running = request_stop(conversation_id=conversation_id, now=timezone.now())
        # The row is read within a second, in whichever process it runs; in this one it need not wait.
        async_to_sync(_stop_here)(conversation_id)
        return Response(shapes.StoppedSerializer({"was_running": was_running}).data, status=HTTPStatus.ACCEPTED)


async def _stop_here(conversation_id: UUID) -> None:
    if (turn := live.find_turn(conversation_id)) is not None:
        turn.control.stop()


class MessagesView(ApiView):
    @describe_pages("list_messages", "conversations", shapes.MessageSerializer, shapes.MessageQuery)
    def get(self, request: ApiRequest, conversation_id: UUID) -> Response:
        """List a conversation's messages, with the saved text of a running reply."""
        query = self.query(shapes.MessageQuery)
        by = ("id",) if query.pop("order") == "oldest" else ("-id",)
        rows = Message.objects.shown().filter(conversation=get_conversation(conversation_id)).defer("search_terms")
        page = get_page(rows, by=by, **query)
        items = shapes.MessageSerializer(message_values(page.items), many=True).data
        return Response({"items": items, "next_cursor": page.next_cursor})


class SearchView(ApiView):
    @read("search_conversations", "conversations", shapes.HitsSerializer, shapes.ConversationSearchQuery)
    def get(self, q: str, limit: int) -> Any:
        """Search titles and messages, best first, without trashed and temporary chats."""
        return search_conversations(query=q, limit=limit)
