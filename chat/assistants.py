"""The faces of Keel: what each is called, which memory block it gets, how its prompt is made."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memory.injection import Block, coach_block
from memory.queries import iter_block_facts
from memory.services import render_coach_block


@dataclass(frozen=True, slots=True)
class Assistant:
    """One face over the one memory."""

    name: str
    label: str
    render_block: Callable[..., Block]  # (now=...): writes: it notes which facts were referenced
    preview_block: Callable[[datetime], Block]  # the same bytes, without that note


def _preview_coach_block(now: datetime) -> Block:
    return coach_block(iter_block_facts(now), now=now)


ASSISTANTS: Final = {
    "coach": Assistant(
        name="coach", label="Coach", render_block=render_coach_block, preview_block=_preview_coach_block
    ),
}
