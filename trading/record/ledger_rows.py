"""Rows of the ledger, and the SQL that writes them.

The SQL is raw: Django takes some twenty times as long, and its upsert is not scoped. Each statement names the owner.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache, lru_cache
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple, get_origin, get_type_hints
from uuid import UUID, uuid4

from django.db import connection, models

from config.lib.owned import OwnedModel, ScopeError, owner_id
from trading.models import Deployment, ExitKind, Fill, OrderOrigin, RegimeTag, Trade, TradeStatus
from trading.record.executions import EXACT_MATHS, Execution
from trading.record.positions import ExitCause, Side, Trip

_GRAIN: Final = Decimal("1e-12")  # of the columns
_EXIT_KINDS: Final = {
    OrderOrigin.AGENT: ExitKind.SIGNAL,
    OrderOrigin.STOP: ExitKind.STOP,
    OrderOrigin.HALT: ExitKind.HALT,
    OrderOrigin.COMMAND: ExitKind.COMMAND,
}
FILL_COLUMNS: Final = tuple(field.name for field in fields(Execution))
_read_fill: Final = attrgetter(*(f"fill.{name}" for name in FILL_COLUMNS), "tick", "settled_at", "intent")
_NO_EXIT: Final = {
    **{"exit_kind": "", "exit_reason": "", "exit_decided_at": None, "exit_snapshot_id": None},
    "exit_skill_version": None,
}
_NO_ENTRY: Final = {
    **{"entry_reason": "", "entry_decided_at": None, "entry_snapshot_id": None, "entry_leverage": None},
    "entry_regime_tag": RegimeTag.UNKNOWN.value,
}
_KEY: Final = ("user_id", "deployment_id", "symbol", "first_fill_id")
_AT_ONCE: Final = 2_000  # rows of a statement on PostgreSQL
_STATEMENTS: Final = {  # by the act and the engine
    "insert sqlite": "INSERT INTO {table} ({columns}) VALUES ({values})",
    "update sqlite": "UPDATE {table} SET {changes} WHERE {key}",
    "insert postgresql": "INSERT INTO {table} ({columns})"
    " SELECT {values} FROM json_populate_recordset(NULL::{table}, %s) AS new",
    "update postgresql": "UPDATE {table} SET {changes}"
    " FROM json_populate_recordset(NULL::{table}, %s) AS new WHERE {key}",
}
_Converter = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Intent:
    """The reason for an order, copied to entries and exits."""

    origin: OrderOrigin
    reason: str = ""
    snapshot_id: UUID | None = None
    order_id: UUID | None = None
    leverage: Decimal | None = None
    decided_at: datetime | None = None  # the tick that decided; of a stop: that set it


class NewFill(NamedTuple):
    """A fill to store, and how it came."""

    fill: Execution
    tick: int = 0  # 0: imported
    settled_at: datetime | None = None
    intent: Intent | None = None


def new_trade_row(deployment: Deployment, trip: Trip, skill_version: int) -> dict[str, Any]:
    """Return the row of a new trade without its outcome."""
    return {
        "id": uuid4(),
        "skill_id": deployment.skill_id,
        "skill_version": skill_version,
        "side": trip.side.value,
        "entry_tick_at": trip.entry_tick_at,
        **_NO_ENTRY,
        **_NO_EXIT,
        **key_columns(deployment, trip),
    }


def key_columns(deployment: Deployment, trip: Trip) -> dict[str, Any]:
    """Return the columns that name a trade."""
    return {
        "user_id": deployment.user_id,
        "deployment_id": deployment.pk,
        "symbol": trip.symbol,
        "first_fill_id": trip.first_fill_id,
    }


def entry_columns(intent: Intent) -> dict[str, Any]:
    """Return the columns of why a trade began."""
    return {
        "entry_reason": intent.reason,
        "entry_decided_at": intent.decided_at,
        "entry_snapshot_id": intent.snapshot_id,
        "entry_leverage": intent.leverage,
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


def _dump_coins(coins: Mapping[str, Decimal]) -> dict[str, str]:
    return {coin: f"{amount.normalize(EXACT_MATHS):f}" for coin, amount in sorted(coins.items())}


def _load_coins(coins: Mapping[str, str]) -> dict[str, Decimal]:
    return {coin: Decimal(amount) for coin, amount in coins.items()}


_CODECS: Final[Mapping[type, tuple[_Converter, _Converter]]] = {
    datetime: (datetime.isoformat, datetime.fromisoformat),
    dict: (_dump_coins, _load_coins),
    bool: (bool, bool),
    int: (int, int),
    **{kind: (str, {one.value: one for one in kind}.__getitem__) for kind in (Side, ExitCause, OrderOrigin)},
}


def _list_codecs(kind: type) -> dict[str, tuple[_Converter, _Converter]]:
    """Return how each field is written as JSON and read: of `X | None` the X, of `dict[str, X]` the dict."""
    hints = get_type_hints(kind).items()
    types = {name: dict if get_origin(hint) is dict else getattr(hint, "__args__", (hint,))[0] for name, hint in hints}
    return {name: _CODECS.get(one, (str, one)) for name, one in types.items()}


_TRIP: Final = _list_codecs(Trip)
_INTENT: Final = _list_codecs(Intent)


def dump_trip(trip: Trip) -> dict[str, Any]:
    """Return a trip as exact JSON; what is zero or empty is left out."""
    return {name: write(value) for name, (write, _) in _TRIP.items() if (value := getattr(trip, name))}


def load_trip(state: Mapping[str, Any]) -> Trip:
    """Return the trip that `dump_trip` dumped."""
    return Trip(**{name: _TRIP[name][1](value) for name, value in state.items()})


def dump_intent(intent: Intent | None) -> dict[str, Any]:
    """Return an intent as JSON, for a later rebuild."""
    return {name: write(value) for name, (write, _) in _INTENT.items() if (value := getattr(intent, name, None))}


def load_intent(values: Mapping[str, Any]) -> Intent | None:
    """Return the intent that `dump_intent` dumped."""
    return Intent(**{name: _INTENT[name][1](value) for name, value in values.items()}) if values else None


def insert_trades(rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert new trades of the owner in scope."""
    if rows:
        _write_rows(Trade, _transpose(rows, [field.attname for field in _list_columns(Trade)]))


