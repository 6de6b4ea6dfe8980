from typing import Any, Final

from rest_framework import serializers

from chat.api.serializers.conversations import MessageSerializer
from chat.api.serializers.fields import OpeningInput, checked_text
from chat.models import MAX_TITLE, AssistantName
from chat.parts import Json
from config.lib.rest.views import InputSerializer

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
