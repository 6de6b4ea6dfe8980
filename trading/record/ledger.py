"""Writing the record: what a tick did to a deployment's trades, in one transaction.

The law: ticks are numbered and applied one after the other; the number of the last one stands on the deployment and
is written in the transaction that writes its trades. A tick that was applied changes nothing when it comes again, one
that comes too early is refused. Nothing else writes a `Trade`, a `Fill` or an `EquityPoint`.

`record_tick` is the live way, a transaction for each tick. A backtest and an import keep one `Ledger` in memory and
flush it now and then; the numbers are the same to the last digit, since a trade that may still change keeps its exact
sums in `Trade.state`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache, lru_cache
from http import HTTPStatus
from typing import Any, Final, get_type_hints
from uuid import UUID, uuid4

from django.db import connection, models
from django.db.models import Q

from config.lib.errors import DomainError
from config.lib.owned import OwnedModel, ScopeError, owner_id
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
from trading.record.positions import EXACT_MATHS, Book, Estimate, Execution, ExitCause, Tick, Trip

LATE_WINDOW: Final = timedelta(days=1)  # how long a fill may take to explain what was estimated in its absence
_GRAIN: Final = Decimal("1e-12")  # of the columns


class TickMissing(DomainError):
    """A tick came before the one it follows on."""

    http_status = HTTPStatus.CONFLICT


class TickOutOfTime(DomainError):
    """A tick is not later than the one before it."""

    http_status = HTTPStatus.CONFLICT


class ImportRefused(DomainError):
    """A deployment's record cannot take in fills from outside."""

    http_status = HTTPStatus.CONFLICT


@dataclass(frozen=True, slots=True)
class Intent:
    """Why somebody wanted an order: what its fills say at a trade's entry or exit."""

    origin: OrderOrigin
    reason: str = ""
    snapshot_id: UUID | None = None
    order_id: UUID | None = None
    leverage: Decimal | None = None


@dataclass(frozen=True, slots=True)
class TickRecord:
    """What a tick did. Not applied: it had been applied before."""

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
    """Return a deployment, held until the transaction ends. Raises DeploymentNotFound."""
    rows = Deployment.objects.select_for_update(of=("self",)).select_related("version")
    deployment = rows.filter(pk=deployment_id).first()
    if deployment is None:
        raise DeploymentNotFound("You have no such deployment.")
    return deployment


def record_tick(
    *,
    deployment_id: UUID,
    number: int,
    tick: Tick,
    skill_version: int,
    intents: Mapping[str, Intent] | None = None,
    symbol_intents: Mapping[str, Intent] | None = None,
    regimes: Mapping[str, str] | None = None,
    equity_usd: Decimal | None = None,
    now: datetime,
) -> TickRecord:
    """Write what a tick did to the trades of a deployment; call it inside `owned_tx(user)`.

    Idempotent: a number that was applied before changes nothing. The deployment is locked.

    Args:
        number: one more than the deployment's `last_tick`.
        intents: by fill id, why there was the fill.
        symbol_intents: by symbol, for changes that came without a fill.
        regimes: by symbol, the regime at the tick; kept by the trades that begin in it.

    Raises:
        DeploymentNotFound: the owner has no such deployment.
        TickMissing: the tick before it was not applied.
        TickOutOfTime: it is not later than the one before it.
    """
    deployment = lock_deployment(deployment_id)
    if number <= deployment.last_tick:
        return TickRecord(is_applied=False)
    ledger = Ledger.load(deployment, tick)
    record = ledger.apply(
        number,
        tick,
        skill_version=skill_version,
        intents=intents,
        symbol_intents=symbol_intents,
        regimes=regimes,
        equity_usd=equity_usd,
    )
    ledger.flush(now)
    return record


