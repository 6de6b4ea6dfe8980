"""Import an archive of a memory (`memory/transfer/archive.py`) as it was."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction

from config.lib.errors import DomainError
from config.lib.fields import content_key, parse_row
from config.lib.text import is_small_json, one_line
from memory import models, wording
from memory.claims.subjects import read_subject
from memory.facts.conflicts import list_rivals
from memory.facts.limits import enforce_token_limit
from memory.facts.periods import Period, refuse_early_end
from memory.facts.places import parse_place
from memory.facts.review import fingerprint_merge, fingerprint_text, propose_fact
from memory.facts.versions import Origin, add_tombstone, lock_memory, log_event
from memory.transfer import archive

MAX_ARCHIVE: Final = 32 * 1024 * 1024  # bytes
_MAX_CONTAINERS: Final = 500_000  # objects and lists of a file
_MAX_VALUES: Final = 3_000_000
_FORGOTTEN: Final = {
    *(models.ArchivedReason.AGENT_FORGET, models.ArchivedReason.USER_DELETED),
    *(models.ArchivedReason.USER_ARCHIVED, models.ArchivedReason.STAFF_ARCHIVED),
}


Archive = dict[str, Any]  # its parts: facts, links, places, proposals, switches


class DocumentRefused(DomainError):
    """The text is no valid archive, document or list."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """An import's result; `batch_id` is None when nothing was written."""

    batch_id: UUID | None
    added: int = 0
    known: int = 0
    refused: list[str] = field(default_factory=list)  # skipped entries with their reasons


def is_archive(text: str) -> bool:
    """Tell whether a text claims to be an archive."""
    return f'"format": "{archive.FORMAT}"' in text[:200]


def import_archive(data: Archive, *, now: datetime) -> ImportResult:
    """Import an archive; lineages, places and proposals that are known stay.

    All or nothing, but for invalid or secret texts, which are named in `refused`. One batch undoes the facts and
    places. Raises DocumentRefused.
    """
    lock_memory()
    arrival = MemoryImport(now)
    has_own_facts = arrival.has_facts
    try:
        with transaction.atomic():
            arrival.add_facts(data["facts"])
            arrival.add_links(data["links"])
            arrival.add_places(data["places"])
            arrival.add_proposals(data["proposals"])
            if not models.MemorySwitches.objects.exists():
                switches = data["switches"]
                models.MemorySwitches.objects.create(
                    uses_facts=bool(switches["uses_facts"]), learns=bool(switches["learns"])
                )
            return arrival.finish(fits_document=has_own_facts)
    except (ValueError, KeyError, TypeError, AttributeError, IntegrityError) as error:
        problem = "its rows contradict each other" if isinstance(error, IntegrityError) else str(error)
        raise DocumentRefused(f"This archive cannot be imported: {problem}. Nothing was changed.") from None


def refuse_large(text: str) -> None:
    """Refuse a file with more values than a memory has, before they are parsed. Raises DocumentRefused."""
    if not is_small_json(text, containers=_MAX_CONTAINERS, values=_MAX_VALUES):
        raise DocumentRefused("This file holds too many values to be a memory.")


