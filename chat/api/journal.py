"""The journal over REST: replies that the user keeps."""

from http import HTTPStatus
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from chat.api.serializers.journal import BookmarkInput, BookmarkSerializer, NoteInput
from chat.conversations.journal import bookmark_reply, edit_note, find_bookmark, get_entry, remove_bookmark
from chat.models import Bookmark
from config.lib.owned import owned_tx
from config.lib.paging import get_page
from config.lib.rest.views import ApiRequest, ApiView, PageQuery, answer_page, page_serializer

_NEWEST = ("-created_at", "id")


class JournalView(ApiView):
    @extend_schema(
        operation_id="list_journal",
        tags=["journal"],
        parameters=[PageQuery],
        responses=page_serializer(BookmarkSerializer),
    )
    def get(self, request: ApiRequest) -> Response:
        """List the replies that are kept, the last kept first."""
        return answer_page(get_page(Bookmark.objects.all(), by=_NEWEST, **self.query(PageQuery)), BookmarkSerializer)

    @extend_schema(
        operation_id="keep_reply",
        tags=["journal"],
        request=BookmarkInput,
        responses={200: BookmarkSerializer, 201: BookmarkSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Bookmark a reply; 200 if it is bookmarked already."""
        fields = self.body(BookmarkInput)
        with owned_tx(request.user):
            is_kept = find_bookmark(fields["message_id"]) is not None
            kept = bookmark_reply(**fields, now=timezone.now())
        return Response(BookmarkSerializer(kept).data, status=HTTPStatus.OK if is_kept else HTTPStatus.CREATED)


class BookmarkView(ApiView):
    @extend_schema(operation_id="get_bookmark", tags=["journal"], responses=BookmarkSerializer)
    def get(self, request: ApiRequest, bookmark_id: UUID) -> Response:
        """Return a reply that is kept."""
        return Response(BookmarkSerializer(get_entry(bookmark_id).bookmark).data)

    @extend_schema(operation_id="edit_note", tags=["journal"], request=NoteInput, responses=BookmarkSerializer)
    def patch(self, request: ApiRequest, bookmark_id: UUID) -> Response:
        """Set the note."""
        fields = self.body(NoteInput)
        with owned_tx(request.user):
            bookmark = edit_note(bookmark_id=bookmark_id, **fields, now=timezone.now())
        return Response(BookmarkSerializer(bookmark).data)

    @extend_schema(operation_id="remove_bookmark", tags=["journal"], responses={204: None})
    def delete(self, request: ApiRequest, bookmark_id: UUID) -> Response:
        """Delete a journal entry for good; the reply stays."""
        with owned_tx(request.user):
            remove_bookmark(bookmark_id=bookmark_id)
        return Response(status=HTTPStatus.NO_CONTENT)