class Ledger:
    """The trades of one deployment while ticks are applied; `flush` writes what they changed.

    The deployment is locked by the caller, and the flush stands in the transaction of that lock.
    """

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
        """Return the ledger with what a tick can change: open trades, and those that late fills may explain."""
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

    def apply(
        self,
        number: int,
        tick: Tick,
        *,
        skill_version: int,
        intents: Mapping[str, Intent] | None = None,
        symbol_intents: Mapping[str, Intent] | None = None,
        regimes: Mapping[str, str] | None = None,
        equity_usd: Decimal | None = None,
    ) -> TickRecord:
        """Apply the next tick in memory; as `record_tick`, and raises as it does."""
        if number != self._last_tick + 1:
            raise TickMissing(f"Tick {number} came after tick {self._last_tick}; the ones between are missing.")
        if self._last_tick_at is not None and tick.at <= self._last_tick_at:
            raise TickOutOfTime(f"Tick {number} is not later than the one before it.")
        intents, symbol_intents = intents or {}, symbol_intents or {}
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
                row |= _entry_of(intent) | {"entry_regime_tag": (regimes or {}).get(trip.symbol, RegimeTag.UNKNOWN)}
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
        """Write what changed since the last flush, and the number of the last tick.

        Args:
            account: the broker's state after that tick, if it is on paper.

        Raises:
            TickMissing: another runner applied a tick meanwhile; nothing may be kept.
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
        """Return the trades that changed since the last flush, every column by its name."""
        return [{**row, **_outcome(row["trip"]), "created_at": now, "updated_at": now} for row in self._rows.values()]

    def _empty_row(self, trip: Trip, skill_version: int) -> dict[str, Any]:
        """Return a row's columns that no later tick writes over."""
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
            **_NO_EXIT,
            # The database looks at a row before it finds that it is there already, with its own exit.
            "exit_kind": "" if trip.is_open else ExitKind.EXTERNAL.value,
        }

    def fill_row(self, fill: Execution, number: int, intent: Intent | None) -> dict[str, Any]:
        """Return a fill's row, every column by its name."""
        return {
            "user_id": self._deployment.user_id,
            "deployment_id": self._deployment.pk,
            "order_id": intent.order_id if intent else None,
            "tick": number,
            **{name: getattr(fill, name) for name in _FILL_COLUMNS},
        }


_FILL_COLUMNS: Final = tuple(field.name for field in fields(Execution))
_NO_EXIT: Final = {"exit_kind": "", "exit_reason": "", "exit_snapshot_id": None, "exit_skill_version": None}


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


def _outcome(trip: Trip) -> dict[str, Any]:
    """Return the columns that follow from a trip's numbers."""
    held = max(trip.exit_at - trip.entry_at, timedelta(0)) if trip.exit_at else None
    may_change = trip.is_open or bool(trip.estimates)
    return {
        "status": (TradeStatus.OPEN if trip.is_open else TradeStatus.CLOSED).value,
        "quantity": trip.quantity,
        "peak_quantity": trip.peak_quantity,
        "entry_at": trip.entry_at,
        "entry_price": trip.entry_price,
        "entry_size_usd": trip.entry_size_usd,
        "exit_tick_at": trip.exit_tick_at,
        "exit_at": trip.exit_at,
        "exit_price": trip.exit_price,
        "holding_minutes": None if held is None else Decimal(held // timedelta(seconds=1)) / 60,
        "realized_pnl_usd": trip.realized_pnl_usd,
        "gross_pnl_usd": trip.gross_usd,
        "fees_usd": trip.fees_usd,
        "funding_usd": trip.funding_usd,
        "mfe_usd": trip.mfe_usd,
        "mae_usd": trip.mae_usd,
        "reconciled": trip.reconciled.value,
        "state": dump_trip(trip) if may_change else {},
    }


# --- The exact sums of a trade, as JSON ---


def _kinds() -> dict[str, type]:
    """Return the type of each plain field of a trip, None aside."""
    hints = {name: hint for name, hint in get_type_hints(Trip).items() if name != "estimates"}
    return {name: getattr(hint, "__args__", (hint,))[0] for name, hint in hints.items()}


def _writer(kind: type) -> Callable[[Any], Any]:
    return datetime.isoformat if kind is datetime else bool if kind is bool else str


_WRITERS: Final = [(name, _writer(kind)) for name, kind in _kinds().items()]
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    name: datetime.fromisoformat if kind is datetime else kind for name, kind in _kinds().items()
}


