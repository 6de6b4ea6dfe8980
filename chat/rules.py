"""Facts that state rules of trading: read them, and keep trading's rules in step."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth import get_user_model

from config.lib.columns import Columns
from config.lib.owned import owner_id
from config.lib.words.compile import Refusal, compile_rule
from config.lib.words.markets import find_base
from config.lib.words.rules import Rule, parse_rule
from memory.claims.validity import strip_dates
from memory.models import ArchivedReason, MemoryEvent, UserFact
from trading.models import Trade, TradingRule
from trading.rules.services import RuleReading, follow_readings

# A fact archived for one of these reasons was true until then; for another reason, such as a correction, never.
_ENDED = (ArchivedReason.AGENT_FORGET, ArchivedReason.MERGED, ArchivedReason.USER_ARCHIVED)
_READ = ("id", "content", "valid_from", "valid_until", "created_at")  # what reading a fact takes


@dataclass(frozen=True, slots=True)
class UnreadFact:
    """A fact that sounds like a rule, and why Keel cannot use it as one."""

    fact_id: UUID
    words: str
    reason: str


def follow_facts(*, now: datetime, lineages: Collection[UUID] | None = None) -> list[UnreadFact]:
    """Keep the owner's rules in step with their facts, inside `owned_tx(user)`; return the facts that Keel cannot read.

    With `lineages` only these are read; the others keep their reading.
    """
    rows, facts = TradingRule.objects.all(), UserFact.objects.order_by("created_at", "id")
    if lineages is not None:
        rows, facts = rows.filter(lineage__in=lineages), facts.filter(lineage__in=lineages)
    known = {row.fact_id: parse_rule(row.payload) for row in rows}
    readings, unread = [], []
    compiler = _Compiler()
    believed = Columns(facts.filter(archived_at__isnull=True).exclude(pk__in=known), _READ)
    for pk, words, *dates in zip(*(believed[name] for name in _READ), strict=True):
        read = compiler.read(words, *dates)
        if not isinstance(read, Refusal):
            known[pk] = read
        elif read.is_near:
            unread.append(UnreadFact(pk, words, read.reason))
    for fact in facts.filter(pk__in=known):
        if (ends := _find_end(fact)) is None or ends > fact.valid_from:
            readings.append(RuleReading(fact.pk, fact.lineage, fact.content, known[fact.pk], fact.valid_from, ends))
    follow_readings(readings, lineages=lineages, now=now)
    return unread


def follow_writes(*, conversation_id: UUID | None, now: datetime) -> None:
    """Follow the facts that a turn, which began at `now`, has written in a chat, inside `owned_tx(user)`."""
    events = MemoryEvent.objects.filter(conversation_id=conversation_id, created_at=now, lineage__isnull=False)
    found = list(events.values_list("lineage", "detail__later"))
    if found:
        follow_facts(now=now, lineages={UUID(str(name)) for names in found for name in names if name})


def read_fact(fact_id: UUID) -> Rule | Refusal | None:
    """Return how Keel reads a believed fact; None without such a fact."""
    fact = UserFact.objects.believed().filter(pk=fact_id).first()
    return _Compiler().read(*(getattr(fact, name) for name in _READ[1:])) if fact else None


class _Compiler:
    """Read facts in the owner's time zone, with the coins that they traded."""

    def __init__(self) -> None:
        users = get_user_model()._default_manager
        self._zone = users.values_list("time_zone", flat=True).get(pk=owner_id())
        names = Trade.objects.order_by().values_list("symbol", flat=True).distinct()
        self._symbols = frozenset(find_base(name) for name in names)

    def read(
        self, words: str, valid_from: datetime, valid_until: datetime | None, created_at: datetime
    ) -> Rule | Refusal:
        # The dates in the words became the fact's validity.
        text = words if valid_until is None and valid_from <= created_at else strip_dates(words)
        return compile_rule(text, zone=self._zone, symbols=self._symbols)


def _find_end(fact: UserFact) -> datetime | None:
    """Return until when a fact was true: its beginning if it never was, None if it still is."""
    ends = [fact.valid_until]
    if fact.archived_reason == ArchivedReason.SUPERSEDED:
        following = next(_iter_true_successors(fact), None)
        ends += [following.valid_from if following else fact.archived_at]
    elif fact.archived_at is not None:
        ends.append(fact.archived_at if fact.archived_reason in _ENDED else fact.valid_from)
    return min((end for end in ends if end is not None), default=None)


def _iter_true_successors(fact: UserFact) -> Iterator[UserFact]:
    """Yield the later versions of a fact, without those that were never true."""
    row = UserFact.objects.filter(supersedes=fact.pk).first()
    while row is not None:
        if row.archived_at is None or row.archived_reason in (*_ENDED, ArchivedReason.SUPERSEDED):
            yield row
        row = UserFact.objects.filter(supersedes=row.pk).first()
