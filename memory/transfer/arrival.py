"""Import an archive of a memory (`memory/transfer/archive.py`) as it was."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction

from config.lib.fields import content_key, parse_row
from config.lib.text import one_line
from memory.claims.subjects import read_subject
from memory.facts.conflicts import list_rivals
from memory.facts.exchange import DocumentRefused, ImportResult, list_known_facts, propose_rival
from memory.facts.limits import enforce_token_limit
from memory.facts.places import parse_place
from memory.facts.review import fingerprint_merge, fingerprint_text
from memory.facts.versions import Origin, add_tombstone, lock_memory, log_event
from memory.models import (
    ArchivedReason,
    EventKind,
    FactLink,
    MemoryProposal,
    MemorySwitches,
    Place,
    PlaceMention,
    ProposalKind,
    UserFact,
)
from memory.transfer import archive
from memory.wording import FactRefused, parse_content, parse_detail, parse_summary, parse_topic, refuse_secrets

MAX_ARCHIVE: Final = 64 * 1024 * 1024  # bytes
_FORGOTTEN: Final = {
    *(ArchivedReason.AGENT_FORGET, ArchivedReason.USER_DELETED),
    *(ArchivedReason.USER_ARCHIVED, ArchivedReason.STAFF_ARCHIVED),
}


def is_archive(text: str) -> bool:
    """Tell whether a text claims to be an archive."""
    return f'"format": "{archive.FORMAT}"' in text[:200]


def import_archive(*, text: str, now: datetime) -> ImportResult:
    """Import an archive; lineages, places and proposals that are known stay.

    All or nothing, but for facts with a secret, which are named in `refused`. One batch undoes the facts and places.
    Raises DocumentRefused.
    """
    data = _parse_archive(text)
    lock_memory()
    arrival = _Arrival(now)
    try:
        with transaction.atomic():
            arrival.add_facts(data["facts"])
            arrival.add_links(data["links"])
            arrival.add_places(data["places"])
            arrival.add_proposals(data["proposals"])
            if not MemorySwitches.objects.exists():
                switches = data["switches"]
                MemorySwitches.objects.create(uses_facts=bool(switches["uses_facts"]), learns=bool(switches["learns"]))
            if arrival.had_facts and arrival.added:
                enforce_token_limit(now=now, batch_id=arrival.origin.batch_id)
    except (ValueError, KeyError, TypeError, AttributeError, IntegrityError) as error:
        problem = "its rows contradict each other" if isinstance(error, IntegrityError) else str(error)
        raise DocumentRefused(f"This archive cannot be imported: {problem}. Nothing was changed.") from None
    batch_id = arrival.origin.batch_id if arrival.added else None
    return ImportResult(batch_id, arrival.added, arrival.known, arrival.refused)


def _parse_archive(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise DocumentRefused("This is no JSON.") from None
    if not isinstance(data, dict) or data.get("format") != archive.FORMAT:
        raise DocumentRefused("This is no archive of a memory of Keel.")
    if data.get("version") != archive.VERSION:
        raise DocumentRefused(f"This archive is of version {data.get('version')}; Keel reads {archive.VERSION}.")
    parts = {name: data.get(name, []) for name in ("facts", "links", "places", "proposals")}
    if not all(isinstance(part, list) and all(isinstance(row, dict) for row in part) for part in parts.values()):
        raise DocumentRefused("The parts of an archive are lists of objects.")
    return {**parts, "switches": data.get("switches", {"uses_facts": True, "learns": True})}


class _Arrival:
    """One import in progress."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.origin = Origin(batch_id=uuid4())
        self.added = self.known = 0
        self.refused: list[str] = []
        rows = list_known_facts()
        self.had_facts = bool(rows)
        self._rows: dict[str, UUID] = {str(row.pk): row.pk for row in rows}  # by the name in an archive
        self._rows |= {str(row.external["id"]): row.pk for row in rows if row.external.get("id")}
        self._by_words = {row.content_key: row.pk for row in rows if not row.is_archived}

    def add_facts(self, entries: list[dict[str, Any]]) -> None:
        """Insert the lineages that are not known."""
        lineages: dict[str, list[dict[str, Any]]] = {}
        for entry in entries:
            lineages.setdefault(str(entry["lineage"]), []).append(entry)
        new = {name: chain for name, chain in lineages.items() if not self._is_known(chain)}
        rows: dict[str, dict[str, Any]] = {}
        for name in list(new):
            try:
                rows |= {str(entry["id"]): _parse_fact(entry) for entry in new[name]}
            except FactRefused as error:
                self.refused.append(f"A fact of {new[name][0].get('created_at')}: {error}")
                del new[name]
                continue
            if self._contradicts([rows[str(entry["id"])] for entry in new[name]]):
                del new[name]
        names = sorted(str(entry["id"]) for chain in new.values() for entry in chain)
        if len(set(names)) != len(names):
            raise ValueError("an id stands twice")
        ids = dict(zip(names, sorted(uuid4() for _ in names), strict=True))  # new ids keep the order of the old ones
        made = [_build_fact(rows[str(e["id"])], e, ids) for chain in new.values() for e in _order_chain(chain)]
        UserFact.objects.bulk_create(made, batch_size=archive.BATCH)
        self._rows |= ids
        self._log_facts(made)

    def _contradicts(self, rows: list[dict[str, Any]]) -> bool:
        """Propose a believed fact that cannot hold beside a known one; tell whether there was one."""
        for row in rows if self.had_facts else []:
            period = {"begins": row["valid_from"], "ends": row["valid_until"]}
            if row["archived_at"] is None and (rivals := list_rivals(row["content"], **period, now=self.now)):
                self.refused.append(propose_rival(row["content"], rivals[0], now=self.now))
                return True
        return False

    def _is_known(self, chain: list[dict[str, Any]]) -> bool:
        if any(str(entry["id"]) in self._rows for entry in chain):
            self.known += len(chain)
            return True
        believed = [entry for entry in chain if entry.get("archived_at") is None]
        twins = [self._by_words.get(content_key(str(entry["content"]))) for entry in believed]
        if not any(twins):
            return False
        self._rows |= {str(entry["id"]): twin for entry, twin in zip(believed, twins, strict=True) if twin}
        self.known += len(chain)
        return True

    def _log_facts(self, made: list[UserFact]) -> None:
        """Log the last row of each lineage; keep what was forgotten from coming back."""
        self.added += len(made)
        superseded = {row.supersedes_id for row in made}
        for row in made:
            if row.pk not in superseded:
                detail = {"is_ended": True} if row.is_archived else {}
                event = log_event(EventKind.IMPORT, after=row, detail=detail, origin=self.origin, now=self.now)
                if row.archived_reason in _FORGOTTEN:
                    add_tombstone(row, event, self.now)

    def add_links(self, entries: list[dict[str, Any]]) -> None:
        """Insert the links between facts that are here."""
        ids = iter(sorted(uuid4() for _ in entries))
        known = set(FactLink.objects.values_list("from_fact_id", "to_fact_id", "relation"))
        made = []
        for entry in entries:
            values = parse_row(entry, archive.LINKS)
            values["relation"] = one_line(values["relation"])
            refuse_secrets(values["relation"])
            first, second = self._rows.get(str(entry["from"])), self._rows.get(str(entry["to"]))
            if first and second and (first, second, values["relation"]) not in known:
                made.append(FactLink(id=next(ids), from_fact_id=first, to_fact_id=second, **values))
        FactLink.objects.bulk_create(made, batch_size=archive.BATCH)

    def add_places(self, entries: list[dict[str, Any]]) -> None:
        """Insert the places that are not known, with their mentions."""
        for entry in entries:
            values = parse_row(entry, archive.PLACES)
            values |= parse_place(place_id=values["place_id"], name=values["name"], notes=values["notes"])
            if Place.objects.filter(place_id=values["place_id"]).exists():
                self.known += 1
                continue
            place = Place.objects.create(**values)
            PlaceMention.objects.bulk_create(
                PlaceMention(place=place, **{name: _clean(value) for name, value in mention.items()})
                for mention in (parse_row(one, archive.MENTIONS) for one in entry["mentions"])
            )
            detail = {"before": None, "updated_at": None, "stamp": place.updated_at.isoformat()}
            log_event(EventKind.PLACE, place=place, detail=detail, origin=self.origin, now=self.now)
            self.added += 1

    def add_proposals(self, entries: list[dict[str, Any]]) -> None:
        """Insert the proposals that are not known."""
        ids = iter(sorted(uuid4() for _ in entries))
        for entry in entries:
            made = self._build_proposal(entry, next(ids))
            same = MemoryProposal.objects.filter(kind=made.kind, fingerprint=made.fingerprint)
            if made.fingerprint and not same.exists():
                made.save(force_insert=True)

    def _build_proposal(self, entry: dict[str, Any], pk: UUID) -> MemoryProposal:
        values = parse_row(entry, archive.PROPOSALS)
        payload, target = dict(entry["payload"]), self._rows.get(str(entry.get("target")))
        fingerprint = ""
        if values["kind"] == ProposalKind.MERGE:
            ends = [self._rows.get(str(payload[end])) for end in ("fact_id", "into_id")]
            facts = UserFact.objects.in_bulk([end for end in ends if end])
            if len(facts) == 2:
                payload = {"fact_id": str(ends[0]), "into_id": str(ends[1])}
                fingerprint = fingerprint_merge(*facts.values())
        else:
            payload = _parse_texts(payload)
            fact = UserFact.objects.filter(pk=target).first() if target else None
            fingerprint = fingerprint_text(payload["content"], fact)
        evidence = {"why": one_line(str(entry["evidence"].get("why", "")))[:500], archive.KEPT: entry["evidence"]}
        return MemoryProposal(
            id=pk, payload=payload, target_id=target, evidence=evidence, fingerprint=fingerprint, **values
        )