def dump_trip(trip: Trip) -> dict[str, Any]:
    """Return a trip as JSON from which it can be made again, digit for digit."""
    dumped = {name: write(value) for name, write in _WRITERS if (value := getattr(trip, name)) is not None}
    if trip.estimates:
        dumped["estimates"] = [
            [one.is_entry, str(one.quantity), str(one.price), one.at.isoformat()] for one in trip.estimates
        ]
    return dumped


def load_trip(state: Mapping[str, Any]) -> Trip:
    """Return the trip that `dump_trip` dumped."""
    values = {name: _READERS[name](value) for name, value in state.items() if name != "estimates"}
    estimates = [
        Estimate(is_entry, Decimal(quantity), Decimal(price), datetime.fromisoformat(at))
        for is_entry, quantity, price, at in state.get("estimates", ())
    ]
    return Trip(**values, estimates=estimates)


# --- Writing many rows at a time ---

# Raw, since Django takes some twenty times as long, and its upsert is not scoped. Each statement names the owner.

_INSERT: Final = """
INSERT INTO {table} ({columns}) VALUES ({values})
"""
_UPSERT: Final = """
INSERT INTO trade_history ({columns}) VALUES ({values})
ON CONFLICT (deployment_id, symbol, first_fill_id) DO UPDATE SET {changes}
WHERE trade_history.user_id = EXCLUDED.user_id
"""
# What an upsert leaves as it was. The exit's reasons it leaves once the trade has closed: a late fill corrects the
# numbers of an exit, not why there was one.
_KEPT: Final = {
    "id",
    "user_id",
    "deployment_id",
    "skill_id",
    "skill_version",
    "symbol",
    "side",
    "first_fill_id",
    "entry_tick_at",
    "entry_regime_tag",
    "entry_reason",
    "entry_snapshot_id",
    "entry_leverage",
    "created_at",
}


