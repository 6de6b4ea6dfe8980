"""Reading conversations: every function answers for the owner in scope."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, cast
from uuid import UUID

from django.db import connection, models

from chat.models import Conversation, ConversationStatus, ConversationSummary, Message, MessageStatus, Role, UsageDay
from chat.parts import Json, as_said, said_tokens
from config.lib.errors import DomainError
from config.lib.owned import owner_id
from config.lib.paging import locate_page
from memory.models import TRASH_KEPT
from trading.skills.queries import find_open_draft

HISTORY_LIMIT = 400  # messages read for a prompt; the token budget cuts long before
THREADS_SHOWN = 200
QUOTE_CONTEXT = 160  # characters shown on either side of quoted words


class ConversationNotFound(DomainError):
    """The owner has no such conversation."""

    http_status = HTTPStatus.NOT_FOUND


@dataclass(frozen=True, slots=True)
class ThreadGroup:
    """Conversations of one stretch of time, newest first."""

    label: str
    threads: list[Conversation]


def get_conversation(conversation_id: UUID) -> Conversation:
    """Return a conversation. Raises ConversationNotFound."""
    conversation = Conversation.objects.filter(pk=conversation_id).first()
    if conversation is None:
        raise ConversationNotFound("This chat does not exist.")
    return conversation


def list_recent(limit: int) -> list[Conversation]:
    """Return the conversations by latest message, but for those in the trash."""
    return list(Conversation.objects.filter(trashed_at=None).order_by("-last_message_at", "pk")[:limit])


def list_threads(now: datetime) -> list[ThreadGroup]:
    """Return the newest conversations in groups by age, the archived ones apart and last.

    Days are those of the zone that `now` is in; the trash is left out.
    """
    groups: dict[str, list[Conversation]] = {}
    archived = []
    for conversation in list_recent(THREADS_SHOWN):
        if conversation.status == ConversationStatus.ARCHIVED:
            archived.append(conversation)
        else:
            day = conversation.last_message_at.astimezone(now.tzinfo).date()
            groups.setdefault(_age(day, now.date()), []).append(conversation)
    if archived:
        groups["Archived"] = archived
    return [ThreadGroup(label, threads) for label, threads in groups.items()]


def _age(day: date, today: date) -> str:
    if day >= today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    if day >= today - timedelta(days=7):
        return "Previous 7 days"
    return "Previous 30 days" if day >= today - timedelta(days=30) else "Older"


def list_messages(conversation_id: UUID, *, after: int = 0) -> list[Message]:
    """Return the shown messages of a conversation with an id above `after`, oldest first."""
    rows = Message.objects.shown().filter(conversation_id=conversation_id, pk__gt=after)
    return list(rows.defer("search_terms").order_by("pk"))


def list_typed(conversation_id: UUID, *, last: int) -> list[tuple[int, str]]:
    """Return id and text of the user's newest messages in a conversation, oldest first."""
    rows = Message.objects.shown().filter(conversation_id=conversation_id, role=Role.USER).order_by("-pk")
    return list(rows.values_list("pk", "content")[:last])[::-1]


@dataclass(frozen=True, slots=True)
class QuotedWords:
    """What the user typed that a fact was learned from: their words, in what surrounds them."""

    message: Message
    before: str
    words: str
    after: str


def list_quotes(quotes: Iterable[Mapping[str, int]]) -> list[QuotedWords]:
    """Return the words that quotes (`{"message_id", "start", "end"}`) point to, as far as their messages are there."""
    wanted = list(quotes)
    rows = Message.objects.filter(pk__in=[quote["message_id"] for quote in wanted], role=Role.USER)
    messages = {row.pk: row for row in rows.defer("search_terms")}
    return [
        _quoted(messages[quote["message_id"]], quote["start"], quote["end"])
        for quote in wanted
        if quote["message_id"] in messages
    ]


def _quoted(message: Message, start: int, end: int) -> QuotedWords:
    text = message.content
    return QuotedWords(message, _shortened_end(text[:start]), text[start:end], _shortened(text[end:]))


def _shortened(text: str) -> str:
    return text if len(text) <= QUOTE_CONTEXT else f"{text[:QUOTE_CONTEXT].rstrip()}…"


def _shortened_end(text: str) -> str:
    return text if len(text) <= QUOTE_CONTEXT else f"…{text[-QUOTE_CONTEXT:].lstrip()}"


def last_message_id(conversation_id: UUID) -> int:
    """Return the id of the newest shown message; 0 without one."""
    rows = Message.objects.shown().filter(conversation_id=conversation_id).order_by("-pk")
    newest: int | None = rows.values_list("pk", flat=True).first()
    return newest or 0


def find_last_reply(conversation_id: UUID) -> Message | None:
    """Return the newest shown reply of a conversation."""
    rows = Message.objects.shown().filter(conversation_id=conversation_id, role=Role.ASSISTANT)
    return rows.order_by("-pk").first()


