"""Titles: the first words, then a model's title."""

import logging
import re
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings

from chat.conversations.usage import note_usage
from chat.models import Conversation, Message, MessageStatus, Role
from chat.prompt.texts import TITLE_TASK
from config.lib.llm import door
from config.lib.llm.door import Completion, LLMUnavailable
from config.lib.owned import owned, owned_tx
from config.lib.text import one_line, prompt_line
from config.lib.threads import run_in_thread
from config.lib.work.jobs import Clock
from config.lib.work.spending import is_used_up

logger = logging.getLogger(__name__)

MAX_READ: Final = 1_500  # characters of either side
MAX_WORDS: Final = 10
MAX_LENGTH: Final = 60  # characters
MAX_TOKENS: Final = 40


async def write_title(conversation_id: UUID, *, user_id: int, clock: Clock) -> str | None:
    """Title a chat after its first exchange, unless its user named it meanwhile; None without a valid one."""
    if not settings.TITLE_MODELS:
        return None
    exchange = await run_in_thread(_read_exchange, conversation_id, user_id, clock())
    if exchange is None:
        return None
    messages = [{"role": "system", "content": TITLE_TASK}, {"role": "user", "content": exchange}]
    try:
        answer = await door.complete(messages, models=settings.TITLE_MODELS, max_tokens=MAX_TOKENS)
    except LLMUnavailable as problem:
        logger.info("Conversation %s keeps its first words for a title: %s", conversation_id, problem.kind)
        return None
    title = clean_title(answer.text)
    return await run_in_thread(_save_title, conversation_id, user_id, title, answer, clock())


def clean_title(text: str) -> str:
    """Return a model's title; empty if it is invalid."""
    line = one_line(text.strip().split("\n", 1)[0])
    line = re.sub(r"^(?:title|chat title)\s*:\s*", "", line, flags=re.IGNORECASE)
    line = line.strip(" \"'“”`*#_").rstrip(".!,;: ")
    return line if 0 < len(line) <= MAX_LENGTH and len(line.split()) <= MAX_WORDS else ""


def _read_exchange(conversation_id: UUID, user_id: int, now: datetime) -> str | None:
    if is_used_up(settings.TITLE_MODELS, now=now):
        return None  # the next exchange asks again
    with owned(user_id):
        if not Conversation.objects.filter(pk=conversation_id, is_title_chosen=False).exists():
            return None
        replies = Message.objects.shown().filter(conversation_id=conversation_id, status=MessageStatus.COMPLETE)
        reply = replies.filter(role=Role.ASSISTANT, reply_to__isnull=False).select_related("reply_to").first()
        if reply is None or reply.reply_to is None:
            return None
        asked, answered = prompt_line(reply.reply_to.content), prompt_line(reply.content)
        return f"Person: {asked[:MAX_READ]}\nKeel: {answered[:MAX_READ]}"


def _save_title(conversation_id: UUID, user_id: int, title: str, answer: Completion, now: datetime) -> str | None:
    with owned_tx(user_id):
        rows = Conversation.objects.filter(pk=conversation_id, is_title_chosen=False)
        # One try: a model that wrote no title for this chat is not asked at its every turn.
        changes = {"title": title} if title else {}
        is_saved = rows.update(is_title_chosen=True, **changes)
        note_usage(answer.usage, answer.model, now=now)
        return title if is_saved and title else None
