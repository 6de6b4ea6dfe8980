"""Check, reserve and store a turn's start, inside `owned_tx(user)`."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.conf import settings

from chat.conversations.history import read_history
from chat.conversations.lifecycle import AS_ACTIVE, HERE_LEASE, REOPENED_FROM, lock_conversation
from chat.conversations.services import MessageRefused, TooMuchAsked
from chat.conversations.standing import Standing, get_standing
from chat.conversations.usage import REPLY_ALLOWANCE, get_daily_budget, reserve_tokens
from chat.models import Conversation, MemorySnapshot, Message, MessageStatus, Role
from chat.parts import Json, format_preamble
from chat.prompt.assistants import ASSISTANTS, compose_prompt
from chat.prompt.focus import build_preamble, build_recall, drop_known_focus, is_focus_untrusted
from chat.prompt.receipts import Sent, as_sent
from chat.turns.events import MessageAccepted
from chat.turns.replies import HEARTBEAT_LEASE, interrupt_dead_turns
from config.lib.llm.door import LLMUnavailable
from config.lib.llm.tokens import CHARS_PER_TOKEN, estimate_tokens
from config.lib.owned import owner_id
from config.lib.work.spending import is_used_up
from memory.facts.queries import find_last_version, list_relevant_lines
from memory.facts.services import mark_referenced
from memory.models import UserFact

USED_UP: Final = (
    "Today's {budget:,} tokens are used up, or set aside for answers under way. The count restarts at 00:00 UTC. "
    "Your text is kept."
)
SITE_USED_UP: Final = f"{LLMUnavailable('used_up')} Your text is kept."
_AFTER_ALL: Final = 2**62  # above the id of every message


@dataclass(frozen=True, slots=True)
class TurnStart:
    """A turn's input, made in the transaction of its messages."""

    user_id: int
    time_zone: str  # IANA name: the user's, for the times that frames show
    conversation_id: UUID
    assistant: str
    message_id: int  # the user's message
    reply_id: int
    sent: Sent  # the system prompt and the history, for a model
    text: str  # what the user typed
    now: datetime
    opening: Json  # Conversation.opening_context
    is_temporary: bool  # the chat teaches Keel nothing
    is_untrusted: bool  # text that the user did not type is in the model's window
    preamble: list[Json]  # of the user's message
    tokens: int  # estimated, with the allowance for the answer
    room: int  # estimated tokens that messages have in the prompt
    room_left: int  # below zero: older messages did not fit


@dataclass(frozen=True, slots=True)
class Exchange:
    """A stored message and its turn, None for a resend."""

    message: Message
    reply: Message | None
    turn: TurnStart | None
    title: str | None  # set when this message gave the conversation its title
    replaces: int | None = None  # the reply that a retry replaces
    removes: tuple[int, ...] = ()  # the messages that an edit removes

    @property
    def event(self) -> MessageAccepted:
        """The event that shows the rows: the reply, and the message unless it is shown already."""
        replies = [self.reply] if self.reply else []
        if self.replaces is not None or (self.turn is not None and any(reply.is_continuation for reply in replies)):
            return MessageAccepted(tuple(replies), replaces=self.replaces)
        client_id = str(self.message.client_id) if self.message.client_id else None
        return MessageAccepted((self.message, *replies), client_id, removes=self.removes)


def lock_standing(conversation_id: UUID, *, client_id: UUID | None = None, now: datetime) -> Standing:
    """Lock the conversation and end dead turns. Raises ConversationNotFound."""
    lock_conversation(conversation_id)

    times = {"dead_before": now - HEARTBEAT_LEASE, "recent_since": now - timedelta(minutes=1)}
    look = partial(get_standing, conversation_id, client_id=client_id, **times, today=now.date())
    standing = look()
    return look() if standing.dead and interrupt_dead_turns(now=now) else standing


def check_standing(standing: Standing) -> None:
    """Refuse a turn that may not begin now.

    Raises:
        MessageRefused: the chat is in the trash, or a turn is running here.
        TooMuchAsked: too many turns or messages, or the day's tokens are used up.
    """
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
    _check_budget(standing, REPLY_ALLOWANCE)


def _check_budget(standing: Standing, tokens: int) -> None:
    budget = get_daily_budget(standing.token_budget)
    if standing.spent + tokens > budget:
        raise TooMuchAsked(USED_UP.format(budget=budget))