# Like _STANDING in the path to the first token: a tenth of the ORM's time.
_HISTORY: Final = """
SELECT id, role, content, parts, is_untrusted FROM agent_messages
WHERE user_id = %(user)s AND conversation_id = %(conversation)s AND id > %(after)s AND id < %(before)s
    AND replaced_at IS NULL
ORDER BY id DESC LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class History:
    """What was said before a reply, as far as it fits into a prompt."""

    messages: list[Json]  # for a model, oldest first
    is_untrusted: bool  # one of these replies was written with text in view that the user did not type
    ids: tuple[int, ...] = ()  # of the rows they came from, oldest first
    tokens: int = 0  # estimated
    is_cut: bool = False  # there are older ones, which did not fit


def history(conversation_id: UUID, *, before: int, budget_tokens: int, after: int = 0) -> History:
    """Return what was said before a reply, and after the message that a summary reaches to.

    The newest messages come in as long as their estimated tokens fit the budget; the list begins with a message of the
    user, since a model cannot place an answer without its question.
    """
    values = {
        "user": owner_id(),
        "conversation": _bound("conversation", conversation_id),
        "after": after,
        "before": before,
        "limit": HISTORY_LIMIT,
    }
    with connection.cursor() as cursor:
        cursor.execute(_HISTORY, values)
        return _fitting(cursor, budget_tokens)


@dataclass(frozen=True, slots=True)
class _Told:
    pk: int
    role: str
    messages: list[Json]
    is_untrusted: bool
    tokens: int


def _fitting(newest_first: Iterable[tuple[int, str, str, str, bool]], budget_tokens: int) -> History:
    chosen: list[_Told] = []
    spent, is_cut = 0, False
    for pk, role, content, parts, is_untrusted in newest_first:
        # A JSON column comes as text from either engine when the ORM does not read it.
        messages = as_said(is_user=role == Role.USER, content=content, parts=json.loads(parts))
        tokens = said_tokens(messages)
        # The newest message is what the turn is about; it goes in whatever it costs.
        if spent + tokens > budget_tokens and chosen:
            is_cut = True
            break
        spent += tokens
        chosen.append(_Told(pk, role, messages, bool(is_untrusted), tokens))
    while chosen and chosen[-1].role != Role.USER:
        spent -= chosen.pop().tokens
    chosen.reverse()
    return History(
        [message for told in chosen for message in told.messages],
        any(told.is_untrusted for told in chosen),
        tuple(told.pk for told in chosen),
        spent,
        is_cut,
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a conversation and its user stand when a turn is asked for."""

    conversation_id: UUID
    opening: Json  # Conversation.opening_context
    is_temporary: bool
    is_trashed: bool
    has_title: bool
    is_learning: bool  # chats may teach Keel something
    assistant: str
    status: str
    snapshot_id: int | None  # the frozen memory block; None before the first turn
    memory_block: str
    tier: str | None
    time_zone: str
    running: int  # replies being written for the user, in all conversations
    running_here: int  # in this one
    dead: int  # of the running ones, those whose turn stopped beating
    recent: int  # replies asked for since `recent_since`, by a message or by a retry
    repeat_id: int | None  # the message that has this client id already
    spent: int  # tokens of the day, with those reserved
    summary_id: int | None  # of the older messages, which stand in no prompt any more
    summary: str
    summary_through: int  # id of the last message it stands for; 0 without one
    is_summary_untrusted: bool

    @property
    def about_fact_id(self) -> UUID | None:
        """The fact that the chat was opened to change."""
        return UUID(self.opening["fact_id"]) if "fact_id" in self.opening else None


# One round trip in the path to the first token, where the ORM takes five; the owner is in each condition.
_STANDING: Final = """
SELECT c.opening_context, c.is_temporary, c.trashed_at IS NOT NULL, c.title <> '',
    COALESCE((SELECT learns FROM memory_switches WHERE user_id = %(user)s), TRUE),
    c.assistant, c.status, c.snapshot_id, COALESCE(s.text, ''), u.experience_tier, u.time_zone,
    (SELECT COUNT(*) FROM agent_messages WHERE user_id = %(user)s AND status = 'streaming'),
    (SELECT COUNT(*) FROM agent_messages
      WHERE user_id = %(user)s AND status = 'streaming' AND conversation_id = %(conversation)s),
    (SELECT COUNT(*) FROM agent_messages
      WHERE user_id = %(user)s AND status = 'streaming' AND heartbeat_at < %(dead_before)s),
    (SELECT COUNT(*) FROM agent_messages
      WHERE user_id = %(user)s AND role = 'assistant' AND created_at > %(recent_since)s),
    (SELECT id FROM agent_messages
      WHERE user_id = %(user)s AND conversation_id = %(conversation)s AND client_id = %(client)s),
    COALESCE((SELECT prompt_tokens + completion_tokens + reserved_tokens FROM usage_days
      WHERE user_id = %(user)s AND day = %(today)s), 0),
    x.id, COALESCE(x.text, ''), COALESCE(x.through, 0), COALESCE(x.is_untrusted, FALSE)
FROM agent_conversations c
JOIN traders u ON u.id = c.user_id
LEFT JOIN memory_snapshots s ON s.id = c.snapshot_id AND s.user_id = c.user_id
LEFT JOIN conversation_summaries x ON x.user_id = c.user_id AND x.id = (
    SELECT id FROM conversation_summaries
    WHERE user_id = %(user)s AND conversation_id = %(conversation)s AND replaced_at IS NULL
    ORDER BY through DESC LIMIT 1)
WHERE c.user_id = %(user)s AND c.id = %(conversation)s
"""