def upsert_trades(rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert trades of the owner in scope, or update those that began with the same fill; rows name every column."""
    _write(Trade, _upsert_statement(), rows)


def insert_fills(rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert fills of the owner in scope that are not there yet; rows name every column but the id."""
    columns = [field.column for field in _columns(Fill)]
    statement = _INSERT.format(table="fills", columns=", ".join(columns), values=", ".join(["%s"] * len(columns)))
    _write(Fill, statement, rows)


def _write(model: type[OwnedModel], statement: str, rows: Sequence[Mapping[str, Any]]) -> None:
    owner = owner_id()
    if any(row["user_id"] != owner for row in rows):
        raise ScopeError("foreign row")
    if rows:
        columns = _converters(model, connection.vendor)
        values = [
            [None if (value := row[name]) is None else convert(value) for name, convert in columns] for row in rows
        ]
        with connection.cursor() as cursor:
            cursor.executemany(statement, values)


@cache
def _upsert_statement() -> str:
    names = [field.column for field in _columns(Trade)]
    changes = [f"{name} = EXCLUDED.{name}" for name in names if name not in _KEPT and name not in _NO_EXIT]
    changes += [
        f"{name} = CASE WHEN trade_history.status = 'closed' THEN trade_history.{name} ELSE EXCLUDED.{name} END"
        for name in _NO_EXIT
    ]
    values = ", ".join(["%s"] * len(names))
    return _UPSERT.format(columns=", ".join(names), values=values, changes=", ".join(changes))


def _columns(model: type[models.Model]) -> "list[models.Field[Any, Any]]":
    """Return the columns that are written; an automatic id is the database's to give."""
    return [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]


@cache
def _converters(model: type[models.Model], vendor: str) -> list[tuple[str, Callable[[Any], Any]]]:
    """Return each column with how its values go to the database."""
    return [(field.attname, _converter(field, vendor)) for field in _columns(model)]


def _converter(field: "models.Field[Any, Any]", vendor: str) -> Callable[[Any], Any]:
    is_sqlite = vendor == "sqlite"
    column = field.target_field if isinstance(field, models.ForeignKey) else field
    match column:
        case models.DecimalField():
            return _as_text if is_sqlite else _rounded
        case models.DateTimeField():
            # Many rows share an instant.
            return lru_cache(4096)(connection.ops.adapt_datetimefield_value)
        case models.UUIDField():
            return _hex if is_sqlite else _same
        case models.JSONField():
            return json.dumps
        case models.CharField():
            return str  # of an enum, too
    return _same


def _rounded(value: Decimal) -> Decimal:
    return value.quantize(_GRAIN, rounding=ROUND_HALF_EVEN, context=EXACT_MATHS)


def _as_text(value: Decimal) -> str:
    return str(_rounded(value))


def _hex(value: UUID) -> str:
    return value.hex


def _same(value: Any) -> Any:
    return value


# --- Records made elsewhere ---


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """What an import did: how many fills were new, and how many trades there are now."""

    new_fills: int
    known_fills: int
    trades: int
    open_trades: int
    gaps: int


def import_fills(*, deployment_id: UUID, fills: Iterable[Execution], now: datetime) -> ImportRecord:
    """Take fills that another program made into a deployment's record; call it inside `owned_tx(user)`.

    Idempotent by fill id, whatever the order of files: the trades are made anew from all fills, each instant a tick.

    Raises:
        DeploymentNotFound: the owner has no such deployment.
        ImportRefused: ticks keep the deployment's record, which would be made anew.
    """
    deployment = lock_deployment(deployment_id)
    if deployment.last_tick:
        raise ImportRefused("Ticks keep this record. Fills from outside go into a deployment that has never ticked.")
    given = {(fill.symbol, fill.fill_id): fill for fill in fills}
    known = set(Fill.objects.filter(deployment=deployment).values_list("symbol", "fill_id"))
    new = [fill for key, fill in given.items() if key not in known]
    if new:
        ledger = Ledger(deployment, Book())
        insert_fills([ledger.fill_row(fill, 0, None) for fill in new])
        _rebuild(deployment, now)
    trades = Trade.objects.filter(deployment=deployment)
    return ImportRecord(
        new_fills=len(new),
        known_fills=len(given) - len(new),
        trades=trades.count(),
        open_trades=trades.filter(status=TradeStatus.OPEN).count(),
        gaps=trades.filter(reconciled=ReconcileState.GAP).count(),
    )


def _rebuild(deployment: Deployment, now: datetime) -> None:
    """Make the trades of a deployment anew from its fills; a trade that begins with the same fill keeps its id."""
    instants: dict[datetime, list[Execution]] = {}
    for values in Fill.objects.filter(deployment=deployment).order_by("at", "id").values(*_FILL_COLUMNS):
        fill = Execution(**values)
        instants.setdefault(fill.at, []).append(fill)
    ledger = Ledger(deployment, Book())
    for number, (at, fills) in enumerate(instants.items(), start=1):
        ledger.apply(number, Tick(at, fills), skill_version=deployment.version.version)
    trades = Trade.objects.filter(deployment=deployment)
    ids = {(symbol, first): pk for pk, symbol, first in trades.values_list("pk", "symbol", "first_fill_id")}
    trades.delete()
    upsert_trades(
        [{**row, "id": ids.get((row["symbol"], row["first_fill_id"]), row["id"])} for row in ledger.rows(now)]
    )