def parse_json(text: str, *, refusal: str) -> Any:
    """Return the JSON of a file that is not too large. Raises DocumentRefused, for another text with the refusal."""
    refuse_large(text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise DocumentRefused(refusal) from None


def parse_archive(text: str) -> Archive:
    """Return the parts of an archive, outside of transactions. Raises DocumentRefused."""
    return check_archive(parse_json(text, refusal="This is no JSON."))


def check_archive(data: Any) -> Archive:
    """Return the parts of an archive that was parsed. Raises DocumentRefused."""
    if not isinstance(data, dict) or data.get("format") != archive.FORMAT:
        raise DocumentRefused("This is no archive of a memory of Keel.")
    if data.get("version") != archive.VERSION:
        raise DocumentRefused(f"This archive is of version {data.get('version')}; Keel reads {archive.VERSION}.")
    parts = {name: data.get(name, []) for name in ("facts", "links", "places", "proposals")}
    if not all(isinstance(part, list) and all(isinstance(row, dict) for row in part) for part in parts.values()):
        raise DocumentRefused("The parts of an archive are lists of objects.")
    return {**parts, "switches": data.get("switches", {"uses_facts": True, "learns": True})}


class MemoryImport:
    """One import in progress. Entries are objects of an archive."""

    def __init__(self, now: datetime, *, is_document: bool = False) -> None:
        self.now = now
        self.origin = Origin(batch_id=uuid4())
        self.added = self.known = 0
        self.refused: list[str] = []
        rows = _list_known_facts()
        self.has_facts = bool(rows)
        self._is_document = is_document  # whose ended facts may only have been replaced
        self._rows: dict[str, UUID] = {str(row.pk): row.pk for row in rows}  # by the name in an archive
        self._rows |= {str(row.external["id"]): row.pk for row in rows if row.external.get("id")}
        self._by_words = {row.content_key: row.pk for row in rows if not row.is_archived}

    def finish(self, *, fits_document: bool) -> ImportResult:
        """Return the result; with `fits_document`, facts leave a memory document that became too long."""
        if fits_document and self.added:
            enforce_token_limit(now=self.now, batch_id=self.origin.batch_id)
        return ImportResult(self.origin.batch_id if self.added else None, self.added, self.known, self.refused)

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
            except wording.FactRefused as error:
                self._refuse(new[name][0]["content"], error)
                del new[name]
                continue
            if self._contradicts([rows[str(entry["id"])] for entry in new[name]]):
                del new[name]
        names = sorted(str(entry["id"]) for chain in new.values() for entry in chain)
        if len(set(names)) != len(names):
            raise ValueError("an id stands twice")
        ids = dict(zip(names, sorted(uuid4() for _ in names), strict=True))  # new ids keep the order of the old ones
        made = [_build_fact(rows[str(e["id"])], e, ids) for chain in new.values() for e in _order_chain(chain)]
        models.UserFact.objects.bulk_create(made, batch_size=archive.BATCH)
        self.has_facts |= bool(made)
        self._rows |= ids
        self._by_words |= {row.content_key: row.pk for row in made if not row.is_archived}
        self._log_facts(made)

    def _refuse(self, text: object, error: wording.FactRefused) -> None:
        """Note a skipped entry with its reason; the note of a secret does not repeat it."""
        name = "One entry" if isinstance(error, wording.SecretRefused) else shorten_text(one_line(str(text)))
        self.refused.append(f"{name}: {error}")

    def _contradicts(self, rows: list[dict[str, Any]]) -> bool:
        """Propose a believed fact that cannot hold beside a known one; tell whether there was one."""
        for row in rows if self.has_facts else []:
            period = Period(row["valid_from"], row["valid_until"])
            if row["archived_at"] is None and (rivals := list_rivals(row["content"], period, now=self.now)):
                self._propose_rival(row["content"], rivals[0])
                return True
        return False

    def _propose_rival(self, content: str, rival: models.UserFact) -> None:
        propose_fact(
            kind=models.ProposalKind.CONFLICT,
            content=content,
            target_id=rival.pk,
            why="The imported file says something else than Keel knows.",
            origin=Origin(),
            now=self.now,
        )
        known = shorten_text(rival.content)
        self.refused.append(f"{shorten_text(content)}: it contradicts “{known}”, see To review.")

    def _is_known(self, chain: list[dict[str, Any]]) -> bool:
        if any(str(entry["id"]) in self._rows for entry in chain):
            self.known += len(chain)
            return True
        believed = [entry for entry in chain if entry.get("archived_at") is None]
        twins = [self._by_words.get(content_key(wording.stored_line(str(entry["content"])))) for entry in believed]
        if not any(twins):
            return False
        self._rows |= {str(entry["id"]): twin for entry, twin in zip(believed, twins, strict=True) if twin}
        self.known += len(chain)
        return True

    def _log_facts(self, made: list[models.UserFact]) -> None:
        """Log the last row of each lineage; keep what was forgotten from coming back."""
        self.added += len(made)
        superseded = {row.supersedes_id for row in made}
        for row in made:
            if row.pk not in superseded:
                detail = {"is_ended": True} if row.is_archived else {}
                event = log_event(models.WriteKind.IMPORT, after=row, detail=detail, origin=self.origin, now=self.now)
                if row.archived_reason in _FORGOTTEN and not self._is_document:
                    add_tombstone(row, event, self.now)

    def add_links(self, entries: list[dict[str, Any]]) -> None:
        """Insert the links between facts that are here."""
        ids = iter(sorted(uuid4() for _ in entries))
        known = set(models.FactLink.objects.values_list("from_fact_id", "to_fact_id", "relation"))
        made = []
        for entry in entries:
            values = parse_row(entry, archive.LINKS)
            values["relation"] = one_line(values["relation"])
            wording.refuse_secrets(values["relation"])
            first, second = self._rows.get(str(entry["from"])), self._rows.get(str(entry["to"]))
            if first and second and (first, second, values["relation"]) not in known:
                made.append(models.FactLink(id=next(ids), from_fact_id=first, to_fact_id=second, **values))
        models.FactLink.objects.bulk_create(made, batch_size=archive.BATCH)

    def add_places(self, entries: list[dict[str, Any]]) -> None:
        """Insert the places that are not known, with their mentions."""
        for entry in entries:
            values = parse_row(entry, archive.PLACES)
            try:
                values |= parse_place(place_id=values["place_id"], name=values["name"], notes=values["notes"])
            except wording.FactRefused as error:
                self._refuse(values["name"], error)
                continue
            if self._keeps_place(models.Place.objects.filter(place_id=values["place_id"]).first()):
                self.known += 1
                continue
            place = models.Place.objects.create(**values)
            models.PlaceMention.objects.bulk_create(
                models.PlaceMention(place=place, **_parse_mention(mention)) for mention in entry["mentions"]
            )
            detail = {"before": None, "updated_at": None, "stamp": place.updated_at.isoformat()}
            log_event(models.WriteKind.PLACE, place=place, detail=detail, origin=self.origin, now=self.now)
            self.added += 1

    def _keeps_place(self, known: models.Place | None) -> bool:
        """Tell whether a place is known; delete one to which every write was undone."""
        if known is None:
            return False
        if known.removed_at is None or models.MemoryEvent.objects.filter(place=known, undone_at__isnull=True).exists():
            return True
        known.delete()
        return False

    def add_proposals(self, entries: list[dict[str, Any]]) -> None:
        """Insert the proposals that are not known."""
        ids = iter(sorted(uuid4() for _ in entries))
        for entry in entries:
            made = self._build_proposal(entry, next(ids))
            same = models.MemoryProposal.objects.filter(kind=made.kind, fingerprint=made.fingerprint)
            if made.fingerprint and not same.exists():
                made.save(force_insert=True)

    def _build_proposal(self, entry: dict[str, Any], pk: UUID) -> models.MemoryProposal:
        values = parse_row(entry, archive.PROPOSALS)
        payload, target = dict(entry["payload"]), self._rows.get(str(entry.get("target")))
        fingerprint = ""
        if values["kind"] == models.ProposalKind.MERGE:
            ends = [self._rows.get(str(payload[end])) for end in ("fact_id", "into_id")]
            facts = models.UserFact.objects.in_bulk([end for end in ends if end])
            if len(facts) == 2:
                payload = {"fact_id": str(ends[0]), "into_id": str(ends[1])}
                fingerprint = fingerprint_merge(*facts.values())
        else:
            payload = _parse_texts(payload)
            fact = models.UserFact.objects.filter(pk=target).first() if target else None
            fingerprint = fingerprint_text(payload["content"], fact)
        evidence = {"why": one_line(str(entry["evidence"].get("why", "")))[:500], archive.KEPT: entry["evidence"]}
        return models.MemoryProposal(
            id=pk, payload=payload, target_id=target, evidence=evidence, fingerprint=fingerprint, **values
        )


def _parse_fact(entry: dict[str, Any]) -> dict[str, Any]:
    if not (isinstance(entry["external"], dict) and isinstance(entry["quotes"], list)):
        raise ValueError("external and quotes are an object and a list")
    values = _parse_texts(parse_row(entry, archive.FACTS))
    refuse_early_end(values["valid_from"], values["valid_until"])
    return values


def _parse_texts(values: dict[str, Any]) -> dict[str, Any]:
    """Bring the texts of a fact or a proposal into their stored form. Raises FactRefused."""
    parsers = {
        "content": wording.parse_content,
        "summary": wording.parse_summary,
        "body": wording.parse_detail,
        "detail": wording.parse_detail,
        "topic": wording.parse_topic,
    }
    return {name: parsers[name](str(value)) if name in parsers else value for name, value in values.items()}


def _build_fact(values: dict[str, Any], entry: dict[str, Any], ids: dict[str, UUID]) -> models.UserFact:
    brought = {str(name): str(value)[:64] for name, value in entry["external"].items()}
    external = {**brought, "id": str(entry["id"])[:64], archive.KEPT: entry["quotes"]}
    if not entry["quotes"]:
        del external[archive.KEPT]
    return models.UserFact(
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


def _parse_mention(entry: dict[str, Any]) -> dict[str, Any]:
    # A place that a tool saved outside of a turn has a mention without a message.
    values = parse_row({**entry, "message_ref": entry["message_ref"] or "-"}, archive.MENTIONS)
    refs = ("conversation_ref", "message_ref")
    return values | {name: one_line(values[name]) if entry[name] else "" for name in refs}


def _list_known_facts() -> list[models.UserFact]:
    """Return the rows that an import knows: all but those of imports that were undone."""
    taken_back = models.MemoryEvent.objects.filter(kind=models.WriteKind.IMPORT, undone_at__isnull=False).values(
        "lineage"
    )
    gone = models.UserFact.objects.in_trash().filter(lineage__in=taken_back).values("lineage")
    known = models.UserFact.objects.exclude(lineage__in=gone)
    return list(known.only("id", "user_id", "external", "content_key", "archived_at"))


def shorten_text(text: str) -> str:
    """Return a text's beginning for a message."""
    return text if len(text) <= 60 else f"{text[:59]}…"
