"""The token limit of the memory document: which facts leave it and come back.

A fact outside the document stays believed: recall, the page and the other assistants have it (settled 15).
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import BooleanField, ExpressionWrapper, Q

from config.lib.cache import RecentCache
from config.lib.owned import owner_id
from memory.facts.document import count_document_tokens, count_fact_tokens
from memory.facts.versions import Origin, log_event
from memory.models import UserFact, WriteKind

logger = logging.getLogger(__name__)

NEARLY_FULL_PCT: Final = 80  # from here on the page says so, and once the memory line

_SMALLEST_ENTRY: Final = 50  # tokens; with less room no fact is looked for
_LOOKED_FOR: Final = 20  # facts that may come back at a time
_ORDERING: Final = ("id", "user_id", "lineage", "score", "topic", "content", "last_referenced_at", "created_at")
_IS_EXPLICIT: Final = ExpressionWrapper(Q(score__isnull=True), output_field=BooleanField())
_sizes: Final = RecentCache[UUID, int](16_384)  # tokens by id: what the document has of a row never grows
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
        return self.percent >= NEARLY_FULL_PCT or self.outside > 0


def enforce_token_limit(*, now: datetime, batch_id: UUID | None = None) -> list[UserFact]:
    """Mark facts as outside of the document until it fits; return them. With room, let facts come back.

    Extracted facts leave before explicit ones, the least recently referenced first, rules of risk last (settled 15).
    Call it under the lock of a write. With its `batch_id` the evictions are undone with that write. The cost depends on
    the size of the document, not of the memory.
    """
    sizes, room = _measure(now)
    if room < 0:
        return _evict(_choose_leaving(sizes, room, now), batch_id, now)
    _let_return(room, now)
    return []


def fit_fact(added: UserFact, *, batch_id: UUID | None, now: datetime) -> tuple[list[UserFact], int]:
    """Make room for a new fact; return what left, and how full the document is if the fact made it nearly full."""
    _sizes.keep([(added.pk, count_fact_tokens(added))])
    sizes, room = _measure(now)
    if room < 0:
        return _evict(_choose_leaving(sizes, room, now), batch_id, now), 0
    percent = _percent(room)
    if percent < NEARLY_FULL_PCT or _percent(room + sizes.get(added.pk, 0)) >= NEARLY_FULL_PCT:
        return [], 0
    return [], 0 if UserFact.objects.open(now).filter(left_document_at__isnull=False).exists() else percent


def measure_document(*, outside: int, now: datetime) -> DocumentFill:
    """Return how full the document is; with facts `outside` of it, it is full."""
    _, room = _measure(now)
    return DocumentFill(100 if outside else _percent(room), outside)


def _measure(now: datetime) -> tuple[dict[UUID, int], int]:
    """Return the tokens of the document's facts by id and what is left; places leave at least half to facts."""
    rows = UserFact.objects.open(now).in_document()
    ids = list(rows.values_list("pk", flat=True))
    sizes = {pk: size for pk, size in zip(ids, _sizes.look_up(ids), strict=True) if size is not None}
    if len(sizes) < len(ids):
        new = {row.pk: count_fact_tokens(row) for row in rows.filter(pk__in=set(ids) - sizes.keys())}
        _sizes.keep(new.items())
        sizes |= new
    limit, frame = settings.MEMORY_TOKEN_LIMIT, count_document_tokens([])
    return sizes, max(limit, frame + limit // 2) - frame - sum(sizes.values())


def _percent(room: int) -> int:
    return min(100, 100 - 100 * room // settings.MEMORY_TOKEN_LIMIT)


def _choose_leaving(sizes: Mapping[UUID, int], room: int, now: datetime) -> list[UserFact]:
    """Return the facts that leave first, until there is room."""
    rows = UserFact.objects.open(now).in_document().only(*_ORDERING)
    ordered = rows.order_by(_IS_EXPLICIT, "last_referenced_at", "created_at", "id").iterator(chunk_size=8)
    leaving: list[UserFact] = []
    rules: list[UserFact] = []  # leave after all others
    for fact in chain(ordered, rules):
        if room >= 0:
            break
        if _is_risk_rule(fact) and fact not in rules:
            rules.append(fact)
            continue
        leaving.append(fact)
        room += sizes[fact.pk]
    return leaving


def _evict(left: Sequence[UserFact], batch_id: UUID | None, now: datetime) -> list[UserFact]:
    UserFact.objects.filter(pk__in=[fact.pk for fact in left]).update(left_document_at=now)
    for fact in left:
        log_event(WriteKind.EVICT, before=fact, after=fact, origin=Origin(batch_id=batch_id), now=now)
    logger.warning(
        "Evicted %d facts for user %s due to token limit: %s",
        len(left),
        owner_id(),
        ", ".join(str(fact.pk) for fact in left),
    )
    return list(left)


def _let_return(room: int, now: datetime) -> None:
    """Let facts come back while they fit: explicit before extracted, the most recently referenced first."""
    outside = UserFact.objects.open(now).filter(left_document_at__isnull=False)
    if room < _SMALLEST_ENTRY or not outside.exists():
        return
    # By indexes, else each delete sorts all facts outside: in the order of one, and few by the ids of another.
    rules = UserFact.objects.filter(pk__in=outside.filter(topic="risk").values("pk"), score__isnull=True)
    explicit, extracted = (outside.filter(score__isnull=is_explicit) for is_explicit in (True, False))
    found = {row.pk: row for rows in (rules, explicit) for row in rows.by_reference()[:_LOOKED_FOR]}
    if len(found) < _LOOKED_FOR:
        found |= {row.pk: row for row in extracted.by_reference()[:_LOOKED_FOR]}
    back = []
    for fact in sorted(
        found.values(),
        key=lambda row: (row.score is None, _is_risk_rule(row), row.last_referenced_at, row.created_at, str(row.pk)),
        reverse=True,
    ):
        room -= count_fact_tokens(fact)
        if room < 0:
            break
        back.append(fact.pk)
    UserFact.objects.filter(pk__in=back).update(left_document_at=None)


def _is_risk_rule(fact: UserFact) -> bool:
    return fact.score is None and (fact.topic == "risk" or _RISK.search(fact.content) is not None)
