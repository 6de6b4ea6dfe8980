from typing import Any

from rest_framework import serializers

from chat.api.serializers.fields import OpeningInput, PartsField, TitleField
from chat.conversations.search import MAX_HITS
from chat.models import AssistantName, Conversation, ConversationStatus, MessageStatus, Role
from config.lib.rest.views import InputSerializer, PageQuery, RowSerializer


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


class ConversationSerializer(RowSerializer):
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
