"""The memory document, built from rows: equal rows give equal bytes."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import Case, Q, When

from config.lib.llm.tokens import count_tokens
from config.lib.proofs import Proof, require_sign_in
from memory.facts.schemas import DocumentFact, DocumentMetadata, DocumentPlace, MemoryDocument
from memory.models import Place, PlaceMention, UserFact

EMPTY_SINCE: Final = datetime(1970, 1, 1, tzinfo=UTC)  # `last_updated` of an empty document


def build_document(*, now: datetime) -> MemoryDocument:
    """Return the document within the token limit, oldest first: open facts, then the newest ended ones."""
    active = list(UserFact.objects.open(now).in_document())
    places = _list_places()
    room = settings.MEMORY_TOKEN_LIMIT - count_tokens(_format_body(map(_build_fact, active), places))
    shown = []
    for row in _iter_ended(now):
        fact = _build_fact(row, is_active=False)
        room -= count_tokens(f"{fact.model_dump_json()},")
        if room < 0:
            break
        shown.append(row)
    entries = sorted([*active, *shown], key=_sort_key)
    ended = {row.pk for row in shown}
    facts = [_build_fact(row, is_active=row.pk not in ended) for row in entries]
    known = Place.objects.filter(removed_at__isnull=True)
    mentions = PlaceMention.objects.filter(place__in=known)
    touched = [
        *(moment for row in entries for moment in (_added_at(row), row.archived_at)),
        *known.values_list("updated_at", flat=True),
        *mentions.values_list("mentioned_at", flat=True),
    ]
    return MemoryDocument(
        facts=facts,
        placer_user_datapoints=places,
        metadata=DocumentMetadata(
            last_updated=_format_instant(max([EMPTY_SINCE, *filter(None, touched)])),
            total_facts=len(facts),
            total_active_facts=len(active),
            total_pois=len(places),
            token_count=count_tokens(_format_body(facts, places)),
        ),
    )


def _iter_ended(now: datetime) -> Iterator[UserFact]:
    """Yield the rows that are over, the newest first. The owner does not want to see trashed ones."""
    rows = UserFact.objects.filter(Q(archived_at__isnull=False) | Q(valid_until__lte=now))
    rows = rows.exclude(lineage__in=UserFact.objects.in_trash().values("lineage"))
    newest = rows.order_by(Case(When(supersedes__isnull=True, then="learned_at"), default="created_at").desc())
    for _, written_at_once in groupby(newest.iterator(chunk_size=200), key=_added_at):
        yield from sorted(written_at_once, key=_sort_key, reverse=True)


def count_document_tokens(active: Iterable[UserFact]) -> int:
    """Count the tokens of a document with these facts and all places."""
    return count_tokens(_format_body(map(_build_fact, active), _list_places()))


def count_fact_tokens(row: UserFact) -> int:
    """Count the tokens of one fact in the document, with the marks before it, which are one token with its own."""
    return count_tokens(f"}},{_build_fact(row).model_dump_json()[:-1]}")


def export_document(*, proof: Proof, now: datetime) -> MemoryDocument:
    """Return the document for who takes it out. Raises SignInNeeded."""
    require_sign_in(proof, now=now)
    return build_document(now=now)


def dump_document(document: MemoryDocument) -> str:
    """Return a document as JSON text."""
    return json.dumps(document.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"


def _format_body(facts: Iterable[DocumentFact], places: Iterable[DocumentPlace]) -> str:
    body = {
        "facts": [fact.model_dump(mode="json") for fact in facts],
        "placer_user_datapoints": [place.model_dump(mode="json") for place in places],
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _build_fact(row: UserFact, *, is_active: bool = True) -> DocumentFact:
    quoted = str(row.quotes[0]["message_id"]) if row.quotes else None
    conversation = str(row.conversation_id) if row.conversation_id else None
    brought: dict[str, Any] = row.external  # ids from an imported document
    return DocumentFact(
        id=_document_id(row),
        content=row.content,
        added_at=_format_instant(_added_at(row)),
        source_conversation_id=brought.get("conversation_id") or conversation,
        source_message_id=brought.get("message_id") or quoted,
        is_active=is_active,
        valid_from=_format_instant(row.valid_from) if row.valid_from != _added_at(row) else None,
        valid_until=_format_instant(row.valid_until) if row.valid_until else None,
    )


def _document_id(row: UserFact) -> str:
    return str(row.external.get("id") or row.pk)


def _added_at(row: UserFact) -> datetime:
    # The first version of an imported fact was learned before its row was written.
    return row.learned_at if row.supersedes_id is None else row.created_at


def _sort_key(row: UserFact) -> tuple[datetime, str]:
    return _added_at(row), _document_id(row)


def _list_places() -> list[DocumentPlace]:
    places = list(Place.objects.filter(removed_at__isnull=True).order_by("added_at", "place_id"))
    mentions: dict[UUID, dict[str, list[tuple[str, str]]]] = {}
    rows = PlaceMention.objects.order_by("conversation_ref", "mentioned_at", "message_ref")
    for mention in rows if places else ():
        of_place = mentions.setdefault(mention.place_id, {})
        of_place.setdefault(mention.conversation_ref, []).append(
            (mention.message_ref, _format_instant(mention.mentioned_at))
        )
    return [
        DocumentPlace(
            place_id=place.place_id,
            place_name=place.name,
            notes=place.notes or None,
            mentioned_in=mentions.get(place.pk, {}),
            added_at=_format_instant(place.added_at),
        )
        for place in places
    ]


def _format_instant(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
