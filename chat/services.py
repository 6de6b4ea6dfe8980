"""Writing conversations. Each function is one intention; call it inside `owned_tx(user)` unless it says otherwise."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import Q

from chat.assistants import ASSISTANTS, default_assistant
from chat.focus import check_opening, focus_of
from chat.lifecycle import AS_ACTIVE, HERE_LEASE, REOPENED_FROM, lock_conversation
from chat.models import (
    MAX_TITLE,
    AssistantName,
    Conversation,
    ConversationSummary,
    MemorySnapshot,
    Message,
    MessageStatus,
    Role,
)
from chat.parts import Part, close_running_tools
from chat.prompts import (
    ASK_WHAT_CHANGES,
    Segment,
    as_blocks,
    joined,
    system_segments,
)
from chat.queries import ConversationNotFound, History, Standing, get_standing, history
from chat.receipts import DELETED, Sent, as_sent, find_receipt, prompt_of
from chat.usage import REPLY_ALLOWANCE, reserve_tokens, settle_tokens
from config.lib.errors import DomainError
from config.lib.owned import owner_id
from config.lib.text import clean_text, one_line
from config.lib.tokens import CHARS_PER_TOKEN
from memory.models import UserFact
from memory.queries import find_last_version, uses_facts
from memory.versions import FactNotFound

MAX_MESSAGE_BYTES: Final = 16 * 1024
HEARTBEAT_LEASE: Final = timedelta(seconds=10)  # a turn saves at least every second; after this it is dead
TITLE_WORDS: Final = 6
USED_UP: Final = (
    "Today's {budget:,} tokens are used up, or set aside for answers under way. They are counted anew from 00:00 UTC. "
    "Your text is kept."
)
RESTARTED: Final = "Keel was restarted while it answered. What it had said is kept; retry to ask again."


class MessageRefused(DomainError):
    """The message cannot be taken now; the text the user typed stays with them."""

    http_status = HTTPStatus.CONFLICT


class TooMuchAsked(MessageRefused):
    """A limit of the user's is reached; later it can be taken."""

    http_status = HTTPStatus.TOO_MANY_REQUESTS


@dataclass(frozen=True, slots=True)
class TurnStart:
    """All that a turn needs to know; made in the transaction that stored its messages."""

    user_id: int
    time_zone: str  # IANA name: the user's, for the times that frames show
    conversation_id: UUID
    assistant: str
    message_id: int  # the user's message
    reply_id: int
    sent: Sent  # the system prompt and what was said, for a model
    text: str  # what the user typed
    now: datetime
    opening: dict[str, Any] = field(default_factory=dict)  # Conversation.opening_context
    is_temporary: bool = False  # the chat teaches Keel nothing
    is_untrusted: bool = False  # text that the user did not type came into the model's window in an earlier turn
    room: int = 0  # estimated tokens that messages have in the prompt
    room_left: int = 0  # below zero: older messages did not fit

    @property
    def system(self) -> list[dict[str, Any]]:
        """The system prompt as text blocks; the first is the cached prefix."""
        return as_blocks(self.sent.segments)

    @property
    def history(self) -> list[dict[str, Any]]:
        """Messages for a model, the user's newest last."""
        return [dict(message) for message in self.sent.messages]


@dataclass(frozen=True, slots=True)
class Accepted:
    """A stored message; `turn` is None for one that was sent before, whose turn has begun already."""

    message: Message
    reply: Message | None
    turn: TurnStart | None
    title: str | None  # set when this message gave the conversation its title

    @property
    def rows(self) -> list[Message]:
        """The message, and its reply if there is one."""
        return [self.message, *([self.reply] if self.reply else [])]


def start_conversation(
    *,
    assistant: str | None = None,
    is_temporary: bool = False,
    opening: Mapping[str, str] | None = None,
    now: datetime,
) -> Conversation:
    """Make an empty conversation, with the default assistant unless one is named.

    Args:
        opening: what it is opened from: `mode` ops, coach with `deployment_id`, or authoring with `skill_id` or none.

    Raises:
        DeploymentNotFound, SkillNotFound: the owner has no such deployment or skill.
    """
    check_opening(opening or {})
    conversation: Conversation = Conversation.objects.create(
        assistant=assistant or default_assistant().name,
        opening_context=dict(opening) if opening else {"mode": "ops"},
        is_temporary=is_temporary,
        created_at=now,
        last_message_at=now,
        left_at=now + HERE_LEASE,
    )
    return conversation


