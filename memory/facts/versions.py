"""Versions on a lineage, their links, tombstones and the undo log.

Only modules that write memory use it, inside `owned_tx(user)` and under `lock_memory()`. A row's content never changes:
a new row on the same lineage replaces it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

from django.db.models import Case, F, Q, Value, When
from django.utils.crypto import salted_hmac

from config.lib.errors import NotFound, StateConflict
from config.lib.owned import owner_id
from config.lib.postgresql.locks import lock_owner
from config.lib.text import normal_form
from memory.claims.claims import read_claims
from memory.claims.subjects import read_subject
from memory.facts.queries import find_last_version, is_learning
from memory.models import ArchivedReason, FactLink, MemoryEvent, Tombstone, UserFact, WriteKind
from memory.wording import MAX_TOPIC


class FactNotFound(NotFound):
    """The owner has no such fact."""


class FactChanged(StateConflict):
    """Another write changed the fact first."""


class FactAmbiguous(StateConflict):
    """Several facts match, or none is meant for certain; `candidates` has them, likeliest first."""

    def __init__(self, candidates: list[UserFact], message: str = "") -> None:
        self.candidates = candidates
        super().__init__(message or f"{len(candidates)} facts fit these words. Which one is meant?")


class UndoRefused(StateConflict):
    """A later write depends on the one to undo."""


class MemoryPaused(StateConflict):
    """The user does not let chats save facts."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a write, by plain ids; none for the page. Writes with one `batch_id` are undone together.

    `quotes` are the user's own words, `[{"message_id": int, "start": int, "end": int}]`.
    """

    conversation_id: UUID | None = None
    message_id: int | None = None
    quotes: tuple[dict[str, int], ...] = ()
    batch_id: UUID | None = None
    is_click: bool = False  # decided on a page, so a pause does not block it
    is_staff: bool = False  # decided on a page of the admin


@dataclass(frozen=True, slots=True)
class FactWrite:
    """A written row and its undo event, None without a change."""

    fact: UserFact
    event: MemoryEvent | None
    left_document: tuple[UserFact, ...] = ()  # the facts for which the memory document had no room any more


PAGE: Final = Origin()
STAFF: Final = Origin(is_click=True, is_staff=True)

# The columns that a successor inherits unless the change sets them (settled 4).
INHERITED: Final = (
    *("lineage", "category", "topic", "content", "summary", "body", "source", "confidence", "score"),
    *("valid_until", "learned_at", "last_referenced_at", "last_confirmed_at"),
    *("conversation_id", "quotes", "skill_id", "left_document_at"),
)


def lock_memory() -> None:
    """Serialise the writes to this user's memory."""
    lock_owner()


def refuse_when_paused(origin: Origin) -> None:
    """Raise MemoryPaused for a chat's write while learning is off."""
    is_from_chat = origin.conversation_id is not None and not origin.is_click
    if is_from_chat and not is_learning():
        raise MemoryPaused("Learning is paused by the user on their page of facts; nothing was saved.")


def get_believed(fact_id: UUID) -> UserFact:
    """Return the fact with this id. Raises FactNotFound, FactChanged."""
    row = UserFact.objects.filter(pk=fact_id).first_or(FactNotFound("There is no such fact."))
    if row.is_archived:
        raise FactChanged("This fact has changed. Look at it again before you change it.")
    return row


def get_last_version(fact_id: UUID) -> UserFact:
    """Return the newest row of a row's lineage. Raises FactNotFound."""
    if (row := find_last_version(fact_id)) is None:
        raise FactNotFound("There is no such fact.")
    return row


def find_twin(fact: UserFact, key: str | None = None) -> UserFact | None:
    """Return another lineage's believed row with the same text or `key`."""
    rows = UserFact.objects.believed().filter(content_key=key or fact.content_key)
    return rows.exclude(lineage=fact.lineage).first()


def insert_version(*, is_apart: bool = False, now: datetime, origin: Origin, **values: Any) -> UserFact:
    """Insert a version, with `is_apart` on a lineage of its own, and move the superseded row's links to it."""
    fact_id = uuid4()
    defaults = {
        "lineage": fact_id,
        "learned_at": now,
        "last_referenced_at": now,
        "conversation_id": origin.conversation_id,
        "quotes": list(origin.quotes),
        "subject": read_subject(values["content"]).key,
    }
    own = {"lineage": fact_id} if is_apart else {}
    fact = UserFact(**{"id": fact_id, "created_at": now, **defaults, **values, **own})
    fact.insert()
    if fact.supersedes_id is not None:
        old, ends = fact.supersedes_id, ("from_fact", "to_fact")
        moved = {end: Case(When(**{end: old}, then=Value(fact.pk)), default=F(end)) for end in ends}
        FactLink.objects.filter(Q(from_fact=old) | Q(to_fact=old)).update(**moved)
    return fact


def archive_version(fact: UserFact, reason: str, now: datetime) -> None:
    """Archive a believed row. Raises FactChanged if it already was."""
    ended = UserFact.objects.believed().filter(pk=fact.pk).update(archived_at=now, archived_reason=reason)
    if not ended:
        raise FactChanged("This fact has changed. Look at it again before you change it.")
    fact.archived_at, fact.archived_reason = now, reason


