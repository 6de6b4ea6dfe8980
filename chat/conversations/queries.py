"""Read conversations and messages of the owner in scope."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.core.paginator import Page, Paginator

from chat.models import Conversation, ConversationStatus, ConversationSummary, Message, Role
from config.lib.errors import NotFound
from trading.skills.queries import find_open_draft

THREADS_SHOWN: Final = 30
MOST_THREADS: Final = 200  # older ones are found by search
WINDOW: Final = 50  # messages shown at a time
TRASH_PAGE: Final = 50
QUOTE_CONTEXT: Final = 160  # characters shown on either side of quoted words
_AGES: Final = ((0, "Today"), (1, "Yesterday"), (7, "Previous 7 days"), (30, "Previous 30 days"))  # at most, in days


class ConversationNotFound(NotFound):
    """The owner has no such conversation."""


@dataclass(frozen=True, slots=True)
class Threads:
    """The list of conversations beside a chat."""

    groups: Mapping[str, list[Conversation]]  # by age, newest first
    archived: list[Conversation]  # newest first
    trashed: int
    has_older: bool

    @property
    def is_empty(self) -> bool:
        return not self.groups and not self.archived


@dataclass(frozen=True, slots=True)
class MessageWindow:
    """Consecutive messages of a conversation, oldest first."""

    messages: list[Message]
    has_older: bool  # between its lower bound and the first message
    has_newer: bool  # between the last message and its upper bound


@dataclass(frozen=True, slots=True)
class QuotedWords:
    """The user's words behind a fact, with the surrounding text."""

    message: Message
    before: str
    words: str
    after: str


def get_conversation(conversation_id: UUID) -> Conversation:
    """Return a conversation. Raises ConversationNotFound."""
    return Conversation.objects.filter(pk=conversation_id).first_or(ConversationNotFound("This chat does not exist."))


def find_conversation(conversation_id: UUID) -> Conversation | None:
    """Return a conversation, including one in the trash."""
    return Conversation.objects.filter(pk=conversation_id).first()


def find_panel_chat(*, opening: Mapping[str, str] | None, wanted: UUID | None) -> Conversation | None:
    """Return the chat of a page's panel; None without messages.

    On a page that edits a skill it is the chat that wrote the open draft, or else `wanted` if that is an active
    chat about the same skill; elsewhere `wanted`.
    """
    if opening is None or opening["mode"] != "authoring":
        return _find_untrashed(wanted)
    skill_id = opening.get("skill_id")
    draft = find_open_draft(UUID(skill_id) if skill_id else None)
    if draft is not None and (author := _find_untrashed(draft.conversation_id)) is not None:
        return author
    chat = _find_untrashed(wanted)
    if chat is None or chat.status != ConversationStatus.ACTIVE:
        return None
    about = chat.opening_context
    return chat if (about.get("mode"), about.get("skill_id")) == ("authoring", skill_id) else None


def _find_untrashed(conversation_id: UUID | None) -> Conversation | None:
    if conversation_id is None:
        return None
    return Conversation.objects.filter(pk=conversation_id, trashed_at=None).first()


def list_recent(limit: int) -> list[Conversation]:
    """Return the conversations outside the trash by latest message."""
    return list(Conversation.objects.filter(trashed_at=None).order_by("-last_message_at", "pk")[:limit])


def get_threads(now: datetime, most: int = THREADS_SHOWN) -> Threads:
    """Return the newest conversations grouped by age, archived ones apart."""
    groups: dict[str, list[Conversation]] = {}
    archived: list[Conversation] = []
    found = list_recent(most + 1)
    for conversation in found[:most]:
        if conversation.status == ConversationStatus.ARCHIVED:
            archived.append(conversation)
        else:
            age = (now.date() - conversation.last_message_at.astimezone(now.tzinfo).date()).days
            label = next((label for most_days, label in _AGES if age <= most_days), "Older")
            groups.setdefault(label, []).append(conversation)
    trashed = Conversation.objects.filter(trashed_at__isnull=False).count()
    return Threads(groups, archived, trashed, has_older=most == THREADS_SHOWN < len(found))


def page_of_trash(number: int = 1) -> Page[Conversation]:
    """Return one page of the trash, last deleted first, at most the last page."""
    rows = Conversation.objects.filter(trashed_at__isnull=False).order_by("-trashed_at", "pk")
    return Paginator(rows, TRASH_PAGE).get_page(number)


