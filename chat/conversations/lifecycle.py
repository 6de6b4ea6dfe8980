"""The stages of a conversation, from active to trash. Call each function inside `owned_tx(user)`.

The row is the queue: whoever takes the expired lease of a chat that is to be closed closes it. Append and close both
lock the row, so that the watermark (`extracted_through`) never passes a message that is still being stored.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from chat.conversations.queries import ConversationNotFound, get_conversation
from chat.models import Conversation, ConversationStatus, Message
from chat.parts import Json
from config.lib.errors import StateConflict
from config.lib.owned import owner_id
from config.lib.postgresql.locks import lock_owner
from config.lib.work.defer import defer
from config.lib.work.jobs import Key
from config.lib.work.leases import LEASE
from config.lib.work.spending import find_next_day
from memory.models import TRASH_KEPT

LEFT_AFTER: Final = timedelta(seconds=60)  # without a socket, once the page was left
ABANDONED_AFTER: Final = timedelta(hours=1)  # with neither socket nor turn
RENEWED_EVERY: Final = timedelta(minutes=5)  # an open socket writes that it is there no more often
# `left_at` is that far ahead while a page is open; leaving the page sets it to now.
HERE_LEASE: Final = ABANDONED_AFTER + RENEWED_EVERY - LEFT_AFTER
ARCHIVED_AFTER: Final = timedelta(days=30)
MAX_TRIES: Final = 5  # of an extraction
MAX_DUE: Final = 1_000  # chats in one query
CLOSE: Final = "close_chat"  # the task
FIRST_RETRY: Final = timedelta(minutes=1)  # five times as long before each further one

# Not by the ORM, which takes longer to build it than the database to run it.
_LOCK: Final = "SELECT id FROM agent_conversations WHERE user_id = %s AND id = %s FOR UPDATE"
REOPENED_FROM: Final = frozenset({ConversationStatus.IDLE, ConversationStatus.ARCHIVED})
_NOT_CLOSING: Final[Json] = {"closing_token": None, "closing_until": None}
_NOT_PENDING: Final[Json] = {"extraction_pending": False, "extraction_tries": 0, "extraction_due_at": None}
_PENDING: Final[Json] = {"extraction_pending": True, "extraction_tries": 0}
# A message sets these columns whatever the status was; a running close then finds its token gone.
AS_ACTIVE: Final[Json] = {"status": ConversationStatus.ACTIVE, **_NOT_CLOSING, **_NOT_PENDING}


class NothingToExtract(StateConflict):
    """A chat has nothing left to extract."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A closing lease, valid while its `token` is in the row."""

    conversation_id: UUID
    token: UUID
    status: ConversationStatus  # what it goes back to
    is_temporary: bool
    extracted_through: int
    summary: str


def is_here_known(*, conversation_id: UUID, now: datetime) -> bool:
    """Tell whether `note_here` can skip its write."""
    return not _filter_stale(conversation_id, now).exists()


def note_here(*, conversation_id: UUID, now: datetime) -> None:
    """Note that an active chat is open in a browser."""
    _filter_stale(conversation_id, now).update(left_at=now + HERE_LEASE)


def _filter_stale(conversation_id: UUID, now: datetime) -> Any:
    rows = Conversation.objects.filter(pk=conversation_id, status=ConversationStatus.ACTIVE)
    return rows.filter(Q(left_at=None) | Q(left_at__lt=now + HERE_LEASE - RENEWED_EVERY))


def note_left(*, conversation_id: UUID, now: datetime) -> None:
    """Note that a chat's page was left; another open page renews it."""
    rows = Conversation.objects.filter(pk=conversation_id, status=ConversationStatus.ACTIVE)
    rows.filter(Q(left_at=None) | Q(left_at__gt=now)).update(left_at=now)


def request_close(*, conversation_id: UUID, now: datetime) -> None:
    """Request the close of an active chat. Raises ConversationNotFound."""
    rows = Conversation.objects.filter(pk=conversation_id)
    asked = rows.filter(status=ConversationStatus.ACTIVE, trashed_at=None).update(
        status=ConversationStatus.CLOSING, closing_token=uuid4(), closing_until=now
    )
    if not asked and not rows.exists():
        raise ConversationNotFound("This chat does not exist.")
    defer(CLOSE, Key(owner_id(), conversation_id))


