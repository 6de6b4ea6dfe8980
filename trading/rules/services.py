"""A trader's rules: follow their facts, decide on readings, judge the record."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, TypeVar, get_args
from uuid import UUID

from django.db.models import F, Q, Window
from django.db.models.functions import Rank

from config.lib.errors import NotFound
from config.lib.words.rules import Rule, dump_rule, parse_rule
from trading.models import RuleState, Trade, TradeQuerySet, TradingRule
from trading.record.performance import ClosedTrade, Figure, Performance, measure_mean, summarise_trades
from trading.record.trade_queries import TradeFilter, select_trades
from trading.rules.books import RoundTrip
from trading.rules.judge import Judgement, ValidRule, judge_trips
from trading.rules.kinds import A_DAY, LABELS, Finding, Verdict
from trading.rules.trips import TripTable, load_events

_NET: Final = "realized_pnl_usd"
_AMOUNTS: Final = (_NET, "gross_pnl_usd", "fees_usd", "funding_usd")  # of `ClosedTrade`

T = TypeVar("T")


class RuleNotFound(NotFound):
    """The user has no such rule."""


@dataclass(frozen=True, slots=True)
class RuleReading:
    """A version of a fact that reads as a rule, and when it was true."""

    fact_id: UUID
    lineage: UUID
    words: str
    rule: Rule
    valid_from: datetime
    valid_until: datetime | None


def follow_readings(
    readings: Iterable[RuleReading], *, rules: Iterable[TradingRule] | None = None, now: datetime
) -> None:
    """Make these rules, or all, those that were read in the owner's facts, inside `owned_tx(user)`.

    A new reading waits for its owner, unless an earlier version of its fact read the same. A rule whose fact is gone
    or was never true goes.
    """
    rows = TradingRule.objects.order_by("created_at") if rules is None else rules
    known = {row.fact_id: row for row in rows}
    decided = {(row.lineage, str(row.payload)): row for row in known.values() if row.state != RuleState.WAITING}
    given = {one.fact_id: one for one in readings}
    delete_rules(known.keys() - given.keys())
    for one in given.values():
        dates = {"valid_from": one.valid_from, "valid_until": one.valid_until}
        row, payload = known.get(one.fact_id), dump_rule(one.rule)
        if row is None:
            like = decided.get((one.lineage, str(payload)))
            decision = {"state": like.state, "decided_at": like.decided_at} if like else {}
            texts = {"words": one.words, "payload": payload, "lineage": one.lineage}
            TradingRule.objects.create(fact_id=one.fact_id, created_at=now, **texts, **dates, **decision)
        elif dates != {name: getattr(row, name) for name in dates}:
            TradingRule.objects.filter(pk=row.pk).update(**dates)


def delete_rules(fact_ids: Collection[UUID]) -> None:
    """Delete the rules of facts that are erased, inside `owned_tx(user)`."""
    TradingRule.objects.filter(fact_id__in=fact_ids).delete()


def decide_rule(*, rule_id: UUID, state: RuleState, now: datetime) -> TradingRule:
    """Confirm or dismiss a reading, inside `owned_tx(user)`. Raises RuleNotFound."""
    decided_at = None if state == RuleState.WAITING else now
    TradingRule.objects.filter(pk=rule_id).update(state=state, decided_at=decided_at)
    return get_rule(rule_id)


def get_rule(rule_id: UUID) -> TradingRule:
    """Return a rule. Raises RuleNotFound."""
    return TradingRule.objects.filter(pk=rule_id).first_or(RuleNotFound("You have no such rule."))


def list_rules() -> list[TradingRule]:
    """Return all rules, the newest first."""
    return list(TradingRule.objects.order_by("-valid_from", "id"))


def read_valid(row: TradingRule) -> ValidRule:
    """Return a rule as the judge takes it."""
    return ValidRule(row.pk, parse_rule(row.payload), row.valid_from, row.valid_until)


def list_valid_rules() -> list[ValidRule]:
    """Return the confirmed rules of all times."""
    return [read_valid(row) for row in TradingRule.objects.confirmed().order_by("valid_from", "id")]


def judge_period(
    rules: Sequence[ValidRule], *, since: datetime, until: datetime, planned: Sequence[RoundTrip] = ()
) -> list[tuple[RoundTrip, Judgement]]:
    """Judge the trades that opened in a range, or these `planned` ones alone, newest first."""
    if not rules:
        return []
    # Of the trades before a planned one only the rules that count trades ask anything.
    asking = [one for one in rules if one.kind.counts] if planned else rules
    table = TripTable(_select_counted(rules, since, until), asking, until=until)
    trips = [trip._replace(id=pk) for trip, pk in zip(table.trips, table.columns["id"], strict=True)]
    wanted, events = [trip for trip in planned or trips if trip.opened_at >= since], load_events(rules)
    found = judge_trips([*trips, *planned], rules, events=events, equity_at=table.find_equity, wanted=wanted)
    return [
        (trip, Judgement(one, trip.id, *finding))
        for trip, *findings in zip(wanted, *found, strict=True)
        for one, finding in zip(rules, findings, strict=True)
        if finding is not None
    ]


def _select_counted(rules: Sequence[ValidRule], since: datetime, until: datetime) -> TradeQuerySet:
    """Return the trades before `until` that opened since an instant, or that a rule may count for those.

    That is the same day, what closed within a pause, and the last trades of each account, of which a row of losses
    may end then.
    """
    counts = [count(one.rule) for one in rules if (count := one.kind.counts)]
    back = since - max([A_DAY, *(span for span, _ in counts)])
    trades = select_trades(TradeFilter()).filter(entry_at__lt=until)
    counted = Q(exit_at__isnull=True) | Q(exit_at__gte=back)
    if most := max((last for _, last in counts), default=0):
        rank = Window(Rank(), partition_by=F("deployment"), order_by=F("exit_at").desc())
        before = trades.order_by().filter(exit_at__lt=back).annotate(rank=rank).filter(rank__lte=most)
        counted |= Q(pk__in=before.values("pk"))
    return trades.filter(counted)


@dataclass(frozen=True)
class RuleRecord:
    row: TradingRule
    table: TripTable
    findings: Sequence[Finding | None]  # of the trades of the table

    @cached_property
    def reading(self) -> str:
        return parse_rule(self.row.payload).describe()

    @cached_property
    def _verdicts(self) -> list[Verdict | None]:
        return [finding and finding[0] for finding in self.findings]

    @property
    def trade_ids(self) -> Mapping[str, Sequence[UUID]]:
        return {name: _pick_ids(self.table, self._verdicts, name) for name in get_args(Verdict)}

    @property
    def counts(self) -> list[tuple[str, Verdict, int]]:
        """What to call each verdict, with the number of its trades."""
        return [(label, verdict, self._verdicts.count(verdict)) for verdict, label in LABELS.items()]

    @cached_property
    def whys(self) -> Mapping[str, int]:
        return dict(Counter(finding[1] for finding in self.findings if finding and finding[0] == "unknown"))

    @cached_property
    def kept_net(self) -> Figure:
        return measure_mean(self._list_closed("kept", self.table.columns[_NET]))

    @cached_property
    def broken_net(self) -> Figure:
        return measure_mean(self._list_closed("broken", self.table.columns[_NET]))

    @property
    def kept(self) -> Performance:
        return self._summarise("kept")

    @property
    def broken(self) -> Performance:
        return self._summarise("broken")

    def _summarise(self, verdict: Verdict) -> Performance:
        trades = list(map(ClosedTrade, *(self.table.columns[name] for name in _AMOUNTS)))
        return summarise_trades(self._list_closed(verdict, trades))

    def _list_closed(self, verdict: Verdict, values: Sequence[T]) -> list[T]:
        rows = zip(values, self._verdicts, self.table.columns.raw["exit_at"], strict=True)
        return [value for value, one, closed in rows if one == verdict and closed]


def list_rule_records(rules: Sequence[TradingRule] | None = None) -> list[RuleRecord]:
    """Return the confirmed rules with their record, the newest first; of given `rules` the mean net alone."""
    rows = [row for row in (list_rules() if rules is None else rules) if row.state == RuleState.CONFIRMED]
    amounts = _AMOUNTS if rules is None else (_NET,)
    table, findings = _judge_all([read_valid(row) for row in rows], also=("exit_at", *amounts))
    return [RuleRecord(row, table, of) for row, of in zip(rows, findings, strict=True)]


def _judge_all(rules: Sequence[ValidRule], *, also: Iterable[str] = ()) -> tuple[TripTable, list[list[Finding | None]]]:
    """Return all trades, none without rules, and what each rule says of each."""
    table = TripTable(select_trades(TradeFilter()) if rules else Trade.objects.none(), rules, also=also)
    return table, judge_trips(table.trips, rules, events=load_events(rules), equity_at=table.find_equity)


def find_worst_verdicts(rule_id: UUID | None = None) -> tuple[TripTable, list[Verdict | None]]:
    """Return each trade's verdict: by one rule, or the worst by all of them (broken, cannot tell, kept)."""
    table, findings = _judge_all([one for one in list_valid_rules() if rule_id in (None, one.id)])
    verdicts = [[finding and finding[0] for finding in of] for of in findings]
    worst: list[Verdict] = ["broken", "unknown", "kept"]
    return table, [next((one for one in worst if one in of), None) for of in zip(*verdicts, strict=True)]


def find_trades_by_verdict(verdict: Verdict, rule_id: UUID | None = None) -> list[UUID]:
    """Return the trades with this worst verdict."""
    return list(_pick_ids(*find_worst_verdicts(rule_id), verdict))


def _pick_ids(table: TripTable, verdicts: Sequence[Verdict | None], verdict: Verdict) -> Sequence[UUID]:
    return table.columns.pick("id", [place for place, one in enumerate(verdicts) if one == verdict])


def judge_trade(trade: Trade) -> list[Judgement]:
    """Return what the confirmed rules say of a trade; nothing of a backtest's."""
    found = judge_period(list_valid_rules(), since=trade.entry_at, until=trade.entry_at + timedelta.resolution)
    return [one for _, one in found if one.trade_id == trade.pk]
