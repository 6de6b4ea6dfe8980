"""The ledger: write a tick's trades in one transaction.

Ticks are numbered and applied in order. The deployment keeps the last number, written in the transaction of its trades.
A repeated tick changes nothing; a tick that comes too early is refused. Only the ledger writes `Trade`, `Fill` and
`EquityPoint`.

`record_tick` writes each tick in its own transaction. A backtest and an import keep one `Ledger` in memory and flush it
at intervals. The numbers are equal to the last digit: a trade that may still change keeps its exact sums in
`Trade.state`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Any, Final, TypedDict, Unpack
from uuid import UUID, uuid4

from django.db.models import Q

from config.lib.errors import DomainError
from trading.models import (
    Deployment,
    EquityPoint,
    ExcursionFrom,
    ExitKind,
    Fill,
    OrderOrigin,
    ReconcileState,
    RegimeTag,
    Trade,
    TradeStatus,
)
from trading.record.deployment_queries import DeploymentNotFound
from trading.record.executions import Execution
from trading.record.ledger_rows import FILL_COLUMNS, NO_EXIT, insert_fills, load_trip, outcome_columns, upsert_trades
from trading.record.positions import Book, ExitCause, Tick, Trip

LATE_WINDOW: Final = timedelta(days=1)  # how late a fill may replace an estimate


class TickMissing(DomainError):
    http_status = HTTPStatus.CONFLICT


class TickOutOfTime(DomainError):
    http_status = HTTPStatus.CONFLICT


@dataclass(frozen=True, slots=True)
class Intent:
    """The reason for an order, copied to entries and exits."""

    origin: OrderOrigin
    reason: str = ""
    snapshot_id: UUID | None = None
    order_id: UUID | None = None
    leverage: Decimal | None = None


@dataclass(frozen=True, slots=True)
class TickRecord:
    """The counts of a tick; not applied if repeated."""

    is_applied: bool
    opened: int = 0
    closed: int = 0
    fills: int = 0


_EXIT_KINDS: Final = {
    OrderOrigin.AGENT: ExitKind.SIGNAL,
    OrderOrigin.STOP: ExitKind.STOP,
    OrderOrigin.HALT: ExitKind.HALT,
    OrderOrigin.COMMAND: ExitKind.COMMAND,
}


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
    ledger.flush(now)
    return record


class Ledger:
    """A deployment's trades in memory until `flush`; the caller locks."""

    def __init__(self, deployment: Deployment, book: Book) -> None:
        self.book = book
        self._deployment = deployment
        self._first_tick = self._last_tick = deployment.last_tick
        self._last_tick_at = deployment.last_tick_at
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}  # by symbol and first fill
        self._fills: list[dict[str, Any]] = []
        self._equity: list[EquityPoint] = []

    @classmethod
    def load(cls, deployment: Deployment, tick: Tick) -> "Ledger":
        """Load open trades and those late fills may explain."""
        is_provisional = Q(reconciled=ReconcileState.ESTIMATED, exit_tick_at__gte=tick.at - LATE_WINDOW)
        states = (
            Trade.objects.filter(Q(status=TradeStatus.OPEN) | is_provisional, deployment=deployment)
            .order_by("entry_at", "id")
            .values_list("state", flat=True)
        )
        ids = [fill.fill_id for fill in tick.fills]
        seen = Fill.objects.filter(deployment=deployment, fill_id__in=ids).values_list("symbol", "fill_id")
        uses_closes = deployment.excursion_from == ExcursionFrom.CLOSE
        return cls(deployment, Book(map(load_trip, states), seen=seen if ids else (), uses_closes=uses_closes))

    def apply(self, number: int, tick: Tick, *, skill_version: int, **details: Unpack[TickDetails]) -> TickRecord:
        """Apply the next tick in memory; raises as `record_tick`."""
        if number != self._last_tick + 1:
            raise TickMissing(f"Tick {number} came after tick {self._last_tick}; the ones between are missing.")
        if self._last_tick_at is not None and tick.at <= self._last_tick_at:
            raise TickOutOfTime(f"Tick {number} is not later than the one before it.")
        intents, symbol_intents = details.get("intents", {}), details.get("symbol_intents", {})
        regimes, equity_usd = details.get("regimes", {}), details.get("equity_usd")
        fills = self.book.unseen(tick.fills)
        opened = closed = 0
        for trip in self.book.apply(tick):
            is_new = trip.entry_tick_at == tick.at
            has_ended = trip.exit_tick_at == tick.at
            opened, closed = opened + is_new, closed + has_ended
            key = (trip.symbol, trip.first_fill_id)
            row = self._rows.get(key)
            if row is None:
                row = self._rows[key] = self._empty_row(trip, skill_version)
            row["trip"] = trip
            if is_new:
                intent = intents.get(trip.first_fill_id) or symbol_intents.get(trip.symbol)
                row |= _entry_of(intent) | {"entry_regime_tag": regimes.get(trip.symbol, RegimeTag.UNKNOWN)}
            if has_ended:
                intent = intents.get(trip.last_fill_id) or symbol_intents.get(trip.symbol)
                row |= _exit_of(trip, intent) | {"exit_skill_version": skill_version}
        self._fills += [self.fill_row(fill, number, intents.get(fill.fill_id)) for fill in fills]
        if equity_usd is not None:
            point = EquityPoint(deployment=self._deployment, tick=number, at=tick.at, equity_usd=equity_usd)
            self._equity.append(point)
        self._last_tick, self._last_tick_at = number, tick.at
        return TickRecord(is_applied=True, opened=opened, closed=closed, fills=len(fills))

    def flush(self, now: datetime, account: Mapping[str, Any] | None = None) -> None:
        """Write the changes and the tick's number. Raises TickMissing.

        `account` is the broker's state after that tick, if it is on paper.
        """
        insert_fills(self._fills)
        upsert_trades(self.rows(now))
        EquityPoint.objects.bulk_create(self._equity, batch_size=500)
        rows = Deployment.objects.filter(pk=self._deployment.pk, last_tick=self._first_tick)
        moved = {"last_tick": self._last_tick, "last_tick_at": self._last_tick_at}
        if not rows.update(**moved, **({} if account is None else {"account": account})):
            raise TickMissing("Another runner applied a tick meanwhile.")
        self._first_tick = self._last_tick
        self._rows, self._fills, self._equity = {}, [], []

    def rows(self, now: datetime) -> list[dict[str, Any]]:
        """Return the changed trades as rows."""
        stamps = {"created_at": now, "updated_at": now}
        return [row | outcome_columns(row["trip"]) | stamps for row in self._rows.values()]

    def _empty_row(self, trip: Trip, skill_version: int) -> dict[str, Any]:
        return {
            "id": uuid4(),
            "user_id": self._deployment.user_id,
            "deployment_id": self._deployment.pk,
            "skill_id": self._deployment.skill_id,
            "skill_version": skill_version,
            "symbol": trip.symbol,
            "side": trip.side.value,
            "first_fill_id": trip.first_fill_id,
            "entry_tick_at": trip.entry_tick_at,
            "entry_regime_tag": RegimeTag.UNKNOWN.value,
            **_entry_of(None),
            **NO_EXIT,
            # The database looks at a row before it finds that it is there already, with its own exit.
            "exit_kind": "" if trip.is_open else ExitKind.EXTERNAL.value,
        }

    def fill_row(self, fill: Execution, number: int, intent: Intent | None) -> dict[str, Any]:
        """Return a fill as a row."""
        return {
            "user_id": self._deployment.user_id,
            "deployment_id": self._deployment.pk,
            "order_id": intent.order_id if intent else None,
            "tick": number,
            **{name: getattr(fill, name) for name in FILL_COLUMNS},
        }


def _entry_of(intent: Intent | None) -> dict[str, Any]:
    return {
        "entry_reason": intent.reason if intent else "",
        "entry_snapshot_id": intent.snapshot_id if intent else None,
        "entry_leverage": intent.leverage if intent else None,
    }


def _exit_of(trip: Trip, intent: Intent | None) -> dict[str, Any]:
    kind = _EXIT_KINDS[intent.origin] if intent else ExitKind.EXTERNAL
    if trip.exit_cause is ExitCause.LIQUIDATION:
        kind = ExitKind.LIQUIDATION
    elif trip.exit_cause is ExitCause.FLIP:
        kind = ExitKind.FLIP
    return {
        "exit_kind": kind.value,
        "exit_reason": intent.reason if intent else "",
        "exit_snapshot_id": intent.snapshot_id if intent else None,
    }
