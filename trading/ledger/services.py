"""The ledger: write a tick's trades in one transaction.

Ticks are numbered and applied in order. The deployment keeps the last number, written in the transaction of its trades.
A repeated tick changes nothing; a tick that comes too early is refused. Only the ledger writes `Trade`, `Fill` and
`EquityPoint`.

`record_tick` writes each tick in its own transaction. A backtest keeps one `Ledger` in memory and flushes it at
intervals. The numbers are equal to the last digit: an open trade keeps its exact sums in `Trade.state`. Entries that
come late are stored, and `rebuild.py` builds the trades of their symbols again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any, Final, TypedDict, Unpack
from uuid import UUID

from django.db.models import Q

from config.lib.errors import NotFound, StateConflict
from config.lib.fields import AmongRows
from trading import models
from trading.ledger.executions import EXACT_MATHS, QUANTITY_GRAIN, ZERO, Execution
from trading.ledger.positions import Book, Check, Funding, Tick, read_snapshot
from trading.ledger.rebuild import Rebuilt, find_late, find_spans, find_starts, rebuild_symbols, store_checks
from trading.ledger.rows import (
    Intent,
    TickFills,
    entry_columns,
    exit_columns,
    insert_fills,
    insert_trades,
    load_trip,
    make_ids,
    new_trade_row,
    outcome_columns,
    update_trades,
)
from trading.ledger.trips import Trip
from trading.market.tape import Span

_FEW: Final = 20  # fills, that are looked up one by one
_TOLERANCE: Final = Decimal("1e-11")  # relative; SQLite keeps fifteen digits of a number


class DeploymentNotFound(NotFound):
    """The user has no such deployment."""


class TickMissing(StateConflict):
    """An earlier tick is not in the ledger."""


class TickOutOfTime(StateConflict):
    """The tick is not later than the one before."""


@dataclass(frozen=True, slots=True)
class EntryConflict:
    """A known entry that came with other numbers; the stored one is kept."""

    kind: str
    place: int  # in its list, from 0
    symbol: str
    key: str  # of a fill the venue's id, of funding its instant
    text: str


@dataclass(frozen=True, slots=True)
class StoredEntries:
    fills: Mapping[tuple[str, str], models.Fill] = field(default_factory=dict)  # by symbol and id
    funding: Mapping[tuple[str, datetime], models.FundingPayment] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SortedOut:
    """What is new of some entries, each once, and what came with other numbers than are known."""

    fills: Sequence[Execution]
    funding: Sequence[Funding]
    conflicts: Sequence[EntryConflict]


@dataclass(frozen=True, slots=True)
class TickRecord:
    """The counts of a tick; not applied if repeated."""

    is_applied: bool
    opened: int = 0
    closed: int = 0
    fills: int = 0
    conflicts: Sequence[EntryConflict] = ()


def get_deployment(deployment_id: UUID, *, or_backtest: bool = False) -> models.Deployment:
    """Return a deployment, a backtest's only on request. Raises DeploymentNotFound."""
    rows = models.Deployment.objects.filter(pk=deployment_id).select_related("skill", "version")
    if not or_backtest:
        rows = rows.exclude(broker_kind=models.BrokerKind.BACKTEST)
    return rows.first_or(DeploymentNotFound("You have no such deployment."))


def lock_deployment(deployment_id: UUID) -> models.Deployment:
    """Lock and return a deployment. Raises DeploymentNotFound."""
    rows = models.Deployment.objects.select_for_update(of=("self",)).select_related("version")
    return rows.filter(pk=deployment_id).first_or(DeploymentNotFound("You have no such deployment."))


class TickDetails(TypedDict, total=False):
    """What is known of a tick besides the market."""

    intents: Mapping[str, Intent]  # by fill id, why there was the fill
    symbol_intents: Mapping[str, Intent]  # by symbol, for changes without a fill
    regimes: Mapping[str, str]  # by symbol, the regime at the tick; kept by the trades that begin in it
    equity_usd: Decimal | None


