from rest_framework import serializers

from chat.conversations.journal import MAX_NOTE
from chat.models import Bookmark
from config.lib.rest.views import InputSerializer


class NoteInput(InputSerializer):
    """The user's own words about a reply; empty: none."""

    note = serializers.CharField(max_length=MAX_NOTE, allow_blank=True)


class BookmarkInput(InputSerializer):
    """A reply to keep."""

    message_id = serializers.IntegerField(min_value=1)
    note = serializers.CharField(default="", max_length=MAX_NOTE, allow_blank=True)


class BookmarkSerializer(serializers.ModelSerializer[Bookmark]):
    """A reply's copy with a note; `message` is null once deleted."""

    class Meta:
        model = Bookmark
        fields = ("id", "message", "text", "note", "created_at", "updated_at")
        read_only_fields = fields
