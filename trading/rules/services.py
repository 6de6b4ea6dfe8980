"""A trader's rules: follow their facts, decide on readings, judge the record."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any, Final
from uuid import UUID

from django.db.models import F, OuterRef, Q, Subquery, Window
from django.db.models.functions import Rank

from config.lib.columns import Columns
from config.lib.errors import NotFound
from trading.models import (
    Deployment,
    EquityPoint,
    MarketEvent,
    Order,
    OrderOrigin,
    OrderState,
    ReconcileState,
    RuleState,
    Trade,
    TradeQuerySet,
    TradeSide,
    TradingRule,
)
from trading.record.performance import ClosedTrade, Performance, summarise_trades
from trading.record.trade_queries import TradeFilter, get_latest_equity, select_trades
from trading.rules.grammar import HIGH_IMPORTANCE, LossPause, Rule, describe_rule, dump_rule, parse_rule
from trading.rules.judge import Judgement, ScheduledEvent, Trip, ValidRule, Verdict, iter_judgements

_NOT_READ: Final = Decimal("NaN")
_FILLED: Final = (OrderState.FILLED, OrderState.PARTLY_FILLED)
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


def judge_record(
    rules: Sequence[ValidRule] | None = None, *, planned: Sequence[Trip] = (), only: Collection[UUID] | None = None
) -> Iterator[Judgement]:
    """Judge all trades without backtests', newest first, and planned ones, by the confirmed or the given rules.

    `only` names the trades whose judgements are wanted.
    """
    valid = list_valid_rules() if rules is None else rules
    if not valid:
        return iter(())
    return _judge([*_load_trips(select_trades(TradeFilter()), valid), *planned], valid, only=only)


def judge_period(rules: Sequence[ValidRule], *, since: datetime, until: datetime) -> list[tuple[Trip, Judgement]]:
    """Judge the trades that opened in a range, newest first; read no more of the record than the rules count."""
    if not rules:
        return []
    trips = {trip.id: trip for trip in _load_trips(_select_counted(rules, since, until), rules)}
    only = [trip.id for trip in trips.values() if trip.opened_at >= since]
    return [(trips[one.trade_id], one) for one in _judge(trips.values(), rules, only=only)]


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


def _judge(
    trips: Iterable[Trip], rules: Sequence[ValidRule], *, only: Collection[UUID] | None = None
) -> Iterator[Judgement]:
    @cache
    def find_equity(deployment_id: UUID, at: datetime) -> Decimal | None:
        deployment = Deployment.objects.filter(pk=deployment_id).first()  # a planned trade may have none
        return get_latest_equity(deployment, at) if deployment else None

    return iter_judgements(trips, rules, events=_load_events(rules), equity_at=find_equity, only=only)


def get_book(deployment: Deployment) -> str:
    """Return the name of the book that a deployment's trades count in."""
    return _name_book(deployment.skill_id, deployment.broker_kind)


def _name_book(skill_id: UUID, broker_kind: str) -> str:
    return f"{skill_id}:{broker_kind}"


_COLUMNS: Final = (
    *("id", "deployment", "symbol", "side", "entry_at"),
    *("skill", "broker_kind", "starting_equity_usd"),
)
_OF_BOOK: Final = ("deployment", "symbol", "side")
_OUTCOME: Final = ("exit_at", "realized_pnl_usd", "unpriced_fees", "reconciled")
_OF_KINDS: Final[Mapping[str, tuple[str, ...]]] = {  # what else a kind of rule asks; a column takes long to read
    "leverage": ("entry_leverage",),
    "daily_loss": _OUTCOME,
    "loss_pause": _OUTCOME,
    "stop_required": ("entry_snapshot", "exit_at"),
    "risk_per_trade": ("entry_snapshot", "exit_at", "entry_price", "entry_size_usd"),
}


def _load_trips(trades: TradeQuerySet, rules: Sequence[ValidRule]) -> list[Trip]:
    """Return trades as trips, with what the kinds of these rules ask."""
    kinds = {one.rule.kind for one in rules}
    equity: Any = EquityPoint.objects.filter(deployment=OuterRef("deployment"), at__lte=OuterRef("entry_at"))
    needs_risk, own = "risk_per_trade" in kinds, Deployment.objects.filter(pk=OuterRef("deployment"))
    trades = trades.annotate(**{name: Subquery(own.values(name)) for name in ("broker_kind", "starting_equity_usd")})
    if needs_risk:
        trades = trades.annotate(equity_usd=Subquery(equity.order_by("-at").values("equity_usd")[:1]))
    asked = dict.fromkeys(name for kind in sorted(kinds) for name in _OF_KINDS.get(kind, ()))
    names = (*_COLUMNS, *asked, *(["equity_usd"] if needs_risk else []))
    columns = Columns(trades.order_by("-entry_at", "id"), names)
    orders = _Orders(columns) if "entry_snapshot" in asked else None
    read = [name for name in names if name != "entry_snapshot"]
    rows = zip(*(columns[name] for name in read), strict=True)
    return [_build_trip(place, dict(zip(read, row, strict=True)), orders) for place, row in enumerate(rows)]


