"""The token limit of the memory document: which facts leave it and come back.

A fact outside the document stays believed: recall, the page and the other assistants have it (settled 15).
"""

import logging
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import Count, F, Q, Sum
from django.db.models.functions import Length

from config.lib.llm.tokens import CHARS_PER_TOKEN
from config.lib.owned import owner_id
from memory.facts.document import count_document_tokens, count_fact_tokens
from memory.models import EventKind, MemoryEvent, Place, PlaceMention, UserFact

logger = logging.getLogger(__name__)

NEARLY_FULL_PCT: Final = 80  # from here on the page says so, and once the memory line

# Upper bounds: a text has at most one token per byte, a character at most four bytes, an entry's JSON so many more.
_ENTRY_BYTES: Final = 260
_BROUGHT_BYTES: Final = 800  # extra for the ids of an imported fact
_PLACE_BYTES: Final = 3_000
_MENTION_BYTES: Final = 600
_ENTRY_TOKENS: Final = 63  # of an entry's JSON without its text, on average
_SMALLEST_ENTRY: Final = 50  # tokens; with less room no fact is looked for
_LOOKED_FOR: Final = 20  # facts that may come back at a time
# Rules of risk leave last, also those that were saved without their topic.
_RISK: Final = re.compile(
    r"\b(?:risk\w*|leverage|stops?|stop-?loss(?:es)?|drawdown|(?:max(?:imum)?|daily) loss|loss limit|position size)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DocumentFill:
    """How full the document is, and how many facts are outside of it."""

    percent: int
    outside: int

    @property
    def is_nearly_full(self) -> bool:
        """Whether the owner should know."""
        return self.percent >= NEARLY_FULL_PCT or self.outside > 0


def enforce_token_limit(*, now: datetime, is_dry_run: bool = False, batch_id: UUID | None = None) -> list[UserFact]:
    """Mark facts as outside of the document until it fits; return them. With room, let facts come back.

    Extracted facts leave before explicit ones, the least recently referenced first, rules of risk last (settled 15).
    Call it under the lock of a write. With its `batch_id` the evictions are undone with that write. The cost depends on
    the size of the document, not of the memory.
    """
    inside = UserFact.objects.open(now).in_document()
    if not _is_surely_small(now):
        facts = sorted(inside, key=_leaving_order)
        kept = deque(facts)
        # A fact has fewer tokens in the document than alone, so repeat until it fits.
        while kept and (excess := count_document_tokens(kept) - _get_room()) > 0:
            while kept and excess > 0:
                excess -= count_fact_tokens(kept.popleft())
        left = facts[: len(facts) - len(kept)]
        if left:
            return left if is_dry_run else _evict(left, batch_id, now)
    if not is_dry_run:
        _let_return(now)
    return []


def measure_document(now: datetime, *, without: UserFact | None = None) -> DocumentFill:
    """Return how full the document is, estimated in one query; a fact outside of it means that it is full."""
    inside = Q(left_document_at__isnull=True)
    facts = UserFact.objects.open(now)
    facts = facts if without is None else facts.exclude(pk=without.pk)
    sizes = facts.aggregate(
        count=Count("pk", filter=inside),
        characters=Sum(Length("content"), filter=inside, default=0),
        outside=Count("pk", filter=~inside),
    )
    tokens = sizes["count"] * _ENTRY_TOKENS + sizes["characters"] // CHARS_PER_TOKEN
    percent = 100 if sizes["outside"] else min(100, 100 * tokens // settings.MEMORY_TOKEN_LIMIT)
    return DocumentFill(percent, sizes["outside"])


def find_crossing(added: UserFact, now: datetime) -> int:
    """Return how full the document is if this fact made it nearly full, else 0."""
    if _is_surely_small(now, settings.MEMORY_TOKEN_LIMIT * NEARLY_FULL_PCT // 100):
        return 0
    filled = measure_document(now)
    is_new = filled.is_nearly_full and not measure_document(now, without=added).is_nearly_full
    return filled.percent if is_new else 0


def _get_room() -> int:
    """Return the tokens of a full document. Places may displace facts, but facts keep half of the limit."""
    limit: int = settings.MEMORY_TOKEN_LIMIT
    return max(limit, count_document_tokens([]) + limit // 2)


def _evict(left: Sequence[UserFact], batch_id: UUID | None, now: datetime) -> list[UserFact]:
    UserFact.objects.filter(pk__in=[fact.pk for fact in left]).update(left_document_at=now)
    note = {"kind": EventKind.EVICT, "batch_id": batch_id, "created_at": now}
    MemoryEvent.objects.bulk_create(
        [MemoryEvent(lineage=fact.lineage, before=fact, after=fact, **note) for fact in left], batch_size=500
    )
    logger.warning(
        "Evicted %d facts for user %s due to token limit: %s",
        len(left),
        owner_id(),
        ", ".join(str(fact.pk) for fact in left),
    )
    return list(left)


def _let_return(now: datetime) -> None:
    """Let facts come back while they fit: explicit before extracted, the most recently referenced first."""
    outside = UserFact.objects.open(now).filter(left_document_at__isnull=False)
    if not outside.exists():
        return
    room = _get_room() - count_document_tokens(UserFact.objects.open(now).in_document())
    if room < _SMALLEST_ENTRY:
        return
    order = (F("score").asc(nulls_first=True), "-last_referenced_at", "-created_at", "-id")
    found = {
        row.pk: row for rows in (outside.filter(topic="risk"), outside) for row in rows.order_by(*order)[:_LOOKED_FOR]
    }
    back = []
    for fact in sorted(found.values(), key=_leaving_order, reverse=True):
        room -= count_fact_tokens(fact)
        if room < 0:
            break
        back.append(fact.pk)
    UserFact.objects.filter(pk__in=back).update(left_document_at=None)


def _is_surely_small(now: datetime, tokens: int | None = None) -> bool:
    facts = (
        UserFact.objects.open(now)
        .in_document()
        .aggregate(count=Count("pk"), characters=Sum(Length("content")), brought=Count("pk", filter=~Q(external={})))
    )
    size = facts["count"] * _ENTRY_BYTES + facts["brought"] * _BROUGHT_BYTES + 4 * (facts["characters"] or 0)
    size += Place.objects.count() * _PLACE_BYTES + PlaceMention.objects.count() * _MENTION_BYTES
    return bool(size <= (settings.MEMORY_TOKEN_LIMIT if tokens is None else tokens))


def _leaving_order(fact: UserFact) -> tuple[bool, bool, datetime, datetime, str]:
    is_explicit = fact.score is None
    is_risk = is_explicit and (fact.topic == "risk" or _RISK.search(fact.content) is not None)
    return is_explicit, is_risk, fact.last_referenced_at, fact.created_at, str(fact.pk)
