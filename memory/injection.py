"""From facts to the block a prompt carries: pure, so the same rows give the same bytes in every process."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Final
from uuid import UUID

from config.lib.text import prompt_line

COACH_LIMIT: Final = 10  # seed 000
INJECTION_FLOOR: Final = 0.7  # seed 001: below it a learned fact is kept for recall, not injected
DECAY_STEP: Final = 0.1  # seed 001: lost per DECAY_PERIOD without confirmation
DECAY_PERIOD: Final = timedelta(days=30)
DECAY_FLOOR: Final = 0.3


@dataclass(frozen=True, slots=True)
class BlockFact:
    """What the planner needs to know of a fact."""

    id: UUID
    topic: str
    line: str  # summary or content
    is_inferred: bool
    score: float | None  # None: said outright; 0..1: learned
    affirmed_at: datetime  # the later of valid_from and last_confirmed_at


@dataclass(frozen=True, slots=True)
class Block:
    """A rendered memory block: the text (empty without facts), its sha256 in hex, the facts in it in order."""

    text: str
    sha256: str
    fact_ids: tuple[UUID, ...]


def effective_score(score: float, *, unconfirmed_for: timedelta) -> float:
    """Return the score (0..1) left after a time without confirmation; never below DECAY_FLOOR, never above `score`."""
    periods = max(0, unconfirmed_for // DECAY_PERIOD)
    # Rounded: 0.9 - 2 * 0.1 is 0.7000000000000001 or 0.6999999999999999 by the order of operations.
    return min(score, max(DECAY_FLOOR, round(score - DECAY_STEP * periods, 6)))


def is_injectable(fact: BlockFact, now: datetime) -> bool:
    """Tell whether a prompt may carry the fact: said outright, or learned with enough confidence left."""
    return fact.score is None or effective_score(fact.score, unconfirmed_for=now - fact.affirmed_at) >= INJECTION_FLOOR


def coach_block(facts: Iterable[BlockFact], *, now: datetime) -> Block:
    """Render the coach's block from facts in order of reference: the first ten that may be injected."""
    chosen = list(islice((fact for fact in facts if is_injectable(fact, now)), COACH_LIMIT))
    return _block("## What I know about you", [_coach_line(fact) for fact in chosen], chosen)


def _coach_line(fact: BlockFact) -> str:
    topic = f"[{prompt_line(fact.topic)}] " if fact.topic else ""
    mark = " (inferred)" if fact.is_inferred else ""
    return f"- {topic}{prompt_line(fact.line)}{mark}"


def _block(heading: str, lines: Sequence[str], facts: Sequence[BlockFact]) -> Block:
    text = "\n".join([heading, "", *lines]) if lines else ""
    return Block(text, hashlib.sha256(text.encode()).hexdigest(), tuple(fact.id for fact in facts))
