"""Writing facts. Each function is one intention of the user; call it inside `owned_tx(user)`.

A change of content, category, topic or confidence never touches the old row: it is archived and a new row takes
its place on the same lineage, in one transaction. Each write leaves a `MemoryEvent`, by which it can be undone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import Q

from config.lib.errors import DomainError
from config.lib.fields import content_key
from config.lib.owned import owner_id
from memory.injection import Block, coach_block
from memory.models import ArchivedReason, Confidence, EventKind, FactSource, MemoryEvent, UserFact
from memory.queries import find_current_version, iter_block_facts, list_matching, list_versions
from memory.wording import category_for, fact_text, topic_slug


class FactNotFound(DomainError):
    """The owner has no such fact, or not in a state that allows this."""


class FactChanged(DomainError):
    """Somebody else changed the fact first."""


class FactAmbiguous(DomainError):
    """Several facts fit the words; nothing was changed. `candidates` are their texts and ids, likeliest first."""

    def __init__(self, candidates: list[UserFact]) -> None:
        self.candidates = candidates
        super().__init__(f"{len(candidates)} facts fit these words. Ask the user which one is meant.")


class UndoRefused(DomainError):
    """A later write stands on the one to be undone."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a write came from, by plain ids; both None for the page."""

    conversation_id: UUID | None = None
    message_id: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did: the row as it now stands, and the event that undoes it; no event when nothing changed."""

    fact: UserFact
    event: MemoryEvent | None


PAGE: Final = Origin()

# What a successor takes over from the row it replaces, unless the change says otherwise (settled 4).
_INHERITED = (
    "lineage",
    "category",
    "topic",
    "content",
    "summary",
    "body",
    "source",
    "confidence",
    "score",
    "valid_until",
    "learned_at",
    "last_referenced_at",
    "last_confirmed_at",
    "conversation_id",
    "quotes",
    "skill_id",
)


def remember_fact(
    *,
    content: str,
    topic: str = "",
    category: str | None = None,
    confidence: str = Confidence.INFERRED,
    source: str = FactSource.CHAT,
    origin: Origin = PAGE,
    now: datetime,
) -> Written:
    """Save a fact, once: the same words again return the row that stands.

    The same words with another category or topic move the fact, and said outright they promote an inferred one;
    either is a supersede. Without a category it follows from the topic (settled 5 and 6).

    Raises:
        FactRefused: the text is too short, too long, or holds a secret.
    """
    text, tag = fact_text(content), topic_slug(topic)
    kind = category or category_for(tag)
    _lock_memory()
    known = UserFact.objects.believed().filter(content_key=content_key(text)).first()
    if known is None:
        fact = _insert(
            content=text,
            topic=tag,
            category=kind,
            confidence=confidence,
            source=source,
            valid_from=now,
            now=now,
            origin=origin,
        )
        return Written(fact, _log(EventKind.SAVE, after=fact, origin=origin, now=now))
    changes = _changes_of_repeat(known, topic=tag, category=kind if category or tag else "", confidence=confidence)
    if known.score is not None:
        # What was learned before is now saved outright, and from here (settled 4).
        changes |= {"score": None, "source": source, "conversation_id": origin.conversation_id or known.conversation_id}
    if not _holds(known, now):
        # Said again after its end, or before its beginning: it holds from now on.
        changes |= {"content": text, "source": source, "valid_from": now}
    if not changes:
        return Written(known, None)
    is_promotion = "confidence" in changes and changes.keys().isdisjoint({"topic", "category", "valid_from"})
    return _supersede(known, EventKind.PROMOTE if is_promotion else EventKind.UPDATE, changes, origin=origin, now=now)


def supersede_fact(
    *,
    fact_id: UUID,
    content: str,
    topic: str | None = None,
    category: str | None = None,
    confidence: str = Confidence.ASSERTED,
    source: str = FactSource.PROFILE,
    origin: Origin = PAGE,
    now: datetime,
) -> Written:
    """Replace a fact by a corrected one; a topic or category of None is kept.

    The old row is archived at `now` and kept; the new one starts at the same moment, so an as-of query never finds
    a gap or an overlap. Words equal to another fact merge this one into it. Equal in everything: nothing changes.

    Raises:
        FactNotFound: the owner has no believed fact of that id.
        FactChanged: another version took its place meanwhile.
        FactRefused: the text is too short, too long, or holds a secret.
    """
    text = fact_text(content)
    _lock_memory()
    old = _believed(fact_id)
    wanted: dict[str, Any] = {
        "content": text,
        "topic": old.topic if topic is None else topic_slug(topic),
        "category": category or old.category,
        "confidence": confidence,
        "score": None,
    }
    if all(getattr(old, name) == value for name, value in wanted.items()):
        return Written(old, None)
    if old.content != text:
        # The shorter line and the longer detail were about the old words.
        wanted |= {"summary": "", "body": "", "quotes": []}
    if origin.conversation_id:
        wanted["conversation_id"] = origin.conversation_id
    return _supersede(old, EventKind.UPDATE, {**wanted, "source": source}, origin=origin, now=now)


def confirm_fact(*, fact_id: UUID, origin: Origin = PAGE, now: datetime) -> Written:
    """Note that the user affirmed a fact; resets its decay clock and changes nothing else. Never sets it back.

    Raises:
        FactNotFound: the owner has no believed fact of that id.
        FactChanged: another version took its place meanwhile.
    """
    _lock_memory()
    fact = _believed(fact_id)
    if fact.last_confirmed_at is not None and fact.last_confirmed_at >= now:
        return Written(fact, None)
    event = _log(
        EventKind.CONFIRM, before=fact, after=fact, origin=origin, now=now, previous_confirmed_at=fact.last_confirmed_at
    )
    fact.last_confirmed_at = now
    fact.save(update_fields=["last_confirmed_at"])
    return Written(fact, event)


def promote_fact(*, fact_id: UUID, origin: Origin = PAGE, now: datetime) -> Written:
    """Turn an inferred fact into an asserted one; idempotent. Raises FactNotFound, FactChanged."""
    return _set_confidence(fact_id, Confidence.ASSERTED, EventKind.PROMOTE, origin=origin, now=now)


def demote_fact(*, fact_id: UUID, origin: Origin = PAGE, now: datetime) -> Written:
    """Turn an asserted fact into an inferred one; idempotent. Raises FactNotFound, FactChanged."""
    return _set_confidence(fact_id, Confidence.INFERRED, EventKind.DEMOTE, origin=origin, now=now)


def forget_fact(
    *,
    id_or_substring: str,
    reason: str = ArchivedReason.AGENT_FORGET,
    origin: Origin = PAGE,
    now: datetime,
) -> Written:
    """Archive the current fact of that id, or the only one that holds these words; the row is kept for audit.

    Raises:
        FactNotFound: no current fact fits.
        FactAmbiguous: several do; nothing was changed.
    """
    _lock_memory()
    fact = resolve_fact(id_or_substring, now)
    _archive(fact, reason, now)
    return Written(fact, _log(EventKind.FORGET, before=fact, origin=origin, now=now))


def archive_fact(*, fact_id: UUID, now: datetime) -> Written:
    """Archive a fact from the page; it stays visible there and can be restored. Raises FactNotFound, FactChanged."""
    _lock_memory()
    fact = _believed(fact_id)
    _archive(fact, ArchivedReason.USER_ARCHIVED, now)
    return Written(fact, _log(EventKind.ARCHIVE, before=fact, origin=PAGE, now=now))


def restore_fact(*, fact_id: UUID, now: datetime) -> Written:
    """Bring an archived fact back: a new row on top of its lineage's last one, in the words of that.

    If the same words are held true already, that row is returned and nothing changes; if they were, until they
    ended, they hold again.

    Raises:
        FactNotFound: the owner has no such fact.
        FactChanged: the fact is not archived (any more).
    """
    _lock_memory()
    row = UserFact.objects.filter(pk=fact_id).first()
    if row is None:
        raise FactNotFound("There is no such fact.")
    last = UserFact.objects.filter(lineage=row.lineage).last_of_lineage().get()
    if not last.is_archived:
        raise FactChanged("This fact is not archived any more.")
    twin = _twin(last)
    if twin is not None:
        return Written(twin, None) if _holds(twin, now) else _hold_again(twin, now, origin=PAGE, now=now)
    fact = _revive(last, values=last, valid_from=last.valid_from, now=now)
    return Written(fact, _log(EventKind.RESTORE, before=last, after=fact, origin=PAGE, now=now))


def undo_event(*, event_id: UUID, now: datetime) -> MemoryEvent:
    """Take one write back; doing so twice changes nothing more.

    No closed row is reopened: what was there before comes back as a new row on top of the lineage. A later write that
    was undone itself does not stand in the way.

    Raises:
        FactNotFound: the owner has no such event.
        UndoRefused: a later write stands on it.
    """
    _lock_memory()
    event = MemoryEvent.objects.filter(pk=event_id).first()
    if event is None:
        raise FactNotFound("There is nothing to undo.")
    if event.undone_at is None:
        _UNDO[EventKind(event.kind)](event, _last_row_since(event), now)
        event.undone_at = now
        event.save(update_fields=["undone_at"])
    undone: MemoryEvent = event
    return undone


def render_coach_block(*, now: datetime) -> Block:
    """Render the coach's memory block and mark exactly the facts in it as referenced at `now`."""
    # Or a row that is being replaced would be marked in vain, and its successor not at all.
    _lock_memory()
    block = coach_block(iter_block_facts(now), now=now)
    if block.fact_ids:
        # Never backwards: another conversation may have rendered a later one meanwhile.
        UserFact.objects.filter(pk__in=block.fact_ids, last_referenced_at__lt=now).update(last_referenced_at=now)
    return block


