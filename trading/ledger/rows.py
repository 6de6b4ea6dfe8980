"""Rows of the ledger, and the SQL that writes them.

The SQL is raw: Django takes some twenty times as long, and its upsert is not scoped. Each statement names the owner.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache, lru_cache, partial
from itertools import count, repeat
from operator import attrgetter, itemgetter
from secrets import randbits
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection, models
from pydantic import TypeAdapter

from config.lib.owned import OwnedModel, ScopeError, owner_id
from trading.ledger.executions import EXACT_MATHS, Execution
from trading.ledger.trips import ExitCause, Trip
from trading.models import Deployment, ExitKind, Fill, OrderOrigin, RegimeTag, Trade, TradeStatus

_GRAIN: Final = Decimal("1e-12")  # of the columns
_EXIT_KINDS: Final = {
    OrderOrigin.AGENT: ExitKind.SIGNAL,
    OrderOrigin.STOP: ExitKind.STOP,
    OrderOrigin.HALT: ExitKind.HALT,
    OrderOrigin.COMMAND: ExitKind.COMMAND,
}
FILL_COLUMNS: Final = tuple(field.name for field in fields(Execution))
_READ_FILL: Final = {name: attrgetter(name) for name in FILL_COLUMNS}
_NO_EXIT: Final = {
    **{"exit_kind": "", "exit_reason": "", "exit_decided_at": None, "exit_snapshot_id": None},
    "exit_skill_version": None,
}
_NO_ENTRY: Final = {
    **{"entry_reason": "", "entry_decided_at": None, "entry_snapshot_id": None, "entry_leverage": None},
    "entry_regime_tag": RegimeTag.UNKNOWN.value,
}
_KEY: Final = ("user_id", "id")
_AT_ONCE: Final = 2_000  # rows of a statement on PostgreSQL
# SQLite takes half the time for rows that share a statement. Few sizes, so that each statement is prepared once.
_SIZES: Final = (64, 8, 1)
_SECOND: Final = timedelta(seconds=1)
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


class TickFills(NamedTuple):
    """Fills to store that came together."""

    fills: Sequence[Execution]
    tick: int = 0  # 0: imported
    settled_at: datetime | None = None  # None: each fill's own instant
    intents: Mapping[str, Intent] = MappingProxyType({})  # by fill id


def make_ids(now: datetime) -> Iterator[UUID]:
    """Yield ids of version 7, which rise: their rows are appended to the index."""
    first = int(now.timestamp() * 1000) << 80 | 7 << 76 | randbits(12) << 64 | 2 << 62 | randbits(61)
    return (UUID(int=one) for one in count(first))


def new_trade_row(deployment: Deployment, trip: Trip, now: datetime) -> dict[str, Any]:
    """Return the row of a new trade without its id, outcome and version."""
    return {
        "skill_id": deployment.skill_id,
        "side": trip.side.value,
        "entry_tick_at": trip.entry_tick_at,
        "created_at": now,
        "updated_at": now,
        **_NO_ENTRY,
        **_NO_EXIT,
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
    is_open = trip.is_open
    held = max(trip.exit_at - trip.entry_at, timedelta(0)) if trip.exit_at else None
    return {
        "status": "open" if is_open else "closed",
        "quantity": trip.quantity,
        "peak_quantity": trip.peak_quantity,
        "entry_at": trip.entry_at,
        "entry_price": trip.entry_price,
        "entry_size_usd": trip.entry_size_usd,
        "exit_tick_at": trip.exit_tick_at,
        "exit_at": trip.exit_at,
        "exit_price": trip.exit_price,
        "holding_minutes": None if held is None else Decimal(held // _SECOND) / 60,
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
        "state": dump_trip(trip) if is_open else {},
    }


def _dump_coins(coins: Mapping[str, Decimal]) -> dict[str, str]:
    return {coin: f"{coins[coin].normalize(EXACT_MATHS):f}" for coin in sorted(coins)} if coins else {}


_TRIPS: Final = TypeAdapter(Trip)
_INTENTS: Final = TypeAdapter(Intent)


def dump_trip(trip: Trip) -> dict[str, Any]:
    """Return a trip as exact JSON; what is zero or empty is left out."""
    state: dict[str, Any] = _TRIPS.dump_python(trip, mode="json", exclude_defaults=True)
    return state


def load_trip(state: Mapping[str, Any]) -> Trip:
    """Return the trip that `dump_trip` dumped."""
    return _TRIPS.validate_python(state)


def dump_intent(intent: Intent | None) -> dict[str, Any]:
    """Return an intent as JSON, for a later rebuild."""
    return _INTENTS.dump_python(intent, mode="json", exclude_defaults=True) if intent else {}


def load_intent(values: Mapping[str, Any]) -> Intent | None:
    """Return the intent that `dump_intent` dumped."""
    return _INTENTS.validate_python(values) if values else None


def insert_trades(rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert new trades of the owner in scope."""
    if rows:
        _insert_rows(Trade, _transpose(rows, [field.attname for field in _list_columns(Trade)]))


