"""Conversations over REST."""

from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus
from typing import Any, ClassVar
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.response import Response

from chat.api.serializers.conversations import (
    ConversationInput,
    ConversationQuery,
    ConversationSearchQuery,
    ConversationSerializer,
    HitsSerializer,
    MessageQuery,
    MessageSerializer,
    StoppedSerializer,
    TitleInput,
)
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
from config.lib.rest.views import ApiRequest, ApiView, answer_page, page_serializer

_LATEST = ("-last_message_at", "id")
Act = Callable[..., Any]


class ConversationsView(ApiView):
    @extend_schema(
        operation_id="list_conversations",
        tags=["conversations"],
        parameters=[ConversationQuery],
        responses=page_serializer(ConversationSerializer),
    )
    def get(self, request: ApiRequest) -> Response:
        """List conversations, that of the latest message first."""
        query = self.query(ConversationQuery)
        page = {name: query.pop(name) for name in ("cursor", "limit")}
        return answer_page(get_page(select_conversations(**query), by=_LATEST, **page), ConversationSerializer)

    @extend_schema(
        operation_id="start_conversation",
        tags=["conversations"],
        request=ConversationInput,
        responses={201: ConversationSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Make an empty conversation; `POST chat/` without one makes it by itself."""
        fields = self.body(ConversationInput)
        with owned_tx(request.user):
            made = start_conversation(
                assistant=fields["assistant"],
                is_temporary=fields["temporary"],
                opening=fields["opening_context"],
                now=timezone.now(),
            )
        return Response(ConversationSerializer(made).data, status=HTTPStatus.CREATED)


class ConversationView(ApiView):
    @extend_schema(operation_id="get_conversation", tags=["conversations"], responses=ConversationSerializer)
    def get(self, request: ApiRequest, conversation_id: UUID) -> Response:
        """Return a conversation, also one in the trash."""
        return _answer_conversation(conversation_id)

    @extend_schema(
        operation_id="rename_conversation", tags=["conversations"], request=TitleInput, responses=ConversationSerializer
    )
    def patch(self, request: ApiRequest, conversation_id: UUID) -> Response:
        """Set the title of a conversation."""
        fields = self.body(TitleInput)
        with owned_tx(request.user):
            rename_conversation(conversation_id=conversation_id, **fields)
        return _answer_conversation(conversation_id)

    @extend_schema(operation_id="trash_conversation", tags=["conversations"], responses=ConversationSerializer)
    def delete(self, request: ApiRequest, conversation_id: UUID) -> Response:
        """Move a conversation to the trash for 30 days."""
        with owned_tx(request.user):
            lifecycle.trash_conversation(conversation_id=conversation_id, now=timezone.now())
        return _answer_conversation(conversation_id)


def _answer_conversation(conversation_id: UUID, status: int = HTTPStatus.OK) -> Response:
    return Response(ConversationSerializer(get_conversation(conversation_id)).data, status=status)


class ActView(ApiView):
    """Something done to a conversation that needs no further word."""

    act: ClassVar[Act]
    status: ClassVar[int]

    def post(self, request: ApiRequest, conversation_id: UUID) -> Response:
        """Do it."""
        with owned_tx(request.user):
            type(self).act(conversation_id=conversation_id, now=timezone.now())
        return _answer_conversation(conversation_id, type(self).status)


def _act_view(name: str, act: Act, says: str, status: int = HTTPStatus.OK) -> type[ActView]:
    schema = extend_schema(
        operation_id=f"{name}_conversation",
        description=says,
        tags=["conversations"],
        request=None,
        responses={status: ConversationSerializer},
    )
    content = {"act": staticmethod(act), "status": status, "__doc__": says}
    view = type(f"{name.capitalize()}View", (ActView,), content)
    return extend_schema_view(post=schema)(view)


def _restore_now(*, conversation_id: UUID, now: datetime) -> None:
    lifecycle.restore_conversation(conversation_id=conversation_id)


CloseView = _act_view(
    "close",
    lifecycle.request_close,
    "Have an active conversation closed: within a minute Keel learns from it, and lets it rest.",
    HTTPStatus.ACCEPTED,
)
ArchiveView = _act_view("archive", lifecycle.archive_conversation, "Put a conversation among the archived ones.")
UnarchiveView = _act_view(
    "unarchive", lifecycle.unarchive_conversation, "Take a conversation out of the archived ones."
)
RestoreView = _act_view("restore", _restore_now, "Take a conversation out of the trash.")


class StopView(ApiView):
    @extend_schema(
        operation_id="stop_conversation", tags=["conversations"], request=None, responses={202: StoppedSerializer}
    )
    def post(self, request: ApiRequest, conversation_id: UUID) -> Response:
        """Stop the running reply of a conversation; its text is kept."""
        with owned_tx(request.user):
            get_conversation(conversation_id)
            was_running = request_stop(conversation_id=conversation_id, now=timezone.now())
        # The row is read within a second, in whichever process it runs; in this one it need not wait.
        async_to_sync(_stop_here)(conversation_id)
        return Response(StoppedSerializer({"was_running": was_running}).data, status=HTTPStatus.ACCEPTED)


async def _stop_here(conversation_id: UUID) -> None:
    if (turn := live.find_turn(conversation_id)) is not None:
        turn.control.stop()


class MessagesView(ApiView):
    @extend_schema(
        operation_id="list_messages",
        tags=["conversations"],
        parameters=[MessageQuery],
        responses=page_serializer(MessageSerializer),
    )
    def get(self, request: ApiRequest, conversation_id: UUID) -> Response:
        """List a conversation's messages, with the saved text of a running reply."""
        query = self.query(MessageQuery)
        by = ("id",) if query.pop("order") == "oldest" else ("-id",)
        page = get_page(select_messages(conversation_id), by=by, **query)
        items = MessageSerializer(message_values(page.items), many=True).data
        return Response({"items": items, "next_cursor": page.next_cursor})


class SearchView(ApiView):
    @extend_schema(
        operation_id="search_conversations",
        tags=["conversations"],
        parameters=[ConversationSearchQuery],
        responses=HitsSerializer,
    )
    def get(self, request: ApiRequest) -> Response:
        """Search titles and messages, best first, without trashed and temporary chats."""
        query = self.query(ConversationSearchQuery)
        return Response(HitsSerializer(search_conversations(query=query["q"], limit=query["limit"])).data)


def select_conversations(*, status: str = "", trashed: bool = False) -> "QuerySet[Conversation]":
    """Return the trashed or other conversations; an empty status fits all."""
    rows: QuerySet[Conversation] = Conversation.objects.filter(trashed_at__isnull=not trashed)
    return rows.filter(status=status) if status else rows


def select_messages(conversation_id: UUID) -> "QuerySet[Message]":
    """Return the messages of a conversation that are shown. Raises ConversationNotFound."""
    rows = Message.objects.shown().filter(conversation=get_conversation(conversation_id))
    return rows.defer("search_terms")