def _parse_fact(entry: dict[str, Any]) -> dict[str, Any]:
    if not (isinstance(entry["external"], dict) and isinstance(entry["quotes"], list)):
        raise ValueError("external and quotes are an object and a list")
    return _parse_texts(parse_row(entry, archive.FACTS))


def _parse_texts(values: dict[str, Any]) -> dict[str, Any]:
    """Bring the texts of a fact or a proposal into their stored form. Raises FactRefused."""
    parsers = {"content": parse_content, "summary": parse_summary, "body": parse_detail, "detail": parse_detail}
    parsers["topic"] = parse_topic
    return {name: parsers[name](str(value)) if name in parsers else value for name, value in values.items()}


def _build_fact(values: dict[str, Any], entry: dict[str, Any], ids: dict[str, UUID]) -> UserFact:
    brought = {str(name): str(value)[:64] for name, value in entry["external"].items()}
    external = {**brought, "id": str(entry["id"])[:64], archive.KEPT: entry["quotes"]}
    if not entry["quotes"]:
        del external[archive.KEPT]
    return UserFact(
        id=ids[str(entry["id"])],
        lineage=ids[str(entry["lineage"])],
        supersedes_id=ids[str(entry["supersedes"])] if entry["supersedes"] else None,
        external=external,
        subject=read_subject(values["content"]).key,
        **values,
    )


def _order_chain(chain: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a lineage's rows, first version first. Raises ValueError."""
    after = {str(entry["supersedes"]) if entry["supersedes"] else None: entry for entry in chain}
    ordered: list[dict[str, Any]] = []
    name = None
    while (entry := after.pop(name, None)) is not None:
        ordered.append(entry)
        name = str(entry["id"])
    if not ordered or after or str(ordered[0]["id"]) != str(ordered[0]["lineage"]) or len(ordered) != len(list(chain)):
        raise ValueError("the versions of a fact are no chain")
    return ordered


def _clean(value: Any) -> Any:
    return one_line(value) if isinstance(value, str) else value