def update_trades(rows: Iterable[Mapping[str, Any]]) -> None:
    """Write what changed of stored trades. Those that closed go apart, since SQLite first copies each page for them."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[tuple(row)].append(row)
    for names, group in groups.items():
        is_open = group[0]["status"] == TradeStatus.OPEN
        left_out = {"entry_at", *_KEY, *(["status"] if is_open else [])}  # and indexes of the same columns stay
        changed = [name for name in names if name not in left_out]
        _update_trades(_transpose(group, [*changed, *_KEY]))


def _transpose(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Sequence[Any]]:
    return dict(zip(names, zip(*map(itemgetter(*names), rows), strict=True), strict=True))


def insert_fills(deployment: Deployment, arrivals: Sequence[TickFills], *, batch_id: UUID | None = None) -> None:
    """Insert new fills of the owner in scope."""
    fills = [fill for one in arrivals for fill in one.fills]
    if not fills:
        return
    columns: dict[str, Sequence[Any]] = {name: list(map(read, fills)) for name, read in _READ_FILL.items()}
    common = {"user_id": deployment.user_id, "deployment_id": deployment.pk, "batch_id": batch_id, "intent": {}}
    columns |= {name: (value,) * len(fills) for name, value in common.items()}
    columns["tick"] = [one.tick for one in arrivals for _ in one.fills]
    columns["settled_at"] = [one.settled_at or fill.settled_at for one in arrivals for fill in one.fills]
    if any(one.intents for one in arrivals):
        intents = [one.intents.get(fill.fill_id) for one in arrivals for fill in one.fills]
        columns["intent"] = [dump_intent(intent) for intent in intents]
        columns["order_id"] = [intent and intent.order_id for intent in intents]
    _insert_rows(Fill, columns)


def _insert_rows(model: type[OwnedModel], columns: Mapping[str, Sequence[Any]]) -> None:
    """Insert rows by column; what all of them share is sent once, and null is not sent."""
    common, own = _convert_columns(model, columns)
    common = {name: value for name, value in common.items() if value is not None}
    width, compose = len(own), partial(_compose_insert, model._meta.db_table)
    if connection.vendor != "sqlite":
        shared = [json.dumps(value) if isinstance(value, dict) else value for value in common.values()]
        _send_as_json(compose(tuple(common), tuple(own)), shared, own, list(zip(*own.values(), strict=True)))
        return
    # In the order of the indexes, which takes half the time of the order of arrival.
    order = sorted(range(len(columns["symbol"])), key=columns["symbol"].__getitem__)
    values: list[Any] = [None] * (len(order) * width)
    for place, column in enumerate(own.values()):
        values[place::width] = map(column.__getitem__, order)
    begin = 0
    with connection.cursor() as cursor:
        for size in _SIZES:
            end, step = len(values) - (len(values) - begin) % (size * width), size * width
            parts = [[*common.values(), *values[at : at + step]] for at in range(begin, end, step)]
            if parts:
                cursor.executemany(compose(tuple(common), tuple(own), size), parts)
            begin = end


@cache
def _compose_insert(table: str, common: Sequence[str], own: Sequence[str], rows: int | None = None) -> str:
    """Return the statement for a number of rows; None: for rows as JSON, on PostgreSQL."""
    if rows is None:
        values, source = [f"new.{name}" for name in own], f"json_populate_recordset(NULL::{table}, %s) AS new"
    else:
        row = f"({', '.join(['%s'] * len(own))})"
        values, source = [f"column{place + 1}" for place in range(len(own))], f"(VALUES {', '.join([row] * rows)})"
    columns, values = ", ".join([*common, *own]), [*["%s"] * len(common), *values]
    return f"INSERT INTO {table} ({columns}) SELECT {', '.join(values)} FROM {source}"  # noqa: S608 - names of ours


def _update_trades(columns: Mapping[str, Sequence[Any]]) -> None:
    common, own = _convert_columns(Trade, columns)
    table, is_sqlite, names = Trade._meta.db_table, connection.vendor == "sqlite", list(columns)
    rows = list(zip(*(own.get(name) or repeat(common[name], len(columns["user_id"])) for name in names), strict=True))
    changes = ", ".join(f"{name} = {'%s' if is_sqlite else f'new.{name}'}" for name in names if name not in _KEY)
    key = " AND ".join(f"{table}.{name} = {'%s' if is_sqlite else f'new.{name}'}" for name in _KEY)
    if is_sqlite:
        with connection.cursor() as cursor:
            cursor.executemany(f"UPDATE {table} SET {changes} WHERE {key}", rows)  # noqa: S608 - names of ours
        return
    source = f"json_populate_recordset(NULL::{table}, %s) AS new"
    _send_as_json(f"UPDATE {table} SET {changes} FROM {source} WHERE {key}", [], names, rows)  # noqa: S608 - the same


def _send_as_json(statement: str, shared: Sequence[Any], names: Iterable[str], rows: Sequence[Sequence[Any]]) -> None:
    with connection.cursor() as cursor:
        for begin in range(0, len(rows), _AT_ONCE):  # a statement a row takes ten times as long
            part = [dict(zip(names, row, strict=True)) for row in rows[begin : begin + _AT_ONCE]]
            cursor.execute(statement, [*shared, json.dumps(part)])


def _convert_columns(
    model: type[OwnedModel], columns: Mapping[str, Sequence[Any]]
) -> tuple[dict[str, Any], dict[str, Sequence[Any]]]:
    """Return what the rows share, and their own columns, as the database takes them. Raises ScopeError."""
    if set(columns["user_id"]) != {owner_id()}:
        raise ScopeError("foreign row")
    converters = _choose_converters(model, is_sqlite=connection.vendor == "sqlite")
    common, own = dict[str, Any](), dict[str, Sequence[Any]]()
    for name, column in columns.items():
        first, converter = column[0], converters[name]
        if len(column) > 1 and first == column[-1] and column.count(first) == len(column):
            common[name] = first if first is None or converter is None else converter(first)
        elif converter is None:
            own[name] = column
        elif None in column:
            own[name] = [None if value is None else converter(value) for value in column]
        else:
            own[name] = list(map(converter, column))
    return common, own


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
            return (lambda value: json.dumps(value) if value else "{}") if is_sqlite else None
        case models.CharField() if field.choices:
            return str  # of an enum
    return None


def _round_amount(value: Decimal) -> str:
    return str(value.quantize(_GRAIN, rounding=ROUND_HALF_EVEN, context=EXACT_MATHS))
