"""Write extracted facts; they replace only extracted ones."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from config.lib.errors import DomainError
from config.lib.fields import content_key
from memory.facts import versions
from memory.facts.conflicts import Comparison, Conflict, compare_statement, list_conflicts
from memory.facts.intervals import change_fact, merge_fact, plan_period, write_fact
from memory.facts.limits import enforce_token_limit
from memory.facts.periods import change_dates, read_statement
from memory.facts.versions import FactWrite, Origin
from memory.models import ArchivedReason, Confidence, FactSource, Tombstone, UserFact
from memory.wording import find_category, parse_topic

# Facts that ended for these reasons do not return because of an older quote.
_CORRECTED: Final = (ArchivedReason.SUPERSEDED, ArchivedReason.USER_CORRECTED, ArchivedReason.UNDONE)

_EXPLICIT: Final = "What the user said outright is not replaced by what was extracted."


class TrustRefused(DomainError):
    """An extracted fact may not replace an explicit one."""


class FactForgotten(DomainError):
    """The user forgot or corrected this fact since."""


def compare_learned(
    content: str, quotes: Sequence[Mapping[str, int]], said_at: Mapping[int, datetime], now: datetime
) -> Comparison:
    """Compare a text with what is known, from when its newest quote was said. Raises FactRefused."""
    said = min(max((said_at[quote["message_id"]] for quote in quotes), default=now), now)
    return compare_statement(read_statement(content, said_at=said), said_at=said, now=now)


def learn_fact(
    *,
    content: str | Comparison,
    topic: str,
    category: str | None,
    score: float,
    said_at: Mapping[int, datetime],
    target_id: UUID | None = None,
    origin: Origin,
    now: datetime,
) -> FactWrite:
    """Save an extracted fact with its score (0..1), or replace `target_id`.

    `content` is its text, or what was compared of it in this transaction; `said_at` has the time of each message in
    `origin.quotes`. A repeated text can only raise the score. A target with the same text is merged. Explicit facts
    stay unchanged. Raises FactRefused, FactNotFound, FactChanged, TrustRefused for an explicit target, and
    FactForgotten when the user forgot, corrected or confirmed it after its quotes.
    """
    found = compare_learned(content, origin.quotes, said_at, now) if isinstance(content, str) else content
    text, tag = found.statement.text, parse_topic(topic)
    kind = category or find_category(tag, text)
    refuse_forgotten(text, (kind, tag), origin.quotes, said_at)
    known = found.fact if found.is_twin else None
    values: dict[str, Any] = {"score": score, "source": FactSource.EXTRACTED, "confidence": Confidence.INFERRED}
    if known is not None and (target_id in (None, known.pk) or not known.is_valid_at(now)):
        if known.score is None or known.score >= score:
            return FactWrite(known, None)
        return _supersede(known, {**values, "quotes": list(origin.quotes)}, None, origin, now)
    if target_id is None:
        _refuse_explicit(found.conflicts)
        values |= {"content": text, "topic": tag, "category": kind, **found.period.columns}
        written = write_fact(values, conflicts=found.conflicts, origin=origin, now=now)
        enforce_token_limit(now=now, batch_id=origin.batch_id)
        return written
    old = versions.get_believed(target_id)
    _refuse_target(old, quotes=origin.quotes, said_at=said_at, now=now)
    if known is not None and known.pk != old.pk:
        return merge_fact(old, known, origin=origin, now=now)
    dated = read_statement(text, said_at=now)
    changes = values | {
        "content": text,
        "topic": tag or old.topic,
        "category": kind if category or tag else old.category,
        "summary": "",
        **change_dates(old, dated, None, now=now),
        "quotes": list(origin.quotes),
        "conversation_id": origin.conversation_id,
    }
    return _supersede(old, changes, found.conflicts if dated == found.statement else None, origin, now)


def _supersede(
    old: UserFact, changes: dict[str, Any], conflicts: Sequence[Conflict] | None, origin: Origin, now: datetime
) -> FactWrite:
    if conflicts is None:
        period = plan_period(old, changes, now)
        conflicts = list_conflicts(changes.get("content", old.content), period, lineage=old.lineage, now=now)
    _refuse_explicit(one for one in conflicts if one.fact.lineage != old.lineage)
    return change_fact(old, changes, is_portion=True, conflicts=conflicts, origin=origin, now=now)


def _refuse_explicit(conflicts: Iterable[Conflict]) -> None:
    """Raise TrustRefused if an explicit fact excludes this text."""
    if any(one.verdict == "replaces" and one.fact.score is None for one in conflicts):
        raise TrustRefused(_EXPLICIT)


def refuse_forgotten(
    content: str, kind: tuple[str, str], quotes: Sequence[Mapping[str, int]], said_at: Mapping[int, datetime]
) -> None:
    """Raise FactForgotten for a text forgotten after its quotes; `kind` is its category and topic."""
    if Tombstone.objects.filter(digest=versions.digest_content(content)).exists():
        raise FactForgotten("The user had this forgotten.")
    if not quotes:
        return
    quoted = {quote["message_id"] for quote in quotes}
    newest = max(said_at[message_id] for message_id in quoted)
    category, topic = kind[0], versions.digest_topic(kind[1])
    for tombstone in Tombstone.objects.all():
        is_older = newest <= tombstone.created_at and (tombstone.category, tombstone.topic) == (category, topic)
        if is_older or quoted <= set(tombstone.message_ids):
            raise FactForgotten("The user had this forgotten.")
    corrected = UserFact.objects.filter(content_key=content_key(content), archived_reason__in=_CORRECTED)
    if corrected.filter(archived_at__gte=newest).exists():
        raise FactForgotten("The user changed this since they said it.")


def _refuse_target(
    target: UserFact, *, quotes: Sequence[Mapping[str, int]], said_at: Mapping[int, datetime], now: datetime
) -> None:
    """Raise TrustRefused for an explicit or ended target, FactForgotten if it was confirmed after the quotes."""
    if target.score is None or not target.is_valid_at(now):
        raise TrustRefused(_EXPLICIT)
    quoted = [quote["message_id"] for quote in quotes]
    if not quoted:
        return
    # Message ids increase over all chats.
    is_older = max(quoted) < max((quote["message_id"] for quote in target.quotes), default=0)
    confirmed_at = target.last_confirmed_at
    if is_older or (confirmed_at is not None and max(said_at[pk] for pk in quoted) <= confirmed_at):
        raise FactForgotten("The user said or confirmed something else since they said this.")
