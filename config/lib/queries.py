"""Queries for which the ORM takes longer than the database: compiled once (`compiled`), or read by column (`Columns`).

    @compiled
    def _list_open(since: datetime) -> QuerySet[Trade]:
        return Trade.objects.open().filter(entry_at__gte=since)

    trades = _list_open(now)  # a list

The function runs once for each engine, with places instead of its arguments (of a list: a list of them), so it may only
pass them on to the query and reads no clock. The owner in scope is a place, too: each run is bound to her own id. Named
arguments are no places: each of their few values has a statement of its own.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from datetime import datetime
from decimal import Context, Decimal
from functools import partial, reduce, wraps
from itertools import compress
from operator import getitem
from typing import Any, Final, ParamSpec, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Col, Expression
from django.db.models.functions import Cast
from django.db.models.sql.constants import MULTI

from config.lib.owned import ANY_OWNER, as_any_owner, owner_id

P = ParamSpec("P")
Row = TypeVar("Row")

_CHUNK: Final = 2_000
_DIGITS: Final = Context(prec=15)  # of a number in SQLite


class _Place(Expression):
    """Where a statement takes an argument: its number, and the place in it if it is a sequence."""

    def __init__(self, *path: int) -> None:
        super().__init__()
        self.path = path

    def as_sql(self, compiler: Any, connection: Any, *args: object, **context: object) -> tuple[str, tuple[Any, ...]]:
        return "%s", (self,)

    def find_in(self, args: Sequence[Any]) -> Any:
        """Return the argument."""
        return reduce(getitem, self.path, args)


class _Statement:
    """A query with its SQL, whose parameters are values, places and the owner."""

    def __init__(self, rows: Any, engine: str) -> None:
        self._rows = rows
        self._compiler = rows.query.get_compiler(engine)
        self._sql, self._params = self._compiler.as_sql()

    def run(self, args: Sequence[Any], database: BaseDatabaseWrapper) -> list[Any]:
        """Return the rows of the owner in scope for these arguments."""
        params = tuple(_bind(param, args, database) for param in self._params)
        compiler = copy(self._compiler)
        compiler.connection = database
        compiler.as_sql = lambda *_, **__: (self._sql, params)
        rows = self._rows.all()
        rows.query.get_compiler = lambda *_, **__: compiler
        return list(rows)


def compiled(build: Callable[P, Iterable[Row]]) -> Callable[P, list[Row]]:
    """Compile the query that a function builds, once for each engine, lengths of its lists and named arguments."""
    statements: dict[tuple[object, ...], _Statement] = {}

    @wraps(build)
    def run(*args: P.args, **named: P.kwargs) -> list[Row]:
        database = connections[DEFAULT_DB_ALIAS]
        lengths = [len(arg) if isinstance(arg, list) else None for arg in args]
        if (key := (database.vendor, *lengths, *named.items())) not in statements:
            places: Any = [
                _Place(number) if length is None else [_Place(number, place) for place in range(length)]
                for number, length in enumerate(lengths)
            ]
            with as_any_owner():
                statements[key] = _Statement(build(*places, **named), database.alias)
        return statements[key].run(args, database)

    return run


def _bind(param: object, args: Sequence[Any], database: BaseDatabaseWrapper) -> Any:
    """Return a parameter for the driver. Raises ValueError for None, to which SQL holds nothing equal."""
    if param is ANY_OWNER:
        return owner_id()
    if not isinstance(param, _Place):
        return param
    value = param.find_in(args)
    match value.pk if isinstance(value, models.Model) else value:
        case None:
            raise ValueError("a compiled query takes no None")
        case UUID() as key if not database.features.has_native_uuid_field:
            return key.hex
        case plain:
            return database.ops.adapt_unknown_value(plain)


class ManyIds(models.expressions.RawSQL):
    """Many ids as one parameter, to filter by: ten thousand parameters take longer than their rows."""

    def __init__(self, ids: Iterable[UUID]) -> None:
        if connection.vendor == "sqlite":
            super().__init__("SELECT value FROM json_each(%s)", [json.dumps([one.hex for one in ids])])
        else:
            super().__init__("SELECT unnest(%s::uuid[])", [[f"{one}" for one in ids]])


class Columns:
    """The columns of a query, by name.

    The ORM converts each value of each row, which takes most of the time of ten thousand rows. Here the rows stay as
    the database gives them, and a column is converted when it is asked for, each of its different values once.
    """

    def __init__(self, rows: "models.QuerySet[Any]", names: Iterable[str], *, as_floats: bool = False) -> None:
        """Read the rows once, in the scope of the owner; decimals `as_floats` for statistics."""
        names = list(dict.fromkeys(names))
        compiler: Any = rows.values_list(*_select(rows, names, as_floats=as_floats)).query.get_compiler(
            connection.alias
        )
        # Of the same engine's columns of one kind, equal values are equal here, too. Ten thousand rows at a time would
        # keep the garbage collector busy.
        columns: list[list[Any]] = [[] for _ in names]
        for chunk in compiler.execute_sql(MULTI, chunk_size=_CHUNK):
            for column, values in zip(columns, zip(*chunk, strict=True), strict=True):
                column += values
        self.raw: dict[str, Sequence[Any]] = dict(zip(names, columns, strict=True))
        expressions = [expression for expression, _, _ in compiler.select]
        converters = compiler.get_converters(expressions)
        self._read = {
            name: _choose_reader(expression, converters.get(place, ((), None))[0])
            for place, (name, expression) in enumerate(zip(names, expressions, strict=True))
        }
        self._converted: dict[str, Sequence[Any]] = {}

    def __getitem__(self, name: str) -> Sequence[Any]:
        if name not in self._converted:
            self._converted[name] = self._convert(name, self.raw[name])
        return self._converted[name]

    def pick(self, name: str, places: Iterable[int]) -> Sequence[Any]:
        """Return the values of a few rows."""
        return self._convert(name, [self.raw[name][place] for place in places])

    def keep(self, kept: Sequence[bool]) -> None:
        """Drop the other rows."""
        for columns in (self.raw, self._converted):
            columns.update({name: tuple(compress(values, kept)) for name, values in columns.items()})

    def _convert(self, name: str, values: Sequence[Any]) -> Sequence[Any]:
        read = self._read[name]
        if read is None:
            return values
        known = {value: None if value is None else read(value) for value in set(values)}
        return [known[value] for value in values]


def _select(rows: "models.QuerySet[Any]", names: Iterable[str], *, as_floats: bool) -> list[Any]:
    """Return the columns to read: instants of SQLite as text, since its driver takes long to make datetimes."""
    fields = {field.name: field for field in rows.model._meta.concrete_fields}
    return [_choose_column(name, fields.get(name), as_floats=as_floats) for name in names]


def _choose_column(name: str, field: "models.Field[Any, Any] | None", *, as_floats: bool) -> Any:
    match field:
        case models.DateTimeField() if connection.vendor == "sqlite":
            return _InstantText(name, models.CharField())
        case models.DecimalField() if as_floats:
            return Cast(name, models.FloatField())
    return name


class _InstantText(Cast):
    """An instant of SQLite as its text."""


def _choose_reader(expression: Any, converters: Sequence[Callable[..., Any]]) -> Callable[[Any], Any] | None:
    """Return what makes a value of Python of one of the database; None: it is one."""
    if isinstance(expression, _InstantText):
        return _read_instant
    if isinstance(expression, Cast) and isinstance(expression.output_field, models.FloatField):
        return None
    if connection.vendor == "sqlite" and isinstance(expression, Col):
        match expression.output_field:
            case models.UUIDField():
                return UUID
            case models.ForeignKey() as field if isinstance(field.target_field, models.UUIDField):
                return UUID
            case models.DecimalField() as field:
                context = Context(prec=field.max_digits)  # as `DecimalField.context`
                return partial(_read_decimal, Decimal(1).scaleb(-field.decimal_places), context)
    return partial(_apply, converters, expression) if converters else None


def _read_instant(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}+00:00")


def _read_decimal(grain: Decimal, context: Context, value: float) -> Decimal:
    return _DIGITS.create_decimal_from_float(value).quantize(grain, context=context)


def _apply(converters: Sequence[Callable[..., Any]], expression: Any, value: Any) -> Any:
    for convert in converters:
        value = convert(value, expression, connection)
    return value
