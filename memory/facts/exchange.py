"""Export and import the memory document."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID, uuid4

from django.utils.dateparse import parse_datetime
from pydantic import ValidationError

from config.lib.errors import DomainError
from config.lib.fields import content_key
from config.lib.text import one_line
from memory import models
from memory.claims.validity import Validity
from memory.facts.conflicts import list_rivals
from memory.facts.document import build_document, format_document
from memory.facts.limits import enforce_token_limit
from memory.facts.periods import begin_fact
from memory.facts.places import parse_place
from memory.facts.review import propose_fact
from memory.facts.schemas import MAX_DOCUMENT, SCHEMA_VERSION, DocumentFact, DocumentPlace, MemoryDocument
from memory.facts.versions import Origin, insert_version, lock_memory, log_event
from memory.models import EventKind, MemoryEvent, Place, PlaceMention, ProposalKind, UserFact
from memory.wording import FactRefused, find_category, parse_content

_MENTIONS_MOST: Final = 10_000


class DocumentRefused(DomainError):
    """The text is not a valid memory document."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """An import's result; `batch_id` is None when nothing was written."""

    batch_id: UUID | None
    added: int = 0
    known: int = 0
    refused: list[str] = field(default_factory=list)  # skipped entries with their reasons


def export_document(*, now: datetime) -> str:
    """Return the owner's memory document as JSON text."""
    return format_document(build_document(now=now))


def import_document(*, text: str, now: datetime) -> ImportResult:
    """Import a memory document; skip facts and places that are known.

    A fact is known by its id or its text. An invalid fact is skipped and named in `refused`. Current facts become
    asserted, ended facts archived. Raises DocumentRefused.
    """
    document = _parse_document(text)
    lock_memory()
    arrival = _DocumentImport(document, now)
    added = sum(arrival.add_fact(fact) for fact in document.facts)
    added += sum(arrival.import_place(place) for place in document.placer_user_datapoints)
    if added:
        enforce_token_limit(now=now, batch_id=arrival.origin.batch_id)
    known = len(document.facts) + len(document.placer_user_datapoints) - added - len(arrival.refused)
    return ImportResult(arrival.origin.batch_id if added else None, added, known, arrival.refused)


def list_known_facts() -> list[UserFact]:
    """Return the rows that an import knows: all but those of imports that were undone."""
    taken_back = MemoryEvent.objects.filter(kind=EventKind.IMPORT, undone_at__isnull=False).values("lineage")
    gone = UserFact.objects.in_trash().filter(lineage__in=taken_back).values("lineage")
    known = UserFact.objects.exclude(lineage__in=gone)
    return list(known.only("id", "user_id", "external", "content_key", "archived_at"))


def propose_rival(content: str, rival: UserFact, *, now: datetime) -> str:
    """Propose an imported fact that cannot hold beside a known one; return why it was left out."""
    propose_fact(
        kind=ProposalKind.CONFLICT,
        content=content,
        target_id=rival.pk,
        why="The imported file says something else than Keel knows.",
        origin=Origin(),
        now=now,
    )
    return f"{shorten_text(content)}: it contradicts “{shorten_text(rival.content)}”, see To review."