def get_standing(
    conversation_id: UUID, *, client_id: UUID | None, dead_before: datetime, recent_since: datetime, today: date
) -> Standing:
    """Return all that decides whether and how a turn begins, for the user in scope.

    Raises:
        ConversationNotFound: the owner has no such conversation.
    """
    values = {
        "user": owner_id(),
        "conversation": _bound("conversation", conversation_id),
        "client": _bound("client_id", client_id),
        "dead_before": _bound("heartbeat_at", dead_before),
        "recent_since": _bound("created_at", recent_since),
        "today": _day(today),
    }
    with connection.cursor() as cursor:
        cursor.execute(_STANDING, values)
        row = cursor.fetchone()
    if row is None:
        raise ConversationNotFound("This chat does not exist.")
    # Neither engine turns a column into its own type when the ORM does not read it.
    *switches, summary_is_untrusted = map(bool, (*row[1:5], row[-1]))
    found: list[Any] = [conversation_id, json.loads(row[0]), *switches, *row[5:-1], summary_is_untrusted]
    return Standing(*found)


def _bound(column: str, value: Any) -> Any:
    """Return a value as the database takes it for a column of messages: engines differ in uuids and times."""
    field = cast("models.Field[Any, Any]", Message._meta.get_field(column))
    return field.get_db_prep_value(value, connection)


def _day(day: date) -> Any:
    field = cast("models.Field[Any, Any]", UsageDay._meta.get_field("day"))
    return field.get_db_prep_value(day, connection)


def is_streaming(message: Message) -> bool:
    """Tell whether a reply is being written."""
    return message.status == MessageStatus.STREAMING


TRASH_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class Threads:
    """The list of conversations beside a chat."""

    groups: list[ThreadGroup]  # by recency
    archived: list[Conversation]  # newest first
    trashed: int

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to list."""
        return not self.groups and not self.archived


@dataclass(frozen=True, slots=True)
class Trashed:
    """A conversation in the trash."""

    conversation: Conversation
    kept_until: datetime


@dataclass(frozen=True, slots=True)
class TrashPage:
    """One page of the trash, last deleted first."""

    rows: list[Trashed]
    total: int
    number: int  # from 1
    pages: int


def get_threads(now: datetime) -> Threads:
    """Return the newest conversations by age, the archived ones apart, and how many lie in the trash.

    Days are those of the zone that `now` is in.
    """
    groups = list_threads(now)
    archived = groups.pop().threads if groups and _is_archived(groups[-1].threads) else []
    return Threads(groups, archived, Conversation.objects.filter(trashed_at__isnull=False).count())


def _is_archived(threads: Iterable[Conversation]) -> bool:
    return all(thread.status == ConversationStatus.ARCHIVED for thread in threads)


def page_of_trash(number: int = 1) -> TrashPage:
    """Return one page of the conversations in the trash; a number beyond the last page gives the last."""
    rows = Conversation.objects.filter(trashed_at__isnull=False).order_by("-trashed_at", "pk")
    total = rows.count()
    place = locate_page(number, total=total, size=TRASH_PAGE)
    trashed = [Trashed(row, row.trashed_at + TRASH_KEPT) for row in rows[place.rows] if row.trashed_at is not None]
    return TrashPage(trashed, total, place.number, place.pages)


def find_conversation(conversation_id: UUID) -> Conversation | None:
    """Return a conversation, also one of the trash."""
    return Conversation.objects.filter(pk=conversation_id).first()


def find_panel_chat(*, opening: Mapping[str, str] | None, wanted: UUID | None) -> Conversation | None:
    """Return the chat that the panel shows on a page; None for an empty one.

    That is the one that was `wanted`, if it is there; but where a skill is written, the chat that wrote the open draft,
    or one that was opened there and has not ended.
    """
    if opening is None or opening["mode"] != "authoring":
        return _living(wanted)
    skill_id = opening.get("skill_id")
    draft = find_open_draft(UUID(skill_id) if skill_id else None)
    if draft is not None and (own := _living(draft.conversation_id)) is not None:
        return own
    shown = _living(wanted)
    if shown is None or shown.status != ConversationStatus.ACTIVE:
        return None
    told = shown.opening_context
    return shown if (told.get("mode"), told.get("skill_id")) == ("authoring", skill_id) else None


def _living(conversation_id: UUID | None) -> Conversation | None:
    if conversation_id is None:
        return None
    return Conversation.objects.filter(pk=conversation_id, trashed_at=None).first()


def summarised_through(conversation_id: UUID) -> int:
    """Return the id of the last message that a summary stands for in the prompt; 0 if there is none."""
    rows = ConversationSummary.objects.filter(conversation=conversation_id, replaced_at=None).order_by("-through")
    return rows.values_list("through", flat=True).first() or 0
