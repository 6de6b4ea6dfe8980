"""The ledger: write a tick's trades in one transaction.

Ticks are numbered and applied in order. The deployment keeps the last number, written in the transaction of its trades.
A repeated tick changes nothing; a tick that comes too early is refused. Only the ledger writes `Trade`, `Fill` and
`EquityPoint`.

`record_tick` writes each tick in its own transaction. A backtest keeps one `Ledger` in memory and flushes it at
intervals. The numbers are equal to the last digit: an open trade keeps its exact sums in `Trade.state`. Entries that
come late are stored, and `record.rebuild` builds the trades of their symbols again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from http import HTTPStatus
from typing import Any, TypedDict, Unpack
from uuid import UUID

from config.lib.errors import DomainError
from trading.models import (
    BrokerKind,
    Deployment,
    EquityPoint,
    ExcursionFrom,
    Fill,
    FundingPayment,
    RegimeTag,
    Trade,
    TradeStatus,
)
from trading.record.deployment_queries import DeploymentNotFound
from trading.record.executions import Execution
from trading.record.ledger_rows import (
    Intent,
    entry_columns,
    exit_columns,
    insert_fills,
    load_trip,
    new_fill_row,
    new_trade_row,
    outcome_columns,
    upsert_trades,
)
from trading.record.positions import Book, Check, Funding, Tick, Trip, read_snapshot
from trading.record.rebuild import (
    Known,
    Rebuilt,
    Span,
    find_confirmed,
    find_known,
    find_late,
    find_spans,
    rebuild_symbols,
    store_checks,
)


class TickMissing(DomainError):
    http_status = HTTPStatus.CONFLICT


class TickOutOfTime(DomainError):
    http_status = HTTPStatus.CONFLICT


@dataclass(frozen=True, slots=True)
class TickRecord:
    """The counts of a tick; not applied if repeated."""

    is_applied: bool
    opened: int = 0
    closed: int = 0
    fills: int = 0
    conflicts: int = 0  # known entries that came with other numbers; they are kept as they were


def lock_deployment(deployment_id: UUID) -> Deployment:
    """Lock and return a deployment. Raises DeploymentNotFound."""
    rows = Deployment.objects.select_for_update(of=("self",)).select_related("version")
    deployment = rows.filter(pk=deployment_id).first()
    if deployment is None:
        raise DeploymentNotFound("You have no such deployment.")
    return deployment


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

    Idempotent: a number that was applied before changes nothing. The deployment is locked. `number` is one more than
    the deployment's `last_tick`.
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

    def __init__(self, deployment: Deployment, book: Book, known: Known | None = None) -> None:
        self.book = book
        self._deployment = deployment
        self._known = known or Known()
        self._first_tick = self._last_tick = deployment.last_tick
        self._last_tick_at = deployment.last_tick_at
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}  # by symbol and first fill
        self._fills: list[dict[str, Any]] = []
        self._funding: list[FundingPayment] = []
        self._checks: list[tuple[list[Check], Mapping[str, Intent]]] = []
        self._equity: list[EquityPoint] = []
        self._late: dict[str, Span] = {}  # by symbol, the entries around which its trades are to be built again

    @classmethod
    def load(cls, deployment: Deployment, tick: Tick) -> "Ledger":
        """Load the open trades, and what the record has of the tick's entries."""
        states = (
            Trade.objects.filter(status=TradeStatus.OPEN, deployment=deployment)
            .order_by("entry_at", "id")
            .values_list("state", flat=True)
        )
        known = find_known(deployment, tick.fills, tick.funding)
        book = Book(
            map(load_trip, states),
            seen=known.fills,
            uses_closes=deployment.excursion_from == ExcursionFrom.CLOSE,
            confirmed=find_confirmed(deployment, {fill.symbol for fill in tick.fills}),
        )
        ledger = cls(deployment, book, known)
        new: list[Execution | Funding] = [*book.unseen(tick.fills), *ledger._list_new(tick.funding)]
        ledger._late = find_late(deployment, find_spans(new))
        return ledger

    def apply(self, number: int, tick: Tick, *, skill_version: int, **details: Unpack[TickDetails]) -> TickRecord:
        """Apply the next tick in memory; raises as `record_tick`."""
        if number != self._last_tick + 1:
            raise TickMissing(f"Tick {number} came after tick {self._last_tick}; the ones between are missing.")
        if self._last_tick_at is not None and tick.at <= self._last_tick_at:
            raise TickOutOfTime(f"Tick {number} is not later than the one before it.")
        intents, equity_usd = details.get("intents", {}), details.get("equity_usd")
        fills, funding = self.book.unseen(tick.fills), self._list_new(tick.funding)
        opened = closed = 0
        for trip in self.book.apply(self._leave_out_late(tick, fills, funding)):
            is_new, has_ended = trip.entry_tick_at == tick.at, trip.exit_tick_at == tick.at
            opened, closed = opened + is_new, closed + has_ended
            self._note_trip(trip, details, skill_version=skill_version, is_new=is_new, has_ended=has_ended)
        checks = [check for name in self._late if (check := read_snapshot(tick, name, fills))]
        self._late |= {check.symbol: (self._late[check.symbol][0], check.at) for check in checks}
        self._checks.append(([*self.book.booked, *checks], details.get("symbol_intents", {})))
        self._fills += [
            new_fill_row(self._deployment, fill, number=number, intent=intents.get(fill.fill_id))
            | {"settled_at": tick.at}
            for fill in fills
        ]
        self._funding += [
            FundingPayment(deployment=self._deployment, symbol=one.symbol, at=one.at, amount_usd=one.amount_usd)
            for one in funding
        ]
        if equity_usd is not None:
            point = EquityPoint(deployment=self._deployment, tick=number, at=tick.at, equity_usd=equity_usd)
            self._equity.append(point)
        self._last_tick, self._last_tick_at = number, tick.at
        given: list[Execution | Funding] = [*tick.fills, *tick.funding]
        conflicts = sum(bool(self._known.find_conflict(one)) for one in given)
        return TickRecord(is_applied=True, opened=opened, closed=closed, fills=len(fills), conflicts=conflicts)

    def _list_new(self, funding: Iterable[Funding]) -> list[Funding]:
        given = {(one.symbol, one.at): one for one in funding}
        return [one for key, one in given.items() if key not in self._known.funding]

    def _leave_out_late(self, tick: Tick, fills: Sequence[Execution], funding: Sequence[Funding]) -> Tick:
        """Return the tick without late symbols: `flush` builds their trades again."""
        if not self._late:
            return replace(tick, fills=fills, funding=funding)
        for symbol in self._late:
            self.book.open.pop(symbol, None)
        return replace(
            tick,
            fills=[fill for fill in fills if fill.symbol not in self._late],
            funding=[one for one in funding if one.symbol not in self._late],
            positions={symbol: held for symbol, held in (tick.positions or {}).items() if symbol not in self._late}
            if tick.positions is not None
            else None,
        )

    def _note_trip(
        self, trip: Trip, details: TickDetails, *, skill_version: int, is_new: bool, has_ended: bool
    ) -> None:
        intents, symbol_intents = details.get("intents", {}), details.get("symbol_intents", {})
        key = (trip.symbol, trip.first_fill_id)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = new_trade_row(self._deployment, trip, skill_version)
        row["trip"] = trip
        if is_new:
            intent = intents.get(trip.first_fill_id) or symbol_intents.get(trip.symbol)
            regime = details.get("regimes", {}).get(trip.symbol, RegimeTag.UNKNOWN)
            row |= entry_columns(intent) | {"entry_regime_tag": regime}
        if has_ended:
            intent = intents.get(trip.last_fill_id) or symbol_intents.get(trip.symbol)
            row |= exit_columns(trip, intent) | {"exit_skill_version": skill_version}

    def flush(self, now: datetime, account: Mapping[str, Any] | None = None) -> Rebuilt:
        """Write the changes and the last tick's number. Raises TickMissing: another runner came first; roll back.

        `account` is the state after that tick: of the broker on paper, else the last snapshot. Returns what late
        entries changed.
        """
        insert_fills(self._fills)
        upsert_trades(self.rows(now))
        # What a tick reports, too, stays when the import that brought it first is undone.
        repeated = [row.pk for row in self._known.fills.values() if row.batch_id is not None]
        if repeated:
            Fill.objects.filter(pk__in=repeated).update(batch=None)
        FundingPayment.objects.bulk_create(self._funding, batch_size=500)
        for checks, intents in self._checks:
            store_checks(self._deployment, checks, intents)
        EquityPoint.objects.bulk_create(self._equity, batch_size=500)
        rows = Deployment.objects.filter(pk=self._deployment.pk, last_tick=self._first_tick)
        moved = {"last_tick": self._last_tick, "last_tick_at": self._last_tick_at}
        if not rows.update(**moved, **({} if account is None else {"account": account})):
            raise TickMissing("Another runner applied a tick meanwhile.")
        self._first_tick = self._last_tick
        self._rows, self._fills, self._funding, self._checks, self._equity = {}, [], [], [], []
        late, self._late = self._late, {}
        if account is not None:
            self._deployment.account = account
        return rebuild_symbols(self._deployment, late, now=now)

    def rows(self, now: datetime) -> list[dict[str, Any]]:
        """Return the changed trades as rows."""
        stamps = {"created_at": now, "updated_at": now}
        return [row | outcome_columns(row["trip"]) | stamps for row in self._rows.values()]


def _make_account(deployment: Deployment, tick: Tick) -> dict[str, Any] | None:
    """Return the state of an account elsewhere: its last snapshot, and since when it is whole."""
    if deployment.broker_kind != BrokerKind.LIVE or tick.positions is None:
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
