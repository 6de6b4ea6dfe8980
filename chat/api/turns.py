"""Turns over HTTP: answered by server-sent events or one JSON."""

from contextvars import Context
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any, ClassVar, Final
from uuid import UUID, uuid4

from asgiref.sync import async_to_sync
from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.response import Response

from chat.api.conversations import MessageSerializer
from chat.api.fields import OpeningInput, checked_text
from chat.api.streams import EVENTS, find_reply, release_connection, stream_lines, wait_for_end
from chat.api.values import message_values
from chat.conversations.queries import get_conversation
from chat.conversations.services import start_conversation
from chat.models import MAX_TITLE, AssistantName, Message, Role
from chat.parts import Json
from chat.turns import live
from chat.turns.accept import accept_message
from chat.turns.start import Exchange
from config.lib.errors import StateConflict
from config.lib.owned import owned_tx
from config.lib.postgresql.locks import lock_owner
from config.lib.rest.operations import describe
from config.lib.rest.views import ApiRequest, ApiView, InputSerializer

MAX_MESSAGES: Final = 2_000  # that a client may send along; only one is read


class SaidPartInput(serializers.Serializer[Any]):
    """A message part from a client library; other keys are ignored."""

    type = serializers.CharField(max_length=100)
    text = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)


class SaidInput(serializers.Serializer[Any]):
    """A client library's message: `content`, or `parts` of type `text`."""

    role = serializers.CharField(max_length=100)
    content = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    parts = SaidPartInput(many=True, required=False)


class ChatOpeningInput(OpeningInput):
    """What a new chat is about, in either of two spellings."""

    focusDeploymentId = serializers.UUIDField(required=False, help_text="The same as `deployment_id`.")

    def validate(self, attrs: Json) -> dict[str, str]:
        """Take one spelling for the other, and check as ever."""
        focus = attrs.pop("focusDeploymentId", None)
        return super().validate({**attrs, **({"deployment_id": focus} if focus else {})})


class TurnInput(InputSerializer):
    """A message to Keel: the newest user message of `messages` counts."""

    message = serializers.CharField(required=False, trim_whitespace=False, help_text="What the user says.")
    messages = serializers.ListField(
        child=SaidInput(), required=False, max_length=MAX_MESSAGES, help_text="In the place of `message`: a whole chat."
    )
    conversationId = serializers.UUIDField(default=None, allow_null=True, help_text="Left out: a new conversation.")
    client_id = serializers.UUIDField(
        default=None,
        allow_null=True,
        help_text="Yours for this message. Sent again, it begins nothing: it joins the turn that runs, or returns what "
        "was answered.",
    )
    openingContext = ChatOpeningInput(
        default=None, allow_null=True, help_text="Of a new conversation; else it is passed over."
    )
    assistant = serializers.ChoiceField(AssistantName.choices, default=None, help_text="Of a new conversation.")
    temporary = serializers.BooleanField(default=False, help_text="Of a new conversation.")
    stream = serializers.BooleanField(
        default=None,
        allow_null=True,
        help_text="False: one JSON at the end. Left out: what `Accept` says, or else a stream.",
    )

    def validate(self, attrs: Json) -> Json:
        if ("message" in attrs) == ("messages" in attrs):
            raise serializers.ValidationError({"message": ["Either this or `messages` is needed."]})
        try:
            attrs["text"] = checked_text(attrs["message"] if "message" in attrs else _find_newest(attrs["messages"]))
        except serializers.ValidationError as error:
            raise serializers.ValidationError(
                {"message" if "message" in attrs else "messages": error.detail}
            ) from error
        return attrs


def _find_newest(messages: list[Json]) -> str:
    typed = [message for message in messages if message["role"] == "user"]
    if not typed:
        raise serializers.ValidationError("There is no message of role `user`.", code="required")
    newest = typed[-1]
    if "parts" not in newest:
        return str(newest.get("content", ""))
    if any(part["type"] != "text" for part in newest["parts"]):
        raise serializers.ValidationError("Keel reads text alone: the newest message has a part of another type.")
    return "\n".join(part.get("text", "") for part in newest["parts"])


class AnswerSerializer(serializers.Serializer[Any]):
    """A finished turn."""

    conversation_id = serializers.UUIDField()
    title = serializers.CharField(max_length=MAX_TITLE, help_text="Of the conversation.")
    message_id = serializers.IntegerField()
    reply = MessageSerializer(help_text="`status` and `error` say how it ended.")


