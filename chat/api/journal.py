"""The journal over REST: replies that the user keeps."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers

from chat.conversations.journal import MAX_NOTE, bookmark_reply, edit_note, find_bookmark, get_bookmark, remove_bookmark
from chat.models import Bookmark
from config.lib.rest.operations import NEW_OR_KNOWN, read, read_pages, write
from config.lib.rest.views import ApiView, InputSerializer, RowSerializer


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


class JournalView(ApiView):
    @read_pages("list_journal", "journal", BookmarkSerializer)
    def get(self) -> QuerySet[Bookmark]:
        """List the replies that are kept, the last kept first."""
        return Bookmark.objects.all()

    @write("keep_reply", "journal", BookmarkSerializer, BookmarkInput, status=NEW_OR_KNOWN)
    def post(self, message_id: int, note: str) -> Any:
        """Bookmark a reply; 200 if it is bookmarked already."""
        is_new = find_bookmark(message_id) is None
        return bookmark_reply(message_id=message_id, note=note, now=timezone.now()), is_new


class BookmarkView(ApiView):
    @read("get_bookmark", "journal", BookmarkSerializer)
    def get(self, bookmark_id: UUID) -> Bookmark:
        """Return a reply that is kept."""
        return get_bookmark(bookmark_id)

    @write("edit_note", "journal", BookmarkSerializer, NoteInput)
    def patch(self, bookmark_id: UUID, note: str) -> Bookmark:
        """Set the note."""
        return edit_note(bookmark_id=bookmark_id, note=note, now=timezone.now())

    @write("remove_bookmark", "journal", None, status=HTTPStatus.NO_CONTENT)
    def delete(self, bookmark_id: UUID) -> None:
        """Delete a journal entry for good; the reply stays."""
        remove_bookmark(bookmark_id=bookmark_id)