def resolve_fact(id_or_substring: str, now: datetime) -> UserFact:
    """Return the one current fact that is meant: a uuid is an id, anything else a literal substring without case.

    The id of a superseded row leads to its lineage's current row (settled 1).

    Raises:
        FactNotFound: none fits.
        FactAmbiguous: several do.
    """
    fact_id = _uuid_or_none(id_or_substring)
    if fact_id is not None:
        fact = find_current_version(fact_id, now)
        if fact is None:
            raise FactNotFound("There is no current fact of that id.")
        return fact
    matches = list_matching(id_or_substring, now)
    if not matches:
        raise FactNotFound("No current fact holds these words. List the facts to find the right words.")
    if len(matches) > 1:
        raise FactAmbiguous(matches)
    return matches[0]


def _uuid_or_none(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def _lock_memory() -> None:
    """Let one write to this user's memory run at a time; the constraints stay the last net.

    SQLite needs no lock: its write transactions already run one at a time.
    """
    if connection.features.has_select_for_update:
        # NO KEY: rows that only point to the user, such as messages, can be inserted meanwhile.
        users = get_user_model()._default_manager.select_for_update(no_key=True)
        users.only("pk").get(pk=owner_id())


def _believed(fact_id: UUID) -> UserFact:
    row = UserFact.objects.filter(pk=fact_id).first()
    if row is None:
        raise FactNotFound("There is no such fact.")
    if row.is_archived:
        raise FactChanged("This fact changed meanwhile. Look at it again before you change it.")
    fact: UserFact = row
    return fact


def _holds(fact: UserFact, now: datetime) -> bool:
    # A turn keeps the time at which it began; what was written meanwhile is not of the future.
    moment = max(now, fact.created_at)
    return fact.valid_from <= moment and (fact.valid_until is None or fact.valid_until > moment)


def _changes_of_repeat(known: UserFact, *, topic: str, category: str, confidence: str) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if topic and topic != known.topic:
        changes["topic"] = topic
    if category and category != known.category:
        changes["category"] = category
    if confidence == Confidence.ASSERTED and known.confidence != confidence:
        changes |= {"confidence": confidence, "score": None}
    return changes


def _insert(*, now: datetime, origin: Origin, **values: Any) -> UserFact:
    fact_id = uuid4()
    defaults = {
        "lineage": fact_id,
        "learned_at": now,
        "last_referenced_at": now,
        "conversation_id": origin.conversation_id,
    }
    fact: UserFact = UserFact.objects.create(**{"id": fact_id, "created_at": now, **defaults, **values})
    return fact


def _archive(fact: UserFact, reason: str, now: datetime) -> None:
    ended = UserFact.objects.believed().filter(pk=fact.pk).update(archived_at=now, archived_reason=reason)
    if not ended:
        raise FactChanged("This fact changed meanwhile. Look at it again before you change it.")
    fact.archived_at, fact.archived_reason = now, reason


def _twin(fact: UserFact, key: str | None = None) -> UserFact | None:
    """Return the believed row of another lineage with the same words."""
    rows = UserFact.objects.believed().filter(content_key=key or fact.content_key)
    twin: UserFact | None = rows.exclude(lineage=fact.lineage).first()
    return twin


def _supersede(old: UserFact, kind: EventKind, changes: dict[str, Any], *, origin: Origin, now: datetime) -> Written:
    # A fact that begins later keeps its beginning; one that had ended holds again, without an end.
    valid_from = max(now, old.valid_from)
    twin = _twin(old, content_key(changes.get("content", old.content)))
    if twin is not None:
        _archive(old, ArchivedReason.MERGED, now)
        if not _holds(twin, now):
            twin = _hold_again(twin, valid_from, origin=origin, now=now).fact
        return Written(twin, _log(EventKind.MERGE, before=old, after=twin, origin=origin, now=now))
    _archive(old, ArchivedReason.SUPERSEDED, now)
    values = {name: getattr(old, name) for name in _INHERITED} | {"valid_from": valid_from} | changes
    if values["valid_until"] is not None and values["valid_until"] <= values["valid_from"]:
        values["valid_until"] = None
    new = _insert(now=now, origin=origin, supersedes=old, **values)
    return Written(new, _log(kind, before=old, after=new, origin=origin, now=now))


def _hold_again(fact: UserFact, valid_from: datetime, *, origin: Origin, now: datetime) -> Written:
    """Let words that ended, or have not begun, hold from `valid_from` on."""
    return _supersede(fact, EventKind.UPDATE, {"valid_from": valid_from}, origin=origin, now=now)


def _set_confidence(
    fact_id: UUID, confidence: Confidence, kind: EventKind, *, origin: Origin, now: datetime
) -> Written:
    _lock_memory()
    old = _believed(fact_id)
    if old.confidence == confidence:
        return Written(old, None)
    return _supersede(old, kind, {"confidence": confidence, "score": None}, origin=origin, now=now)


def _revive(last: UserFact, *, values: UserFact, valid_from: datetime, now: datetime) -> UserFact:
    """Put a new row with the content of `values` on top of the archived `last` row of the lineage."""
    inherited = {name: getattr(values, name) for name in _INHERITED}
    # Instants only move on: what happened to these words since `values` was written is kept.
    inherited["last_referenced_at"] = last.last_referenced_at
    if last.content_key == values.content_key:
        inherited["last_confirmed_at"] = last.last_confirmed_at
    return _insert(now=now, origin=PAGE, **{**inherited, "supersedes": last, "valid_from": valid_from})


def _log(
    kind: EventKind,
    *,
    before: UserFact | None = None,
    after: UserFact | None = None,
    origin: Origin,
    now: datetime,
    previous_confirmed_at: datetime | None = None,
) -> MemoryEvent:
    row = before or after
    assert row is not None, "an event is about a row"
    event: MemoryEvent = MemoryEvent.objects.create(
        kind=kind,
        lineage=row.lineage,
        before=before,
        after=after,
        previous_confirmed_at=previous_confirmed_at,
        conversation_id=origin.conversation_id,
        message_id=origin.message_id,
        created_at=now,
    )
    return event


def _last_row_since(event: MemoryEvent) -> UserFact:
    """Return the last row of the event's lineage, which is as the event left it.

    Raises:
        UndoRefused: a later write, not undone itself, changed the fact or merged another one into it.
    """
    versions = list_versions(event.lineage)
    places = {version.pk: number for number, version in enumerate(versions)}
    standing = MemoryEvent.objects.filter(Q(before__in=places) | Q(after__in=places), undone_at__isnull=True)
    later = standing.exclude(pk=event.pk).exclude(kind=EventKind.CONFIRM)
    last = versions[-1]
    if any(_place(other, places) > _place(event, places) for other in later) or last.is_archived != _has_ended(event):
        raise UndoRefused("This fact was changed since; undo the later change first.")
    return last


def _place(event: MemoryEvent, places: dict[UUID, int]) -> tuple[int, int]:
    """Return where an event stands among those of a lineage: writes of one turn share their time, so it cannot tell."""
    if _has_ended(event) and event.before_id in places:
        return places[event.before_id], 2
    assert event.after_id is not None, "whatever ends nothing leaves a row"
    is_on_row = event.kind in (EventKind.CONFIRM, EventKind.MERGE)
    return places[event.after_id], 1 if is_on_row else 0


def _has_ended(event: MemoryEvent) -> bool:
    return event.kind in (EventKind.FORGET, EventKind.ARCHIVE, EventKind.MERGE)


def _undo_save(event: MemoryEvent, last: UserFact, now: datetime) -> None:
    _archive(last, ArchivedReason.UNDONE, now)


def _undo_change(event: MemoryEvent, last: UserFact, now: datetime) -> None:
    before = event.before
    assert before is not None, "a change has a row before it"
    _archive(last, ArchivedReason.UNDONE, now)
    if _twin(last, before.content_key) is not None:
        return
    # From where the wrong row began: what held before it held until then. What had ended by then has its own time.
    valid_from = max(before.valid_from, last.valid_from)
    has_ended = before.valid_until is not None and before.valid_until <= valid_from
    _revive(last, values=before, valid_from=before.valid_from if has_ended else valid_from, now=now)


def _undo_confirm(event: MemoryEvent, last: UserFact, now: datetime) -> None:
    if last.last_confirmed_at != event.created_at:
        raise UndoRefused("This fact was confirmed again since; there is nothing left to undo.")
    last.last_confirmed_at = event.previous_confirmed_at
    last.save(update_fields=["last_confirmed_at"])


def _undo_ending(event: MemoryEvent, last: UserFact, now: datetime) -> None:
    ended = event.before
    assert ended is not None, "an ending has a row before it"
    if _twin(ended) is None:
        _revive(last, values=ended, valid_from=ended.valid_from, now=now)


_UNDO: Final[dict[EventKind, Callable[[MemoryEvent, UserFact, datetime], None]]] = {
    EventKind.SAVE: _undo_save,
    EventKind.UPDATE: _undo_change,
    EventKind.PROMOTE: _undo_change,
    EventKind.DEMOTE: _undo_change,
    EventKind.CONFIRM: _undo_confirm,
    EventKind.FORGET: _undo_ending,
    EventKind.ARCHIVE: _undo_ending,
    EventKind.MERGE: _undo_ending,
    EventKind.RESTORE: _undo_save,
}
