"""Build trades again from stored entries, from the last point that new ones leave unchanged.

Fills, funding and checked positions are what the record is made from; trades follow from them. An entry that comes
late, a corrected or withdrawn one, and the first import of a file all end here. A rebuild starts where the symbol was
last flat before the earliest new entry, or continues its open trade, so that its cost does not grow with the history.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final

from django.db.models import Max, Q

from config.lib.fields import AmongRows
from trading.ledger.executions import Execution
from trading.ledger.positions import Book, Check, Funding, Starts, Tick
from trading.ledger.rows import (
    FILL_COLUMNS,
    Intent,
    dump_intent,
    entry_columns,
    exit_columns,
    insert_trades,
    load_intent,
    load_trip,
    make_ids,
    new_trade_row,
    outcome_columns,
)
from trading.ledger.trips import ExitCause, PathBar, Trip
from trading.market.tape import Span, choose_tape, finest_bars
from trading.models import (
    Bar,
    BrokerKind,
    Deployment,
    ExcursionFrom,
    ExitKind,
    Fill,
    FundingPayment,
    PositionCheck,
    ReconcileState,
    Trade,
    TradeStatus,
)

COVERED: Final = 0.95  # of a trade's time, that bars must cover for its excursion to be known
_TRADES_AT_ONCE: Final = 50
_NEVER: Final = datetime.max.replace(tzinfo=UTC)  # when an open trade ends
_PATH_AHEAD: Final = timedelta(days=1)  # the bar under way at an exit tells how finely the trade was followed
_ENTRY: Final = (
    *("entry_tick_at", "entry_regime_tag", "entry_reason", "entry_decided_at", "entry_snapshot_id", "entry_leverage"),
)
_EXIT: Final = ("exit_kind", "exit_reason", "exit_decided_at", "exit_snapshot_id", "exit_skill_version")
_KEPT: Final = ("id", "created_at", "skill_version", *_ENTRY)
_READ: Final = (*_KEPT, *_EXIT, "status", "side", "first_fill_id", "entry_at", "exit_at")

Entry = Execution | Funding | Check | Fill | FundingPayment | PositionCheck


def find_late(deployment: Deployment, spans: Mapping[str, Span]) -> dict[str, Span]:
    """Return the spans of those symbols that have entries which are not before theirs."""
    late: dict[str, Span] = {}
    first = min((since for since, _ in spans.values()), default=None)
    if first is None or (
        # Only a live record has entries beside those of its ticks.
        deployment.broker_kind != BrokerKind.LIVE
        and (deployment.last_tick_at is None or first > deployment.last_tick_at)
    ):
        return late
    which = Q(AmongRows("symbol", rows=([symbol] for symbol in spans)), deployment=deployment)
    for model in (Fill, FundingPayment, PositionCheck):
        rows = model._default_manager.filter(which, at__gte=first).order_by()
        for symbol, last in rows.values_list("symbol").annotate(Max("at")):
            if last >= spans[symbol][0]:
                late[symbol] = spans[symbol]
    return late


def find_starts(deployment: Deployment, symbols: Iterable[str], until: datetime | None = None) -> Starts | None:
    """Return the symbols whose start is proven by what is stored up to an instant; None: all, as Keel trades them.

    Proofs are a checked position, a fill of which the venue states the position before it, a snapshot of all positions,
    and an exact trade that ended: its profits agree with those of the venue.
    """
    if deployment.broker_kind != BrokerKind.LIVE:
        return None
    since = deployment.account.get("complete_since")
    starts = Starts(whole_since=datetime.fromisoformat(since) if since else None)
    if starts.whole_since and (until is None or until > starts.whole_since):
        return starts
    of = Q(deployment=deployment)
    proofs = (
        PositionCheck.objects.filter(of, Q(at__lte=until) if until else Q()),
        Trade.objects.filter(of, Q(exit_at__lte=until) if until else Q(), status="closed", reconciled="exact"),
        Fill.objects.filter(of, Q(at__lte=until) if until else Q(), start_quantity__isnull=False),
    )
    starts.proven = {name for name in set(symbols) if any(rows.filter(symbol=name).exists() for rows in proofs)}
    return starts


@dataclass(slots=True)
class Rebuilt:
    opened: int = 0
    closed: int = 0
    gaps: int = 0  # of the trades that were built again, those with a part of their history missing


@dataclass(frozen=True, slots=True)
class _Entries:
    fills: Sequence[Execution]
    funding: Sequence[Funding]
    checks: Sequence[Check]
    intents: Mapping[str, Intent]  # by the id of the fill or estimate
    snapshot: Check | None  # the account's last one


def rebuild_symbols(deployment: Deployment, spans: Mapping[str, Span], *, now: datetime) -> Rebuilt:
    """Build the trades of symbols again, each around its changed entries; the deployment is locked."""
    done = Rebuilt()
    for symbol, (first, last) in sorted(spans.items()):
        _rebuild_symbol(deployment, symbol, first, last, now, done)
    return done


def find_spans(entries: Iterable[Entry]) -> dict[str, Span]:
    """Return the first and the last instant of each symbol's entries."""
    spans: dict[str, Span] = {}
    for one in entries:
        first, last = spans.get(one.symbol, (one.at, one.at))
        spans[one.symbol] = min(one.at, first), max(one.at, last)
    return spans


