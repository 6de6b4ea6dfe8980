"""Write facts: one function per user intention, inside `owned_tx(user)`.

A changed content, category, topic or confidence archives the old row and inserts a new one on the same lineage. Each
write logs a `MemoryEvent` that can undo it.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from config.lib.errors import DomainError
from config.lib.text import normal_form, one_line, parse_uuid
from memory import wording
from memory.claims.validity import Validity
from memory.facts import periods, versions
from memory.facts.conflicts import Comparison, FactDisputed, compare_statement
from memory.facts.intervals import change_fact, list_inherited, merge_fact, release_ends, write_fact
from memory.facts.limits import enforce_token_limit, fit_fact
from memory.facts.periods import Period, Statement, read_statement
from memory.facts.queries import get_block
from memory.facts.versions import PAGE, FactAmbiguous, FactChanged, FactNotFound, FactWrite, Origin, lock_memory
from memory.models import (
    ArchivedReason,
    Confidence,
    FactLink,
    FactSource,
    MemoryEvent,
    MemorySwitches,
    UserFact,
    WriteKind,
)
from memory.recall.blocks import MemoryBlock

MAX_MATCHES: Final = 10  # facts that an ambiguous reference names

WhenUnsure = Literal["keep", "replace", "ask"]


class LinkRefused(DomainError):
    """The two facts cannot be linked or merged."""


def remember_fact(
    *,
    content: str | Comparison,
    topic: str = "",
    category: str | None = None,
    confidence: str = Confidence.INFERRED,
    source: str = FactSource.CHAT,
    detail: str = "",
    validity: Validity | None = None,
    when_unsure: WhenUnsure = "keep",
    origin: Origin = PAGE,
    now: datetime,
) -> FactWrite:
    """Save a fact once; return the known row for the same meaning.

    `content` is its text, or what was compared of it in this transaction. A repeated text with another category or
    topic moves the fact, and an asserted repetition promotes an inferred fact; both supersede it. So does a fact about
    the subject of the one forgotten in this turn (settled 3), and a new value of a single-valued subject. A fact that
    may contradict another one stays beside it, replaces it, or raises FactDisputed, as `when_unsure` says. Without a
    category the topic decides (settled 5 and 6). `detail` is for recall only, never for prompts. Without `validity` the
    words say when the fact holds. Raises FactRefused, MemoryPaused.
    """
    versions.refuse_when_paused(origin)
    if isinstance(content, str):
        content = compare_statement(read_statement(content, given=validity, said_at=now), now=now)
    found, tag = content, wording.parse_topic(topic)
    tags = {"topic": tag, "body": wording.parse_detail(detail)}
    tags["category"] = category or (wording.find_category(tag, found.statement.text) if tag else "")
    versions.remove_tombstones(found.statement.text)
    given: dict[str, Any] = {name: tag for name, tag in tags.items() if tag}
    given |= {"content": found.statement.text, "confidence": confidence, "source": source}
    if found.fact is not None and found.verdict == "same":
        return _remember_again(found.fact, found.statement, given, origin=origin, now=now)
    return _save_statement(found, given, when_unsure, origin=origin, now=now)


def _save_statement(
    found: Comparison, given: dict[str, Any], when_unsure: WhenUnsure, *, origin: Origin, now: datetime
) -> FactWrite:
    """Write what is not known yet: in place of a fact that it replaces, of the one just forgotten, or as a new one."""
    old, begins, ends = found.fact, found.period.begins, found.period.ends
    writing: dict[str, Any] = {"conflicts": found.conflicts, "origin": origin, "now": now}
    forgotten: list[MemoryEvent] = []
    if found.verdict != "replaces":
        forgotten = versions.list_forgotten(given["content"], given.get("topic", ""), origin)
        if old is not None and len(forgotten) != 1 and when_unsure == "ask":
            raise FactDisputed(old)
        old = old if len(forgotten) != 1 and when_unsure == "replace" else None
    if old is not None:
        begins = max(begins, min(old.valid_from, old.created_at))  # not before that fact, unless that was put off
        periods.refuse_early_end(begins, ends)
        return _change_words(old, given | Period(begins, ends).columns, is_portion=True, **writing)
    if len(forgotten) == 1:
        old = versions.revoke_forget(forgotten[0], now)
        # It holds until the new period, unless it never did, and not again after it.
        is_portion = begins > now and old.archived_reason == ArchivedReason.SUPERSEDED
        written = _change_words(old, given | found.period.columns, is_portion=is_portion, **writing)
        return _fit_document(written, origin, now)
    values = {"topic": "", "category": wording.find_category("", given["content"]), **given, **found.period.columns}
    return _fit_document(write_fact(values, **writing), origin, now)


def supersede_fact(
    *,
    fact_id: UUID,
    content: str,
    topic: str | None = None,
    category: str | None = None,
    confidence: str = Confidence.ASSERTED,
    source: str = FactSource.PROFILE,
    summary: str | None = None,
    detail: str | None = None,
    validity: Validity | None = None,
    origin: Origin = PAGE,
    now: datetime,
) -> FactWrite:
    """Replace a fact by a corrected one; None keeps a value.

    The old row is archived at `now` and the new one begins then, so as-of queries find no gap and no overlap. Words of
    a chat leave the old fact in force outside of the period that they name. A text equal to another fact merges this
    fact into that one. Equal values change nothing. A `summary` of None stays while the text stays. Without `validity`
    changed words say when the fact holds. Raises FactNotFound, FactChanged, FactRefused, MemoryPaused.
    """
    statement = read_statement(content, given=validity, said_at=now)
    versions.refuse_when_paused(origin)
    lock_memory()
    old = versions.get_believed(fact_id)
    wanted: dict[str, Any] = {"content": statement.text, "confidence": confidence}
    wanted |= {} if topic is None else {"topic": wording.parse_topic(topic)}
    wanted |= {"category": category} if category else {}
    wanted |= {} if summary is None else {"summary": wording.parse_summary(summary)}
    wanted |= {} if detail is None else {"body": wording.parse_detail(detail)}
    wanted |= {"score": None, **periods.change_dates(old, statement, validity, now=now)}
    if all(getattr(old, name) == value for name, value in wanted.items()):
        return FactWrite(old, None)
    versions.remove_tombstones(statement.text)
    if (twin := versions.find_twin(old, statement.key)) is not None:
        return merge_fact(old, twin, origin=origin, now=now)
    wanted["source"] = source
    return _change_words(old, wanted, is_portion=origin.conversation_id is not None, origin=origin, now=now)


def _change_words(old: UserFact, wanted: dict[str, Any], *, origin: Origin, **writing: Any) -> FactWrite:
    """Make a fact explicit, with the columns that are wanted."""
    changes: dict[str, Any] = {"score": None, **wanted}
    if old.content != wanted["content"]:
        # The shorter line stood for the old text; the detail stays, and the page says that it is older (settled 4).
        changes = {"summary": "", "quotes": list(origin.quotes), **changes}
    if origin.conversation_id:
        changes["conversation_id"] = origin.conversation_id
    return change_fact(old, changes, origin=origin, **writing)


def confirm_fact(*, fact_id: UUID, origin: Origin = PAGE, now: datetime) -> FactWrite:
    """Note that the user affirmed a fact, which resets its decay. Raises FactNotFound, FactChanged, MemoryPaused."""
    versions.refuse_when_paused(origin)
    lock_memory()
    fact = versions.get_believed(fact_id)
    if fact.last_confirmed_at is not None and fact.last_confirmed_at >= now:
        return FactWrite(fact, None)
    previous = fact.last_confirmed_at
    event = versions.log_event(
        WriteKind.CONFIRM, before=fact, after=fact, previous_confirmed_at=previous, origin=origin, now=now
    )
    fact.last_confirmed_at = now
    fact.save(update_fields=["last_confirmed_at"])
    return FactWrite(fact, event)


def promote_fact(*, fact_id: UUID, origin: Origin = PAGE, now: datetime) -> FactWrite:
    """Make a fact asserted; idempotent. Raises FactNotFound, FactChanged."""
    return _set_confidence(fact_id, Confidence.ASSERTED, WriteKind.PROMOTE, origin=origin, now=now)


def demote_fact(*, fact_id: UUID, origin: Origin = PAGE, now: datetime) -> FactWrite:
    """Make a fact inferred; idempotent. Raises FactNotFound, FactChanged."""
    return _set_confidence(fact_id, Confidence.INFERRED, WriteKind.DEMOTE, origin=origin, now=now)


def forget_fact(
    *, id_or_substring: str, reason: str = ArchivedReason.AGENT_FORGET, origin: Origin = PAGE, now: datetime
) -> FactWrite:
    """Forget the fact of an id or text. Raises FactNotFound, FactAmbiguous."""
    lock_memory()
    fact = resolve_fact(id_or_substring, now)
    return _end_fact(fact, reason, WriteKind.FORGET, origin=origin, now=now)


def archive_fact(
    *, fact_id: UUID, reason: str = ArchivedReason.USER_ARCHIVED, origin: Origin = PAGE, now: datetime
) -> FactWrite:
    """Archive a fact from the page. Raises FactNotFound, FactChanged."""
    lock_memory()
    return _end_fact(versions.get_believed(fact_id), reason, WriteKind.ARCHIVE, origin=origin, now=now)


def delete_fact(*, fact_id: UUID, origin: Origin = PAGE, now: datetime) -> FactWrite:
    """Move a fact to the trash for 30 days; idempotent. Raises FactNotFound."""
    lock_memory()
    last = versions.get_last_version(fact_id)
    if last.trashed_at is not None:
        return FactWrite(last, None)
    if last.is_archived:
        event = versions.log_event(WriteKind.DELETE, before=last, detail={"was_archived": True}, origin=origin, now=now)
        versions.add_tombstone(last, event, now)
        written = FactWrite(last, event)
    else:
        written = _end_fact(last, ArchivedReason.USER_DELETED, WriteKind.DELETE, origin=origin, now=now)
    last.trashed_at = now
    last.save(update_fields=["trashed_at"])
    return written


def restore_fact(*, fact_id: UUID, origin: Origin = PAGE, now: datetime) -> FactWrite:
    """Restore an archived or trashed fact, or revalidate another with its text. Raises FactNotFound, FactChanged."""
    lock_memory()
    last = versions.get_last_version(fact_id)
    if not last.is_archived:
        raise FactChanged("This fact is not archived any more.")
    if last.gone_at is not None and last.gone_at < now:
        raise FactNotFound("This fact was deleted more than 30 days ago. It cannot be restored.")
    versions.remove_tombstones(last.content)
    twin = versions.find_twin(last)
    if twin is not None and twin.is_valid_at(now):
        return FactWrite(twin, None)
    if twin is not None:
        return change_fact(twin, {"valid_from": now}, origin=origin, now=now)
    versions.take_from_trash(last)
    values = list_inherited(last) | Period.of(last).columns
    written = write_fact(values, kind=WriteKind.RESTORE, old=last, origin=origin, now=now)
    if last.trashed_at is not None:
        versions.note_detail(written.event, trashed_at=last.trashed_at.isoformat())
    return written


def merge_facts(*, fact_id: UUID, into_id: UUID, origin: Origin = PAGE, now: datetime) -> FactWrite:
    """Merge a fact into another. Raises FactNotFound, FactChanged, LinkRefused."""
    lock_memory()
    old, into = versions.get_believed(fact_id), versions.get_believed(into_id)
    if old.pk == into.pk:
        raise LinkRefused("A fact cannot be merged into itself.")
    return merge_fact(old, into, origin=origin, now=now)


def link_facts(*, from_id: str, to_id: str, relation: str, origin: Origin = PAGE, now: datetime) -> MemoryEvent | None:
    """Link two current facts, each an id or a unique text part; None means already linked. Raises DomainError."""
    label = one_line(relation)
    if not 0 < len(label) <= wording.MAX_RELATION:
        raise LinkRefused(
            f"A relation needs 1 to {wording.MAX_RELATION} characters, such as relates_to or contradicts."
        )
    wording.refuse_secrets(label)
    versions.refuse_when_paused(origin)
    lock_memory()
    ends = {"from_fact": resolve_fact(from_id, now), "to_fact": resolve_fact(to_id, now)}
    if ends["from_fact"].pk == ends["to_fact"].pk:
        raise LinkRefused("A fact cannot be linked to itself.")
    if FactLink.objects.filter(**ends, relation=label).exists():
        return None
    detail = _describe_link(**ends, relation=label)
    event = versions.log_event(WriteKind.LINK, after=ends["from_fact"], detail=detail, origin=origin, now=now)
    FactLink.objects.create(**ends, relation=label, event=event, created_at=now)
    return event


def unlink_facts(*, link_id: UUID, now: datetime) -> MemoryEvent:
    """Remove a link between two facts. Raises FactNotFound."""
    lock_memory()
    rows = FactLink.objects.select_related("from_fact", "to_fact").filter(pk=link_id)
    link = rows.first_or(FactNotFound("There is no such link."))
    detail = _describe_link(from_fact=link.from_fact, to_fact=link.to_fact, relation=link.relation)
    detail["event"] = str(link.event_id or "")
    link.delete()
    return versions.log_event(WriteKind.UNLINK, after=link.from_fact, detail=detail, origin=PAGE, now=now)


def set_switches(*, uses_facts: bool | None = None, learns: bool | None = None) -> MemorySwitches:
    """Set the owner's switches; None leaves one unchanged."""
    lock_memory()
    wanted = {"uses_facts": uses_facts, "learns": learns}
    given = {name: value for name, value in wanted.items() if value is not None}
    return MemorySwitches.objects.update_or_create(defaults=given)[0]