class _DocumentImport:
    """One import in progress: the known facts and the new rows' origin."""

    def __init__(self, document: MemoryDocument, now: datetime) -> None:
        self.now = now
        self.origin = Origin(batch_id=uuid4())
        self.refused: list[str] = []
        self._updated_at = min(_parse_instant(document.metadata.last_updated), now)
        rows = list_known_facts()
        self._ids = {str(row.external.get("id") or row.pk) for row in rows} | {str(row.pk) for row in rows}
        self._words = {row.content_key for row in rows if not row.is_archived}

    def add_fact(self, fact: DocumentFact) -> bool:
        """Insert a fact unless it is known; tell whether it was inserted."""
        if fact.id in self._ids:
            return False
        try:
            content = parse_content(fact.content)
            dates = self._read_dates(fact)
        except FactRefused as error:
            self.refused.append(f"{shorten_text(fact.content)}: {error}")
            return False
        key = content_key(content)
        if fact.is_active and key in self._words:
            return False
        period = {"begins": dates["valid_from"], "ends": dates["valid_until"]}
        if fact.is_active and (rivals := list_rivals(content, **period, now=self.now)):
            self.refused.append(propose_rival(content, rivals[0], now=self.now))
            return False
        self._ids.add(fact.id)
        row = self._insert(fact, content, dates)
        if fact.is_active:
            self._words.add(key)
        detail = {} if fact.is_active else {"is_ended": True}
        log_event(EventKind.IMPORT, after=row, detail=detail, origin=self.origin, now=self.now)
        return True

    def _read_dates(self, fact: DocumentFact) -> dict[str, Any]:
        begins = _parse_instant(fact.valid_from) if fact.valid_from else min(_parse_instant(fact.added_at), self.now)
        ends = _parse_instant(fact.valid_until) if fact.valid_until else None
        return begin_fact(fact.content, Validity(begins, ends), now=self.now)

    def _insert(self, fact: DocumentFact, content: str, dates: dict[str, Any]) -> UserFact:
        added_at = _parse_instant(fact.added_at)
        brought = {"id": fact.id, "conversation_id": fact.source_conversation_id, "message_id": fact.source_message_id}
        archived = {"archived_at": self._updated_at, "archived_reason": models.ArchivedReason.USER_ARCHIVED}
        return insert_version(
            content=content,
            category=find_category(""),
            confidence=models.Confidence.ASSERTED,
            source=models.FactSource.IMPORTED,
            external={name: value for name, value in brought.items() if value},
            learned_at=added_at,
            last_referenced_at=min(added_at, self.now),
            **dates,
            now=self.now,
            origin=self.origin,
            **({} if fact.is_active else archived),
        )

    def import_place(self, place: DocumentPlace) -> bool:
        """Insert an unknown place with its mentions; tell whether it did."""
        try:
            texts = parse_place(place_id=place.place_id, name=place.place_name, notes=place.notes or "")
        except FactRefused as error:
            self.refused.append(f"{shorten_text(one_line(place.place_name))}: {error}")
            return False
        known = Place.objects.filter(place_id=texts["place_id"]).first()
        if known is not None:
            if known.removed_at is None or MemoryEvent.objects.filter(place=known, undone_at__isnull=True).exists():
                return False
            known.delete()  # every write to it was undone
        row = Place.objects.create(**texts, added_at=_parse_instant(place.added_at), updated_at=self._updated_at)
        PlaceMention.objects.bulk_create(
            PlaceMention(
                place=row, conversation_ref=conversation, message_ref=message, mentioned_at=_parse_instant(moment)
            )
            for conversation, message, moment in _iter_mentions(place)
        )
        detail = {"before": None, "updated_at": None, "stamp": row.updated_at.isoformat()}
        log_event(EventKind.PLACE, place=row, detail=detail, origin=self.origin, now=self.now)
        return True


def _iter_mentions(place: DocumentPlace) -> Iterator[tuple[str, str, str]]:
    seen = set()
    for conversation, mentions in place.mentioned_in.items():
        for message, moment in mentions[:_MENTIONS_MOST]:
            if (conversation, message) not in seen:
                seen.add((conversation, message))
                yield conversation, message, moment


def _parse_document(text: str) -> MemoryDocument:
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


def _parse_instant(text: str) -> datetime:
    try:
        moment = parse_datetime(text)
        if moment is not None:
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        pass
    raise DocumentRefused(f"“{shorten_text(text)}” is no time as the document needs it, such as 2026-05-01T12:00:00Z.")


def shorten_text(text: str) -> str:
    """Return a text's beginning for a message."""
    return text if len(text) <= 60 else f"{text[:59]}…"
