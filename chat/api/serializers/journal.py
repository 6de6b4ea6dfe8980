from rest_framework import serializers

from chat.conversations.journal import MAX_NOTE
from chat.models import Bookmark
from config.lib.rest.views import InputSerializer, RowSerializer


class NoteInput(InputSerializer):
    """The user's own words about a reply; empty: none."""

    note = serializers.CharField(max_length=MAX_NOTE, allow_blank=True)


class BookmarkInput(InputSerializer):
    """A reply to keep."""

    message_id = serializers.IntegerField(min_value=1)
    note = serializers.CharField(default="", max_length=MAX_NOTE, allow_blank=True)


class BookmarkSerializer(RowSerializer):
    """A reply's copy with a note; `message` is null once deleted."""

    class Meta:
        model = Bookmark
        fields = ("id", "message", "text", "note", "created_at", "updated_at")