def claim_closing(*, conversation_id: UUID, now: datetime) -> Claim | None:
    """Claim a chat for closing, for five minutes; None if there is nothing to do now. Raises ConversationNotFound."""
    found = _lock_and_get(conversation_id)
    if Message.objects.streaming().filter(conversation_id=conversation_id).exists():
        return None
    token = uuid4()
    unread = Message.objects.shown().filter(conversation=OuterRef("pk"), pk__gt=OuterRef("extracted_through"))
    is_closable = (
        Q(status=ConversationStatus.ACTIVE)
        | Q(status=ConversationStatus.CLOSING, closing_until__lte=now)
        | Q(Exists(unread), status__in=REOPENED_FROM)
    )
    rows = Conversation.objects.filter(is_closable, pk=conversation_id, trashed_at=None)
    if not rows.update(status=ConversationStatus.CLOSING, closing_token=token, closing_until=now + LEASE):
        return None
    status = ConversationStatus(found.status)
    return Claim(
        conversation_id=conversation_id,
        token=token,
        status=status if status in REOPENED_FROM else ConversationStatus.IDLE,
        is_temporary=found.is_temporary,
        extracted_through=found.extracted_through,
        summary=found.summary,
    )


def hold_closing(claim: Claim, *, now: datetime) -> bool:
    """Lock the conversation and renew the lease; False if it is lost."""
    lock_conversation(claim.conversation_id)
    return bool(_filter_claimed(claim).update(closing_until=now + LEASE))


def keep_watermark(claim: Claim, *, through: int, summary: str) -> None:
    """Save watermark and summary, in the transaction of `hold_closing`."""
    _filter_claimed(claim).update(extracted_through=through, summary=summary)


def finish_closing(claim: Claim, *, through: int) -> bool:
    """Close a chat up to `through`; False if the lease is lost."""
    lock_conversation(claim.conversation_id)
    if claim.is_temporary:
        return bool(_filter_claimed(claim).delete()[0])
    return bool(
        _filter_claimed(claim).update(
            status=claim.status, left_at=None, extracted_through=through, **_NOT_CLOSING, **_NOT_PENDING
        )
    )


def put_off_extraction(claim: Claim, *, now: datetime, is_day_over: bool = False) -> bool:
    """Schedule a retry of the extraction; False after the last try. Call it after `hold_closing`, in its transaction.

    What was not extracted stays above the watermark: the next message in the chat gives it more tries. `is_day_over`:
    it waits for the tokens of the next day, which is no try.
    """
    tries: int = _filter_claimed(claim).values_list("extraction_tries", flat=True).get() + (not is_day_over)
    is_tried_again = tries < MAX_TRIES
    pause = FIRST_RETRY * 5 ** (tries - 1)
    due_at = find_next_day(now) if is_day_over else now + pause
    _filter_claimed(claim).update(
        status=claim.status,
        left_at=None,
        extraction_pending=is_tried_again,
        extraction_tries=tries,
        extraction_due_at=due_at if is_tried_again else None,
        **_NOT_CLOSING,
    )
    return is_tried_again


def retry_extraction(*, conversation_id: UUID, now: datetime) -> None:
    """Extract a chat's remaining messages soon, with new tries. Raises ConversationNotFound, NothingToExtract."""
    found = _lock_and_get(conversation_id)
    unread = Message.objects.shown().filter(conversation_id=conversation_id, pk__gt=found.extracted_through)
    if found.trashed_at is not None or found.status not in REOPENED_FROM or not unread.exists():
        raise NothingToExtract("This chat is open, in the trash, or has no message left to extract.")
    Conversation.objects.filter(pk=conversation_id).update(**_PENDING, extraction_due_at=now)
    defer(CLOSE, Key(found.user_id, conversation_id))