def record_tick(
    *, deployment_id: UUID, number: int, tick: Tick, skill_version: int, now: datetime, **details: Unpack[TickDetails]
) -> TickRecord:
    """Write one tick to the record; needs `owned_tx(user)`. Raises DeploymentNotFound, TickMissing, TickOutOfTime.

    A number that was applied before changes nothing.
    """
    deployment = lock_deployment(deployment_id)
    if number <= deployment.last_tick:
        return TickRecord(is_applied=False)
    ledger = Ledger.load(deployment, tick)
    record = ledger.apply(number, tick, skill_version=skill_version, **details)
    late = ledger.flush(now, _make_account(deployment, tick))
    return replace(record, opened=record.opened + late.opened, closed=record.closed + late.closed)


class Ledger:
    """A deployment's trades in memory until `flush`; the caller locks."""

    def __init__(
        self, deployment: models.Deployment, book: Book, known: StoredEntries, stored: Mapping[UUID, Trip]
    ) -> None:
        self.book = book
        self._deployment = deployment
        self._known = known
        self._first_tick = self._last_tick = deployment.last_tick
        self._last_tick_at = deployment.last_tick_at
        self._stored = {id(trip): (trade_id, trip) for trade_id, trip in stored.items()}
        self._noted: dict[int, tuple[Trip, dict[str, Any]]] = {}  # changed trips, with the columns that no trip has
        self._fills: list[TickFills] = []
        self._funding: list[models.FundingPayment] = []
        self._checks: list[tuple[list[Check], Mapping[str, Intent]]] = []
        self._equity: list[models.EquityPoint] = []
        self._late: dict[str, Span] = {}  # by symbol, the entries around which its trades are to be built again

    @classmethod
    def load(cls, deployment: models.Deployment, tick: Tick) -> "Ledger":
        """Load the open trades, and what the record has of the tick's entries."""
        rows = models.Trade.objects.filter(status=models.TradeStatus.OPEN, deployment=deployment)
        states = rows.order_by("entry_at", "id").values_list("id", "state")
        stored = {trade_id: load_trip(state) for trade_id, state in states}
        known = find_known(deployment, tick.fills, tick.funding)
        book = Book(
            stored.values(),
            seen=known.fills,
            uses_closes=deployment.excursion_from == models.ExcursionFrom.CLOSE,
            starts=find_starts(deployment, {fill.symbol for fill in tick.fills} | set(tick.positions or ())),
        )
        ledger = cls(deployment, book, known, stored)
        new = sort_out(tick.fills, tick.funding, known)
        ledger._late = find_late(deployment, find_spans([*book.unseen(new.fills), *new.funding]))
        return ledger

    def apply(self, number: int, tick: Tick, *, skill_version: int, **details: Unpack[TickDetails]) -> TickRecord:
        """Apply the next tick in memory; raises as `record_tick`."""
        if number != self._last_tick + 1:
            raise TickMissing(f"Tick {number} came after tick {self._last_tick}; the ones between are missing.")
        if self._last_tick_at is not None and tick.at <= self._last_tick_at:
            raise TickOutOfTime(f"Tick {number} is not later than the one before it.")
        intents, equity_usd = details.get("intents", {}), details.get("equity_usd")
        new = sort_out(tick.fills, tick.funding, self._known)
        tick = replace(tick, fills=new.fills, funding=new.funding)
        late = self.book.unseen(fill for fill in new.fills if fill.symbol in self._late) if self._late else []
        trips = self.book.apply(self._leave_out_late(tick) if self._late else tick)
        fills = [*self.book.taken, *late]
        opened, closed = self._note_trips(trips, tick.at, details, skill_version)
        checks = [check for name in self._late if (check := read_snapshot(tick, name, fills))]
        self._late |= {check.symbol: (self._late[check.symbol][0], check.at) for check in checks}
        self._checks.append(([*self.book.booked, *checks], details.get("symbol_intents", {})))
        self._fills.append(TickFills(fills, number, tick.at, intents))
        self._funding += [
            models.FundingPayment(deployment=self._deployment, symbol=one.symbol, at=one.at, amount_usd=one.amount_usd)
            for one in new.funding
        ]
        if equity_usd is not None:
            point = models.EquityPoint(deployment=self._deployment, tick=number, at=tick.at, equity_usd=equity_usd)
            self._equity.append(point)
        self._last_tick, self._last_tick_at = number, tick.at
        return TickRecord(is_applied=True, opened=opened, closed=closed, fills=len(fills), conflicts=new.conflicts)

    def _leave_out_late(self, tick: Tick) -> Tick:
        """Return the tick without late symbols: `flush` builds their trades again."""
        for symbol in self._late:
            self.book.open.pop(symbol, None)
        fills = [fill for fill in tick.fills if fill.symbol not in self._late]
        funding = [one for one in tick.funding if one.symbol not in self._late]
        positions = tick.positions
        if positions is not None:
            positions = {symbol: held for symbol, held in positions.items() if symbol not in self._late}
        return replace(tick, fills=fills, funding=funding, positions=positions)

    def _note_trips(self, trips: Iterable[Trip], at: datetime, details: TickDetails, version: int) -> tuple[int, int]:
        """Note what changed at a tick; return how many trips began and ended."""
        intents, symbol_intents = details.get("intents", {}), details.get("symbol_intents", {})
        regimes, opened, closed = details.get("regimes", {}), 0, 0
        for trip in trips:
            if (noted := self._noted.get(id(trip))) is None:
                noted = self._noted[id(trip)] = trip, {} if id(trip) in self._stored else {"skill_version": version}
            if trip.entry_tick_at == at:
                opened += 1
                noted[1]["entry_regime_tag"] = regimes.get(trip.symbol, models.RegimeTag.UNKNOWN)
                if intent := intents.get(trip.first_fill_id) or symbol_intents.get(trip.symbol):
                    noted[1].update(entry_columns(intent))
            if trip.exit_tick_at == at:
                closed += 1
                intent = intents.get(trip.last_fill_id) or symbol_intents.get(trip.symbol)
                noted[1].update(exit_columns(trip, intent), exit_skill_version=version)
        return opened, closed

    def flush(self, now: datetime, account: Mapping[str, Any] | None = None) -> Rebuilt:
        """Write the changes and the last tick's number; return what late entries changed.

        `account` is the state after that tick. Raises TickMissing: another runner came first; roll back.
        """
        insert_fills(self._deployment, self._fills)
        new, changed, ids = [], [], make_ids(now)
        for place, (trip, noted) in self._noted.items():
            row = {**noted, **outcome_columns(trip), "updated_at": now}
            if place in self._stored:
                trade_id, _ = self._stored[place]
                changed.append({"id": trade_id, "user_id": self._deployment.user_id, **row})
            else:
                trade_id = next(ids)
                new.append({"id": trade_id, **new_trade_row(self._deployment, trip, now), **row})
            if trip.is_open:
                self._stored[place] = trade_id, trip
        update_trades(changed)
        insert_trades(new)
        # What a tick reports, too, stays when the import that brought it first is undone.
        if repeated := [row.pk for row in self._known.fills.values() if row.batch_id is not None]:
            models.Fill.objects.filter(pk__in=repeated).update(batch=None)
        models.FundingPayment.objects.bulk_create(self._funding, batch_size=500)
        for checks, intents in self._checks:
            store_checks(self._deployment, checks, intents)
        models.EquityPoint.objects.bulk_create(self._equity, batch_size=500)
        rows = models.Deployment.objects.filter(pk=self._deployment.pk, last_tick=self._first_tick)
        moved = {"last_tick": self._last_tick, "last_tick_at": self._last_tick_at}
        if not rows.update(**moved, **({} if account is None else {"account": account})):
            raise TickMissing("Another runner applied a tick meanwhile.")
        self._first_tick = self._last_tick
        self._stored = {id(trip): self._stored[id(trip)] for trip in self.book.open.values()}
        self._noted = {}
        self._fills, self._funding, self._checks, self._equity = [], [], [], []
        late, self._late = self._late, {}
        if account is not None:
            self._deployment.account = account
        return rebuild_symbols(self._deployment, late, now=now)


