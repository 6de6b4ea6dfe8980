"""Parts of memory tools' results: the memory line, the note."""

from typing import Final
from uuid import UUID

from chat.parts import Json
from memory.facts.periods import format_period
from memory.facts.queries import find_version
from memory.models import EventKind, MemoryEvent, Place, UserFact

OVERRIDES: Final = "This overrides the list of facts in your instructions for the rest of this chat."


def memory_event(event: MemoryEvent) -> Json:
    """Return `{id, kind, before, after}` for a memory line, of a fact or a place."""
    if event.place is not None:
        return _event_line(event, None, _place_line(event.place))
    if event.kind == EventKind.LINK:
        return _event_line(
            event, None, {**_fact_line(event.after), "text": f"{event.after} ({event.detail['relation']})"}
        )
    after = event.after
    if (
        after is not None
        and event.before is not None
        and "later" in event.detail
        and after.content == event.before.content
    ):
        after = find_version(UUID(event.detail["later"]))  # what changes is said by the fact that begins then
    shown = _fact_line(after) or None
    if shown is not None and "document_pct" in event.detail:
        full = f"The memory document is {event.detail['document_pct']} % full."
        shown |= {"text": f"{shown.get('text', shown['fact'])} · {full}"}
    return _event_line(event, _fact_line(event.before) or None, shown)


def _event_line(event: MemoryEvent, before: Json | None, after: Json | None) -> Json:
    return {"id": str(event.pk), "kind": event.kind, "before": before, "after": after}


def _fact_line(fact: UserFact | None) -> Json:
    if fact is None:
        return {}
    line = {"fact_id": str(fact.pk), "fact": fact.content, "topic": fact.topic, "confidence": fact.confidence}
    period = format_period(fact, now=fact.created_at)
    return {**line, "text": f"{fact.content} ({period})", "holds": period} if period else line


def _place_line(place: Place) -> Json:
    return {
        "place_id": place.place_id,
        "place": place.name,
        "notes": place.notes,
        "text": f"{place.name}: {place.notes}" if place.notes else place.name,
    }
