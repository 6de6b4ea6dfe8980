"""Rows of the ledger, and the SQL that writes them.

The SQL is raw: Django takes some twenty times as long, and its upsert is not scoped. Each statement names the owner.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Final, get_origin, get_type_hints
from uuid import UUID, uuid4

from django.db import connection, models

from config.lib.owned import OwnedModel, ScopeError, owner_id
from trading.models import Deployment, ExitKind, Fill, OrderOrigin, RegimeTag, Trade, TradeStatus
from trading.record.executions import EXACT_MATHS, Execution
from trading.record.positions import ExitCause, Trip

_GRAIN: Final = Decimal("1e-12")  # of the columns
_EXIT_KINDS: Final = {
    OrderOrigin.AGENT: ExitKind.SIGNAL,
    OrderOrigin.STOP: ExitKind.STOP,
    OrderOrigin.HALT: ExitKind.HALT,
    OrderOrigin.COMMAND: ExitKind.COMMAND,
}
FILL_COLUMNS: Final = tuple(field.name for field in fields(Execution))
_read_fill: Final = attrgetter(*FILL_COLUMNS)
NO_EXIT: Final = {
    **{"exit_kind": "", "exit_reason": "", "exit_decided_at": None, "exit_snapshot_id": None},
    "exit_skill_version": None,
}
# What an upsert leaves as it was. The exit's reasons it leaves once the trade has closed: a late fill corrects the
# numbers of an exit, not why there was one.
_KEPT: Final = {
    *("id", "user_id", "deployment_id", "skill_id", "skill_version", "symbol", "side", "first_fill_id"),
    *("entry_tick_at", "entry_regime_tag", "entry_reason", "entry_decided_at", "entry_snapshot_id"),
    *("entry_leverage", "created_at"),
}
_INSERT: Final = "INSERT INTO {table} ({columns}) VALUES ({values})"
_UPSERT: Final = """
INSERT INTO trade_history ({columns}) VALUES ({values})
ON CONFLICT (deployment_id, symbol, first_fill_id) DO UPDATE SET {changes}
WHERE trade_history.user_id = EXCLUDED.user_id
"""


@dataclass(frozen=True, slots=True)
class Intent:
    """The reason for an order, copied to entries and exits."""

    origin: OrderOrigin
    reason: str = ""
    snapshot_id: UUID | None = None
    order_id: UUID | None = None
    leverage: Decimal | None = None
    decided_at: datetime | None = None  # the tick that decided; of a stop: that set it


def dump_intent(intent: Intent | None) -> dict[str, Any]:
    """Return an intent as JSON, for a later rebuild."""
    if intent is None:
        return {}
    values = {name: getattr(intent, name) for name in intent.__slots__}
    return {name: _dump_value(value) for name, value in values.items() if value}


def load_intent(values: Mapping[str, Any]) -> Intent | None:
    """Return the intent that `dump_intent` dumped."""
    if not values:
        return None
    readers: dict[str, Callable[[Any], Any]] = {
        "origin": OrderOrigin,
        "snapshot_id": UUID,
        "order_id": UUID,
        "leverage": Decimal,
        "decided_at": datetime.fromisoformat,
    }
    return Intent(**{name: readers.get(name, str)(value) for name, value in values.items()})


def _dump_value(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def new_trade_row(deployment: Deployment, trip: Trip, skill_version: int) -> dict[str, Any]:
    """Return the row of a new trade without its outcome."""
    return {
        "id": uuid4(),
        "user_id": deployment.user_id,
        "deployment_id": deployment.pk,
        "skill_id": deployment.skill_id,
        "skill_version": skill_version,
        "symbol": trip.symbol,
        "side": trip.side.value,
        "first_fill_id": trip.first_fill_id,
        "entry_tick_at": trip.entry_tick_at,
        "entry_regime_tag": RegimeTag.UNKNOWN.value,
        **entry_columns(None),
        **NO_EXIT,
        # The database looks at a row before it finds that it is there already, with its own exit.
        "exit_kind": "" if trip.is_open else ExitKind.EXTERNAL.value,
    }


def new_fill_row(
    deployment: Deployment, fill: Execution, *, number: int = 0, intent: Intent | None = None, batch_id: Any = None
) -> dict[str, Any]:
    """Return the row of a new fill."""
    return {
        "user_id": deployment.user_id,
        "deployment_id": deployment.pk,
        "order_id": intent.order_id if intent else None,
        "tick": number,
        "intent": dump_intent(intent),
        "batch_id": batch_id,
        **dict(zip(FILL_COLUMNS, _read_fill(fill), strict=True)),
    }


def entry_columns(intent: Intent | None) -> dict[str, Any]:
    """Return the columns of why a trade began."""
    return {
        "entry_reason": intent.reason if intent else "",
        "entry_decided_at": intent.decided_at if intent else None,
        "entry_snapshot_id": intent.snapshot_id if intent else None,
        "entry_leverage": intent.leverage if intent else None,
    }


def exit_columns(trip: Trip, intent: Intent | None) -> dict[str, Any]:
    """Return the columns of why a trade ended."""
    kind = _EXIT_KINDS[intent.origin] if intent else ExitKind.EXTERNAL
    if trip.exit_cause is ExitCause.LIQUIDATION:
        kind = ExitKind.LIQUIDATION
    elif trip.exit_cause is ExitCause.FLIP:
        kind = ExitKind.FLIP
    return {
        "exit_kind": kind.value,
        "exit_reason": intent.reason if intent else "",
        "exit_decided_at": intent.decided_at if intent else None,
        "exit_snapshot_id": intent.snapshot_id if intent else None,
    }


def outcome_columns(trip: Trip) -> dict[str, Any]:
    """Return the columns computed from a trip."""
    held = max(trip.exit_at - trip.entry_at, timedelta(0)) if trip.exit_at else None
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
        "converted_fees": _dump_coins(trip.converted_fees),
        "unpriced_fees": _dump_coins(trip.unpriced_fees),
        "funding_usd": trip.funding_usd,
        "mfe_usd": trip.mfe_usd,
        "mae_usd": trip.mae_usd,
        "path_minutes": trip.path_minutes or None,
        "reconciled": trip.reconciled.value,
        "state": dump_trip(trip) if trip.is_open else {},
    }


def dump_trip(trip: Trip) -> dict[str, Any]:
    """Return a trip as exact JSON; what is zero or empty is left out."""
    return {name: write(value) for name, write in _WRITERS if (value := getattr(trip, name))}


def load_trip(state: Mapping[str, Any]) -> Trip:
    """Return the trip that `dump_trip` dumped."""
    return Trip(**{name: _READERS[name](value) for name, value in state.items()})


def _dump_coins(coins: Mapping[str, Decimal]) -> dict[str, str]:
    return {coin: f"{amount.normalize(EXACT_MATHS):f}" for coin, amount in sorted(coins.items())}


def _load_coins(coins: Mapping[str, str]) -> dict[str, Decimal]:
    return {coin: Decimal(amount) for coin, amount in coins.items()}


def _field_types() -> dict[str, type]:
    # Of `X | None` the X, of `dict[str, X]` the dict.
    hints = get_type_hints(Trip).items()
    return {name: dict if get_origin(hint) is dict else getattr(hint, "__args__", (hint,))[0] for name, hint in hints}


_CODECS: Final[dict[type, tuple[Callable[[Any], Any], Callable[[Any], Any]]]] = {
    datetime: (datetime.isoformat, datetime.fromisoformat),
    dict: (_dump_coins, _load_coins),
    bool: (bool, bool),
    int: (int, int),
}
_WRITERS: Final = [(name, _CODECS.get(kind, (str, kind))[0]) for name, kind in _field_types().items()]
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    name: _CODECS.get(kind, (str, kind))[1] for name, kind in _field_types().items()
}


def upsert_trades(rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert trades, or update those with the same first fill."""
    _write_rows(Trade, _upsert_statement(), rows)


