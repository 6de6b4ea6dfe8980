"""The assistants: name, voice and memory block."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings

from chat.prompt import texts
from memory.facts.queries import get_block
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

    def prefix(self, *, tier: str | None, memory_block: str, mode: str) -> tuple[texts.Segment, ...]:
        """Return the system prompt without the day: what is stable first, without empty parts."""
        segments = (
            texts.Segment("persona", self.persona),
            texts.Segment("tier", texts.TIER_ADDENDA[tier or texts.DEFAULT_TIER]),
            texts.Segment("memory", memory_block),
            texts.Segment("mode", texts.MODE_ADDENDA.get(mode, texts.MODE_ADDENDA["ops"])),
            texts.Segment("trust", self.trust_rules),
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
