"""The memory of a user as one archive: every version of every fact, links, places, proposals, switches.

Ids in the archive are names: an import gives each row a new id in the same order, keeps the name in `external` and
writes it again at the next export. So an archive can be imported beside its original, and export, erase, import, export
gives the same bytes. The undo log is written apart, and not imported.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final
from uuid import UUID

from config.lib.fields import describe_columns, dump_row, list_columns
from config.lib.owned import OwnedModel, owned
from memory.facts.queries import get_switches
from memory.models import FactLink, MemoryEvent, MemoryProposal, Place, PlaceMention, UserFact

FORMAT: Final = "keel-memory"
VERSION: Final = 1
BATCH: Final = 500

# Columns that Keel computes from the others.
_DERIVED: Final = frozenset({"normalised", "content_key", "search_terms", "subject"})
FACTS: Final = list_columns(UserFact, but=_DERIVED | {"id", "lineage", "supersedes", "external", "quotes"})
LINKS: Final = list_columns(FactLink, but=frozenset({"id", "from_fact", "to_fact", "event"}))
PLACES: Final = list_columns(Place, but=frozenset({"id"}))
MENTIONS: Final = list_columns(PlaceMention, but=frozenset({"id", "place"}))
PROPOSALS: Final = list_columns(
    MemoryProposal, but=frozenset({"id", "target", "fingerprint", "batch_id", "payload", "evidence"})
)
EVENTS: Final = list_columns(MemoryEvent)
# What an import keeps under `external` or `evidence`: ids of messages that are not here.
KEPT: Final = "kept"


def iter_archive(user_id: int) -> Iterator[str]:
    """Yield a user's archive as JSON text, in doors of its own."""
    with owned(user_id):
        names = _list_names()
        switches = get_switches()
        facts = sorted(UserFact.objects.values_list("pk", flat=True), key=lambda pk: names.get(pk, str(pk)))
    yield f'{{"format": "{FORMAT}", "version": {VERSION},\n"facts": [\n'
    yield from join_lines(_dump_fact(row, names) for row in _iter_rows(user_id, UserFact, facts))
    yield '],\n"links": [\n'
    yield from join_lines(_dump_link(row, names) for row in _iter_ordered(user_id, FactLink, "created_at", "id"))
    yield '],\n"places": [\n'
    yield from join_lines(_iter_places(user_id))
    yield '],\n"proposals": [\n'
    rows = _iter_ordered(user_id, MemoryProposal, "created_at", "id")
    yield from join_lines(_dump_proposal(row, names) for row in rows)
    yield f'],\n"switches": {json.dumps({"uses_facts": switches.uses_facts, "learns": switches.learns})}}}\n'


def iter_log(user_id: int) -> Iterator[str]:
    """Yield a user's undo log as JSON text, in doors of its own."""
    yield "[\n"
    rows = _iter_ordered(user_id, MemoryEvent, "created_at", "id")
    yield from join_lines(dump_row(row, EVENTS) for row in rows)
    yield "]\n"


def describe_archive() -> dict[str, Any]:
    """Return the fields of the archive by part."""
    names: dict[str, Any] = {"id": {"type": "name"}, "lineage": {"type": "name of the first version"}}
    names |= {"supersedes": {"type": "name of the previous version", "may_be_null": True}}
    ends = {"from": {"type": "name of a fact"}, "to": {"type": "name of a fact"}}
    proposal = {"target": {"type": "name of a fact", "may_be_null": True}, **dict(describe_columns(PROPOSALS))}
    return {
        "facts": {**names, **dict(describe_columns(FACTS)), "external": {"type": "json"}, "quotes": {"type": "json"}},
        "links": {**ends, **dict(describe_columns(LINKS))},
        "places": {**dict(describe_columns(PLACES)), "mentions": dict(describe_columns(MENTIONS))},
        "proposals": {**proposal, "payload": {"type": "json"}, "evidence": {"type": "json"}},
        "switches": {"uses_facts": {"type": "boolean"}, "learns": {"type": "boolean"}},
    }


def join_lines(values: Iterable[Any]) -> Iterator[str]:
    """Yield the elements of a JSON array, one a line."""
    separator = ""
    for value in values:
        yield separator + json.dumps(value, ensure_ascii=False, sort_keys=True)
        separator = ",\n"
    yield "\n" if separator else ""


def _list_names() -> dict[UUID, str]:
    """Return the names of imported facts; the others are named by their id."""
    rows = UserFact.objects.exclude(external={}).only("pk", "user_id", "external")
    return {row.pk: str(row.external["id"]) for row in rows if row.external.get("id")}


def _iter_ordered(user_id: int, model: type[OwnedModel], *order: str) -> Iterator[Any]:
    with owned(user_id):
        ids = list(model.objects.order_by(*order).values_list("pk", flat=True))
    return _iter_rows(user_id, model, ids)


def _iter_rows(user_id: int, model: type[OwnedModel], ids: list[Any]) -> Iterator[Any]:
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        with owned(user_id):
            rows = model.objects.in_bulk(batch)
        yield from (rows[pk] for pk in batch if pk in rows)


def _iter_places(user_id: int) -> Iterator[dict[str, Any]]:
    for place in _iter_ordered(user_id, Place, "added_at", "place_id"):
        with owned(user_id):
            rows = PlaceMention.objects.filter(place=place).order_by("mentioned_at", "conversation_ref", "message_ref")
            mentions = [dump_row(row, MENTIONS) for row in rows]
        yield {**dump_row(place, PLACES), "mentions": mentions}


def _dump_fact(row: UserFact, names: dict[UUID, str]) -> dict[str, Any]:
    kept = row.external.get(KEPT)
    return {
        "id": names.get(row.pk, str(row.pk)),
        "lineage": names.get(row.lineage, str(row.lineage)),
        "supersedes": names.get(row.supersedes_id, str(row.supersedes_id)) if row.supersedes_id else None,
        **dump_row(row, FACTS),
        "external": {name: value for name, value in row.external.items() if name not in ("id", KEPT)},
        "quotes": row.quotes if kept is None else kept,
    }


def _dump_link(row: FactLink, names: dict[UUID, str]) -> dict[str, Any]:
    ends = {"from": row.from_fact_id, "to": row.to_fact_id}
    return {**{end: names.get(pk, str(pk)) for end, pk in ends.items()}, **dump_row(row, LINKS)}


def _dump_proposal(row: MemoryProposal, names: dict[UUID, str]) -> dict[str, Any]:
    payload = dict(row.payload)
    for end in ("fact_id", "into_id"):
        if end in payload:
            payload[end] = names.get(UUID(payload[end]), payload[end])
    target = row.target_id and names.get(row.target_id, str(row.target_id))
    evidence = row.evidence.get(KEPT) or row.evidence
    return {**dump_row(row, PROPOSALS), "payload": payload, "target": target, "evidence": evidence}