def list_due(*, now: datetime, **which: UUID) -> list[Key]:
    """Return the chats to close, oldest first: the owner's, or in the system's scope all."""
    is_left = Q(left_at__lte=now - LEFT_AFTER) | Q(left_at=None, last_message_at__lte=now - ABANDONED_AFTER)
    is_due = (
        Q(is_left, status=ConversationStatus.ACTIVE)
        | Q(status=ConversationStatus.CLOSING, closing_until__lte=now)
        | Q(status__in=REOPENED_FROM, extraction_pending=True, extraction_due_at__lte=now)
    )
    running = Message.objects.streaming().filter(conversation=OuterRef("pk"))
    rows = Conversation.objects.filter(is_due, ~Exists(running), trashed_at=None, **which)
    keys = rows.order_by("last_message_at", "pk").values_list("user_id", "pk")
    return [Key(user_id, pk) for user_id, pk in keys[:MAX_DUE]]


def archive_old(*, now: datetime) -> int:
    """Archive chats idle for 30 days; in `system_tx`, of all users."""
    since = now - ARCHIVED_AFTER
    old = Conversation.objects.filter(status=ConversationStatus.IDLE, last_message_at__lte=since)
    # An idle chat has been left at a time of its own only if it was taken out of the archive then.
    old = old.filter(Q(left_at=None) | Q(left_at__lte=since), extraction_pending=False)
    return int(old.update(status=ConversationStatus.ARCHIVED, left_at=None))


def archive_conversation(*, conversation_id: UUID, now: datetime) -> None:
    """Archive a chat; its remaining messages are extracted soon. Idempotent. Raises ConversationNotFound."""
    found = _lock_and_get(conversation_id)
    pending = _PENDING | {"extraction_due_at": now} if found.status not in REOPENED_FROM else {}
    Conversation.objects.filter(pk=conversation_id).update(
        status=ConversationStatus.ARCHIVED, left_at=None, **_NOT_CLOSING, **pending
    )
    if pending:
        defer(CLOSE, Key(found.user_id, conversation_id))


def unarchive_conversation(*, conversation_id: UUID, now: datetime) -> None:
    """Unarchive a chat for at least 30 days. Raises ConversationNotFound."""
    found = _lock_and_get(conversation_id)
    if found.status == ConversationStatus.ARCHIVED:
        Conversation.objects.filter(pk=conversation_id).update(status=ConversationStatus.IDLE, left_at=now)


def trash_conversation(*, conversation_id: UUID, now: datetime) -> None:
    """Move a chat to the trash; idempotent. Raises ConversationNotFound."""
    found = _lock_and_get(conversation_id)
    if found.trashed_at is None:
        status = found.status if found.status in REOPENED_FROM else ConversationStatus.IDLE
        Conversation.objects.filter(pk=conversation_id).update(
            status=status, trashed_at=now, left_at=None, **_NOT_CLOSING, **_NOT_PENDING
        )


def restore_conversation(*, conversation_id: UUID) -> None:
    """Take a chat out of the trash. Idempotent. Raises ConversationNotFound."""
    if not Conversation.objects.filter(pk=conversation_id).update(trashed_at=None):
        raise ConversationNotFound("This chat does not exist.")


def purge_conversations(*, now: datetime) -> int:
    """Delete chats 30 days after trashing; their facts stay, without quotes."""
    gone = list(Conversation.objects.filter(trashed_at__lte=now - TRASH_KEPT).values_list("pk", flat=True))
    messages = Message.objects.filter(conversation__in=gone)
    from memory.facts.trash import drop_quotes  # noqa: PLC0415 - the erasure of facts, which no turn needs

    drop_quotes(message_ids=frozenset(messages.values_list("pk", flat=True)))
    Conversation.objects.filter(pk__in=gone).delete()
    return len(gone)


def list_owners_of_old_trash(*, now: datetime) -> set[int]:
    """Return the users with chats to purge. Call it in `system_tx`."""
    return set(Conversation.objects.filter(trashed_at__lte=now - TRASH_KEPT).values_list("user_id", flat=True))


def _filter_claimed(claim: Claim) -> Any:
    return Conversation.objects.filter(pk=claim.conversation_id, closing_token=claim.token)


def _lock_and_get(conversation_id: UUID) -> Conversation:
    lock_conversation(conversation_id)
    return get_conversation(conversation_id)


def lock_conversation(conversation_id: UUID) -> None:
    """Lock the user and the conversation, always in this order, so that limits and memory hold under any race."""
    lock_owner()
    if connection.features.has_select_for_update:
        with connection.cursor() as cursor:
            cursor.execute(_LOCK, [owner_id(), conversation_id])
