"""The journal: bookmarks with notes. Writes need `owned_tx(user)`, reads `owned(user)`."""

from collections.abc import Collection
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import Prefetch

from chat.models import Bookmark, DayNote, Message, MessageStatus, Role
from chat.parts import Json
from config.lib.errors import DomainError, NotFound, StateConflict
from config.lib.owned import OwnedQuerySet
from config.lib.postgresql.locks import lock_owner
from config.lib.text import clean_text, normal_form

PAGE_SIZE: Final = 20
MAX_NOTE: Final = 500  # characters, as in the column
MAX_DAY_NOTE: Final = 4000


class ReplyNotFound(NotFound):
    """The owner has no such reply."""


class ReplyNotKept(StateConflict):
    """There is nothing to keep (yet)."""


class BookmarkNotFound(NotFound):
    """The journal has no such entry."""


class NoteRefused(DomainError):
    """The note is too long."""


def bookmark_reply(*, message_id: int, note: str = "", now: datetime) -> Bookmark:
    """Bookmark a reply; an existing bookmark keeps its note. Raises ReplyNotFound, ReplyNotKept, NoteRefused."""
    lock_owner()
    reply = Message.objects.filter(pk=message_id, role=Role.ASSISTANT).first_or(
        ReplyNotFound("There is no such reply.")
    )
    kept = find_bookmark(message_id)
    if kept is not None:
        return kept
    if reply.status == MessageStatus.STREAMING:
        raise ReplyNotKept("Keel is still writing this. Keep it when it is complete.")
    if not reply.content.strip():
        raise ReplyNotKept("This reply says nothing that could be kept.")
    return Bookmark.objects.create(
        message=reply, text=reply.content, note=_check_note(note, MAX_NOTE), created_at=now, updated_at=now
    )


def edit_note(*, bookmark_id: UUID, note: str, now: datetime) -> Bookmark:
    """Set or clear an entry's note. Raises BookmarkNotFound, NoteRefused."""
    lock_owner()
    bookmark = get_bookmark(bookmark_id)
    bookmark.note = _check_note(note, MAX_NOTE)
    bookmark.updated_at = now
    bookmark.save(update_fields=["note", "updated_at"])
    return bookmark


def remove_bookmark(*, bookmark_id: UUID) -> Json:
    """Remove an entry; return what `restore_bookmark` takes. Raises BookmarkNotFound."""
    lock_owner()
    bookmark = get_bookmark(bookmark_id)
    bookmark.delete()
    return {name: getattr(bookmark, name) for name in ("message_id", "text", "note", "created_at")}


def restore_bookmark(*, removed: Json, now: datetime) -> Bookmark:
    """Restore a removed entry, unless bookmarked again. Raises ReplyNotFound when its reply was deleted since."""
    lock_owner()
    if (message_id := removed["message_id"]) is not None:
        if (kept := find_bookmark(message_id)) is not None:
            return kept
        if not Message.objects.filter(pk=message_id).exists():
            raise ReplyNotFound("This reply was deleted, so it cannot be put back.")
    return Bookmark.objects.create(**removed, updated_at=now)


def find_bookmark(message_id: int) -> Bookmark | None:
    """Return the journal entry of a reply."""
    return Bookmark.objects.filter(message=message_id).first()


def get_bookmark(bookmark_id: UUID) -> Bookmark:
    """Return one entry with its chat. Raises BookmarkNotFound."""
    return _with_chats().filter(pk=bookmark_id).first_or(BookmarkNotFound("There is no such entry in the journal."))


def find_bookmarked(message_ids: Collection[int]) -> frozenset[int]:
    """Return the messages that the journal keeps."""
    if not message_ids:
        return frozenset()
    return frozenset(Bookmark.objects.filter(message__in=message_ids).values_list("message_id", flat=True))


def page_of_journal(query: str = "", number: int = 1) -> Page[Bookmark]:
    """Return a page of entries whose reply or note has all words of a query, newest first."""
    rows = _with_chats().order_by("-created_at", "id")
    if words := normal_form(query).split():
        # Without a column of normal forms: a journal is kept by hand, so it is read in milliseconds.
        told = ((pk, normal_form(f"{text} {note}")) for pk, text, note in rows.values_list("pk", "text", "note"))
        rows = rows.filter(pk__in=[pk for pk, said in told if all(word in said for word in words)])
    return Paginator(rows, PAGE_SIZE).get_page(number)


def list_kept_between(since: datetime, until: datetime) -> list[Bookmark]:
    """Return the entries of a range, oldest first."""
    return list(_with_chats().filter(created_at__gte=since, created_at__lt=until).order_by("created_at"))


def set_day_note(*, day: date, text: str, now: datetime) -> None:
    """Write, change or clear the note of a day, inside `owned_tx(user)`. Raises NoteRefused."""
    note = _check_note(text, MAX_DAY_NOTE)
    if note:
        DayNote.objects.update_or_create(day=day, defaults={"text": note, "updated_at": now})
    else:
        DayNote.objects.filter(day=day).delete()


def list_day_notes(first: date, last: date) -> dict[date, str]:
    """Return the notes of days, by day."""
    return dict(DayNote.objects.filter(day__range=(first, last)).values_list("day", "text"))


def _with_chats() -> OwnedQuerySet[Bookmark]:
    large = ("content", "parts", "preamble", "search_terms")
    chats: Any = Prefetch("message", Message.objects.select_related("conversation").defer(*large))
    rows: OwnedQuerySet[Bookmark] = Bookmark.objects.prefetch_related(chats)
    return rows


def _check_note(text: str, most: int) -> str:
    note = clean_text(text).strip()
    if len(note) > most:
        raise NoteRefused(f"A note has at most {most} characters; this one has {len(note)}.")
    return note