def render_coach_block(*, now: datetime) -> MemoryBlock:
    """Render the coach's block; mark its facts as referenced at `now`."""
    # Without the lock a concurrent write could replace a row, and its successor would stay unmarked.
    lock_memory()
    block = get_block("coach", now)
    mark_referenced(block.fact_ids, now=now)
    return block


def mark_referenced(fact_ids: Collection[UUID], *, now: datetime) -> None:
    """Note that a prompt of the coach has these facts."""
    if fact_ids:
        # The time never moves back: another conversation may have rendered a later block.
        UserFact.objects.filter(pk__in=fact_ids, last_referenced_at__lt=now).update(last_referenced_at=now)


def resolve_fact(id_or_substring: str, now: datetime) -> UserFact:
    """Return the fact of an id or text. Raises FactNotFound, FactAmbiguous."""
    rows = UserFact.objects.open(now)
    if (fact_id := parse_uuid(id_or_substring.strip())) is not None:
        lineage = UserFact.objects.filter(pk=fact_id).values("lineage")
        return rows.filter(lineage=lineage[:1]).first_or(FactNotFound("There is no current fact of that id."))
    words = normal_form(id_or_substring)
    rows = rows.filter(normalised__contains=words) if words else rows.none()
    matches = sorted(rows.by_reference(), key=lambda fact: len(fact.content))[:MAX_MATCHES]  # the shortest fit best
    if not matches:
        raise FactNotFound("No current fact has these words.")
    if len(matches) > 1:
        raise FactAmbiguous(matches)
    return matches[0]


