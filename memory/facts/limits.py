"""The token limit of the memory document, and eviction."""

import logging
from collections import deque
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Q, Sum
from django.db.models.functions import Length

from config.lib.owned import owner_id
from memory.facts.document import count_document_tokens, count_fact_tokens
from memory.facts.versions import Origin, archive_version, log_event
from memory.models import ArchivedReason, EventKind, Place, PlaceMention, UserFact

logger = logging.getLogger(__name__)

# Upper bounds: a text has at most one token per byte, a character at most four bytes, an entry's JSON so many more.
_ENTRY_BYTES: Final = 260
_BROUGHT_BYTES: Final = 800  # extra for the ids of an imported fact
_PLACE_BYTES: Final = 3_000
_MENTION_BYTES: Final = 600


def enforce_token_limit(*, now: datetime, is_dry_run: bool = False, batch_id: UUID | None = None) -> list[UUID]:
    """Evict current facts until the document fits the limit; return their ids.

    Extracted facts leave before explicit ones, the least recently referenced first (settled 15). Call it under the lock
    of the write that made the document grow; with the `batch_id` of that write the evictions are undone with it.
    """
    if _is_surely_small(now):
        return []
    facts = sorted(UserFact.objects.current(now), key=_eviction_order)
    # Places may displace facts, but facts keep half of the limit.
    room = max(settings.MEMORY_TOKEN_LIMIT, count_document_tokens([]) + settings.MEMORY_TOKEN_LIMIT // 2)
    kept = deque(facts)
    # A fact has fewer tokens in the document than alone, so repeat until it fits.
    while kept and (excess := count_document_tokens(kept) - room) > 0:
        while kept and excess > 0:
            excess -= count_fact_tokens(kept.popleft())
    evicted = facts[: len(facts) - len(kept)]
    if evicted and not is_dry_run:
        for fact in evicted:
            archive_version(fact, ArchivedReason.EVICTED, now)
            log_event(EventKind.EVICT, before=fact, origin=Origin(batch_id=batch_id), now=now)
        logger.warning(
            "Evicted %d facts for user %s due to token limit: %s",
            len(evicted),
            owner_id(),
            ", ".join(str(fact.pk) for fact in evicted),
        )
    return [fact.pk for fact in evicted]


def _is_surely_small(now: datetime) -> bool:
    facts = UserFact.objects.current(now).aggregate(
        count=Count("pk"), characters=Sum(Length("content")), brought=Count("pk", filter=~Q(external={}))
    )
    size = facts["count"] * _ENTRY_BYTES + facts["brought"] * _BROUGHT_BYTES + 4 * (facts["characters"] or 0)
    size += Place.objects.count() * _PLACE_BYTES + PlaceMention.objects.count() * _MENTION_BYTES
    return bool(size <= settings.MEMORY_TOKEN_LIMIT)


def _eviction_order(fact: UserFact) -> tuple[bool, datetime, datetime, str]:
    return fact.score is None, fact.last_referenced_at, fact.created_at, str(fact.pk)