def insert_fills(rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert new fills of the owner in scope."""
    columns = [field.column for field in _written_columns(Fill)]
    values = ", ".join(["%s"] * len(columns))
    _write_rows(Fill, _INSERT.format(table="fills", columns=", ".join(columns), values=values), rows)


def _write_rows(model: type[OwnedModel], statement: str, rows: Sequence[Mapping[str, Any]]) -> None:
    owner = owner_id()
    if any(row["user_id"] != owner for row in rows):
        raise ScopeError("foreign row")
    if rows:
        columns = _column_converters(model, connection.vendor)
        values = [
            [value if (value := row[name]) is None or convert is None else convert(value) for name, convert in columns]
            for row in rows
        ]
        with connection.cursor() as cursor:
            cursor.executemany(statement, values)


@cache
def _upsert_statement() -> str:
    names = [field.column for field in _written_columns(Trade)]
    changes = [f"{name} = EXCLUDED.{name}" for name in names if name not in _KEPT and name not in NO_EXIT]
    changes += [
        f"{name} = CASE WHEN trade_history.status = 'closed' THEN trade_history.{name} ELSE EXCLUDED.{name} END"
        for name in NO_EXIT
    ]
    values = ", ".join(["%s"] * len(names))
    return _UPSERT.format(columns=", ".join(names), values=values, changes=", ".join(changes))


def _written_columns(model: type[models.Model]) -> "list[models.Field[Any, Any]]":
    """Return the columns of a model without automatic ids."""
    return [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]


@cache
def _column_converters(model: type[models.Model], vendor: str) -> list[tuple[str, Callable[[Any], Any] | None]]:
    return [(field.attname, _choose_converter(field, vendor)) for field in _written_columns(model)]


def _choose_converter(field: "models.Field[Any, Any]", vendor: str) -> Callable[[Any], Any] | None:
    is_sqlite = vendor == "sqlite"
    column = field.target_field if isinstance(field, models.ForeignKey) else field
    match column:
        case models.DecimalField():
            # SQLite makes a number of fifteen digits of it, so that rounding first only takes time.
            return str if is_sqlite else _round_amount
        case models.DateTimeField():
            # Many rows share an instant.
            return lru_cache(4096)(connection.ops.adapt_datetimefield_value)
        case models.UUIDField():
            return _hex_text if is_sqlite else None
        case models.JSONField():
            return _as_json
        case models.CharField() if field.choices:
            return str  # of an enum
    return None


def _round_amount(value: Decimal) -> Decimal:
    return value.quantize(_GRAIN, rounding=ROUND_HALF_EVEN, context=EXACT_MATHS)


def _as_json(value: Any) -> str:
    return json.dumps(value) if value else "{}"


@lru_cache(4096)  # the owner's and the deployment's are in every row
def _hex_text(value: UUID) -> str:
    return value.hex