def ask_about_fact(*, fact_id: UUID, now: datetime) -> Conversation:
    """Make a chat with the advisor about changing a fact, which opens with the question what should change.

    The fact itself goes to the model with the user's first message, unseen.

    Raises:
        FactNotFound: the owner has no such fact.
    """
    fact = find_last_version(fact_id)
    if fact is None or fact.is_archived:
        raise FactNotFound("There is no such fact.")
    conversation = start_conversation(assistant=AssistantName.ADVISOR, now=now)
    conversation.opening_context = {"mode": "ops", "fact_id": str(fact.pk)}
    conversation.save(update_fields=["opening_context"])
    Message.objects.create(
        conversation=conversation,
        role=Role.ASSISTANT,
        content=ASK_WHAT_CHANGES,
        parts=[{"kind": "text", "step": 0, "text": ASK_WHAT_CHANGES}],
        created_at=now,
        finished_at=now,
    )
    return conversation


def rename_conversation(*, conversation_id: UUID, title: str) -> Conversation:
    """Set the title. Raises ConversationNotFound; MessageRefused for an empty or too long one."""
    line = one_line(title)
    if not 0 < len(line) <= MAX_TITLE:
        raise MessageRefused(f"A title needs 1 to {MAX_TITLE} characters.")
    conversation = Conversation.objects.filter(pk=conversation_id).first()
    if conversation is None:
        raise ConversationNotFound("This chat does not exist.")
    conversation.title, conversation.is_title_chosen = line, True
    conversation.save(update_fields=["title", "is_title_chosen"])
    renamed: Conversation = conversation
    return renamed


def accept_message(*, conversation_id: UUID, client_id: UUID, text: str, now: datetime) -> Accepted:
    """Store what the user typed and the reply that begins, in one transaction.

    The same `client_id` again returns what was stored and starts nothing.

    Raises:
        ConversationNotFound: the owner has no such conversation.
        MessageRefused: empty, too long, a turn is running here.
        TooMuchAsked: too many turns or messages, or the day's tokens are used up.
    """
    content = clean_text(text).strip()
    standing = _standing(conversation_id, client_id, now)
    if standing.repeat_id is not None:
        return _accepted_before(standing.repeat_id)
    _refuse_bad_text(content)
    _refuse_for_now(standing)
    message = Message.objects.create(
        conversation_id=conversation_id,
        role=Role.USER,
        content=content,
        client_id=client_id,
        created_at=now,
        finished_at=now,
    )
    title = None if standing.has_title else title_from(content)
    return _begin_turn(standing, message, title, now)


def retry_reply(*, conversation_id: UUID, now: datetime) -> tuple[Message, Accepted]:
    """Begin the newest reply anew; return the one it replaces, which is kept out of sight, and the new turn.

    Raises:
        ConversationNotFound: the owner has no such conversation.
        MessageRefused: there is no reply, or a turn is running, or too many are.
    """
    standing = _standing(conversation_id, None, now)
    _refuse_for_now(standing)
    old = Message.objects.shown().filter(conversation_id=conversation_id).order_by("-pk").first()
    if old is None or old.role != Role.ASSISTANT or old.reply_to is None:
        raise MessageRefused("There is no reply to try again.")
    old.replaced_at = now
    old.save(update_fields=["replaced_at"])
    return old, _begin_turn(standing, old.reply_to, None, now, is_continuation=old.is_continuation)


def edit_message(*, conversation_id: UUID, message_id: int, text: str, now: datetime) -> tuple[list[int], Accepted]:
    """Say something else instead of an earlier message; return the ids that it replaces, and the new turn.

    The message, and all that was said after it, is kept out of sight. A summary that reached behind it is dropped.

    Raises:
        ConversationNotFound: the owner has no such conversation.
        MessageRefused: it is no message of theirs that is still shown, the text is none, or no turn can begin.
    """
    content = clean_text(text).strip()
    standing = _standing(conversation_id, None, now)
    _refuse_bad_text(content)
    _refuse_for_now(standing)
    shown = Message.objects.shown().filter(conversation_id=conversation_id)
    if not shown.filter(pk=message_id, role=Role.USER).exists():
        raise MessageRefused("This message was changed already. Reload to see the chat as it is now.")
    replaced = list(shown.filter(pk__gte=message_id).order_by("pk").values_list("pk", flat=True))
    Message.objects.filter(pk__in=replaced).update(replaced_at=now)
    summaries = ConversationSummary.objects.filter(conversation_id=conversation_id, replaced_at=None)
    if summaries.filter(through__gte=message_id).update(replaced_at=now):
        standing = _standing(conversation_id, None, now)
    message = Message.objects.create(
        conversation_id=conversation_id, role=Role.USER, content=content, created_at=now, finished_at=now
    )
    return replaced, _begin_turn(standing, message, None, now)


