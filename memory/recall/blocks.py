"""Render memory blocks and explain omissions; equal rows give equal bytes."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import Final, NamedTuple
from uuid import UUID

from config.lib.llm.tokens import count_tokens, estimate_tokens
from config.lib.text import prompt_line
from memory.models import FactCategory, Place, UserFact

COACH_LIMIT: Final = 10  # seed 000
RULES_FIRST: Final = 5  # of them, rules in force at most (settled 7)
COACH_TOKENS: Final = 400  # of the whole block (settled 7)
INJECTION_FLOOR: Final = 0.7  # seed 001: a learned fact below it is for recall only
DECAY_STEP: Final = 0.1  # seed 001: lost per DECAY_PERIOD without confirmation
DECAY_PERIOD: Final = timedelta(days=30)
DECAY_FLOOR: Final = 0.3

_MISSES: Final = 40  # lines in a row for which a category has no room; the next would hardly be shorter

COACH_HEADING: Final = "## What I know about you"
ADVISOR_HEADING: Final = "## Your stored preferences"
COMPANION_FACTS_HEADING: Final = "USER'S STORED MEMORIES:"
COMPANION_PLACES_HEADING: Final = "PLACES OF INTEREST:"

_MORE: Final = "{} more stored; recall them with {}."

_LAST_MARK: Final = re.compile(r"\s+#+$")


@dataclass(frozen=True, slots=True)
class MemoryBlock:
    """A rendered block with its sha256 and facts; empty without facts."""

    text: str
    sha256: str
    fact_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a block contains a fact or not, and its line's tokens."""

    fact: UserFact
    reason: str  # begins with "in the block", "rank", "budget", "document" or "score"
    tokens: int  # estimated


class _Line(NamedTuple):
    fact: UserFact
    text: str  # as the assistant's block shows it


_BUDGETS: Final = {category.value: category.tokens for category in FactCategory}