def _rebuild_symbol(
    deployment: Deployment, symbol: str, first: datetime, last: datetime, now: datetime, done: Rebuilt
) -> None:
    state, after = _find_checkpoint(deployment, symbol, first)
    until = None if state else _find_flat_end(deployment, symbol, after, last)
    entries = _read_entries(deployment, symbol, after, until)
    fold = partial(_fold, deployment, symbol, state, after)
    book, trips = fold(entries)
    if until is not None and (book.open or _has_other_start(deployment, symbol, until, book)):
        # The later trades change, too.
        until, entries = None, _read_entries(deployment, symbol, after, None)
        book, trips = fold(entries)
    begun = Q(status=TradeStatus.OPEN) if state else _between("entry_at", after, until)
    rows = Trade.objects.filter(begun, deployment=deployment, symbol=symbol)
    # Sorted here: SQLite would read all trades in the order of an index to find the open one.
    old = sorted(rows.values(*_READ), key=itemgetter("entry_at"))
    if bars := _read_path(deployment, symbol, trips, after, now):
        book, trips = fold(entries, bars)
        # What an open trade did before its state was kept counts as told only if bars told it then.
        _drop_uncovered(trips, bars, after if state.get("path_minutes") else None, now)
    store_checks(deployment, book.booked)
    rows.delete()
    made = _make_rows(deployment, trips, old, entries, now)
    insert_trades(made)
    before = {row["id"]: row["status"] for row in old}
    done.opened += sum(row["id"] not in before for row in made)
    done.closed += sum(row["status"] == "closed" and before.get(row["id"]) != "closed" for row in made)
    done.gaps += sum(row["reconciled"] == ReconcileState.GAP for row in made)


def fold_with(deployment: Deployment | None, symbol: str, fills: Sequence[Execution]) -> tuple[list[Trip], bool]:
    """Return the trips that new fills of a symbol would be part of, and whether they begin its history."""
    first = min(fill.at for fill in fills)
    if deployment is None:
        return Book(starts=Starts()).apply(Tick(first, fills)), True
    state, after = _find_checkpoint(deployment, symbol, first)
    entries = _read_entries(deployment, symbol, after, None)
    entries = replace(entries, fills=[*entries.fills, *fills])
    is_first = after is None and not state and min(fill.at for fill in entries.fills) == first
    return _fold(deployment, symbol, state, after, entries)[1], is_first and not entries.checks


def fold_until(deployment: Deployment, symbol: str, since: datetime, until: datetime) -> Trip | None:
    """Return what was held of a symbol at an instant, from the entries that were known by then."""
    _, after = _find_checkpoint(deployment, symbol, since)
    entries = _read_entries(deployment, symbol, after, until)
    known = [fill for fill in entries.fills if (fill.settled_at or fill.at) <= until]
    entries = replace(entries, fills=known)
    book, _ = _fold(deployment, symbol, {}, after, entries)
    bars = _read_path(deployment, symbol, list(book.open.values()), after, until)
    book, _ = _fold(deployment, symbol, {}, after, entries, bars)
    return book.open.get(symbol)


def _find_checkpoint(deployment: Deployment, symbol: str, since: datetime) -> tuple[dict[str, Any], datetime | None]:
    """Return the open trade's state and its last instant if all of it is earlier, else the last flat instant."""
    before, begin = Q(entry_at__lt=since, deployment=deployment, symbol=symbol), 0
    following, flat_at = since, None  # when the trade after began; an end, unless an older row began then, too
    spans = Trade.objects.filter(before).order_by("-entry_at").values_list("entry_at", "exit_at", "state")
    while page := list(spans[begin : begin + _TRADES_AT_ONCE]):
        for entry_at, exit_at, state in page:
            if flat_at is not None and entry_at < flat_at:
                return {}, flat_at
            flat_at = exit_at if exit_at is not None and exit_at < following else None
            last = load_trip(state).last_change_at if exit_at is None and state else None
            if last is not None and last < since:
                return state, last
            if flat_at is None:
                following = entry_at
        begin += _TRADES_AT_ONCE
    return {}, flat_at