def continue_reply(*, conversation_id: UUID, now: datetime) -> Accepted:
    """Let the model go on where its newest reply broke off, in a reply of its own.

    Raises:
        ConversationNotFound: the owner has no such conversation.
        MessageRefused: the newest reply is whole, or says nothing, or no turn can begin.
    """
    standing = _standing(conversation_id, None, now)
    _refuse_for_now(standing)
    last = Message.objects.shown().filter(conversation_id=conversation_id).order_by("-pk").first()
    if last is None or last.reply_to is None or not can_continue(last):
        raise MessageRefused("There is no answer here that broke off.")
    return _begin_turn(standing, last.reply_to, None, now, is_continuation=True)


def can_continue(reply: Message) -> bool:
    """Tell whether a reply broke off after it had said something."""
    return bool(reply.content) and reply.status in {MessageStatus.INTERRUPTED, MessageStatus.FAILED}


def save_progress(*, reply_id: int, parts: list[Part], text: str, is_untrusted: bool = False, now: datetime) -> bool:
    """Keep what the reply holds so far and that its turn lives; return whether to go on.

    False: the user asked from elsewhere to stop, or the reply is not streaming any more.
    """
    rows = Message.objects.streaming().filter(pk=reply_id)
    if not rows.update(parts=parts, content=text, heartbeat_at=now, **_taint(is_untrusted)):
        return False
    return bool(rows.filter(stop_requested_at__isnull=True).exists())


def finish_reply(
    *,
    reply_id: int,
    status: MessageStatus,
    parts: list[Part],
    text: str,
    error: str = "",
    model: str = "",
    usage: dict[str, Any] | None = None,
    is_untrusted: bool = False,
    now: datetime,
) -> bool:
    """Close a streaming reply with all it holds; return False if something else had closed it.

    A sweep does not count as that: it may have taken for dead a turn that only stood still, and knows less than it.
    """
    is_swept = Q(status=MessageStatus.INTERRUPTED, error=RESTARTED)
    updated = (
        Message.objects.shown()
        .filter(Q(status=MessageStatus.STREAMING) | is_swept, pk=reply_id)
        .update(
            status=status,
            parts=close_running_tools(parts),
            content=text,
            error=error[:300],
            model=model[:120],
            usage=usage,
            finished_at=now,
            **_taint(is_untrusted),
        )
    )
    if updated:
        reply = Message.objects.only("user_id", "content", "created_at", "reserved_tokens").get(pk=reply_id)
        settle_tokens(reply, usage, model)
        # Once, at the end: while it streams its text is saved every second, by an update that derives nothing.
        reply.save(update_fields=["search_terms"])
    return bool(updated)


def _taint(is_untrusted: bool) -> dict[str, bool]:
    # What was once in view cannot be taken out of it again: the mark is never removed.
    return {"is_untrusted": True} if is_untrusted else {}


def request_stop(*, conversation_id: UUID, now: datetime) -> bool:
    """Ask the running turn of a conversation to stop, in whichever process it runs; return whether there was one."""
    rows = Message.objects.streaming().filter(conversation_id=conversation_id)
    return bool(rows.update(stop_requested_at=now))


def interrupt_dead_turns(*, now: datetime) -> list[UUID]:
    """Mark the replies whose turn stopped beating as interrupted; return their conversations.

    Call it inside `system_tx` to sweep everybody's, or inside `owned_tx` for one user's.
    """
    dead = Message.objects.streaming().filter(heartbeat_at__lt=now - HEARTBEAT_LEASE)
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


