"""Summarise the older part of a long chat.

Above four fifths of the budget, a summary replaces the older messages in prompts (seed 001). No message is ever
deleted: the model's view shrinks, and a line in the chat says so. What was made from text that the user did not type
stays marked as such.
"""

import hashlib
import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings

from chat.conversations.lifecycle import lock_conversation
from chat.conversations.usage import note_usage
from chat.models import ConversationSummary, Message, Role
from chat.parts import as_said, format_preamble, said_tokens
from chat.prompt.texts import SUMMARY_TASK
from config.lib.llm import door
from config.lib.llm.door import LLMUnavailable, Usage
from config.lib.llm.tokens import CHARS_PER_TOKEN, estimate_tokens
from config.lib.owned import owned, owned_tx
from config.lib.text import clean_text, prompt_line
from config.lib.threads import run_in_thread
from config.lib.work.jobs import Clock
from config.lib.work.spending import is_used_up

logger = logging.getLogger(__name__)

KEPT: Final = 0.5  # share of the room for messages that stays verbatim
PART_TOKENS: Final = 12_000  # of messages that one call of the model reads
MAX_LENGTH: Final = 6_000  # characters of a summary
MAX_TOKENS: Final = 1_200
_SAID: Final = {Role.USER: "Person", Role.ASSISTANT: "Keel"}


@dataclass(frozen=True, slots=True)
class _Older:
    """Messages to summarise, in parts of one model call."""

    before: str  # the summary so far
    parts: list[str]
    through: int
    is_untrusted: bool


async def summarise_older(
    conversation_id: UUID, *, user_id: int, room: int, clock: Clock
) -> ConversationSummary | None:
    """Summarise the older messages of a long chat, of which two at once write one; None: short, or no answer.

    Call it when no turn waits for it. `room`: estimated tokens that messages have in a prompt of this chat.
    """
    older = await run_in_thread(_read_older, conversation_id, user_id, room, clock())
    if older is None:
        return None
    text, model, used = older.before, "", Usage(0, 0)
    try:
        for part in older.parts:
            before = f"Summary so far:\n{text}\n\n" if text else ""
            messages = [{"role": "system", "content": SUMMARY_TASK}, {"role": "user", "content": f"{before}{part}"}]
            answer = await door.complete(messages, models=settings.SUMMARY_MODELS, max_tokens=MAX_TOKENS)
            text, model = clean_text(answer.text).strip()[:MAX_LENGTH] or text, answer.model
            used = used.plus(answer.usage)
    except LLMUnavailable as problem:
        logger.warning("Conversation %s is not summarised: %s", conversation_id, problem.kind)
        return None
    return (
        await run_in_thread(_write_summary, conversation_id, user_id, older, text, model, used, clock())
        if text
        else None
    )


def _read_older(conversation_id: UUID, user_id: int, room: int, now: datetime) -> _Older | None:
    if is_used_up(settings.SUMMARY_MODELS, now=now):
        return None  # the next turn asks again
    with owned(user_id):
        summaries = ConversationSummary.objects.filter(conversation_id=conversation_id, replaced_at=None)
        last = summaries.order_by("-through").first()
        rows = Message.objects.shown().filter(conversation_id=conversation_id, pk__gt=last.through if last else 0)
        messages = list(rows.defer("search_terms").order_by("pk"))
    # The preamble of a message is stored with its reply.
    sizes = [
        said_tokens(as_said(is_user=message.role == Role.USER, content=message.content, parts=message.parts))
        + estimate_tokens(format_preamble(message.preamble))
        for message in messages
    ]
    older = _select_older(messages, sizes, room * KEPT) if sum(sizes) > room else []
    if not older:
        return None
    return _Older(
        before=last.text if last else "",
        parts=_split_lines(_list_lines(older)),
        through=older[-1].pk,
        is_untrusted=any(message.is_untrusted for message in older) or bool(last and last.is_untrusted),
    )


def _select_older(messages: list[Message], sizes: list[int], kept: float) -> list[Message]:
    """Return the older messages, up to the end of an exchange."""
    cut = len(messages)
    while cut and (kept := kept - sizes[cut - 1]) >= 0:
        cut -= 1
    # What is kept begins with a message of the user; the newest exchange always stays.
    users = [at for at, message in enumerate(messages) if message.role == Role.USER]
    begin = next((at for at in users if at >= cut), users[-1] if users else 0)
    return messages[:begin]


def _list_lines(messages: list[Message]) -> list[str]:
    lines = []
    for message in messages:
        lines += [f"Keel looked up {part['name']}." for part in message.parts if part["kind"] == "tool"]
        if message.content:
            lines.append(f"{_SAID[Role(message.role)]}: {prompt_line(message.content)}")
    return lines


def _split_lines(lines: list[str]) -> list[str]:
    parts: list[list[str]] = []
    room = 0
    for line in lines:
        cut = line[: PART_TOKENS * CHARS_PER_TOKEN]
        size = estimate_tokens(cut)
        if not parts or size > room:
            parts.append([])
            room = PART_TOKENS
        parts[-1].append(cut)
        room -= size
    return ["\n".join(part) for part in parts]


def _write_summary(
    conversation_id: UUID, user_id: int, older: _Older, text: str, model: str, used: Usage, now: datetime
) -> ConversationSummary | None:
    with owned_tx(user_id):
        lock_conversation(conversation_id)
        note_usage(used, model, now=now)
        # After an edit or another summary, this one may summarise messages that are gone.
        is_there = Message.objects.shown().filter(conversation_id=conversation_id, pk=older.through).exists()
        summaries = ConversationSummary.objects.filter(conversation_id=conversation_id, replaced_at=None)
        if not is_there or summaries.filter(through__gte=older.through).exists():
            return None
        return ConversationSummary.objects.create(
            conversation_id=conversation_id,
            text=text,
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            through=older.through,
            is_untrusted=older.is_untrusted,
            model=model[:120],
            created_at=now,
        )