def list_messages(conversation_id: UUID, *, after: int = 0) -> list[Message]:
    """Return the shown messages with an id above `after`, oldest first."""
    rows = Message.objects.shown().filter(conversation_id=conversation_id, pk__gt=after)
    return list(rows.defer("search_terms").order_by("pk"))


def get_window(conversation_id: UUID, *, after: int = 0, before: int | None = None, around: int = 0) -> MessageWindow:
    """Return up to 50 shown messages with ids between `after` and `before`: the newest, or those around an id."""
    rows = Message.objects.shown().filter(conversation_id=conversation_id, pk__gt=after).defer("search_terms")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    size = WINDOW // 2 if around else WINDOW
    older = list((rows.filter(pk__lte=around) if around else rows).order_by("-pk")[: size + 1])
    newer = list(rows.filter(pk__gt=around).order_by("pk")[: size + 1]) if around else []
    return MessageWindow([*older[:size][::-1], *newer[:size]], len(older) > size, len(newer) > size)


def count_replaced(replies: Iterable[Message]) -> Counter[int]:
    """Return how many finished answers a retry of each reply replaced, by the reply's id."""
    wanted: dict[tuple[int | None, bool], int] = {
        (reply.reply_to_id, reply.is_continuation): reply.pk for reply in replies if reply.reply_to_id
    }
    if not wanted:
        return Counter()
    rows = Message.objects.filter(reply_to__in=[message for message, _ in wanted], replaced_at__isnull=False)
    replaced = rows.exclude(content="").only("user_id", "reply_to_id", "is_continuation")
    found = (wanted.get((row.reply_to_id, row.is_continuation)) for row in replaced)
    return Counter(pk for pk in found if pk is not None)


def list_answers(reply_id: int) -> list[Message]:
    """Return a reply and the answers that its retries replaced, oldest first; empty without such a reply."""
    reply = Message.objects.shown().filter(pk=reply_id, reply_to__isnull=False).first()
    if reply is None:
        return []
    rows = Message.objects.filter(reply_to=reply.reply_to_id, is_continuation=reply.is_continuation)
    return list(rows.exclude(content="").defer("search_terms").order_by("pk"))


def list_typed(conversation_id: UUID, *, last: int) -> list[tuple[int, str]]:
    """Return id and text of the user's newest messages, oldest first."""
    rows = Message.objects.shown().filter(conversation_id=conversation_id, role=Role.USER).order_by("-pk")
    return list(rows.values_list("pk", "content")[:last])[::-1]


def last_message_id(conversation_id: UUID) -> int:
    """Return the id of the newest shown message; 0 without one."""
    rows = Message.objects.shown().filter(conversation_id=conversation_id).order_by("-pk")
    return rows.values_list("pk", flat=True).first() or 0


def find_streaming_reply(conversation_id: UUID) -> Message | None:
    """Return the reply that is being written in a conversation."""
    return Message.objects.shown().streaming().filter(conversation_id=conversation_id).first()


def summarised_through(conversation_id: UUID) -> int:
    """Return the id of the last summarised message; 0 without a summary."""
    rows = ConversationSummary.objects.filter(conversation=conversation_id, replaced_at=None).order_by("-through")
    return rows.values_list("through", flat=True).first() or 0


def list_quotes(quotes: Iterable[Mapping[str, int]]) -> list[QuotedWords]:
    """Return the quoted words, without those of deleted messages."""
    wanted = list(quotes)
    rows = Message.objects.filter(pk__in=[quote["message_id"] for quote in wanted], role=Role.USER)
    messages = {row.pk: row for row in rows.defer("search_terms")}
    return [
        _quote_words(messages[quote["message_id"]], quote["start"], quote["end"])
        for quote in wanted
        if quote["message_id"] in messages
    ]


def _quote_words(message: Message, start: int, end: int) -> QuotedWords:
    text = message.content
    before, after = text[:start], text[end:]
    if len(before) > QUOTE_CONTEXT:
        before = f"…{before[-QUOTE_CONTEXT:].lstrip()}"
    if len(after) > QUOTE_CONTEXT:
        after = f"{after[:QUOTE_CONTEXT].rstrip()}…"
    return QuotedWords(message, before, text[start:end], after)
