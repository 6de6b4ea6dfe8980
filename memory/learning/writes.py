"""Write extracted facts; they replace only extracted ones."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from config.lib.errors import DomainError
from config.lib.fields import content_key
from memory.facts import versions
from memory.facts.conflicts import insert_with_rivals, list_rivals, supersede_with_rivals
from memory.facts.limits import enforce_token_limit
from memory.facts.periods import begin_learned, change_dates
from memory.facts.versions import FactWrite, Origin
from memory.models import ArchivedReason, Confidence, EventKind, FactSource, Tombstone, UserFact
from memory.wording import find_category, parse_content, parse_topic

# Facts that ended for these reasons do not return because of an older quote.
_CORRECTED: Final = (ArchivedReason.SUPERSEDED, ArchivedReason.USER_CORRECTED, ArchivedReason.UNDONE)

_EXPLICIT: Final = "What the user said outright is not replaced by what was extracted."


class TrustRefused(DomainError):
    """An extracted fact may not replace an explicit one."""


class FactForgotten(DomainError):
    """The user forgot or corrected this fact since."""


def learn_fact(
    *,
    content: str,
    topic: str,
    category: str | None,
    score: float,
    said_at: Mapping[int, datetime],
    target_id: UUID | None = None,
    origin: Origin,
    now: datetime,
) -> FactWrite:
    """Save an extracted fact with its score (0..1), or replace `target_id`.

    `said_at` has the time of each message in `origin.quotes`. A repeated text can only raise the score. A target with
    the same text is merged. Explicit facts stay unchanged. Raises FactRefused, FactNotFound, FactChanged, TrustRefused
    for an explicit target, and FactForgotten when the user forgot, corrected or confirmed it after its quotes.
    """
    text, tag = parse_content(content), parse_topic(topic)
    kind = category or find_category(tag, text)
    versions.lock_memory()
    refuse_forgotten(content=text, topic=tag, category=kind, quotes=origin.quotes, said_at=said_at)
    said = max((said_at[quote["message_id"]] for quote in origin.quotes), default=now)
    values: dict[str, Any] = {"score": score, "source": FactSource.EXTRACTED, "confidence": Confidence.INFERRED}
    known = UserFact.objects.believed().filter(content_key=content_key(text)).first()
    if known is not None and (target_id in (None, known.pk) or not versions.is_valid_at(known, now)):
        if known.score is None or known.score >= score:
            return FactWrite(known, None)
        return _supersede(known, {**values, "quotes": list(origin.quotes)}, origin, now)
    if target_id is None:
        values |= {"content": text, "topic": tag, "category": kind, **begin_learned(text, said_at=said, now=now)}
        _refuse_explicit(text, values["valid_from"], values["valid_until"], now=now)
        written = insert_with_rivals(values, origin=origin, now=now)
        enforce_token_limit(now=now, batch_id=origin.batch_id)
        return written
    old = versions.get_believed(target_id)
    if old.score is None or not versions.is_valid_at(old, now):
        raise TrustRefused(_EXPLICIT)
    _refuse_outdated(old, quotes=origin.quotes, said_at=said_at)
    changes = values | {
        "content": text,
        "topic": tag or old.topic,
        "category": kind if category or tag else old.category,
        "summary": "",
        **change_dates(old, text, None, now=now),
        "quotes": list(origin.quotes),
        "conversation_id": origin.conversation_id,
    }
    return _supersede(old, changes, origin, now)


def _supersede(old: UserFact, changes: dict[str, Any], origin: Origin, now: datetime) -> FactWrite:
    text, period = changes.get("content", old.content), versions.plan_dates(old, changes, now)
    _refuse_explicit(text, *period, lineage=old.lineage, now=now)
    return supersede_with_rivals(old, EventKind.UPDATE, changes, origin=origin, now=now)


def _refuse_explicit(
    content: str, begins: datetime, ends: datetime | None, *, lineage: UUID | None = None, now: datetime
) -> None:
    """Raise TrustRefused if an explicit fact excludes this text."""
    rivals = list_rivals(content, begins=begins, ends=ends, lineage=lineage, now=now)
    if any(rival.score is None for rival in rivals):
        raise TrustRefused(_EXPLICIT)


def refuse_forgotten(
    *, content: str, topic: str, category: str, quotes: Sequence[Mapping[str, int]], said_at: Mapping[int, datetime]
) -> None:
    """Raise FactForgotten for a text forgotten after its quotes."""
    if Tombstone.objects.filter(digest=versions.digest_content(content)).exists():
        raise FactForgotten("The user had this forgotten.")
    if not quotes:
        return
    quoted = {quote["message_id"] for quote in quotes}
    newest = max(said_at[message_id] for message_id in quoted)
    kind = (category, versions.digest_topic(topic))
    for tombstone in Tombstone.objects.all():
        is_older = newest <= tombstone.created_at and (tombstone.category, tombstone.topic) == kind
        if is_older or quoted <= set(tombstone.message_ids):
            raise FactForgotten("The user had this forgotten.")
    corrected = UserFact.objects.filter(content_key=content_key(content), archived_reason__in=_CORRECTED)
    if corrected.filter(archived_at__gte=newest).exists():
        raise FactForgotten("The user changed this since they said it.")


def _refuse_outdated(target: UserFact, *, quotes: Sequence[Mapping[str, int]], said_at: Mapping[int, datetime]) -> None:
    """Raise FactForgotten if the target was confirmed after the quotes."""
    quoted = [quote["message_id"] for quote in quotes]
    if not quoted:
        return
    # Message ids increase over all chats.
    is_older = max(quoted) < max((quote["message_id"] for quote in target.quotes), default=0)
    confirmed_at = target.last_confirmed_at
    if is_older or (confirmed_at is not None and max(said_at[pk] for pk in quoted) <= confirmed_at):
        raise FactForgotten("The user said or confirmed something else since they said this.")