def _end_fact(fact: UserFact, reason: str, kind: WriteKind, *, origin: Origin, now: datetime) -> FactWrite:
    versions.archive_version(fact, reason, now)
    event = versions.log_event(kind, before=fact, origin=origin, now=now)
    versions.add_tombstone(fact, event, now)
    written = release_ends(FactWrite(fact, event), fact, origin=origin, now=now)
    enforce_token_limit(now=now)  # there may be room for facts that had left the document
    return written


def _fit_document(written: FactWrite, origin: Origin, now: datetime) -> FactWrite:
    """Take facts out of a full document; the event notes when it gets nearly full."""
    left, percent = fit_fact(written.fact, batch_id=origin.batch_id, now=now)
    if percent:
        versions.note_detail(written.event, document_pct=percent)
    return replace(written, left_document=tuple(left))


def _describe_link(*, from_fact: UserFact, to_fact: UserFact, relation: str) -> dict[str, str]:
    return {"from": str(from_fact.pk), "to": str(to_fact.pk), "relation": relation}


def _remember_again(
    known: UserFact, statement: Statement, given: dict[str, Any], *, origin: Origin, now: datetime
) -> FactWrite:
    """Supersede a known fact by the changes of its repetition."""
    dates = periods.repeat_dates(known, statement.said, now=now)
    tags = {name: given[name] for name in given.keys() & {"topic", "category", "body"}}
    changes: dict[str, Any] = {name: tag for name, tag in tags.items() if tag != getattr(known, name)}
    if given["confidence"] == Confidence.ASSERTED != known.confidence:
        changes |= {"confidence": Confidence.ASSERTED, "score": None}
    if known.score is not None:
        # A learned fact becomes explicit, with this source (settled 4).
        changes |= {"score": None, "source": given["source"]}
        changes |= {"conversation_id": origin.conversation_id or known.conversation_id}
    if dates:
        # A fact repeated after its end or before its beginning is valid from now on.
        changes |= {"content": statement.text, "source": given["source"], **dates}
    if not changes:
        return FactWrite(known, None)
    is_promotion = "confidence" in changes and changes.keys().isdisjoint({"topic", "category", *dates})
    kind = WriteKind.PROMOTE if is_promotion else WriteKind.UPDATE
    return change_fact(known, changes, kind=kind, origin=origin, now=now)


def _set_confidence(
    fact_id: UUID, confidence: Confidence, kind: WriteKind, *, origin: Origin, now: datetime
) -> FactWrite:
    lock_memory()
    old = versions.get_believed(fact_id)
    if old.confidence == confidence:
        return FactWrite(old, None)
    changes = {"confidence": confidence, "score": None}
    return change_fact(old, changes, kind=kind, conflicts=(), origin=origin, now=now)