def begin_turn(
    standing: Standing, message: Message, *, title: str | None = None, is_continuation: bool = False, now: datetime
) -> Exchange:
    """Store the reply and return the turn's input.

    Args:
        standing: as locked in this transaction.
        message: what is answered.
        title: what the conversation is called from now on; None leaves it as it is.
        is_continuation: the reply goes on where the newest one broke off.

    Raises TooMuchAsked when the day's tokens, of the user or the site, do not last for this prompt.
    """
    if standing.snapshot_id is None or standing.status in REOPENED_FROM:
        standing = _with_frozen_block(standing, now)
    turn = _prepare_turn(standing, message, is_continuation=is_continuation, now=now)
    _check_budget(standing, turn.tokens)
    if is_used_up([settings.CHAT_AGENT_MODEL], tokens=turn.tokens, now=now):
        raise TooMuchAsked(SITE_USED_UP)
    reserve_tokens(tokens=turn.tokens, now=now)
    reply = Message(
        conversation_id=standing.conversation_id,
        role=Role.ASSISTANT,
        status=MessageStatus.STREAMING,
        reply_to=message,
        snapshot_id=standing.snapshot_id,
        preamble=turn.preamble,
        is_continuation=is_continuation,
        reserved_tokens=turn.tokens,
        created_at=now,
        heartbeat_at=now,
    )
    reply.insert()
    changes: Json = {
        **AS_ACTIVE,
        "snapshot_id": standing.snapshot_id,
        "last_message_at": now,
        "left_at": now + HERE_LEASE,
    }
    if title:
        changes["title"] = title
    if not standing.is_learning:
        changes["extracted_through"] = reply.pk  # nor will it be learned when the pause is over
    Conversation.update_row(standing.conversation_id, changes)
    return Exchange(message, reply, replace(turn, reply_id=reply.pk), title)


def _prepare_turn(standing: Standing, message: Message, *, is_continuation: bool, now: datetime) -> TurnStart:
    """Return the turn's input, without the id of its reply."""
    segments = compose_prompt(
        standing.memory_block,
        assistant=standing.assistant,
        opening=standing.opening,
        tier=standing.tier,
        time_zone=standing.time_zone,
        now=now,
    )
    fact = None if is_continuation else _opening_fact(standing, message)
    preamble = build_preamble(standing.opening, about=fact, now=now)
    length = sum(len(segment.text) for segment in segments) // CHARS_PER_TOKEN
    length += estimate_tokens(format_preamble(preamble))
    # The reply, the prompt and the summary of older messages take room, too.
    room = (
        settings.CONTEXT_BUDGET_TOKENS * settings.CONTEXT_FILL_PCT // 100
        - length
        - len(standing.summary) // CHARS_PER_TOKEN
    )
    # On retry, exclude the old reply; on continue, include it.
    before = _AFTER_ALL if is_continuation else message.pk + 1
    told = read_history(standing.conversation_id, after=standing.summary_through, before=before, budget_tokens=room)
    recall = [] if is_continuation else build_recall(_recall_facts(standing, message, told.fact_ids, now))
    preamble = drop_known_focus(preamble, told.focus) + recall
    tokens = told.tokens + estimate_tokens(format_preamble(recall))
    messages = as_sent(told.messages, summary=standing.summary, preamble=preamble, is_continuation=is_continuation)
    return TurnStart(
        user_id=owner_id(),
        time_zone=standing.time_zone,
        conversation_id=standing.conversation_id,
        assistant=standing.assistant,
        message_id=message.pk,
        reply_id=0,
        sent=Sent(segments, message_ids=told.ids, messages=tuple(messages), summary_id=standing.summary_id),
        text=message.content,
        now=now,
        opening=standing.opening,
        is_temporary=standing.is_temporary,
        preamble=preamble,
        is_untrusted=told.is_untrusted or standing.is_summary_untrusted or is_focus_untrusted(standing.opening),
        room=room,
        room_left=-1 if told.is_cut else room - tokens,
        tokens=tokens + length + REPLY_ALLOWANCE,
    )


def _recall_facts(standing: Standing, message: Message, told: frozenset[UUID], now: datetime) -> list[tuple[UUID, str]]:
    """Return the facts that the message concerns and that neither the block nor the history has."""
    if not standing.uses_facts:
        return []
    lines = list_relevant_lines(message.content, without=told.union(standing.known_facts), now=now)
    if standing.assistant == "coach":
        # So a fact that its block has no place for comes into the next one once it is needed.
        mark_referenced([fact_id for fact_id, _ in lines], now=now)
    return lines


def _opening_fact(standing: Standing, message: Message) -> UserFact | None:
    """Return the hidden fact to send with the first message."""
    if standing.about_fact_id is None:
        return None
    typed = Message.objects.shown().filter(conversation_id=standing.conversation_id, role=Role.USER)
    if typed.filter(pk__lt=message.pk).exists():
        return None
    return find_last_version(standing.about_fact_id)


def _with_frozen_block(standing: Standing, now: datetime) -> Standing:
    block = ASSISTANTS[standing.assistant].render_block(now=now, uses_facts=standing.uses_facts)
    snapshot = MemorySnapshot.objects.create(
        conversation_id=standing.conversation_id,
        text=block.text,
        sha256=block.sha256,
        fact_ids=[str(fact_id) for fact_id in block.fact_ids],
        created_at=now,
    )
    return replace(standing, snapshot_id=snapshot.pk, memory_block=block.text, known_facts=block.fact_ids)
