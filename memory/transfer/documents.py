"""Import the memory document of seed 004: each fact is an archive's fact with one version."""

from datetime import UTC, datetime
from typing import Any

from django.utils.dateparse import parse_date, parse_datetime
from pydantic import ValidationError

from memory.facts.schemas import MAX_DOCUMENT, SCHEMA_VERSION, DocumentFact, DocumentPlace, MemoryDocument
from memory.facts.versions import lock_memory
from memory.models import ArchivedReason, Confidence, FactSource
from memory.transfer.arrival import DocumentRefused, ImportResult, MemoryImport, refuse_large, shorten_text


def import_document(document: MemoryDocument, *, now: datetime) -> ImportResult:
    """Import a memory document; skip facts and places that are known.

    A fact is known by its id or its text. An invalid fact is skipped and named in `refused`. Current facts become
    asserted, ended facts archived. Raises DocumentRefused.
    """
    lock_memory()
    updated_at = min(_parse_instant(document.metadata.last_updated), now)
    arrival = MemoryImport(now, is_document=True)
    for fact in document.facts:  # one by one, because two of them may contradict each other
        arrival.add_facts([_archive_fact(fact, updated_at, now)])
    arrival.add_places([_archive_place(place, updated_at) for place in document.placer_user_datapoints])
    return arrival.finish(fits_document=True)


def _archive_fact(fact: DocumentFact, updated_at: datetime, now: datetime) -> dict[str, Any]:
    added_at = _parse_instant(fact.added_at)
    brought = {"conversation_id": fact.source_conversation_id, "message_id": fact.source_message_id}
    return {
        "id": fact.id,
        "lineage": fact.id,
        "supersedes": None,
        "external": {name: value for name, value in brought.items() if value},
        "quotes": [],
        "content": fact.content,
        **dict.fromkeys(("topic", "summary", "body"), ""),
        "source": FactSource.IMPORTED,
        "confidence": Confidence.ASSERTED,
        "valid_from": _parse_instant(fact.valid_from) if fact.valid_from else min(added_at, now),
        "valid_until": _parse_instant(fact.valid_until) if fact.valid_until else None,
        "created_at": now,
        "learned_at": added_at,
        "last_referenced_at": min(added_at, now),
        "archived_at": None if fact.is_active else updated_at,
        "archived_reason": "" if fact.is_active else ArchivedReason.USER_ARCHIVED,
    }


def _archive_place(place: DocumentPlace, updated_at: datetime) -> dict[str, Any]:
    return {
        "place_id": place.place_id,
        "name": place.place_name,
        "notes": place.notes or "",
        "added_at": _parse_instant(place.added_at),
        "updated_at": updated_at,
        "mentions": [
            {"conversation_ref": conversation, "message_ref": message, "mentioned_at": _parse_instant(moment)}
            for conversation, mentions in place.mentioned_in.items()
            for message, moment in dict(reversed(mentions)).items()
        ],
    }


def parse_document(text: str) -> MemoryDocument:
    """Return a memory document, outside of transactions. Raises DocumentRefused."""
    refuse_large(text)
    if len(text) > MAX_DOCUMENT:
        raise DocumentRefused(f"This file is too long; a memory document has at most {MAX_DOCUMENT:,} characters.")
    try:
        document = MemoryDocument.model_validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in problem["loc"]) or "the file"
        raise DocumentRefused(f"This is no memory document: {where}: {problem['msg']}.") from None
    if document.metadata.schema_version != SCHEMA_VERSION:
        raise DocumentRefused(
            f"This document is of version {document.metadata.schema_version}; Keel reads version {SCHEMA_VERSION}."
        )
    return document


def parse_moment(value: Any) -> datetime | None:
    """Return the instant of a date, a time or seconds since 1970; None for anything else."""
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        if not isinstance(value, str):
            return None
        if (moment := parse_datetime(value)) is not None:
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        day = parse_date(value)
    except (ValueError, OverflowError, OSError):
        return None
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)


def _parse_instant(text: str) -> datetime:
    if (moment := parse_moment(text)) is None:
        raise DocumentRefused(
            f"“{shorten_text(text)}” is no time as the document needs it, such as 2026-05-01T12:00:00Z."
        )
    return moment
