"""Writing conversations. Each function is one intention; call it inside `owned_tx(user)` unless it says otherwise."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import Q

from chat.assistants import ASSISTANTS
from chat.models import MAX_TITLE, Conversation, ConversationStatus, MemorySnapshot, Message, MessageStatus, Role
from chat.parts import Part, close_running_tools
from chat.prompts import SEPARATOR, clock_segment, compose_prefix
from chat.queries import ConversationNotFound, Standing, get_standing, history
from config.lib.errors import DomainError
from config.lib.owned import owner_id
from config.lib.text import clean_text, one_line

MAX_MESSAGE_BYTES: Final = 16 * 1024
HEARTBEAT_LEASE: Final = timedelta(seconds=10)  # a turn saves at least every second; after this it is dead
TITLE_WORDS: Final = 6
RESTARTED: Final = "Keel was restarted while it answered. What it had said is kept; retry to ask again."


class MessageRefused(DomainError):
    """The message cannot be taken now; the text the user typed stays with them."""


@dataclass(frozen=True, slots=True)
class TurnStart:
    """All that a turn needs to know; made in the transaction that stored its messages."""

    user_id: int
    time_zone: str  # IANA name: the user's, for the times that frames show
    conversation_id: UUID
    assistant: str
    message_id: int  # the user's message
    reply_id: int
    system: list[dict[str, Any]]  # text blocks; the first is the cached prefix
    history: list[dict[str, Any]]  # messages for a model, the user's newest last
    now: datetime


@dataclass(frozen=True, slots=True)
class Accepted:
    """A stored message; `turn` is None for one that was sent before, whose turn has begun already."""

    message: Message
    reply: Message | None
    turn: TurnStart | None
    title: str | None  # set when this message gave the conversation its title


def start_conversation(*, assistant: str = "coach", now: datetime) -> Conversation:
    """Make an empty conversation."""
    conversation: Conversation = Conversation.objects.create(
        assistant=assistant, opening_context={"mode": "ops"}, created_at=now, last_message_at=now
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
    conversation.title = line
    conversation.save(update_fields=["title"])
    renamed: Conversation = conversation
    return renamed


def accept_message(*, conversation_id: UUID, client_id: UUID, text: str, now: datetime) -> Accepted:
    """Store what the user typed and the reply that begins, in one transaction.

    The same `client_id` again returns what was stored and starts nothing.

    Raises:
        ConversationNotFound: the owner has no such conversation.
        MessageRefused: empty, too long, a turn is running here, too many turns or messages.
    """
    content = clean_text(text).strip()
    standing = _standing(conversation_id, client_id, now)
    if standing.repeat_id is not None:
        return _accepted_before(standing.repeat_id)
    _refuse_bad_text(content)
    _refuse_overload(standing)
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
    _refuse_overload(standing)
    old = Message.objects.shown().filter(conversation_id=conversation_id).order_by("-pk").first()
    if old is None or old.role != Role.ASSISTANT or old.reply_to is None:
        raise MessageRefused("There is no reply to try again.")
    old.replaced_at = now
    old.save(update_fields=["replaced_at"])
    return old, _begin_turn(standing, old.reply_to, None, now)


def save_progress(*, reply_id: int, parts: list[Part], text: str, now: datetime) -> bool:
    """Keep what the reply holds so far and that its turn lives; return whether to go on.

    False: the user asked from elsewhere to stop, or the reply is not streaming any more.
    """
    rows = Message.objects.streaming().filter(pk=reply_id)
    if not rows.update(parts=parts, content=text, heartbeat_at=now):
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
        )
    )
    return bool(updated)


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


def system_blocks(memory_block: str, *, mode: str, tier: str | None, now: datetime) -> list[dict[str, Any]]:
    """Return the system prompt as text blocks: the prefix that is marked for caching, then the clock."""
    prefix = compose_prefix(tier=tier, memory_block=memory_block, mode=mode)
    return [{"type": "text", "text": prefix, "cache": True}, {"type": "text", "text": clock_segment(now)}]


def preview_prompt(*, assistant: str, now: datetime) -> str:
    """Return the system prompt that a new chat would send at `now`; changes nothing."""
    return _prompt(ASSISTANTS[assistant].preview_block(now).text, mode="ops", now=now)


def sent_prompt(conversation: Conversation, *, now: datetime) -> str:
    """Return the system prompt of a conversation's newest turn, or the one its first turn would send at `now`.

    The tier is the user's of now; everything else is as it was sent.
    """
    reply = Message.objects.shown().filter(conversation=conversation, role=Role.ASSISTANT).order_by("-pk").first()
    mode = str(conversation.opening_context.get("mode", "ops"))
    if reply is None or reply.snapshot is None:
        return _prompt(ASSISTANTS[conversation.assistant].preview_block(now).text, mode=mode, now=now)
    return _prompt(reply.snapshot.text, mode=mode, now=reply.created_at)


def _prompt(memory_block: str, *, mode: str, now: datetime) -> str:
    tier = get_user_model()._default_manager.filter(pk=owner_id()).values_list("experience_tier", flat=True).get()
    return SEPARATOR.join(block["text"] for block in system_blocks(memory_block, mode=mode, tier=tier, now=now))


def _standing(conversation_id: UUID, client_id: UUID | None, now: datetime) -> Standing:
    """Lock the conversation, end its user's dead turns, and say where both stand. Raises ConversationNotFound."""
    if connection.features.has_select_for_update:
        # One of a user's messages at a time, so that the limits on turns and messages hold under any race.
        users = get_user_model()._default_manager.select_for_update(no_key=True)
        users.only("pk").get(pk=owner_id())
        list(Conversation.objects.filter(pk=conversation_id).select_for_update().values_list("pk"))

    def look() -> Standing:
        return get_standing(
            conversation_id,
            client_id=client_id,
            dead_before=now - HEARTBEAT_LEASE,
            recent_since=now - timedelta(minutes=1),
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


def _refuse_overload(standing: Standing) -> None:
    if standing.running_here:
        raise MessageRefused("Keel is still answering here. Wait for it, or stop it first.")
    if standing.running >= settings.TURNS_PER_USER:
        raise MessageRefused(
            f"Keel is answering in {standing.running} other chats, the most at a time. Wait for one, or stop it."
        )
    if standing.recent >= settings.MESSAGES_PER_MINUTE:
        raise MessageRefused("That is a lot of messages in one minute. Wait a moment, then send it again.")


def _begin_turn(standing: Standing, message: Message, title: str | None, now: datetime) -> Accepted:
    """Insert the reply that begins, bring the conversation up to date, and gather what the turn needs."""
    if standing.snapshot_id is None:
        standing = _with_frozen_block(standing, now)
    reply = Message.objects.create(
        conversation_id=standing.conversation_id,
        role=Role.ASSISTANT,
        status=MessageStatus.STREAMING,
        reply_to=message,
        snapshot_id=standing.snapshot_id,
        created_at=now,
        heartbeat_at=now,
    )
    changes = {"status": ConversationStatus.ACTIVE, "last_message_at": now, "snapshot_id": standing.snapshot_id}
    Conversation.objects.filter(pk=standing.conversation_id).update(**changes, **({"title": title} if title else {}))
    system = system_blocks(standing.memory_block, mode=standing.mode, tier=standing.tier, now=now)
    # The reply takes room too, and so does the prompt.
    budget = settings.CONTEXT_BUDGET_TOKENS * 8 // 10 - sum(len(block["text"]) for block in system) // 4
    turn = TurnStart(
        user_id=owner_id(),
        time_zone=standing.time_zone,
        conversation_id=standing.conversation_id,
        assistant=standing.assistant,
        message_id=message.pk,
        reply_id=reply.pk,
        system=system,
        history=history(standing.conversation_id, before=reply.pk, budget_tokens=budget),
        now=now,
    )
    return Accepted(message, reply, turn, title)


def _with_frozen_block(standing: Standing, now: datetime) -> Standing:
    block = ASSISTANTS[standing.assistant].render_block(now=now)
    snapshot = MemorySnapshot.objects.create(
        conversation_id=standing.conversation_id,
        text=block.text,
        sha256=block.sha256,
        fact_ids=[str(fact_id) for fact_id in block.fact_ids],
        created_at=now,
    )
    return replace(standing, snapshot_id=snapshot.pk, memory_block=block.text)
