"""Writing conversations. Each function is one intention; call it inside `owned_tx(user)` unless it says otherwise."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import Q

from chat.assistants import ASSISTANTS, default_assistant
from chat.lifecycle import AS_ACTIVE, HERE_LEASE, REOPENED_FROM, lock_conversation
from chat.models import MAX_TITLE, AssistantName, Conversation, MemorySnapshot, Message, MessageStatus, Role
from chat.parts import Part, close_running_tools
from chat.prompts import ASK_WHAT_CHANGES, SEPARATOR, about_fact, clock_segment
from chat.queries import ConversationNotFound, Standing, get_standing, history
from config.lib.errors import DomainError
from config.lib.owned import owner_id
from config.lib.text import clean_text, one_line
from memory.queries import find_last_version, uses_facts
from memory.versions import FactNotFound

MAX_MESSAGE_BYTES: Final = 16 * 1024
HEARTBEAT_LEASE: Final = timedelta(seconds=10)  # a turn saves at least every second; after this it is dead
TITLE_WORDS: Final = 6
TEXT_DELETED: Final = "[Text deleted. What was sent had the SHA-256 {sha256}.]"
RESTARTED: Final = "Keel was restarted while it answered. What it had said is kept; retry to ask again."


class MessageRefused(DomainError):
    """The message cannot be taken now; the text the user typed stays with them."""

    http_status = HTTPStatus.CONFLICT


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
    is_temporary: bool = False  # the chat teaches Keel nothing
    is_untrusted: bool = False  # text that the user did not type came into the model's window in an earlier turn


@dataclass(frozen=True, slots=True)
class Accepted:
    """A stored message; `turn` is None for one that was sent before, whose turn has begun already."""

    message: Message
    reply: Message | None
    turn: TurnStart | None
    title: str | None  # set when this message gave the conversation its title


def start_conversation(*, assistant: str | None = None, is_temporary: bool = False, now: datetime) -> Conversation:
    """Make an empty conversation, with the default assistant unless one is named."""
    conversation: Conversation = Conversation.objects.create(
        assistant=assistant or default_assistant().name,
        opening_context={"mode": "ops"},
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
    return old, _begin_turn(standing, old.reply_to, None, now)


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
        _index_reply(reply_id)
    return bool(updated)


def _index_reply(reply_id: int) -> None:
    # Once, at the end: while it streams its text is saved every second, by an update that derives nothing.
    Message.objects.only("user_id", "content").get(pk=reply_id).save(update_fields=["search_terms"])


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


def system_blocks(
    memory_block: str, *, assistant: str, mode: str, tier: str | None, now: datetime
) -> list[dict[str, Any]]:
    """Return the system prompt as text blocks: the prefix that is marked for caching, then the clock."""
    prefix = ASSISTANTS[assistant].prefix(tier=tier, memory_block=memory_block, mode=mode)
    return [{"type": "text", "text": prefix, "cache": True}, {"type": "text", "text": clock_segment(now)}]


def preview_prompt(*, assistant: str, now: datetime) -> str:
    """Return the system prompt that a new chat would send at `now`; changes nothing."""
    return _prompt(_preview_block(assistant, now), assistant=assistant, mode="ops", now=now)


def sent_prompt(conversation: Conversation, *, now: datetime) -> str:
    """Return the system prompt of a conversation's newest turn, or the one its first turn would send at `now`.

    The tier is the user's of now; everything else is as it was sent, but for a memory block that was erased since.
    """
    reply = Message.objects.shown().filter(conversation=conversation, role=Role.ASSISTANT).order_by("-pk").first()
    assistant = conversation.assistant
    mode = str(conversation.opening_context.get("mode", "ops"))
    if reply is None or reply.snapshot is None:
        return _prompt(_preview_block(assistant, now), assistant=assistant, mode=mode, now=now)
    sent = reply.snapshot
    block = TEXT_DELETED.format(sha256=sent.sha256) if sent.is_erased else sent.text
    return _prompt(block, assistant=assistant, mode=mode, now=reply.created_at)


def _preview_block(assistant: str, now: datetime) -> str:
    return ASSISTANTS[assistant].preview_block(now=now, uses_facts=uses_facts()).text


def _prompt(memory_block: str, *, assistant: str, mode: str, now: datetime) -> str:
    tier = get_user_model()._default_manager.filter(pk=owner_id()).values_list("experience_tier", flat=True).get()
    blocks = system_blocks(memory_block, assistant=assistant, mode=mode, tier=tier, now=now)
    return SEPARATOR.join(block["text"] for block in blocks)


def _standing(conversation_id: UUID, client_id: UUID | None, now: datetime) -> Standing:
    """Lock the conversation, end its user's dead turns, and say where both stand. Raises ConversationNotFound."""
    lock_conversation(conversation_id)

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


def _refuse_for_now(standing: Standing) -> None:
    if standing.is_trashed:
        raise MessageRefused("This chat is in the trash. Restore it to go on with it.")
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
    if standing.snapshot_id is None or standing.status in REOPENED_FROM:
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
    changes: dict[str, Any] = {**AS_ACTIVE, "last_message_at": now, "left_at": now + HERE_LEASE}
    changes["snapshot_id"] = standing.snapshot_id
    if title:
        changes["title"] = title
    if not standing.is_learning:
        changes["extracted_through"] = reply.pk  # nor will it be learned when the pause is over
    Conversation.objects.filter(pk=standing.conversation_id).update(**changes)
    system = system_blocks(
        standing.memory_block, assistant=standing.assistant, mode=standing.mode, tier=standing.tier, now=now
    )
    # The reply takes room too, and so does the prompt.
    budget = settings.CONTEXT_BUDGET_TOKENS * 8 // 10 - sum(len(block["text"]) for block in system) // 4
    told = history(standing.conversation_id, before=reply.pk, budget_tokens=budget)
    turn = TurnStart(
        user_id=owner_id(),
        time_zone=standing.time_zone,
        conversation_id=standing.conversation_id,
        assistant=standing.assistant,
        message_id=message.pk,
        reply_id=reply.pk,
        system=system,
        history=_with_opening(standing, message, told.messages),
        now=now,
        is_temporary=standing.is_temporary,
        is_untrusted=told.is_untrusted,
    )
    return Accepted(message, reply, turn, title)


def _with_opening(standing: Standing, message: Message, told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the model is told; with the first message of a chat about a fact goes that fact, which none shows."""
    if standing.about_fact_id is None:
        return told
    typed = Message.objects.filter(conversation_id=standing.conversation_id, role=Role.USER)
    fact = find_last_version(standing.about_fact_id)
    if fact is None or typed.filter(pk__lt=message.pk).exists():
        return told
    opening = about_fact(fact_id=fact.pk, content=fact.content, body=fact.body)
    return [*told[:-1], {**told[-1], "content": f"{opening}\n\n{told[-1]['content']}"}]


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
