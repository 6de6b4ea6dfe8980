"""Read and write places."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from memory.facts.limits import enforce_token_limit
from memory.facts.versions import PAGE, FactNotFound, Origin, UndoRefused, lock_memory, log_event, refuse_when_paused
from memory.models import MemoryEvent, Place, PlaceMention, WriteKind
from memory.wording import MAX_PLACE_ID, MAX_PLACE_NAME, MAX_PLACE_NOTES, FactRefused, check_text, stored_line


@dataclass(frozen=True, slots=True)
class PlaceWrite:
    """A written place and its undo event, None without a change."""

    place: Place
    event: MemoryEvent | None


_COLUMNS: Final = ("name", "notes", "removed_at")


def add_place(
    *, place_id: str, name: str, notes: str | None = None, origin: Origin = PAGE, now: datetime
) -> PlaceWrite:
    """Save or update a place, noting a mention in a chat. Raises FactRefused, MemoryPaused.

    `notes=None` keeps the notes. A removed place returns.
    """
    wanted = parse_place(place_id=place_id, name=name, notes=notes)
    key = wanted.pop("place_id")
    refuse_when_paused(origin)
    lock_memory()
    place = Place.objects.filter(place_id=key).first()
    before = _describe_before(place)
    if place is None:
        place = Place.objects.create(place_id=key, **wanted, added_at=now, updated_at=now)
    elif place.removed_at is None and all(getattr(place, column) == value for column, value in wanted.items()):
        mention = _add_mention(place, origin, now)
        noted: dict[str, Any] = {"place": place, "detail": {"mention": mention}, "origin": origin, "now": now}
        return PlaceWrite(place, log_event(WriteKind.MENTION, **noted) if mention else None)
    else:
        for column, value in {**wanted, "removed_at": None, "updated_at": _next_update(place, now)}.items():
            setattr(place, column, value)
        place.save(update_fields=["name", "notes", "removed_at", "updated_at"])
    detail = {**before, "stamp": place.updated_at.isoformat(), "mention": _add_mention(place, origin, now)}
    enforce_token_limit(now=now, batch_id=origin.batch_id)
    return PlaceWrite(place, log_event(WriteKind.PLACE, place=place, detail=detail, origin=origin, now=now))


def remove_place(*, id: UUID, now: datetime) -> PlaceWrite:
    """Hide a place from the assistants until undone. Raises FactNotFound."""
    lock_memory()
    rows = Place.objects.filter(pk=id, removed_at__isnull=True)
    place = rows.first_or(FactNotFound("There is no such place."))
    before = _describe_before(place)
    place.removed_at, place.updated_at = now, _next_update(place, now)
    place.save(update_fields=["removed_at", "updated_at"])
    detail = {**before, "stamp": place.updated_at.isoformat()}
    return PlaceWrite(place, log_event(WriteKind.PLACE, place=place, detail=detail, origin=PAGE, now=now))


def undo_place(event: MemoryEvent, now: datetime) -> None:
    """Take back a write to a place. Raises UndoRefused if it was changed since."""
    assert event.place_id is not None, "an event of a place has one"
    place = Place.objects.get(pk=event.place_id)  # read again: another undo may have changed it
    if place.updated_at.isoformat() != event.detail["stamp"]:
        raise UndoRefused("This place was changed since; undo the later change first.")
    before = event.detail["before"]  # None: the place was not known
    Place.objects.filter(pk=place.pk).update(
        **(before or {"removed_at": now}), updated_at=event.detail["updated_at"] or now
    )
    undo_mention(event, now)


def undo_mention(event: MemoryEvent, now: datetime) -> None:
    """Take back a mention, if the write made one."""
    if (mention := event.detail.get("mention")) is not None:
        PlaceMention.objects.filter(pk=mention).delete()


def parse_place(*, place_id: str, name: str, notes: str | None) -> dict[str, str]:
    """Return a place's texts. Raises FactRefused (missing, too long, secret)."""
    texts = {
        "place_id": _parse_line("place id", place_id, MAX_PLACE_ID),
        "name": _parse_line("place name", name, MAX_PLACE_NAME),
    }
    return texts if notes is None else {**texts, "notes": _parse_line("note", notes, MAX_PLACE_NOTES, needed=False)}


def _next_update(place: Place, now: datetime) -> datetime:
    # Writes of one turn share their time, but each undo must know whether its write was the last.
    return max(now, place.updated_at + timedelta(microseconds=1))


def _parse_line(what: str, text: str, most: int, *, needed: bool = True) -> str:
    line = stored_line(text)
    if needed and not line:
        raise FactRefused(f"The {what} is missing.")
    return check_text(f"A {what}", line, most)


def _describe_before(place: Place | None) -> dict[str, Any]:
    if place is None:
        return {"before": None, "updated_at": None}
    before = {column: getattr(place, column) for column in _COLUMNS}
    if place.removed_at is not None:
        before["removed_at"] = place.removed_at.isoformat()
    return {"before": before, "updated_at": place.updated_at.isoformat()}


def _add_mention(place: Place, origin: Origin, now: datetime) -> int | None:
    if origin.conversation_id is None:
        return None
    mention, is_new = PlaceMention.objects.get_or_create(
        place=place,
        conversation_ref=str(origin.conversation_id),
        message_ref=str(origin.message_id or ""),
        defaults={"mentioned_at": now},
    )
    return mention.pk if is_new else None


def find_place(place_pk: UUID) -> Place | None:
    """Return a place that was not removed, or None."""
    return Place.objects.filter(pk=place_pk, removed_at__isnull=True).first()


def find_place_event(event_id: UUID) -> MemoryEvent | None:
    """Return the event of a place with this id, or None."""
    return MemoryEvent.objects.filter(pk=event_id, place__isnull=False).select_related("place").first()