def revoke_forget(event: MemoryEvent, now: datetime) -> UserFact:
    """Make a forget of this turn part of the write that supersedes its fact (settled 3); return that fact's row."""
    old = event.before
    assert old is not None, "a forget has a row before it"
    Tombstone.objects.filter(event=event).delete()
    event.undone_at = now
    event.save(update_fields=["undone_at"])
    if old.archived_reason == ArchivedReason.AGENT_FORGET:
        old.archived_reason = ArchivedReason.SUPERSEDED
        old.save(update_fields=["archived_reason"])
    return old


def list_forgotten(content: str, topic: str, origin: Origin, *, is_change: bool = False) -> list[MemoryEvent]:
    """Return the forgets of this turn whose facts had the subject of `content`, in order; of a change else all."""
    if origin.conversation_id is None or origin.message_id is None:
        return []
    events = MemoryEvent.objects.filter(
        kind=WriteKind.FORGET,
        undone_at__isnull=True,
        conversation_id=origin.conversation_id,
        message_id=origin.message_id,
    )
    by_fact = {event.before_id: event for event in events}
    ended = UserFact.objects.last_of_lineage().filter(pk__in=by_fact, trashed_at__isnull=True)
    about_same = [by_fact[old.pk] for old in ended if is_about_same(old, content, topic)]
    found = about_same if about_same or not is_change else [by_fact[old.pk] for old in ended]
    return sorted(found, key=lambda event: (event.created_at, event.pk))


def is_about_same(old: UserFact, content: str, topic: str) -> bool:
    """Tell whether a fact and a statement of one turn have one subject.

    Where both state a subject of the table, it decides. Else, of two acts in one turn, a topic, a word or the unit of
    a number in common is enough: "I trade on Binance", "I trade on Kraken"; "3x is my ceiling", "never above 2x".
    """
    before, after = read_subject(old.content), read_subject(content)
    if before.is_single and after.is_single:
        return before.key == after.key
    if topic and old.topic == topic:
        return True
    mine, theirs = (
        {term.key if term.kind == "word" else term.unit for term in read_claims(text).of_kind("word", "number")} - {""}
        for text in (old.content, content)
    )
    return not mine.isdisjoint(theirs)


def copy_links(old: UserFact, twin: UserFact, event: MemoryEvent) -> None:
    """Copy a merged row's links to its twin, until `event` is undone."""
    for link in FactLink.objects.filter(Q(from_fact=old) | Q(to_fact=old)):
        from_id = twin.pk if link.from_fact_id == old.pk else link.from_fact_id
        to_id = twin.pk if link.to_fact_id == old.pk else link.to_fact_id
        if from_id != to_id:
            FactLink.objects.get_or_create(
                from_fact_id=from_id,
                to_fact_id=to_id,
                relation=link.relation,
                defaults={"event": event, "created_at": link.created_at},
            )


def take_from_trash(fact: UserFact) -> None:
    """Take a fact that holds again out of the trash."""
    if fact.trashed_at is not None:
        UserFact.objects.filter(lineage=fact.lineage).update(trashed_at=None)


def log_event(
    kind: WriteKind, *, later: UserFact | None = None, origin: Origin, now: datetime, **columns: Any
) -> MemoryEvent:
    """Log a write for undo, with the rows `before` and `after`, the fact that holds `later`, or the `place`."""
    if later is not None:
        columns["detail"] = {"later": str(later.pk)}
    row: UserFact | None = columns.get("before") or columns.get("after")
    event = MemoryEvent(
        kind=kind,
        lineage=row.lineage if row is not None else None,
        conversation_id=origin.conversation_id,
        message_id=origin.message_id,
        batch_id=origin.batch_id,
        is_by_staff=origin.is_staff,
        created_at=now,
        **columns,
    )
    event.insert()
    return event


def note_detail(event: MemoryEvent | None, **detail: Any) -> None:
    """Add to what an event tells for its undo."""
    assert event is not None, "a change has an event"
    event.detail |= detail
    event.save(update_fields=["detail"])


def digest_content(content: str) -> str:
    """Return a tombstone's digest of a text, keyed by the owner. Equal normal forms have equal digests."""
    return salted_hmac(f"memory.tombstone.{owner_id()}", normal_form(content), algorithm="sha256").hexdigest()


def digest_topic(topic: str) -> str:
    """Return a tombstone's digest of a topic, or an empty text."""
    return digest_content(topic)[:MAX_TOPIC] if topic else ""


def add_tombstone(fact: UserFact, event: MemoryEvent, now: datetime) -> None:
    """Keep extractions from saving this fact again."""
    Tombstone.objects.create(
        category=fact.category,
        topic=digest_topic(fact.topic),
        digest=digest_content(fact.content),
        message_ids=sorted({quote["message_id"] for quote in fact.quotes}),
        event=event,
        created_at=now,
    )


def remove_tombstones(content: str) -> None:
    """Remove the tombstones of a repeated text."""
    Tombstone.objects.filter(digest=digest_content(content)).delete()