def update_trades(rows: Iterable[Mapping[str, Any]]) -> None:
    """Write what changed of stored trades, known by their first fills.

    Those that closed go apart: where a key to another table may change, SQLite first copies each page.
    """
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[tuple(row)].append(row)
    for names, group in groups.items():
        is_open = group[0]["status"] == TradeStatus.OPEN
        left_out = {"entry_at", *_KEY, *(["status"] if is_open else [])}  # and indexes of the same columns stay
        changed = [name for name in names if name not in left_out]
        _write_rows(Trade, _transpose(group, [*changed, *_KEY]), act="update")


def _transpose(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Sequence[Any]]:
    return dict(zip(names, zip(*map(itemgetter(*names), rows), strict=True), strict=True))


def insert_fills(deployment: Deployment, fills: Sequence[NewFill], *, batch_id: UUID | None = None) -> None:
    """Insert new fills of the owner in scope."""
    if not fills:
        return
    # In the order of the indexes, which takes half the time of the order of arrival.
    fills = sorted(fills, key=attrgetter("fill.symbol"))
    *own, ticks, settled, intents = zip(*map(_read_fill, fills), strict=True)
    common = {"user_id": deployment.user_id, "deployment_id": deployment.pk, "batch_id": batch_id}
    columns: dict[str, Sequence[Any]] = dict(zip(FILL_COLUMNS, own, strict=True))
    columns |= {name: [value] * len(fills) for name, value in common.items()}
    columns["settled_at"] = [at or of_fill for at, of_fill in zip(settled, columns["settled_at"], strict=True)]
    columns["tick"] = ticks
    nothing: dict[str, Any] = {}  # one for all, so that it is written as JSON once
    columns["intent"] = [dump_intent(intent) if intent else nothing for intent in intents]
    columns["order_id"] = [intent and intent.order_id for intent in intents]
    _write_rows(Fill, columns)


def _write_rows(model: type[OwnedModel], columns: Mapping[str, Sequence[Any]], *, act: str = "insert") -> None:
    if set(columns["user_id"]) != {owner_id()}:
        raise ScopeError("foreign row")
    is_sqlite = connection.vendor == "sqlite"
    if act == "insert":  # what a row does not name is null
        columns = {name: column for name, column in columns.items() if any(value is not None for value in column)}
    converters = _choose_converters(model, is_sqlite=is_sqlite)
    statement = _compose_statement(f"{act} {connection.vendor}", model._meta.db_table, tuple(columns))
    rows = list(zip(*(_convert(converters[name], column) for name, column in columns.items()), strict=True))
    with connection.cursor() as cursor:
        if is_sqlite:
            cursor.executemany(statement, rows)
            return
        for begin in range(0, len(rows), _AT_ONCE):  # a statement a row takes ten times as long
            part = [dict(zip(columns, row, strict=True)) for row in rows[begin : begin + _AT_ONCE]]
            cursor.execute(statement, [json.dumps(part)])


@cache
def _compose_statement(kind: str, table: str, names: Sequence[str]) -> str:
    values = {name: "%s" if "sqlite" in kind else f"new.{name}" for name in names}
    return _STATEMENTS[kind].format(
        table=table,
        columns=", ".join(names),
        values=", ".join(values.values()),
        changes=", ".join(f"{name} = {value}" for name, value in values.items() if name not in _KEY),
        key=" AND ".join(f"{table}.{name} = {values.get(name)}" for name in _KEY),
    )


def _convert(converter: _Converter | None, column: Sequence[Any]) -> Iterable[Any]:
    if converter is None:
        return column
    first = column[0]
    if first is not None and all(value is first for value in column):
        return [converter(first)] * len(column)
    if None in column:
        return [None if value is None else converter(value) for value in column]
    return map(converter, column)


@cache
def _choose_converters(model: type[OwnedModel], *, is_sqlite: bool) -> Mapping[str, _Converter | None]:
    return {field.attname: _choose_converter(field, is_sqlite=is_sqlite) for field in _list_columns(model)}


def _list_columns(model: type[models.Model]) -> "list[models.Field[Any, Any]]":
    """Return the columns of a model without automatic ids."""
    return [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]


def _choose_converter(field: "models.Field[Any, Any]", *, is_sqlite: bool) -> _Converter | None:
    column = field.target_field if isinstance(field, models.ForeignKey) else field
    match column:
        case models.DecimalField():
            # SQLite makes a number of fifteen digits of it, so that rounding first only takes time.
            return str if is_sqlite else _round_amount
        case models.DateTimeField():
            # Many rows share an instant, an owner and a deployment.
            return lru_cache(4096)(connection.ops.adapt_datetimefield_value if is_sqlite else datetime.isoformat)
        case models.UUIDField():
            return lru_cache(4096)(attrgetter("hex") if is_sqlite else str)
        case models.JSONField():
            return _as_json if is_sqlite else None
        case models.CharField() if field.choices:
            return str  # of an enum
    return None


def _round_amount(value: Decimal) -> str:
    return str(value.quantize(_GRAIN, rounding=ROUND_HALF_EVEN, context=EXACT_MATHS))


def _as_json(value: Any) -> str:
    return json.dumps(value) if value else "{}"
