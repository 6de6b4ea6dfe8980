"""Save, finish and sweep replies, inside `owned_tx(user)` by default."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import Enum
from typing import Final
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from chat.conversations.usage import settle_tokens
from chat.models import Message, MessageStatus
from chat.parts import Json, Part, close_running_tools
from config.lib.search.terms import build_index_text

HEARTBEAT_LEASE: Final = timedelta(seconds=10)  # a turn saves at least every second; after this it is dead
_running_here: set[int] = set()  # ids of the replies that this process is writing

RESTARTED: Final = "Keel was restarted while it answered. What it had said is kept; retry to ask again."
_SWEPT: Final = Q(status=MessageStatus.INTERRUPTED, error=RESTARTED)


class SaveOutcome(Enum):
    """What a turn learns when it saves."""

    SAVED = "saved"
    STOP_REQUESTED = "stop requested"
    TAKEN = "taken"  # the reply was retried, deleted or finished elsewhere


def save_progress(
    *, reply_id: int, parts: list[Part], text: str, is_untrusted: bool = False, now: datetime
) -> SaveOutcome:
    """Save progress and a heartbeat. A reply that a sweep interrupted is streaming again.

    The sweep may have taken for dead a turn that only waited for its database.
    """
    values = {"parts": parts, "content": text, "heartbeat_at": now, **_mark_taint(is_untrusted)}
    if Message.update_row(reply_id, values, status=MessageStatus.STREAMING.value, stop_requested_at=None):
        return SaveOutcome.SAVED
    rows = Message.objects.streaming().filter(pk=reply_id)
    if not rows.update(**values) and not _revive_reply(reply_id, values):
        return SaveOutcome.TAKEN
    return SaveOutcome.STOP_REQUESTED if rows.filter(stop_requested_at__isnull=False).exists() else SaveOutcome.SAVED


def _revive_reply(reply_id: int, values: Json) -> bool:
    swept = Message.objects.shown().filter(_SWEPT, pk=reply_id)
    try:
        with transaction.atomic():
            return bool(swept.update(**values, status=MessageStatus.STREAMING, error="", finished_at=None))
    except IntegrityError:
        # The next turn of the chat has begun. The reply stays interrupted until its end is saved.
        return bool(swept.update(**values))


def finish_reply(
    *,
    reply_id: int,
    status: MessageStatus,
    parts: list[Part],
    text: str,
    error: str = "",
    model: str = "",
    usage: Json | None = None,
    is_untrusted: bool = False,
    now: datetime,
) -> bool:
    """Close a streaming reply; False if it was already closed.

    A sweep does not count as that: it may have taken for dead a turn that only stood still, and knows less than it.
    """
    rows = Message.objects.shown().filter(Q(status=MessageStatus.STREAMING) | _SWEPT, pk=reply_id)
    found = list(rows.select_for_update().only("user_id", "created_at", "reserved_tokens"))
    if not found:
        return False
    settle_tokens(found[0], usage, model)
    rows.update(
        status=status,
        parts=close_running_tools(parts),
        content=text,
        # Once, at the end, and not each second with the text.
        search_terms=build_index_text(text, found[0].user_id),
        error=error[:300],
        model=model[:120],
        usage=usage,
        reserved_tokens=0,
        finished_at=now,
        **_mark_taint(is_untrusted),
    )
    return True


def _mark_taint(is_untrusted: bool) -> dict[str, bool]:
    # What was once in view cannot be taken out of it again: the mark is never removed.
    return {"is_untrusted": True} if is_untrusted else {}


def request_stop(*, conversation_id: UUID, now: datetime) -> bool:
    """Ask a running turn to stop; return whether one runs."""
    rows = Message.objects.streaming().filter(conversation_id=conversation_id)
    return bool(rows.update(stop_requested_at=now))


@contextmanager
def shield_reply(reply_id: int) -> Iterator[None]:
    """Keep the sweeps of this process off a reply that it is writing, however long its database is away."""
    _running_here.add(reply_id)
    try:
        yield
    finally:
        _running_here.discard(reply_id)


def interrupt_dead_turns(*, now: datetime) -> list[UUID]:
    """Interrupt replies without a heartbeat; return their conversations."""
    dead = (
        Message.objects.streaming().filter(heartbeat_at__lt=now - HEARTBEAT_LEASE).exclude(pk__in=list(_running_here))
    )
    swept = []
    for reply in dead.select_for_update(skip_locked=True) if connection.features.has_select_for_update else dead:
        if finish_reply(
            reply_id=reply.pk,
            status=MessageStatus.INTERRUPTED,
            parts=reply.parts,
            text=reply.content,
            error=RESTARTED,
            now=now,
        ):
            swept.append(reply.conversation_id)
    return swept


def can_continue(reply: Message) -> bool:
    """Tell whether a reply broke off with some text."""
    return bool(reply.content) and reply.status in {MessageStatus.INTERRUPTED, MessageStatus.FAILED}