def title_from(text: str) -> str:
    """Return a title made of the first words of a message."""
    words = one_line(text).split()
    title = " ".join(words[:TITLE_WORDS])
    if len(title) > MAX_TITLE - 1:
        return title[: MAX_TITLE - 1].rstrip() + "…"
    return title + ("…" if len(words) > TITLE_WORDS else "")


def preview_prompt(*, assistant: str, now: datetime) -> str:
    """Return the system prompt that a new chat would send at `now`; changes nothing."""
    return _prompt(_preview_block(assistant, now), assistant=assistant, opening={}, now=now)


def sent_prompt(conversation: Conversation, *, now: datetime) -> str:
    """Return the system prompt of a conversation's newest turn, or the one its first turn would send at `now`.

    What was sent is put together from its receipt, byte for byte, but for what was deleted since; of a reply without
    one, from its memory block and what the user and the focus are now.
    """
    rows = Message.objects.shown().filter(conversation=conversation, role=Role.ASSISTANT, reply_to__isnull=False)
    reply = rows.select_related("snapshot").order_by("-pk").first()
    assistant, opening = conversation.assistant, conversation.opening_context
    if reply is None or reply.snapshot is None:
        return _prompt(_preview_block(assistant, now), assistant=assistant, opening=opening, now=now)
    if (receipt := find_receipt(reply)) is not None:
        return prompt_of(receipt, reply)
    sent = reply.snapshot
    block = DELETED.format(sha256=sent.sha256) if sent.is_erased else sent.text
    return _prompt(block, assistant=assistant, opening=opening, now=reply.created_at)


def _preview_block(assistant: str, now: datetime) -> str:
    return ASSISTANTS[assistant].preview_block(now=now, uses_facts=uses_facts()).text


def _prompt(memory_block: str, *, assistant: str, opening: Mapping[str, Any], now: datetime) -> str:
    tier = get_user_model()._default_manager.filter(pk=owner_id()).values_list("experience_tier", flat=True).get()
    return joined(_segments(memory_block, assistant=assistant, opening=opening, tier=tier, now=now))


def _segments(
    memory_block: str, *, assistant: str, opening: Mapping[str, Any], tier: str | None, now: datetime
) -> tuple[Segment, ...]:
    mode = str(opening.get("mode", "ops"))
    prefix = ASSISTANTS[assistant].prefix(tier=tier, memory_block=memory_block, mode=mode)
    return system_segments(prefix, focus=focus_of(opening), now=now)


def _standing(conversation_id: UUID, client_id: UUID | None, now: datetime) -> Standing:
    """Lock the conversation, end its user's dead turns, and say where both stand. Raises ConversationNotFound."""
    lock_conversation(conversation_id)

    def look() -> Standing:
        return get_standing(
            conversation_id,
            client_id=client_id,
            dead_before=now - HEARTBEAT_LEASE,
            recent_since=now - timedelta(minutes=1),
            today=now.date(),
        )

    standing = look()
    return look() if standing.dead and interrupt_dead_turns(now=now) else standing


def _refuse_bad_text(content: str) -> None:
    if not one_line(content):  # what shows nothing says nothing
        raise MessageRefused("There is nothing to send.")
    size = len(content.encode())
    if size > MAX_MESSAGE_BYTES:
        raise MessageRefused(
            f"This message is too long: {size // 1024 + 1} KiB, and {MAX_MESSAGE_BYTES // 1024} KiB is the most. "
            "Send it in parts."
        )


def _accepted_before(message_id: int) -> Accepted:
    message = Message.objects.get(pk=message_id)
    reply = Message.objects.shown().filter(reply_to=message).order_by("-pk").first()
    return Accepted(message, reply, None, None)


def _refuse_for_now(standing: Standing) -> None:
    if standing.is_trashed:
        raise MessageRefused("This chat is in the trash. Restore it to go on with it.")
    if standing.running_here:
        raise MessageRefused("Keel is still answering here. Wait for it, or stop it first.")
    if standing.running >= settings.TURNS_PER_USER:
        raise TooMuchAsked(
            f"Keel is answering in {standing.running} other chats, the most at a time. Wait for one, or stop it."
        )
    if standing.recent >= settings.MESSAGES_PER_MINUTE:
        raise TooMuchAsked("That is a lot of messages in one minute. Wait a moment, then send it again.")
    _refuse_above_budget(standing, REPLY_ALLOWANCE)