def _build_trip(place: int, row: Mapping[str, Any], orders: "_Orders | None") -> Trip:
    closed_at = row.get("exit_at")
    is_whole = closed_at and not row.get("unpriced_fees") and row.get("reconciled") != ReconcileState.GAP
    entry = orders.find_entry(place) if orders else None
    return Trip(
        id=row["id"],
        book=_name_book(row["skill"], row["broker_kind"]),
        deployment_id=row["deployment"],
        symbol=row["symbol"],
        is_long=row["side"] == TradeSide.LONG,
        opened_at=row["entry_at"],
        closed_at=closed_at,
        entry_price=row.get("entry_price", _NOT_READ),
        size_usd=row.get("entry_size_usd", _NOT_READ),
        leverage=row.get("entry_leverage"),
        net_usd=row.get("realized_pnl_usd") if is_whole else None,
        equity_usd=row["starting_equity_usd"] if row.get("equity_usd") is None else row["equity_usd"],
        knows_stop=entry is not None,
        stop_price=entry[0] if entry else None,
        is_added_to=bool(entry and orders and orders.has_later(place, entry[1], closed_at)),
    )


class _Orders:
    """The filled orders that agents opened or added to positions with, found by the place of a trade in its table."""

    def __init__(self, trades: Columns) -> None:
        rows = Order.objects.filter(deployment__in=set(trades["deployment"]), origin=OrderOrigin.AGENT)
        rows = rows.filter(state__in=_FILLED).exclude(side="close").order_by("-proposed_at")
        columns = Columns(rows, (*_OF_BOOK, "snapshot", "stop_price", "proposed_at"))
        # Ids stay as the database gives them: to make and to compare so many would take most of the time.
        self._books, self._snapshots = _list_books(trades), trades.raw["entry_snapshot"]
        books, instants = _list_books(columns), columns["proposed_at"]
        self._instants: dict[tuple[Any, ...], list[datetime]] = {}
        for book, at in zip(reversed(books), reversed(instants), strict=True):
            self._instants.setdefault(book, []).append(at)
        keys = zip(columns.raw["snapshot"], books, strict=True)
        self._entries = dict(zip(keys, zip(columns["stop_price"], instants, strict=True), strict=True))  # the first one

    def find_entry(self, place: int) -> tuple[Decimal | None, datetime] | None:
        """Return the stop and the instant of the order that opened a trade, None if it is not known."""
        snapshot = self._snapshots[place]
        return self._entries.get((snapshot, self._books[place])) if snapshot else None

    def has_later(self, place: int, proposed_at: datetime, ends_at: datetime | None) -> bool:
        """Tell whether an order of the same side came while the trade was open."""
        instants = self._instants[self._books[place]]
        following = bisect_right(instants, proposed_at)
        return following < len(instants) and (ends_at is None or instants[following] < ends_at)


def _list_books(columns: Columns) -> list[tuple[Any, ...]]:
    return list(zip(*(columns.raw[name] for name in _OF_BOOK), strict=True))


def _load_events(rules: Iterable[ValidRule]) -> list[ScheduledEvent]:
    if all(one.rule.kind != "events" for one in rules):
        return []
    rows = MarketEvent.objects.order_by("starts_at").values_list("kind", "starts_at", "importance", "symbols")
    return [
        ScheduledEvent(kind, at, importance >= HIGH_IMPORTANCE, tuple(symbols))
        for kind, at, importance, symbols in rows
    ]


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """How one rule was kept, and what its trades made."""

    row: TradingRule
    reading: str
    trade_ids: Mapping[Verdict, list[UUID]]  # newest first
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
    found: dict[UUID, list[Judgement]] = {row.pk: [] for row in rows}
    for one in judge_record([read_valid(row) for row in rows]):
        found[one.rule_id].append(one)
    closed = Trade.objects.closed().filter(pk__in={one.trade_id for ones in found.values() for one in ones})
    names = ("pk", "realized_pnl_usd", "gross_pnl_usd", "fees_usd", "funding_usd")
    columns = Columns(closed.order_by(), names, as_floats=True)
    pks, *amounts = (columns[name] for name in names)
    made = dict(zip(pks, map(ClosedTrade, *amounts), strict=True))
    return [_summarise_rule(row, found[row.pk], made) for row in rows]


def _summarise_rule(row: TradingRule, ones: Sequence[Judgement], made: Mapping[UUID, ClosedTrade]) -> RuleRecord:
    ids: dict[Verdict, list[UUID]] = {"kept": [], "broken": [], "unknown": []}
    whys: dict[str, int] = {}
    for one in ones:
        ids[one.verdict].append(one.trade_id)
        if one.verdict == "unknown":
            whys[one.why] = whys.get(one.why, 0) + 1
    kept, broken = (summarise_trades([made[pk] for pk in of if pk in made]) for of in (ids["kept"], ids["broken"]))
    return RuleRecord(row, describe_rule(parse_rule(row.payload)), ids, whys, kept, broken)


def find_worst_verdicts(rule_id: UUID | None = None) -> dict[UUID, Verdict]:
    """Return each judged trade's verdict: by one rule, or the worst by all of them (broken, cannot tell, kept)."""
    worst: dict[UUID, Verdict] = {}
    for _, trade_id, verdict, _ in (one for one in judge_record() if rule_id in (None, one.rule_id)):
        if trade_id not in worst or verdict == "broken" or worst[trade_id] == "kept":
            worst[trade_id] = verdict
    return worst


def find_trades_by_verdict(verdict: Verdict, rule_id: UUID | None = None) -> list[UUID]:
    """Return the trades with this worst verdict."""
    return [pk for pk, found in find_worst_verdicts(rule_id).items() if found == verdict]


def judge_trade(trade: Trade) -> list[Judgement]:
    """Return what the confirmed rules say of a trade; nothing of a backtest's."""
    found = judge_period(list_valid_rules(), since=trade.entry_at, until=trade.entry_at + timedelta.resolution)
    return [one for _, one in found if one.trade_id == trade.pk]
