"""Turns over HTTP: answered by server-sent events or one JSON."""

from contextvars import Context
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any, ClassVar
from uuid import UUID, uuid4

from asgiref.sync import async_to_sync
from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.response import Response

from chat.api.serializers.turns import AnswerSerializer, TurnInput
from chat.api.streams import EVENTS, find_reply, release_connection, stream_lines, wait_for_end
from chat.api.values import message_values
from chat.conversations.queries import get_conversation
from chat.conversations.services import start_conversation
from chat.models import Message, Role
from chat.parts import Json
from chat.turns import live
from chat.turns.accept import accept_message
from chat.turns.start import Accepted
from config.lib.errors import StateConflict
from config.lib.locks import lock_owner
from config.lib.owned import owned_tx
from config.lib.rest.views import ApiRequest, ApiView

EVENT_STREAM = "text/event-stream"


class MessageReplaced(StateConflict):
    """There is no answer to this message any more."""


class TurnsView(ApiView):
    max_body_bytes: ClassVar[int] = 1024 * 1024  # client libraries send the whole chat each time

    @extend_schema(
        operation_id="send_message",
        tags=["chat"],
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
            if _wants_stream(request, fields):
                return _event_stream(request, accepted, accepted.reply)
            release_connection()
            async_to_sync(_wait_for_answer)(accepted, accepted.reply)
        return Response(_describe_answer(accepted.reply))


def _wants_stream(request: ApiRequest, fields: Json) -> bool:
    if fields["stream"] is not None:
        return bool(fields["stream"])
    accepted = request.headers.get("Accept", "")
    return EVENT_STREAM in accepted or "application/json" not in accepted


def _store_message(user: Any, fields: Json) -> Accepted:
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


def _event_stream(request: ApiRequest, accepted: Accepted, reply: Message) -> StreamingHttpResponse:
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


async def _begin_turn(accepted: Accepted, reply: Message) -> live.LiveTurn | None:
    """Start or find a message's turn; None if another process runs it."""
    if accepted.turn is not None:
        # In a context of its own: the turn outlives the request, and has none of its state.
        return Context().run(live.start_turn, accepted.turn, accepted.event, accepted.title)
    turn = live.find_turn(reply.conversation_id)
    return turn if turn is not None and turn.start.reply_id == reply.pk else None


async def _wait_for_answer(accepted: Accepted, reply: Message) -> None:
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