def _refuse_above_budget(standing: Standing, tokens: int) -> None:
    if standing.spent + tokens > settings.DAILY_TOKEN_BUDGET:
        raise TooMuchAsked(USED_UP.format(budget=settings.DAILY_TOKEN_BUDGET))


def _begin_turn(
    standing: Standing, message: Message, title: str | None, now: datetime, *, is_continuation: bool = False
) -> Accepted:
    """Insert the reply that begins, bring the conversation up to date, and gather what the turn needs."""
    if standing.snapshot_id is None or standing.status in REOPENED_FROM:
        standing = _with_frozen_block(standing, now)
    segments = _segments(
        standing.memory_block, assistant=standing.assistant, opening=standing.opening, tier=standing.tier, now=now
    )
    # The reply takes room too, and so do the prompt and what stands for the older messages.
    room = settings.CONTEXT_BUDGET_TOKENS * 8 // 10 - _length(segments) - len(standing.summary) // CHARS_PER_TOKEN
    told = _told(standing, message, room, is_continuation=is_continuation)
    tokens = told.tokens + _length(segments) + REPLY_ALLOWANCE
    _refuse_above_budget(standing, tokens)
    reserve_tokens(tokens=tokens, now=now)
    reply = Message.objects.create(
        conversation_id=standing.conversation_id,
        role=Role.ASSISTANT,
        status=MessageStatus.STREAMING,
        reply_to=message,
        snapshot_id=standing.snapshot_id,
        is_continuation=is_continuation,
        reserved_tokens=tokens,
        created_at=now,
        heartbeat_at=now,
    )
    changes: dict[str, Any] = {**AS_ACTIVE, "last_message_at": now, "left_at": now + HERE_LEASE}
    changes["snapshot_id"] = standing.snapshot_id
    if title:
        changes["title"] = title
    if not standing.is_learning:
        changes["extracted_through"] = reply.pk  # nor will it be learned when the pause is over
    Conversation.objects.filter(pk=standing.conversation_id).update(**changes)
    opening_fact = None if is_continuation else _opening_fact(standing, message)
    turn = TurnStart(
        user_id=owner_id(),
        time_zone=standing.time_zone,
        conversation_id=standing.conversation_id,
        assistant=standing.assistant,
        message_id=message.pk,
        reply_id=reply.pk,
        sent=Sent(
            segments,
            message_ids=told.ids,
            messages=tuple(
                as_sent(
                    told.messages,
                    summary=standing.summary,
                    opening_fact=opening_fact,
                    is_continuation=is_continuation,
                )
            ),
            summary_id=standing.summary_id,
            opening_fact_id=opening_fact.pk if opening_fact else None,
        ),
        text=message.content,
        now=now,
        opening=standing.opening,
        is_temporary=standing.is_temporary,
        is_untrusted=told.is_untrusted or standing.is_summary_untrusted,
        room=room,
        room_left=-1 if told.is_cut else room - told.tokens,
    )
    return Accepted(message, reply, turn, title)


def _told(standing: Standing, message: Message, room: int, *, is_continuation: bool) -> History:
    # A reply that is retried stands behind its message; one that goes on has itself in view.
    before = _AFTER_ALL if is_continuation else message.pk + 1
    return history(standing.conversation_id, after=standing.summary_through, before=before, budget_tokens=room)


_AFTER_ALL: Final = 2**62


def _length(segments: tuple[Segment, ...]) -> int:
    return sum(len(segment.text) for segment in segments) // CHARS_PER_TOKEN


def _opening_fact(standing: Standing, message: Message) -> UserFact | None:
    """Return the fact that goes to the model with the first message of a chat about it, which none shows."""
    if standing.about_fact_id is None:
        return None
    typed = Message.objects.shown().filter(conversation_id=standing.conversation_id, role=Role.USER)
    if typed.filter(pk__lt=message.pk).exists():
        return None
    return find_last_version(standing.about_fact_id)


def _with_frozen_block(standing: Standing, now: datetime) -> Standing:
    block = ASSISTANTS[standing.assistant].render_block(now=now, uses_facts=uses_facts())
    snapshot = MemorySnapshot.objects.create(
        conversation_id=standing.conversation_id,
        text=block.text,
        sha256=block.sha256,
        fact_ids=[str(fact_id) for fact_id in block.fact_ids],
        created_at=now,
    )
    return replace(standing, snapshot_id=snapshot.pk, memory_block=block.text)