def find_known(deployment: models.Deployment, fills: Sequence[Execution], funding: Sequence[Funding]) -> StoredEntries:
    """Return the stored rows of entries."""
    names: Q | AmongRows = AmongRows("symbol", "fill_id", rows=((fill.symbol, fill.fill_id) for fill in fills))
    if len(fills) <= _FEW:  # PostgreSQL reads all fills of the deployment for a list whose length it does not know
        names = reduce(or_, (Q(symbol=fill.symbol, fill_id=fill.fill_id) for fill in fills), Q())
    rows = models.Fill.objects.filter(names, deployment=deployment) if fills else ()
    instants = [one.at for one in funding]
    paid = models.FundingPayment.objects.filter(deployment=deployment, symbol__in={one.symbol for one in funding})
    paid = paid.filter(at__range=(min(instants), max(instants))) if instants else paid.none()
    return StoredEntries({(row.symbol, row.fill_id): row for row in rows}, {(row.symbol, row.at): row for row in paid})


def sort_out(fills: Sequence[Execution], funding: Sequence[Funding], known: StoredEntries) -> SortedOut:
    """Tell new entries from known ones, and from those that came before in the same source."""
    conflicts: list[EntryConflict] = []
    new = {(fill.symbol, fill.fill_id): fill for fill in fills}
    if known.fills or len(new) < len(fills):
        new.clear()
        for place, fill in enumerate(fills):
            name = fill.symbol, fill.fill_id
            kept = known.fills.get(name) or new.setdefault(name, fill)
            if kept is not fill and (text := _describe_difference(kept, fill)):
                conflicts.append(EntryConflict("fill", place, *name, text))
    paid: dict[tuple[str, datetime], Funding] = {}
    for place, one in enumerate(funding):
        stored = known.funding.get((one.symbol, one.at)) or paid.setdefault((one.symbol, one.at), one)
        if text := _compare({"amount_usd": (stored.amount_usd, one.amount_usd)}):
            conflicts.append(EntryConflict("funding", place, one.symbol, one.at.isoformat(), text))
    return SortedOut(list(new.values()), list(paid.values()), conflicts)


