"""The assistants, and the system prompts of their chats: composed, previewed and rebuilt."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model

from chat.models import Conversation, Message, Role
from chat.prompt import texts
from chat.prompt.receipts import DELETED, find_receipt, rebuild_prompt
from chat.prompt.texts import Segment, day_text, join_segments
from config.lib.owned import owner_id
from config.lib.web import find_time_zone
from memory.facts.queries import get_block, get_next_block
from memory.facts.services import render_coach_block
from memory.recall.blocks import MemoryBlock, build_empty_block


@dataclass(frozen=True, slots=True)
class Assistant:
    """One face over the one memory."""

    name: str
    label: str
    description: str  # one line, for who chooses among them
    persona: str
    trust_rules: str

    def render_block(self, *, now: datetime, uses_facts: bool) -> MemoryBlock:
        """Return the memory block at `now`, empty if facts are off."""
        if not uses_facts:
            return build_empty_block()
        # Only the coach's render notes what it referenced; the others read.
        return render_coach_block(now=now) if self.name == "coach" else get_block(self.name, now)

    def prefix(self, *, tier: str | None, memory_block: str, mode: str) -> tuple[Segment, ...]:
        """Return the system prompt without the day: what is stable first, without empty parts."""
        segments = (
            Segment("persona", self.persona),
            Segment("tier", texts.TIER_ADDENDA[tier or texts.DEFAULT_TIER]),
            Segment("memory", memory_block),
            Segment("mode", texts.MODE_ADDENDA.get(mode, texts.MODE_ADDENDA["ops"])),
            Segment("trust", self.trust_rules),
        )
        return tuple(segment for segment in segments if segment.text)


def default_assistant() -> Assistant:
    """Return the default assistant."""
    return ASSISTANTS[settings.DEFAULT_ASSISTANT]


ASSISTANTS: Final = {
    assistant.name: assistant
    for assistant in (
        Assistant(
            name="coach",
            label="Coach",
            description="Drafts strategies with you, explains what your agents did, and prepares what you then commit.",
            persona=texts.COACH_PERSONA,
            trust_rules=texts.COACH_TRUST,
        ),
        Assistant(
            name="advisor",
            label="Advisor",
            description="Thinks through goals, risk and accounts with you, from the preferences you told it.",
            persona=texts.ADVISOR_PERSONA,
            trust_rules=texts.ADVISOR_TRUST,
        ),
        Assistant(
            name="companion",
            label="Companion",
            description="Talks about anything else, and remembers the people, habits and places of your life.",
            persona=texts.COMPANION_PERSONA,
            trust_rules=texts.COMPANION_TRUST,
        ),
    )
}


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
