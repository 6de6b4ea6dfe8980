"""Read facts, switches and memory blocks of the owner in scope."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain, groupby
from typing import Any, Final
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import BooleanField, Case, Count, ExpressionWrapper, Max, OuterRef, Q, Subquery, When
from django.db.models.functions import Coalesce

from config.lib.search.terms import build_word_filter
from config.lib.words.concerns import RULE
from memory import models
from memory.facts.periods import format_day, get_zone
from memory.models import FactCategory, MemoryEvent, Place, PlaceMention, UserFact, UserFactQuerySet
from memory.recall import blocks
from memory.recall.blocks import MemoryBlock
from memory.recall.search import find_relevant, select_marked

PAGE_SIZE: Final = 100  # facts that the list shows at a time
_FEW: Final = 100  # facts that the advisor's block reads whole
_BLOCK_COLUMNS = (
    *("id", "user_id", "category", "topic", "content", "summary", "confidence", "score"),
    *("valid_from", "valid_until", "last_confirmed_at", "learned_at", "created_at", "left_document_at"),
)
_BY_TOPIC = (ExpressionWrapper(Q(topic=""), output_field=BooleanField()), "topic")  # facts without a topic come last
_ORDERS: Final[dict[str, tuple[Any, ...]]] = {
    "referenced": ("-last_referenced_at", "-created_at", "id"),
    "newest": ("-learned_at", "id"),
    "oldest": ("learned_at", "id"),
    "topic": (*_BY_TOPIC, "-last_referenced_at", "id"),
    "text": ("normalised", "id"),
    "archived": ("-archived_at", "id"),
    "trashed": ("-trashed_at", "id"),
}
_BY_CATEGORY = Case(*(When(category=name, then=rank) for rank, name in enumerate(FactCategory.values)))


@dataclass(frozen=True, slots=True)
class FactFilter:
    """Which facts to list, and their order on the page."""

    words: str = ""
    source: str = ""
    confidence: str = ""
    category: str = ""
    topic: str | None = None  # None: any; empty: facts without a topic
    shelf: str = "believed"  # or "current", "archived", "trash"
    valid_at: datetime | None = None  # what was true then; overrides the shelf
    known_at: datetime | None = None  # by what Keel knew then, instead of what it knows now
    grouped: bool = False  # by category first, then in order
    order: str = "referenced"  # a key of _ORDERS


@dataclass(frozen=True, slots=True)
class ListedFact:
    fact: UserFact
    is_in_block: bool  # the coach's next chat starts with it
    is_stale: bool  # no coach's chat started with it for 60 days
    is_affirmed: bool  # affirmed within 60 days, so the page does not ask again
    reason: str  # why the coach's next chat starts with it, or not
    tokens: int  # that its line takes in a prompt, estimated
    has_begun: bool
    has_ended: bool
    days_left: int | None  # until the trash erases it; None outside the trash


@dataclass(frozen=True, slots=True)
class FactGroup:
    """A category's facts on a page, of `total`; `label` may be empty."""

    label: str
    total: int
    facts: list[ListedFact]
    continues: bool = False  # the page before ends with the same category


@dataclass(frozen=True, slots=True)
class FactPage:
    """One page of facts; `number` counts from 1."""

    facts: list[ListedFact]
    total: int
    number: int
    pages: int
    groups: list[FactGroup]


@dataclass(frozen=True, slots=True)
class FactCounts:
    """The numbers of believed, archived and trashed facts, per lineage, and their topics."""

    believed: int
    archived: int
    trashed: int
    outside: int  # believed facts for which the memory document has no room
    topics: list[str]  # in use, alphabetically


def uses_facts() -> bool:
    """Tell whether prompts may carry facts (default)."""
    return get_switches().uses_facts


def is_learning() -> bool:
    """Tell whether chats may save facts (default)."""
    return get_switches().learns


def iter_block_facts(now: datetime) -> Iterator[UserFact]:
    """Yield the current facts for prompts, most recently referenced first, without those surely below the floor."""
    return _iter_facts(_select_injectable(now).by_reference())


def _select_injectable(now: datetime) -> UserFactQuerySet:
    return UserFact.objects.current(now).filter(Q(score__isnull=True) | Q(score__gte=blocks.INJECTION_FLOOR))


def list_relevant_lines(message: str, *, without: Collection[UUID], now: datetime) -> list[tuple[UUID, str]]:
    """Return the facts that a message concerns, as lines for its prompt; `without` are those that it has."""
    facts = read_block_facts(find_relevant(message=message, without=without, now=now))
    return [(fact.id, blocks.format_fact(fact)) for fact in facts if blocks.is_injectable(fact, now)]