def _find_flat_end(deployment: Deployment, symbol: str, after: datetime | None, last: datetime) -> datetime | None:
    """Return when the symbol was next flat from an instant on, if trades follow that a rebuild may leave alone."""
    trades = Trade.objects.filter(_between("entry_at", after, None), deployment=deployment, symbol=symbol)
    spans = trades.order_by("entry_at").values_list("entry_at", "exit_at")[:_TRADES_AT_ONCE]
    for (_, exit_at), (following, _) in pairwise(sorted(spans, key=lambda span: (span[0], span[1] or _NEVER))):
        if exit_at is not None and last <= exit_at < following:
            end: datetime = exit_at
            return end
    return None


def _between(column: str, after: datetime | None, until: datetime | None) -> Q:
    return (Q(**{f"{column}__gt": after}) if after else Q()) & (Q(**{f"{column}__lte": until}) if until else Q())


def _has_other_start(deployment: Deployment, symbol: str, end: datetime, book: Book) -> bool:
    """Tell whether trades after an end may rest on another proof of their start than the book has."""
    stale = ReconcileState.UNCONFIRMED if book.is_proven(symbol, end) else ReconcileState.EXACT
    later = Trade.objects.filter(_between("entry_at", end, None), deployment=deployment, symbol=symbol)
    return deployment.broker_kind == BrokerKind.LIVE and later.filter(reconciled=stale).exists()


def _read_entries(deployment: Deployment, symbol: str, after: datetime | None, until: datetime | None) -> _Entries:
    which = Q(deployment=deployment, symbol=symbol) & _between("at", after, until)
    fills, intents = [], {}
    for row in Fill.objects.filter(which).order_by("at", "id").values("intent", *FILL_COLUMNS):
        if intent := load_intent(row.pop("intent")):
            intents[row["fill_id"]] = intent
        fills.append(Execution(**{**row, "settled_at": row["settled_at"] or row["at"]}))
    paid = FundingPayment.objects.filter(which).order_by("at").values_list("at", "amount_usd")
    checks = []
    for one in PositionCheck.objects.filter(which).order_by("at"):
        checks.append(Check(symbol, one.at, one.quantity, one.price, one.is_opening))
        if intent := load_intent(one.intent):
            intents[checks[-1].name] = intent
    last = None if until else _read_last_snapshot(deployment, symbol)
    newest = max([one.at for one in checks] + [one.at for one in fills], default=after)
    if last and newest and last.at <= newest:
        last = None
    return _Entries(fills, [Funding(symbol, at, amount) for at, amount in paid], checks, intents, last)


def _read_last_snapshot(deployment: Deployment, symbol: str) -> Check | None:
    snapshot = deployment.account.get("snapshot")
    if not snapshot or symbol not in snapshot["marks"]:
        return None
    if symbol not in snapshot["positions"] and not snapshot["is_complete"]:
        return None
    quantity = Decimal(snapshot["positions"].get(symbol, "0"))
    return Check(symbol, datetime.fromisoformat(snapshot["at"]), quantity, Decimal(snapshot["marks"][symbol]))


def _fold(
    deployment: Deployment,
    symbol: str,
    state: Mapping[str, Any],
    after: datetime | None,
    entries: _Entries,
    bars: Sequence[PathBar] = (),
) -> tuple[Book, list[Trip]]:
    """Return the book and the trips that entries make, the one that was open among them."""
    trips = [load_trip(state)] if state else []
    uses_closes = deployment.excursion_from == ExcursionFrom.CLOSE
    starts = find_starts(deployment, [symbol] if after else [], after)
    book = Book(trips, uses_closes=uses_closes, starts=starts)
    last, positions, marks = entries.snapshot, None, {}
    if last is not None:
        positions, marks = {symbol: last.quantity}, {symbol: last.price}
    at = last.at if last else max((one.at for one in entries.fills), default=datetime.min.replace(tzinfo=UTC))
    tick = Tick(at, entries.fills, entries.funding, {symbol: bars}, marks, positions, False, entries.checks)
    touched = book.apply(tick)
    return book, [*(trip for trip in trips if all(trip is not one for one in touched)), *touched]


