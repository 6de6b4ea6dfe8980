"""Facts that state rules of trading: read them, and keep trading's rules in step."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db.models import Exists

from config.lib.owned import owner_id
from config.lib.queries import Columns
from config.lib.words.compile import Refusal, compile_rule
from config.lib.words.lexer import read_tokens
from config.lib.words.markets import find_base
from config.lib.words.rules import Rule, parse_rule
from memory.claims.validity import strip_dates
from memory.facts.review import close_fulfilled
from memory.models import ArchivedReason, MemoryEvent, MemoryProposal, ProposalStatus, UserFact, UserFactQuerySet
from trading.models import Trade, TradingRule
from trading.rules.services import RuleReading, follow_readings

# A fact archived for one of these reasons was true until then; for another reason, such as a correction, never.
_ENDED = (ArchivedReason.AGENT_FORGET, ArchivedReason.MERGED, ArchivedReason.USER_ARCHIVED)
_ANY_ZONE: Final = "UTC"  # of a rule that has none
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
    rules, facts = TradingRule.objects.order_by("created_at"), UserFact.objects.order_by("created_at", "id")
    if lineages is not None:
        rules, facts = rules.filter(lineage__in=lineages), facts.filter(lineage__in=lineages)
    known = {row.fact_id: parse_rule(row.payload) for row in rules}
    versions = None if lineages is None else list(facts)
    unread, compiler = [], _Compiler()
    for pk, *words in _list_believed(facts, versions):
        read = compiler.read(*words) if pk not in known else None
        if isinstance(read, Refusal) and read.is_near:
            unread.append(UnreadFact(pk, words[0], read.reason))
        elif read is not None and not isinstance(read, Refusal):
            known[pk] = read
    if versions is None:  # most facts are no rules
        versions = list(facts.filter(lineage__in=facts.order_by().filter(pk__in=known).values("lineage")))
    following, readings = {fact.supersedes_id: fact for fact in versions}, []
    for fact in versions:
        if fact.pk in known and ((ends := _find_end(fact, following)) is None or ends > fact.valid_from):
            dates = (fact.valid_from, ends)
            readings.append(RuleReading(fact.pk, fact.lineage, fact.content, known[fact.pk], *dates))
    follow_readings(readings, rules=rules, now=now)
    return unread


def _list_believed(facts: UserFactQuerySet, versions: Iterable[UserFact] | None) -> Iterable[tuple[Any, ...]]:
    """Return what reading a fact takes (`_READ`) of the believed ones: of these versions, or by column of all."""
    if versions is not None:
        return [tuple(getattr(fact, name) for name in _READ) for fact in versions if not fact.is_archived]
    columns = Columns(facts.filter(archived_at__isnull=True), _READ)
    return zip(*(columns[name] for name in _READ), strict=True)


def follow_writes(*, conversation_id: UUID | None, now: datetime) -> None:
    """Follow the facts that a turn, which began at `now`, has written in a chat, inside `owned_tx(user)`.

    What waited for its owner and now holds waits no more.
    """
    events = MemoryEvent.objects.filter(conversation_id=conversation_id, created_at=now, lineage__isnull=False)
    waiting = Exists(MemoryProposal.objects.filter(status=ProposalStatus.PENDING))
    found = list(events.values_list("lineage", "detail__later", waiting))
    if found:
        follow_facts(now=now, lineages={UUID(str(name)) for *names, _ in found for name in names if name})
    if any(has_waiting for *_, has_waiting in found):
        close_fulfilled(conversation_id=conversation_id, now=now)


def read_fact(fact_id: UUID) -> Rule | Refusal | None:
    """Return how Keel reads a believed fact; None without such a fact."""
    fact = UserFact.objects.believed().filter(pk=fact_id).first()
    return _Compiler().read(*(getattr(fact, name) for name in _READ[1:])) if fact else None


class _Compiler:
    """Read facts in the owner's time zone, with the coins that they traded: looked up when a text needs them."""

    @cached_property
    def _zone(self) -> str:
        zone: str = get_user_model()._default_manager.values_list("time_zone", flat=True).get(pk=owner_id())
        return zone

    @cached_property
    def _symbols(self) -> frozenset[str]:
        names = Trade.objects.order_by().values_list("symbol", flat=True).distinct()
        return frozenset(find_base(name) for name in names)

    def read(
        self, words: str, valid_from: datetime, valid_until: datetime | None, created_at: datetime
    ) -> Rule | Refusal:
        # The dates in the words became the fact's validity.
        text = words if valid_until is None and valid_from <= created_at else strip_dates(words)
        found = compile_rule(text, zone=_ANY_ZONE)
        if isinstance(found, Refusal):
            coins = frozenset(token.written.upper() for token in read_tokens(text)) & self._symbols
            return compile_rule(text, zone=self._zone, symbols=coins) if coins else found
        return compile_rule(text, zone=self._zone) if hasattr(found, "zone") else found


def _find_end(fact: UserFact, following: Mapping[UUID | None, UserFact]) -> datetime | None:
    """Return until when a fact was true: its beginning if it never was, None if it still is."""
    ends = [fact.valid_until]
    if fact.archived_reason == ArchivedReason.SUPERSEDED:
        row = following.get(fact.pk)
        while row is not None and row.archived_at and row.archived_reason not in (*_ENDED, ArchivedReason.SUPERSEDED):
            row = following.get(row.pk)  # that version was never true
        ends += [row.valid_from if row else fact.archived_at]
    elif fact.archived_at is not None:
        ends.append(fact.archived_at if fact.archived_reason in _ENDED else fact.valid_from)
    return min((end for end in ends if end is not None), default=None)
