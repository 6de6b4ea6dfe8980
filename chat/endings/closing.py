"""Close a chat: extract its facts, then set it idle (seed 001).

Whoever holds the lease extracts, so that a chat is extracted once however often it is closed; no model is
called inside a transaction; each transaction begins by asking whether the lease still holds, and a message that came in
meanwhile takes it. Only messages above the watermark are sent, and it moves with what was written.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from typing import Final
from uuid import UUID, uuid4

from django.conf import settings

from chat.conversations.lifecycle import (
    Claim,
    claim_closing,
    finish_closing,
    hold_closing,
    keep_watermark,
    list_due,
    put_off_extraction,
)
from chat.conversations.queries import ConversationNotFound
from chat.models import Conversation, Message, Role
from config.lib.llm import door
from config.lib.llm.door import LLMUnavailable
from config.lib.owned import owned, owned_tx, system_tx
from config.lib.work.jobs import Clock
from config.lib.work.leases import keep_lease
from config.lib.work.spending import is_used_up, write_site_tokens
from memory.facts.queries import is_learning
from memory.facts.versions import Origin
from memory.learning.extraction import CHUNK_TOKENS, ChatEntry, Extraction, chunk_turns, extract_facts, strip_block
from memory.learning.reconcile import ReconcileCounts, list_known_facts, reconcile_candidates

logger = logging.getLogger(__name__)

BROKE: Final = "broke"

_NOTHING_LEARNED: Final = ReconcileCounts()


class ClosingOutcome(StrEnum):
    IDLE = "idle"
    ARCHIVED = "archived"
    DELETED = "deleted"
    NOT_NEEDED = "nothing to do"  # it rests, is in the trash or being closed, or a turn runs
    TAKEN_BACK = "taken back"  # by a message that arrived during the close
    PUT_OFF = "to be tried again"
    GIVEN_UP = "given up"


@dataclass(frozen=True, slots=True)
class Closed:
    """The result of one try to close a chat."""

    outcome: ClosingOutcome
    learned: ReconcileCounts = _NOTHING_LEARNED


@dataclass(frozen=True, slots=True)
class _ClosingWork:
    claim: Claim
    batches: list[list[ChatEntry]]  # each fits one extraction
    said_at: dict[int, datetime]
    is_tainted: bool
    through: int  # the newest message, or the watermark
    origin: Origin  # of all that is written: one batch


def close_conversation(conversation_id: UUID, *, user_id: int, clock: Clock) -> Closed:
    """Extract and close a chat, outside of scopes and event loops; idempotent. Raises ConversationNotFound."""
    with owned_tx(user_id):
        claim = claim_closing(conversation_id=conversation_id, now=clock())
        work = _plan_work(claim) if claim is not None else None
    if work is None:
        return Closed(ClosingOutcome.NOT_NEEDED)

    def renew_lease() -> None:
        with owned_tx(user_id):
            hold_closing(work.claim, now=clock())

    learned = _NOTHING_LEARNED
    summary = work.claim.summary
    try:
        for turns in work.batches:
            with owned(user_id):
                known = list_known_facts(clock())
            if is_used_up(settings.EXTRACT_MODELS, now=clock()):
                raise LLMUnavailable("used_up")
            with keep_lease(renew_lease):
                found = door.run(extract_facts(turns, known, summary, models=settings.EXTRACT_MODELS))
            write_site_tokens(clock().date())
            with owned_tx(user_id):
                kept = _save_extraction(work, found, now=clock())
            if kept is None:
                return Closed(ClosingOutcome.TAKEN_BACK, learned)
            learned, summary = learned + kept, found.summary
            if not found.is_complete:
                raise LLMUnavailable("interrupted")
    except LLMUnavailable as problem:
        return _put_off(work.claim, problem.kind, learned, user_id=user_id, now=clock())
    except Exception:
        logger.exception("Closing conversation %s failed", conversation_id)
        return _put_off(work.claim, BROKE, learned, user_id=user_id, now=clock())
    with owned_tx(user_id):
        is_closed = finish_closing(work.claim, through=work.through)
    if not is_closed:
        return Closed(ClosingOutcome.TAKEN_BACK, learned)
    return Closed(
        ClosingOutcome.DELETED if work.claim.is_temporary else ClosingOutcome(work.claim.status.value), learned
    )


def find_owner(conversation_id: UUID) -> int:
    """Return the owner of any conversation."""
    with system_tx("whose chat is to be closed"):
        user_id: int | None = Conversation.objects.filter(pk=conversation_id).values_list("user_id", flat=True).first()
    if user_id is None:
        raise ConversationNotFound("This chat does not exist.")
    return user_id


def close_if_due(conversation_id: UUID, *, user_id: int, clock: Clock) -> Closed:
    """Close a chat unless somebody came back to it; see `close_conversation`."""
    with owned(user_id):
        is_due = bool(list_due(now=clock(), pk=conversation_id))
    return (
        close_conversation(conversation_id, user_id=user_id, clock=clock)
        if is_due
        else Closed(ClosingOutcome.NOT_NEEDED)
    )


def _plan_work(claim: Claim) -> _ClosingWork:
    rows = Message.objects.shown().filter(conversation_id=claim.conversation_id, pk__gt=claim.extracted_through)
    unread = list(rows.select_related("snapshot").order_by("pk"))
    is_taught = not claim.is_temporary and is_learning() and any(row.role == Role.USER for row in unread)
    before = Message.objects.shown().filter(conversation_id=claim.conversation_id, is_untrusted=True)
    return _ClosingWork(
        claim=claim,
        batches=_build_batches(unread) if is_taught else [],
        said_at={row.pk: row.created_at for row in unread},
        is_tainted=is_taught and before.exists(),  # the running summary repeats text that was in view
        through=unread[-1].pk if unread else claim.extracted_through,
        origin=Origin(conversation_id=claim.conversation_id, batch_id=uuid4()),
    )


def _build_batches(messages: Sequence[Message]) -> list[list[ChatEntry]]:
    """Return what was said in batches of about one model call."""
    turns = []
    for row in messages:
        # Facts from the prompt must not be learned again from a reply (seed 001).
        block = row.snapshot.text if row.snapshot is not None and row.role == Role.ASSISTANT else ""
        if row.content:
            said = strip_block(row.content, block)
            turns.append(ChatEntry(row.pk, "user" if row.role == Role.USER else "assistant", said, row.is_untrusted))
    ends = dict.fromkeys(chunk.through_message_id for chunk in chunk_turns(turns, CHUNK_TOKENS))
    through = [0, *(end for end in ends if end is not None)]
    return [[turn for turn in turns if after < turn.message_id <= end] for after, end in pairwise(through)]


def _save_extraction(work: _ClosingWork, found: Extraction, *, now: datetime) -> ReconcileCounts | None:
    """Save a batch's facts; None, and no write, without the lease."""
    if not hold_closing(work.claim, now=now):
        return None
    assert found.through_message_id is not None, "a batch holds whole messages"
    if not is_learning():
        # Paused while the model read: what it read is passed over for good.
        keep_watermark(work.claim, through=found.through_message_id, summary=work.claim.summary)
        return _NOTHING_LEARNED
    keep_watermark(work.claim, through=found.through_message_id, summary=found.summary)
    return reconcile_candidates(
        found.candidates,
        said_at=work.said_at,
        is_tainted=work.is_tainted or found.is_tainted,
        origin=work.origin,
        now=now,
    )


def _put_off(claim: Claim, kind: str, learned: ReconcileCounts, *, user_id: int, now: datetime) -> Closed:
    with owned_tx(user_id):
        if not hold_closing(claim, now=now):
            return Closed(ClosingOutcome.TAKEN_BACK, learned)
        is_tried_again = put_off_extraction(claim, now=now, is_day_over=kind == "used_up")
    outcome = ClosingOutcome.PUT_OFF if is_tried_again else ClosingOutcome.GIVEN_UP
    logger.warning("Extraction of conversation %s: %s, %s", claim.conversation_id, kind, outcome)
    return Closed(outcome, learned)