def _read_path(
    deployment: Deployment, symbol: str, trips: Sequence[Trip], after: datetime | None, now: datetime
) -> list[PathBar]:
    """Return the stored bars of the times in which something was held."""
    if not trips or not Bar.objects.filter(symbol=symbol).exists():
        return []
    spans: list[list[datetime]] = []
    for trip in trips:
        since, until = max(trip.entry_at, after or trip.entry_at), (trip.exit_at or now) + _PATH_AHEAD
        if spans and since <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], until)
        else:
            spans.append([since, until])
    return [
        PathBar(bar.opened_at, bar.closed_at, bar.high, bar.low, bar.close)
        for since, until in spans
        for bar in finest_bars(choose_tape(deployment), symbol, after=since, until=min(until, now))
    ]


def _drop_uncovered(trips: Iterable[Trip], bars: Sequence[PathBar], after: datetime | None, now: datetime) -> None:
    """Call the excursion of trips unknown whose time has too few bars."""
    starts = [bar.opened_at for bar in bars]
    for trip in trips:
        since, until = max(trip.entry_at, after or trip.entry_at), trip.exit_at or now
        covered = timedelta(0)
        for bar in bars[max(0, bisect_right(starts, since) - 1) : bisect_left(starts, until)]:
            covered += max(timedelta(0), min(bar.closed_at, until) - max(bar.opened_at, since))
        if covered < COVERED * (until - since):
            trip.path_minutes = 0


def store_checks(deployment: Deployment, checks: Iterable[Check], intents: Mapping[str, Intent] | None = None) -> None:
    """Store snapshots that changed a trade, with why their symbols changed."""
    rows = []
    for one in checks:
        values = {"symbol": one.symbol, "at": one.at, "quantity": one.quantity, "price": one.price}
        intent = dump_intent((intents or {}).get(one.symbol))
        rows.append(PositionCheck(deployment=deployment, intent=intent, **values))
    PositionCheck.objects.bulk_create(rows)


def _make_rows(
    deployment: Deployment, trips: Sequence[Trip], old: Sequence[dict[str, Any]], entries: _Entries, now: datetime
) -> list[dict[str, Any]]:
    """Return the rows of trips; one with the same first fill, else of the same time and side, keeps its id."""
    version, made = deployment.version.version, []
    left = {row["first_fill_id"]: row for row in old}
    own = [left.pop(trip.first_fill_id, None) for trip in trips]
    for trip, before, trade_id in zip(trips, own, make_ids(now), strict=False):
        row = new_trade_row(deployment, trip, now) | {"id": trade_id, "skill_version": version}
        intent = entries.intents.get(trip.first_fill_id)
        if before is None and (before := _find_same_time(trip, left.values())) is not None:
            del left[before["first_fill_id"]]
            row |= {name: before[name] for name in _KEPT if intent is None or name not in _ENTRY}
            row["entry_tick_at"] = trip.entry_tick_at
        elif before is not None:
            row |= {name: before[name] for name in _KEPT}
        if intent is not None:
            row |= entry_columns(intent)
        if not trip.is_open:
            row |= _choose_exit(trip, entries.intents.get(trip.last_fill_id), before, version)
        made.append(row | outcome_columns(trip))
    return made


def _find_same_time(trip: Trip, rows: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    for row in rows:
        begins_before = trip.exit_at is None or row["entry_at"] <= trip.exit_at
        if row["side"] == trip.side and begins_before and (row["exit_at"] is None or row["exit_at"] >= trip.entry_at):
            return row
    return None


def _choose_exit(trip: Trip, intent: Intent | None, before: Mapping[str, Any] | None, version: int) -> dict[str, Any]:
    """Return why a trip ended: what its last fill says, else what was known of this trade's end."""
    columns: dict[str, Any] = {**exit_columns(trip, intent), "exit_skill_version": version}
    if before is None or before["status"] != TradeStatus.CLOSED:
        return columns
    columns["exit_skill_version"] = before["exit_skill_version"]
    if intent is not None:
        return columns
    is_caused = trip.exit_cause in {ExitCause.LIQUIDATION, ExitCause.FLIP}
    had_cause = before["exit_kind"] in {ExitKind.LIQUIDATION, ExitKind.FLIP}
    kind = columns["exit_kind"] if is_caused or had_cause else before["exit_kind"]
    return {name: before[name] for name in _EXIT} | {"exit_kind": kind}