EVENT_STREAM = "text/event-stream"


class MessageReplaced(StateConflict):
    """There is no answer to this message any more."""


class TurnsView(ApiView):
    areas = frozenset(("chats",))
    max_body_bytes: ClassVar[int] = 1024 * 1024  # client libraries send the whole chat each time

    @describe(
        operation_id="send_message",
        request=TurnInput,
        responses={
            (HTTPStatus.OK, EVENT_STREAM): OpenApiResponse(OpenApiTypes.STR, description=EVENTS),
            (HTTPStatus.OK, "application/json"): AnswerSerializer,
        },
    )
    def post(self, request: ApiRequest) -> HttpResponseBase:
        """Send a message. Disconnecting does not stop the turn; `conversations/{id}/stop/` does.

        What cannot be taken is refused with its status before anything is sent: 409 while Keel is still answering in
        that conversation, 422 for a message that is empty or longer than 16 KiB, 429 when a limit or the day's tokens
        are reached.
        """
        fields = self.body(TurnInput)
        # The message is stored for good before its turn begins, and nothing is held while that runs.
        with self.door_closed():
            accepted = _store_message(request.user, fields)
            if accepted.reply is None:
                raise MessageReplaced("This message was sent before, and something else was said in its place since.")
            kinds = request.headers.get("Accept", "")
            is_stream = EVENT_STREAM in kinds or "application/json" not in kinds
            if fields["stream"] if fields["stream"] is not None else is_stream:
                return _event_stream(request, accepted, accepted.reply)
            release_connection()
            async_to_sync(_wait_for_answer)(accepted, accepted.reply)
        return Response(_describe_answer(accepted.reply))


def _store_message(user: Any, fields: Json) -> Exchange:
    now, client_id = timezone.now(), fields["client_id"] or uuid4()
    with owned_tx(user):
        conversation_id = fields["conversationId"] or _find_or_start(fields, now)
        return accept_message(conversation_id=conversation_id, client_id=client_id, text=fields["text"], now=now)


def _find_or_start(fields: Json, now: datetime) -> UUID:
    """Return the conversation that a message was sent to under its id, or a new one."""
    if fields["client_id"] is not None:
        lock_owner()  # or two of the same would each make one
        sent = Message.objects.filter(role=Role.USER, client_id=fields["client_id"]).order_by("-pk").first()
        if sent is not None:
            return sent.conversation_id
    made = start_conversation(
        assistant=fields["assistant"], is_temporary=fields["temporary"], opening=fields["openingContext"], now=now
    )
    return made.pk


def _event_stream(request: ApiRequest, accepted: Exchange, reply: Message) -> StreamingHttpResponse:
    async def all_lines() -> list[str]:
        return [line async for line in open_lines(await _begin_turn(accepted, reply))]

    assert accepted.message.client_id is not None, "it was accepted under one"
    open_lines = partial(stream_lines, reply, client_id=accepted.message.client_id)
    if isinstance(request._request, ASGIRequest):
        # Begun here and now, on the loop of the server: a client that is gone already stops nothing.
        content: Any = open_lines(async_to_sync(_begin_turn)(accepted, reply))
    else:
        # A server without a loop can only wait for the whole.
        content = async_to_sync(all_lines)()
    response = StreamingHttpResponse(content, content_type=EVENT_STREAM)
    response["X-Accel-Buffering"] = "no"  # or proxies would keep it until its end
    return response


async def _begin_turn(accepted: Exchange, reply: Message) -> live.LiveTurn | None:
    """Start or find a message's turn; None if another process runs it."""
    if accepted.turn is not None:
        # In a context of its own: the turn outlives the request, and has none of its state.
        return Context().run(live.start_turn, accepted.turn, accepted.event, accepted.title)
    turn = live.find_turn(reply.conversation_id)
    return turn if turn is not None and turn.start.reply_id == reply.pk else None


async def _wait_for_answer(accepted: Exchange, reply: Message) -> None:
    await wait_for_end(reply, await _begin_turn(accepted, reply))


def _describe_answer(begun: Message) -> Json:
    reply = find_reply(begun.pk)
    if reply is None:
        raise MessageReplaced("This answer was deleted while it was written.")
    answer = {
        "conversation_id": begun.conversation_id,
        "title": get_conversation(begun.conversation_id).title,
        "message_id": begun.reply_to_id,
        "reply": message_values([reply])[0],
    }
    return AnswerSerializer(answer).data
