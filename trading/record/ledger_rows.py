"""Rows of the ledger, and the SQL that writes them.

The SQL is raw: Django takes some twenty times as long, and its upsert is not scoped. Each statement names the owner.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache, lru_cache
from typing import Any, Final, get_type_hints
from uuid import UUID

from django.db import connection, models

from config.lib.owned import OwnedModel, ScopeError, owner_id
from trading.models import Fill, Trade, TradeStatus
from trading.record.executions import EXACT_MATHS, Execution
from trading.record.positions import Estimate, Trip

_GRAIN: Final = Decimal("1e-12")  # of the columns
FILL_COLUMNS: Final = tuple(field.name for field in fields(Execution))
NO_EXIT: Final = {"exit_kind": "", "exit_reason": "", "exit_snapshot_id": None, "exit_skill_version": None}
# What an upsert leaves as it was. The exit's reasons it leaves once the trade has closed: a late fill corrects the
# numbers of an exit, not why there was one.
_KEPT: Final = {
    *("id", "user_id", "deployment_id", "skill_id", "skill_version", "symbol", "side", "first_fill_id"),
    *("entry_tick_at", "entry_regime_tag", "entry_reason", "entry_snapshot_id", "entry_leverage", "created_at"),
}
_INSERT: Final = "INSERT INTO {table} ({columns}) VALUES ({values})"
_UPSERT: Final = """
INSERT INTO trade_history ({columns}) VALUES ({values})
ON CONFLICT (deployment_id, symbol, first_fill_id) DO UPDATE SET {changes}
WHERE trade_history.user_id = EXCLUDED.user_id
"""


def outcome_columns(trip: Trip) -> dict[str, Any]:
    """Return the columns computed from a trip."""
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


def dump_trip(trip: Trip) -> dict[str, Any]:
    """Return a trip as exact JSON."""
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


def _field_types() -> dict[str, type]:
    hints = {name: hint for name, hint in get_type_hints(Trip).items() if name != "estimates"}
    return {name: getattr(hint, "__args__", (hint,))[0] for name, hint in hints.items()}


def _choose_writer(kind: type) -> Callable[[Any], Any]:
    return datetime.isoformat if kind is datetime else bool if kind is bool else str


_WRITERS: Final = [(name, _choose_writer(kind)) for name, kind in _field_types().items()]
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    name: datetime.fromisoformat if kind is datetime else kind for name, kind in _field_types().items()
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
            [None if (value := row[name]) is None else convert(value) for name, convert in columns] for row in rows
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
def _column_converters(model: type[models.Model], vendor: str) -> list[tuple[str, Callable[[Any], Any]]]:
    return [(field.attname, _choose_converter(field, vendor)) for field in _written_columns(model)]


def _choose_converter(field: "models.Field[Any, Any]", vendor: str) -> Callable[[Any], Any]:
    is_sqlite = vendor == "sqlite"
    column = field.target_field if isinstance(field, models.ForeignKey) else field
    match column:
        case models.DecimalField():
            return _as_text if is_sqlite else _round_amount
        case models.DateTimeField():
            # Many rows share an instant.
            return lru_cache(4096)(connection.ops.adapt_datetimefield_value)
        case models.UUIDField():
            return _hex_text if is_sqlite else _keep_value
        case models.JSONField():
            return json.dumps
        case models.CharField():
            return str  # of an enum, too
    return _keep_value


def _round_amount(value: Decimal) -> Decimal:
    return value.quantize(_GRAIN, rounding=ROUND_HALF_EVEN, context=EXACT_MATHS)


def _as_text(value: Decimal) -> str:
    return str(_round_amount(value))


def _hex_text(value: UUID) -> str:
    return value.hex


def _keep_value(value: Any) -> Any:
    return value