def list_places(*order: str) -> list[Place]:
    """Return the places with their mentions in conversations."""
    mentions = PlaceMention.objects.filter(place=OuterRef("pk")).order_by().values("place")
    number = mentions.annotate(number=Count("conversation_ref", distinct=True)).values("number")
    mentioned: dict[str, Any] = {
        "conversations": Coalesce(Subquery(number), 0),
        "last_mentioned_at": Subquery(mentions.annotate(last=Max("mentioned_at")).values("last")),
    }
    return list(Place.objects.filter(removed_at__isnull=True).annotate(**mentioned).order_by(*order, "id"))


def get_next_block(*, assistant: str, now: datetime) -> MemoryBlock:
    """Return the next chat's block, empty if facts are switched off."""
    return get_block(assistant, now) if uses_facts() else blocks.build_empty_block()


def get_block(assistant: str, now: datetime) -> MemoryBlock:
    """Return the assistant's block, regardless of the switch."""
    return _BLOCKS[assistant](now)


_BLOCKS: Final[dict[str, Callable[[datetime], MemoryBlock]]] = {
    "coach": lambda now: _build_coach_block(now),
    "advisor": lambda now: _build_advisor_block(now),
    "companion": lambda now: blocks.build_companion_block(
        _iter_facts(_select_injectable(now).in_document()), list_places("added_at"), now=now
    ),
}


def _build_coach_block(now: datetime) -> MemoryBlock:
    rules = select_marked(_select_injectable(now), RULE).by_reference().only(*_BLOCK_COLUMNS)[: blocks.RULES_FIRST]
    stored = UserFact.objects.current(now).count()
    return blocks.build_coach_block(iter_block_facts(now), rules=read_block_facts(rules), stored=stored, now=now)


def _build_advisor_block(now: datetime) -> MemoryBlock:
    """Build the advisor's block; of many facts only the first of each category can have room."""
    facts = _select_injectable(now)
    total = facts.count()
    if total <= _FEW:
        return blocks.build_advisor_block(_iter_facts(facts), now=now)
    candidates: list[UserFact] = []
    for category in FactCategory:
        rows = facts.filter(category=category).order_by("-created_at", "-id")
        by_rank = (_iter_facts(rows.filter(score__isnull=is_explicit)) for is_explicit in (True, False))
        candidates += blocks.take_candidates(chain.from_iterable(by_rank), now=now)
    return blocks.build_advisor_block(candidates, now=now, unread=total - len(candidates))


def _iter_facts(facts: UserFactQuerySet) -> Iterator[UserFact]:
    return read_block_facts(facts.only(*_BLOCK_COLUMNS).iterator(chunk_size=50))


def read_block_facts(facts: Iterable[UserFact]) -> Iterator[UserFact]:
    """Yield facts with their period, as blocks show it."""
    zone = None  # read once, for the facts with an end
    for row in facts:
        if row.valid_until is not None:
            zone = zone or get_zone()
            row.period = f"until {format_day(row.valid_until, zone)}"
        yield row


def list_new_facts(*, since: datetime, now: datetime, limit: int) -> list[UserFact]:
    """Return the current facts that were learned since an instant, newest first."""
    rows = UserFact.objects.current(now).filter(learned_at__gt=since)
    return list(rows.order_by("-learned_at", "id")[:limit])


def list_current(now: datetime, *, category: str | None = None, limit: int) -> tuple[list[UserFact], int]:
    """Return the most recently referenced current facts, and their count."""
    rows = UserFact.objects.current(now)
    rows = rows.filter(category=category) if category else rows
    return list(rows.by_reference()[:limit]), rows.count()


def find_undone_events(event_ids: list[UUID]) -> set[UUID]:
    """Return the ids among these whose events were undone."""
    return set(MemoryEvent.objects.filter(pk__in=event_ids, undone_at__isnull=False).values_list("pk", flat=True))


def list_facts(wanted: FactFilter, *, page: int, now: datetime) -> FactPage:
    """Return a page of matching facts, ended and future ones included."""
    rows = select_facts(wanted, now)
    totals = dict(rows.order_by().values_list("category").annotate(Count("pk")))
    total = sum(totals.values())
    order = (_BY_CATEGORY, *_ORDERS[wanted.order]) if wanted.grouped else _ORDERS[wanted.order]
    paginator = Paginator(rows.order_by(*order), PAGE_SIZE)
    paginator.count = total
    cut = paginator.get_page(page)
    shown = list_shown_facts(cut, now)
    groups = [FactGroup("", total, shown)] if shown else []
    if wanted.grouped:
        by_category = groupby(shown, key=lambda listed: FactCategory(listed.fact.category))
        groups = [FactGroup(category.label, totals[category], list(facts)) for category, facts in by_category]
        names = FactCategory.values
        first = names.index(shown[0].fact.category) if shown else 0
        if cut.start_index() - 1 > sum(totals.get(name, 0) for name in names[:first]):
            groups[0] = replace(groups[0], continues=True)
    return FactPage(shown, total, cut.number, paginator.num_pages, groups)


