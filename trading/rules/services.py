"""A trader's rules: follow their facts, decide on readings, judge the record."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import F, Q, Window
from django.db.models.functions import Rank

from config.lib.errors import NotFound
from trading.models import Deployment, RuleState, Trade, TradeQuerySet, TradingRule
from trading.record.performance import ClosedTrade, Performance, summarise_trades
from trading.record.trade_queries import TradeFilter, select_trades
from trading.rules.grammar import LossPause, Rule, describe_rule, dump_rule, parse_rule
from trading.rules.judge import Finding, Judgement, Trip, ValidRule, Verdict, iter_judgements, judge_trips
from trading.rules.trips import COUNTING, TripTable, load_events, name_book

_AMOUNTS: Final = ("realized_pnl_usd", "gross_pnl_usd", "fees_usd", "funding_usd")  # of `ClosedTrade`
_A_DAY: Final = timedelta(hours=25)  # the longest local day, when clocks go back


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
    readings: Iterable[RuleReading], *, lineages: Collection[UUID] | None = None, now: datetime
) -> None:
    """Make the rules those of the owner's facts, inside `owned_tx(user)`: of all facts, or of these lineages.

    A new reading waits for its owner, unless an earlier version of its fact read the same. A rule whose fact is gone
    or was never true goes.
    """
    rows = TradingRule.objects.order_by("created_at")
    known = {row.fact_id: row for row in (rows if lineages is None else rows.filter(lineage__in=lineages))}
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
    if not TradingRule.objects.filter(pk=rule_id).update(state=state, decided_at=decided_at):
        raise RuleNotFound("You have no such rule.")
    return TradingRule.objects.get(pk=rule_id)


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
    rules: Sequence[ValidRule], *, since: datetime, until: datetime, planned: Sequence[Trip] = ()
) -> list[tuple[Trip, Judgement]]:
    """Judge the trades that opened in a range, newest first; read no more of the record than the rules count.

    With planned trades these alone are judged.
    """
    if not rules:
        return []
    # Of the trades before a planned one only the rules that count trades ask anything.
    asking = [one for one in rules if one.rule.kind in COUNTING] if planned else rules
    table = TripTable(_select_counted(rules, since, until), asking)
    given = {trip.id: trip for trip in [*table.trips, *planned]}
    only = {trip.id for trip in planned or given.values() if trip.opened_at >= since}
    events = load_events(rules)
    judged = iter_judgements(given.values(), rules, events=events, equity_at=table.find_equity, only=only)
    return [(given[one.trade_id], one) for one in judged]


def _select_counted(rules: Sequence[ValidRule], since: datetime, until: datetime) -> TradeQuerySet:
    """Return the trades before `until` that opened since an instant, or that a rule may count for those.

    A rule counts the trades of the same day, and those that closed within its pause; a row of losses that ends then may
    have begun long before, so the last trades that each account closed before are read, too.
    """
    pauses = [one.rule for one in rules if isinstance(one.rule, LossPause)]
    back = since - max([_A_DAY, *(timedelta(minutes=rule.minutes or 0) for rule in pauses)])
    trades = select_trades(TradeFilter()).filter(entry_at__lt=until)
    counted = Q(exit_at__isnull=True) | Q(exit_at__gte=back)
    if most := max((rule.losses for rule in pauses), default=0):
        rank = Window(Rank(), partition_by=F("deployment"), order_by=F("exit_at").desc())
        before = trades.order_by().filter(exit_at__lt=back).annotate(rank=rank).filter(rank__lte=most)
        counted |= Q(pk__in=before.values("pk"))
    return trades.filter(counted)


def get_book(deployment: Deployment) -> str:
    """Return the name of the book that a deployment's trades count in."""
    return name_book(deployment.skill_id, deployment.broker_kind)


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """How one rule was kept, and what its trades made."""

    row: TradingRule
    reading: str
    trade_ids: Mapping[str, list[UUID]]  # by verdict, newest first
    whys: Mapping[str, int]  # why Keel cannot tell, with the number of trades
    kept: Performance  # of the closed trades
    broken: Performance

    @property
    def counts(self) -> list[tuple[str, Verdict, list[UUID]]]:
        """What to call each verdict, with its trades."""
        labels: tuple[tuple[str, Verdict], ...] = (("kept", "kept"), ("broken", "broken"), ("cannot tell", "unknown"))
        return [(label, verdict, self.trade_ids[verdict]) for label, verdict in labels]


def list_rule_records() -> list[RuleRecord]:
    """Return the confirmed rules with their record, the newest first."""
    rows = [row for row in list_rules() if row.state == RuleState.CONFIRMED]
    if not rows:
        return []
    valid = [read_valid(row) for row in rows]
    table = TripTable(select_trades(TradeFilter()), valid, also=("exit_at", *_AMOUNTS))
    findings = judge_trips(table.trips, valid, events=load_events(valid), equity_at=table.find_equity)
    amounts = map(ClosedTrade, *(table.columns[name] for name in _AMOUNTS))
    made = [trade if at else None for trade, at in zip(amounts, table.columns["exit_at"], strict=True)]
    return [_summarise_rule(row, of, table.trips, made) for row, of in zip(rows, findings, strict=True)]


def _summarise_rule(
    row: TradingRule, findings: Sequence[Finding | None], trips: Sequence[Trip], made: Sequence[ClosedTrade | None]
) -> RuleRecord:
    places: dict[str, list[int]] = {"kept": [], "broken": [], "unknown": []}
    whys: dict[str, int] = defaultdict(int)
    for place, finding in enumerate(findings):
        if finding is not None:
            places[finding[0]].append(place)
            if finding[0] == "unknown":
                whys[finding[1]] += 1
    kept, broken = (
        summarise_trades([trade for place in places[verdict] if (trade := made[place])])
        for verdict in ("kept", "broken")
    )
    ids = {verdict: [trips[place].id for place in of] for verdict, of in places.items()}
    return RuleRecord(row, describe_rule(parse_rule(row.payload)), ids, dict(whys), kept, broken)


def find_worst_verdicts(rule_id: UUID | None = None) -> dict[UUID, Verdict]:
    """Return each judged trade's verdict: by one rule, or the worst by all of them (broken, cannot tell, kept)."""
    rules = [one for one in list_valid_rules() if rule_id in (None, one.id)]
    if not rules:
        return {}
    table = TripTable(select_trades(TradeFilter()), rules)
    found = judge_trips(table.trips, rules, events=load_events(rules), equity_at=table.find_equity)
    verdicts = [{finding[0] for finding in of if finding} for of in zip(*found, strict=True)]
    worst: tuple[Verdict, ...] = ("broken", "unknown", "kept")
    return {
        trip.id: next(verdict for verdict in worst if verdict in of)
        for trip, of in zip(table.trips, verdicts, strict=True)
        if of
    }


def find_trades_by_verdict(verdict: Verdict, rule_id: UUID | None = None) -> list[UUID]:
    """Return the trades with this worst verdict."""
    return [pk for pk, found in find_worst_verdicts(rule_id).items() if found == verdict]


def judge_trade(trade: Trade) -> list[Judgement]:
    """Return what the confirmed rules say of a trade; nothing of a backtest's."""
    found = judge_period(list_valid_rules(), since=trade.entry_at, until=trade.entry_at + timedelta.resolution)
    return [one for _, one in found if one.trade_id == trade.pk]
