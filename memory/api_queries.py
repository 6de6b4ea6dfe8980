"""What the API lists: selections that its pages are cut from."""

from datetime import datetime

from django.db.models import Q

from config.lib.search import has_words
from memory.models import FactLink, UserFact, UserFactQuerySet


def select_facts(
    *,
    state: str,
    q: str,
    category: str,
    source: str,
    confidence: str,
    topic: str | None,
    valid_at: datetime | None,
    known_at: datetime | None,
    now: datetime,
) -> UserFactQuerySet:
    """Return the facts that fit, in no order; an empty filter fits all. An instant wins over `state`."""
    rows = _as_of(valid_at or now, known_at or now) if valid_at or known_at else _in_state(state, now)
    given = {"category": category, "source": source, "confidence": confidence}
    rows = rows.filter(has_words(q, "normalised", "topic"), **{name: value for name, value in given.items() if value})
    return rows if topic is None else rows.filter(topic=topic)


def select_links(fact: UserFact) -> list[FactLink]:
    """Return the relations of a believed fact to believed facts, first made first."""
    believed = UserFact.objects.believed()
    links = FactLink.objects.filter(Q(from_fact=fact) | Q(to_fact=fact), from_fact__in=believed, to_fact__in=believed)
    return list(links.order_by("created_at", "id"))


def _as_of(valid_at: datetime, known_at: datetime) -> UserFactQuerySet:
    rows: UserFactQuerySet = UserFact.objects.as_of(valid_at, known_at)
    return rows


def _in_state(state: str, now: datetime) -> UserFactQuerySet:
    rows: UserFactQuerySet = UserFact.objects.last_of_lineage()
    match state:
        case "trash":
            return rows.filter(trashed_at__isnull=False)
        case "archived":
            return rows.filter(archived_at__isnull=False, trashed_at__isnull=True)
        case "believed":
            return rows.filter(archived_at__isnull=True)
    return rows.current(now)