def list_shown_facts(facts: Iterable[UserFact], now: datetime) -> list[ListedFact]:
    """Return the facts as the page shows them."""
    rows = list(facts)
    block_ids = frozenset(get_block("coach", now).fact_ids)
    why = blocks.explain_facts(read_block_facts(rows), chosen=block_ids, assistant="coach", now=now)
    return [
        ListedFact(
            fact=fact,
            is_in_block=fact.pk in block_ids,
            reason=explained.reason,
            tokens=explained.tokens,
            is_stale=not fact.is_archived and fact.is_stale(now),
            is_affirmed=fact.last_confirmed_at is not None and now - fact.last_confirmed_at < models.STALE_AFTER,
            has_begun=fact.valid_from <= now,
            has_ended=fact.valid_until is not None and fact.valid_until <= now,
            days_left=None if fact.gone_at is None else max(0, -((now - fact.gone_at) // timedelta(days=1))),
        )
        for fact, explained in zip(rows, why, strict=True)
    ]


def count_facts(now: datetime) -> FactCounts:
    """Count the facts of each shelf, believed ones without reading their rows."""
    is_outside = Q(left_document_at__isnull=False) & (Q(valid_until__isnull=True) | Q(valid_until__gt=now))
    is_trashed = Q(trashed_at__isnull=False)
    shelves = (
        (UserFact.objects.believed(), {"believed": Count("pk"), "outside": Count("pk", filter=is_outside)}),
        (
            UserFact.objects.last_of_lineage().filter(archived_at__isnull=False),
            {"archived": Count("pk", filter=~is_trashed), "trashed": Count("pk", filter=is_trashed)},
        ),
    )
    totals, topics = Counter[str](), set[str]()
    for rows, counted in shelves:
        for row in rows.order_by("topic").values("topic").annotate(**counted):
            topics.add(row.pop("topic"))
            totals.update(row)
    return FactCounts(
        **{name: totals[name] for _, counted in shelves for name in counted}, topics=sorted(topics - {""})
    )


def list_topics() -> list[str]:
    """Return the topics in use, alphabetically, archived facts included."""
    topics = UserFact.objects.last_of_lineage().exclude(topic="").order_by("topic").values_list("topic", flat=True)
    return list(topics.distinct())


def find_last_version(fact_id: UUID) -> UserFact | None:
    """Return the newest row of the lineage of `fact_id`, or None."""
    lineage = UserFact.objects.filter(pk=fact_id).values("lineage")
    return UserFact.objects.last_of_lineage().filter(lineage=lineage[:1]).first()  # with IN, SQLite reads all facts


def find_version(fact_id: UUID) -> UserFact | None:
    """Return the row with this id, or None."""
    return UserFact.objects.filter(pk=fact_id).first()


def find_versions(fact_ids: Iterable[UUID]) -> list[UserFact]:
    """Return the rows with these ids, in that order, without erased ones."""
    wanted = list(fact_ids)
    rows = UserFact.objects.in_bulk(wanted)
    return [rows[pk] for pk in wanted if pk in rows]


def list_links(fact: UserFact) -> list[models.FactLink]:
    """Return a fact's links between believed facts, oldest first."""
    believed = UserFact.objects.believed()
    links = models.FactLink.objects.filter(
        Q(from_fact=fact) | Q(to_fact=fact), from_fact__in=believed, to_fact__in=believed
    )
    return list(links.select_related("from_fact", "to_fact").order_by("created_at", "id"))


def find_event(event_id: UUID) -> MemoryEvent | None:
    """Return the event with its rows before and after, or None."""
    return MemoryEvent.objects.select_related("before", "after").filter(pk=event_id).first()


def select_facts(wanted: FactFilter, now: datetime) -> UserFactQuerySet:
    """Return the matching facts, unordered."""
    rows = _SHELVES[wanted.shelf](now)
    if wanted.valid_at or wanted.known_at:
        rows = UserFact.objects.as_of(wanted.valid_at or now, wanted.known_at or now)
    given = {name: value for name in ("source", "confidence", "category") if (value := getattr(wanted, name))}
    given |= {} if wanted.topic is None else {"topic": wanted.topic}
    return rows.filter(build_word_filter(wanted.words, "normalised", "topic"), **given)


_SHELVES: Final[dict[str, Callable[[datetime], UserFactQuerySet]]] = {
    "believed": lambda now: UserFact.objects.believed(),
    "current": lambda now: UserFact.objects.current(now),
    "archived": lambda now: UserFact.objects.archived(),
    "trash": lambda now: UserFact.objects.in_trash(),
}


def get_switches() -> models.MemorySwitches:
    """Return the owner's switches; without a row both are on."""
    return models.MemorySwitches.objects.first() or models.MemorySwitches()