def _describe_difference(kept: Execution | models.Fill, came: Execution) -> str:
    fees = _get_fee(kept), _get_fee(came)
    numbers = {"quantity": (kept.quantity, came.quantity), "price": (kept.price, came.price), "fee": fees}
    at = "" if kept.at == came.at else f"time: {kept.at.isoformat()} is kept, {came.at.isoformat()} came"
    return "; ".join(filter(None, (_compare(numbers), at)))


def _get_fee(fill: Execution | models.Fill) -> Decimal:
    """Return the fee as the venue told it: of one in a coin, the price may be known later."""
    return (fill.fee_usd if fill.fee_in_coin is None else fill.fee_in_coin) or ZERO


def _compare(numbers: Mapping[str, tuple[Decimal, Decimal]]) -> str:
    return "; ".join(
        f"{name}: {kept.normalize(EXACT_MATHS):f} is kept, {given.normalize(EXACT_MATHS):f} came"
        for name, (kept, given) in numbers.items()
        if abs(kept - given) > max(_TOLERANCE * abs(kept), QUANTITY_GRAIN)
    )


def _make_account(deployment: models.Deployment, tick: Tick) -> dict[str, Any] | None:
    """Return the state of an account elsewhere: its last snapshot, and since when it is whole."""
    if deployment.broker_kind != models.BrokerKind.LIVE or tick.positions is None:
        return None
    since = deployment.account.get("complete_since")
    return {
        "snapshot": {
            "at": tick.at.isoformat(),
            "positions": {symbol: str(held) for symbol, held in tick.positions.items()},
            "marks": {symbol: str(mark) for symbol, mark in tick.marks.items()},
            "is_complete": tick.is_complete,
        },
        "complete_since": since or (tick.at.isoformat() if tick.is_complete else None),
    }
