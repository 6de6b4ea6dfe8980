"""Compose, preview and rebuild system prompts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model

from chat.models import Conversation, Message, Role
from chat.prompt.assistants import ASSISTANTS
from chat.prompt.receipts import DELETED, find_receipt, rebuild_prompt
from chat.prompt.texts import Segment, day_text, join_segments
from config.lib.owned import owner_id
from config.lib.web import find_time_zone
from memory.facts.queries import get_next_block


def compose_prompt(
    memory_block: str, *, assistant: str, opening: Mapping[str, Any], tier: str | None, time_zone: str, now: datetime
) -> tuple[Segment, ...]:
    """Return the system prompt of a turn, the same for all turns of a day in the user's zone, for providers' caches."""
    mode = str(opening.get("mode", "ops"))
    prefix = ASSISTANTS[assistant].prefix(tier=tier, memory_block=memory_block, mode=mode)
    return (*prefix, Segment("day", day_text(now, find_time_zone(time_zone))))


def preview_prompt(*, assistant: str, now: datetime) -> str:
    """Return the system prompt of a new chat at `now`."""
    block = get_next_block(assistant=assistant, now=now)
    return _join_prompt(block.text, assistant=assistant, opening={}, now=now)


def sent_prompt(conversation: Conversation, *, now: datetime) -> str:
    """Return the system prompt of the newest turn, byte for byte by its receipt, else of the first one at `now`."""
    rows = Message.objects.shown().filter(conversation=conversation, role=Role.ASSISTANT, reply_to__isnull=False)
    reply = rows.select_related("snapshot").order_by("-pk").first()
    assistant, opening = conversation.assistant, conversation.opening_context
    if reply is None or reply.snapshot is None:
        block = get_next_block(assistant=assistant, now=now).text
        return _join_prompt(block, assistant=assistant, opening=opening, now=now)
    if (receipt := find_receipt(reply)) is not None:
        return join_segments(rebuild_prompt(receipt, reply).segments)
    sent = reply.snapshot
    block = DELETED.format(sha256=sent.sha256) if sent.is_erased else sent.text
    return _join_prompt(block, assistant=assistant, opening=opening, now=reply.created_at)


def _join_prompt(memory_block: str, *, assistant: str, opening: Mapping[str, Any], now: datetime) -> str:
    users = get_user_model()._default_manager.filter(pk=owner_id())
    tier, zone = users.values_list("experience_tier", "time_zone").get()
    segments = compose_prompt(memory_block, assistant=assistant, opening=opening, tier=tier, time_zone=zone, now=now)
    return join_segments(segments)