def effective_score(score: float, *, unconfirmed_for: timedelta) -> float:
    """Return the decayed score (0..1), DECAY_FLOOR or more; it never rises."""
    periods = max(0, unconfirmed_for // DECAY_PERIOD)
    # Rounded: 0.9 - 2 * 0.1 is 0.7000000000000001 or 0.6999999999999999 by the order of operations.
    return min(score, max(DECAY_FLOOR, round(score - DECAY_STEP * periods, 6)))


def is_injectable(fact: UserFact, now: datetime) -> bool:
    """Tell whether a fact is explicit or has enough score."""
    return fact.score is None or effective_score(fact.score, unconfirmed_for=now - fact.affirmed_at) >= INJECTION_FLOOR


def build_coach_block(
    facts: Iterable[UserFact], *, rules: Iterable[UserFact] = (), stored: int = 0, now: datetime
) -> MemoryBlock:
    """Build the coach's block: `rules` in force, then facts, last referenced first; `stored` facts there are."""
    first = list(islice(_iter_lines(rules, format_fact, now), RULES_FIRST))
    known = {fact.id for fact, _ in first}
    others = (line for line in _iter_lines(facts, format_fact, now) if line.fact.id not in known)
    frame = f"{COACH_HEADING}\n\n\n\n{_MORE.format(stored, 'recall_facts')}"
    # In order, without those that have no room, until there are enough or surely no more have room.
    chosen: list[_Line] = []
    room, missed = COACH_TOKENS - count_tokens(frame), 0
    for line in chain(first, others):
        cost = count_tokens(f"{line.text}\n")
        if cost > room:
            missed += 1
        else:
            chosen.append(line)
            room -= cost
        if len(chosen) == COACH_LIMIT or missed == _MISSES:
            break
    if not chosen:
        return build_empty_block()
    left_out = stored - len(chosen)
    more = [_MORE.format(left_out, "recall_facts")] if left_out > 0 else []
    return _build_block([[COACH_HEADING, "", *(text for _, text in chosen)], more], chosen)


def build_advisor_block(facts: Iterable[UserFact], *, now: datetime, unread: int = 0) -> MemoryBlock:
    """Build the advisor's block by category, within its token budget; `unread` more facts surely have no room."""
    candidates = list(_iter_lines(facts, _format_plain_line, now))
    if not candidates:
        return build_empty_block()
    chosen = _fit_budgets(candidates)
    lines = [ADVISOR_HEADING]
    for category in FactCategory:
        said = [text for fact, text in chosen if fact.category == category]
        lines += [f"### {category.label}", *said] if said else []
    left_out = unread + len(candidates) - len(chosen)
    overflow = [_MORE.format(left_out, "recall_preferences")] if left_out else []
    return _build_block([lines, overflow], chosen)


def take_candidates(facts: Iterable[UserFact], *, now: datetime) -> list[UserFact]:
    """Return the facts of one category, in the order of their rank, until surely no more have room."""
    taken: list[UserFact] = []
    spent = missed = 0
    for fact, text in _iter_lines(facts, _format_plain_line, now):
        taken.append(fact)
        spent += (cost := _estimate_line(text))
        missed = 0 if spent <= _BUDGETS[fact.category] else missed + 1
        spent -= cost if missed else 0
        if missed == _MISSES:
            break
    return taken


def build_companion_block(facts: Iterable[UserFact], places: Iterable[Place], *, now: datetime) -> MemoryBlock:
    """Build the companion's block: facts by first learning, then places."""
    inside = (fact for fact in facts if fact.left_document_at is None)
    by_day = sorted(inside, key=lambda fact: (fact.learned_at, fact.id))
    chosen = list(_iter_lines(by_day, _format_dated_line, now))
    memories = [COMPANION_FACTS_HEADING, *(text for _, text in chosen)] if chosen else []
    visited = []
    for place in places:
        said = ": ".join(filter(None, [_format_text(place.name), _format_text(place.notes)]))
        number = "1 conversation" if place.conversations == 1 else f"{place.conversations} conversations"
        visited.append(f"- {said} (mentioned in {number})")
    return _build_block([memories, [COMPANION_PLACES_HEADING, *visited] if visited else []], chosen)


def build_empty_block() -> MemoryBlock:
    """Return the empty block."""
    return _build_block([], [])


def explain_facts(
    facts: Iterable[UserFact], *, chosen: Collection[UUID], assistant: str, now: datetime
) -> list[Explanation]:
    """Explain the place of current facts in or out of a block; `chosen` are the facts of the block."""
    return [
        Explanation(
            fact,
            reason="in the block" if fact.id in chosen else _explain_omission(fact, assistant, now),
            tokens=_estimate_line(_FORMATS[assistant](fact)),
        )
        for fact in facts
    ]


def _explain_omission(fact: UserFact, assistant: str, now: datetime) -> str:
    if fact.score is not None and not is_injectable(fact, now):
        left = effective_score(fact.score, unconfirmed_for=now - fact.affirmed_at)
        # 0.699 is below the floor and must not show as 0.70.
        return f"score: below {INJECTION_FLOOR}, now {min(left, INJECTION_FLOOR - 0.01):.2f}"
    if assistant == "advisor":
        return f"budget: no room left in the {_BUDGETS[fact.category]} tokens of {fact.get_category_display()}"
    if assistant == "companion":
        return "document: no room left in the memory document"
    return f"rank: beyond your rules and the facts used last, {COACH_LIMIT} in all"


def _iter_lines(facts: Iterable[UserFact], draw: Callable[[UserFact], str], now: datetime) -> Iterator[_Line]:
    return (_Line(fact, draw(fact)) for fact in facts if is_injectable(fact, now))


def _fit_budgets(lines: Iterable[_Line]) -> list[_Line]:
    left = dict(_BUDGETS)
    chosen = []
    # What was said outright comes first, then the newest.
    for line in sorted(lines, key=lambda one: (one.fact.score is None, one.fact.created_at, one.fact.id), reverse=True):
        cost = _estimate_line(line.text)
        # Skip a line that does not fit; shorter ones may still use the budget.
        if cost <= left[line.fact.category]:
            left[line.fact.category] -= cost
            chosen.append(line)
    order = FactCategory.values
    return sorted(chosen, key=lambda line: (order.index(line.fact.category), line.fact.id))


def format_fact(fact: UserFact) -> str:
    """Return a fact as a line of a prompt, as in the coach's block."""
    topic = f"[{prompt_line(fact.topic)}] " if fact.topic else ""
    mark = " (inferred)" if fact.is_inferred else ""
    return f"- {topic}{_format_dated(fact)}{mark}"


def _format_plain_line(fact: UserFact) -> str:
    return f"- {_format_dated(fact)}"


def _format_dated_line(fact: UserFact) -> str:
    return f"- [{fact.learned_at:%Y-%m-%d}] {_format_dated(fact)}"


def _format_dated(fact: UserFact) -> str:
    return _format_text(fact.line) + (f" ({fact.period})" if fact.period else "")


def _format_text(text: str) -> str:
    # The line follows a list's dash: Markdown would read dashes alone as a rule, and "#" as a heading.
    line = _LAST_MARK.sub("", prompt_line(text))
    return line if line.strip("- ") else ""


_FORMATS: Final[dict[str, Callable[[UserFact], str]]] = {
    "coach": format_fact,
    "advisor": _format_plain_line,
    "companion": _format_dated_line,
}


def _estimate_line(text: str) -> int:
    return estimate_tokens(text + "\n")


def _build_block(parts: Sequence[Sequence[str]], chosen: Sequence[_Line]) -> MemoryBlock:
    text = "\n\n".join("\n".join(lines) for lines in parts if lines)
    return MemoryBlock(text, hashlib.sha256(text.encode()).hexdigest(), tuple(fact.id for fact, _ in chosen))
