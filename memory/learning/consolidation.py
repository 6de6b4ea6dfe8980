"""Look after what was learned: propose to merge facts that say the same, report those that faded from prompts."""

import math
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import Final
from uuid import UUID

from config.lib.llm.vectors import STATIC, compute_cosines
from memory.claims.claims import read_claims
from memory.claims.judge import excludes, judge_change
from memory.facts.review import propose_merge
from memory.facts.services import set_switches
from memory.models import UserFact
from memory.recall.blocks import INJECTION_FLOOR, is_injectable

ALIKE: Final = 0.82  # cosine of static vectors; a table of test cases fixes it
MOST: Final = 500  # facts compared, the most recently referenced
MAX_PROPOSED: Final = 20  # per run; the rest follow in the next run


def propose_merges(*, now: datetime) -> list[UserFact]:
    """Propose merges of facts that say the same; return those that would end.

    A learned fact merges into an explicit one, else the older into the newer. Numbers and negations must be equal: "max
    5x" and "max 3x" are two facts. Only the owner's click applies a merge.
    """
    facts = list(UserFact.objects.current(now).by_reference()[:MOST])
    proposed: list[UserFact] = []
    for one, other in _iter_pairs(facts):
        if len(proposed) == MAX_PROPOSED:
            break
        old, into = _order_pair(one, other)
        if propose_merge(fact_id=old.pk, into_id=into.pk, why=_explain_merge(old, into), now=now) is not None:
            proposed.append(old)
    return proposed


def is_same_claim(one: str, other: str, *, cosine: float) -> bool:
    """Tell whether two lines of this similarity have the same meaning and exact terms."""
    words, exact = _read_line(one)
    other_words, other_exact = _read_line(other)
    return (cosine >= ALIKE or words == other_words) and exact == other_exact and not excludes(one, other)


@lru_cache(maxsize=MOST)
def _read_line(text: str) -> tuple[frozenset[object], frozenset[object]]:
    """Return the words of a line, and its exact terms: numbers, bounds, negations, exclusions and names."""
    reading = read_claims(text)
    exact: set[object] = {(term.kind, term.key, term.unit) for term in reading.of_kind("number", "bound")}
    exact |= {term.kind for term in reading.of_kind("only", "not")}
    exact |= {term.key for term in reading.terms if term.is_name}
    return frozenset(term.key for term in reading.of_kind("word")), frozenset(exact)


def _iter_pairs(facts: list[UserFact]) -> Iterator[tuple[UserFact, UserFact]]:
    """Yield pairs of facts that say the same or exclude each other, each fact once."""
    taken: set[UUID] = set()
    for at, fact in enumerate(facts):
        others = [other for other in facts[at + 1 :] if other.pk not in taken]
        if fact.pk in taken or not others:
            continue
        near = compute_cosines(fact.content, [other.content for other in others], model=STATIC)
        for other, cosine in zip(others, near or [math.nan] * len(others), strict=True):
            if is_same_claim(fact.content, other.content, cosine=cosine) or _exclude_each_other(fact, other):
                taken |= {fact.pk, other.pk}
                yield fact, other
                break


def _exclude_each_other(one: UserFact, other: UserFact) -> bool:
    old, new = sorted((one, other), key=lambda fact: (fact.created_at, str(fact.pk)))
    return judge_change(old.content, new.content) in {"same", "replaces", "unsure"}


def _order_pair(one: UserFact, other: UserFact) -> tuple[UserFact, UserFact]:
    """Return (ended, kept): explicit before learned, newer before older."""
    into = max(one, other, key=lambda fact: (fact.score is None, fact.created_at, str(fact.pk)))
    return (other, into) if into is one else (one, into)


def _explain_merge(old: UserFact, into: UserFact) -> str:
    if old.score is not None and into.score is None:
        return "Keel learned from a chat what you had said outright."
    if excludes(old.content, into.content):
        return "These two seem to exclude each other; the newer one stays."
    return "These two seem to say the same."


def report_faded_facts(*, now: datetime) -> list[UserFact]:
    """Return the learned facts that faded since the last report, and note the report."""
    switches = set_switches()
    since = switches.decay_reported_at
    learned = UserFact.objects.current(now).filter(score__gte=INJECTION_FLOOR).order_by("created_at", "id")
    switches.decay_reported_at = max(since or now, now)
    switches.save(update_fields=["decay_reported_at"])
    return [fact for fact in learned if not is_injectable(fact, now) and (since is None or is_injectable(fact, since))]
