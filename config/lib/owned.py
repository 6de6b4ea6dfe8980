"""Owner scope, `OwnedModel` and `OwnedManager`.

A query on an owned model compiles only while an owner is in scope, and returns the rows of that owner. For jobs and the
admin the system is in scope, and all rows are returned. `owned(user)` opens the scope to read, `owned_tx(user)` to
write; `system(reason)` and `system_tx(reason)` are the same for the rows of all users. On PostgreSQL they also set
`app.user_id`, which the row-level security policies read (`config/lib/rls.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, Self, TypeVar, final

from django.conf import settings
from django.core.exceptions import FullResultSet
from django.db import DEFAULT_DB_ALIAS, connection, connections, models, transaction
from django.db.models.expressions import F, Func

if TYPE_CHECKING:
    from django.contrib.auth.base_user import AbstractBaseUser
    from django.contrib.auth.models import AnonymousUser
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.db.models.sql.compiler import SQLCompiler
    from django.db.models.sql.query import Query

logger = logging.getLogger("security.scope")


class ScopeError(RuntimeError):
    """A bug: a query without an owner, or on a foreign row."""


@final
class System:
    """The scope of all rows, for jobs, admin, fixtures and erasure."""

    def __repr__(self) -> str:
        return "SYSTEM"


SYSTEM: Final = System()
SYSTEM_SETTING: Final = "0"  # no user has this id; the policies let it see everything


@final
class AnyOwner:
    """Where a compiled statement takes its owner (`config.lib.compiled`)."""


ANY_OWNER: Final = AnyOwner()

Owner = int | System | AnyOwner


class _Scope:
    """An open scope, unique so that it knows if it is innermost."""

    __slots__ = ("owner",)

    def __init__(self, owner: Owner) -> None:
        self.owner = owner


_innermost: ContextVar[_Scope | None] = ContextVar("innermost_scope", default=None)


def _find_owner() -> Owner | None:
    scope = _innermost.get()
    return None if scope is None else scope.owner


@contextmanager
def _open_scope(owner: Owner) -> Iterator[None]:
    outer, scope = _innermost.get(), _Scope(owner)
    # Restore by value: a token works only in the context that created it, and generators move between contexts.
    _innermost.set(scope)
    try:
        yield
    finally:
        # Generators can close their scopes in any order. A scope that is not the innermost restores nothing, because
        # the restored one might stay open.
        _innermost.set(outer if _innermost.get() is scope else None)


def current_owner() -> Owner:
    """Return the owner in scope, or SYSTEM. Raises ScopeError."""
    owner = _find_owner()
    if owner is None:
        raise ScopeError("no owner in scope")
    return owner


def owner_id() -> int:
    """Return the owner's id in scope. Raises ScopeError, also for SYSTEM."""
    owner = current_owner()
    if not isinstance(owner, int):
        raise ScopeError("a scope without one owner has no owner id")
    return owner


@contextmanager
def _as_owner(uid: int | None) -> Iterator[None]:
    # The database uses zero for the system.
    if uid is None or isinstance(uid, bool) or uid <= 0:
        raise ScopeError("an anonymous user owns nothing")
    previous = _find_owner()
    if previous is not None and previous is not SYSTEM and previous != uid:
        raise ScopeError(f"owner switch {previous} -> {uid}")
    with _open_scope(uid):
        yield


@contextmanager
def _as_system(reason: str) -> Iterator[None]:
    previous = _find_owner()
    if previous is not None and previous is not SYSTEM:
        raise ScopeError("a user's scope may not become the system's")
    logger.info("system scope: %s", reason)
    with _open_scope(SYSTEM):
        yield


def as_any_owner() -> AbstractContextManager[None]:
    """Open the scope to compile a statement in; none runs in it, as no database takes ANY_OWNER."""
    return _open_scope(ANY_OWNER)


class OwnedBy(Func):
    """`<owner column> = <owner in scope>`, read when the SQL is compiled."""

    conditional = True
    output_field = models.BooleanField()

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *args: object, **context: object
    ) -> tuple[str, tuple[Any, ...]]:
        """Compile the comparison; the system's scope filters nothing."""
        owner = current_owner()
        if isinstance(owner, System):
            raise FullResultSet
        column, params = compiler.compile(self.source_expressions[0])
        return f"{column} = %s", (*params, owner)


M = TypeVar("M", bound="OwnedModel")


class OwnedQuerySet(models.QuerySet[M]):
    """A queryset whose bulk writes check like `save()`, in its own scope."""

    _fetched: tuple[list[M] | None, Owner | None]

    @property
    def _result_cache(self) -> list[M] | None:
        # Django's own attribute. A queryset of a class outlives a scope; in another scope it runs again.
        rows, owner = self._fetched
        return rows if owner == _find_owner() else None

    @_result_cache.setter
    def _result_cache(self, rows: list[M] | None) -> None:
        self._fetched = rows, _find_owner()

    def _guarded(self, objs: Iterable[M]) -> list[M]:
        checked = list(objs)
        for obj in checked:
            obj.guard()
        return checked

    def bulk_create(
        self,
        objs: Iterable[M],
        batch_size: int | None = None,
        ignore_conflicts: bool = False,
        update_conflicts: bool = False,
        update_fields: Collection[str] | None = None,
        unique_fields: Collection[str] | None = None,
    ) -> list[M]:
        """Insert the owner's rows; an upsert could overwrite foreign ones."""
        if update_conflicts:
            raise ScopeError("an upsert is not scoped")
        return super().bulk_create(self._guarded(objs), batch_size, ignore_conflicts)

    def bulk_update(self, objs: Iterable[M], fields: Iterable[str], batch_size: int | None = None) -> int:
        fields = list(fields)
        self.model.refuse_columns(fields)
        return super().bulk_update(self._guarded(objs), fields, batch_size)

    def update(self, **kwargs: object) -> int:
        """Update columns of the selected rows, except immutable ones."""
        self.model.refuse_columns(kwargs)
        return super().update(**kwargs)

    def first_or(self, refusal: Exception) -> M:
        """Return the first row. Raises the refusal if there is none."""
        row = self.first()
        if row is None:
            raise refusal
        return row

    def raw(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuse: no expression can be added to raw SQL."""
        raise ScopeError("raw() is not scoped")


_OwnedQuerySetManager = models.Manager.from_queryset(OwnedQuerySet)


class OwnedManager(_OwnedQuerySetManager[M]):
    """The owner's rows; extend by `OwnedManager.from_queryset(XQuerySet)()`."""

    def get_queryset(self) -> models.QuerySet[M]:
        """Return the rows of the owner at compile time."""
        rows = super().get_queryset()
        rows.query = _build_query(self.model).chain()
        return rows


@cache
def _build_query(model: type[models.Model]) -> Query:
    # To build the condition takes ten times as long as to copy it.
    return models.QuerySet(model).filter(OwnedBy(F("user"))).query


class OwnedModel(models.Model):
    """A row of one user; write `class Meta(OwnedModel.Meta)`."""

    # No index of its own: the user comes first in each model's own indexes.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, db_index=False)

    _stored_owner: int | None = None  # as the database has it; None: not stored or not loaded

    archived_as: ClassVar[Mapping[str, str]] = {}  # by a column that only the machine reads, what an archive has for it
    frozen_columns: ClassVar[frozenset[str]] = frozenset()  # besides the owner, columns that no update may name

    objects = OwnedManager()

    class Meta:
        abstract = True
        base_manager_name = "objects"
        default_manager_name = "objects"

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.guard()
        self.refuse_columns(set(kwargs.get("update_fields") or ()) - {"user", "user_id"})
        super().save(*args, **kwargs)
        self._stored_owner = self.user_id

    def insert(self) -> None:
        """Insert a new row by a statement that is built once: the ORM builds it for each row, which takes longer."""
        self.guard()
        fields, statement = _build_insert(type(self))
        database = connections[DEFAULT_DB_ALIAS]  # `connection` would look it up again for each column
        values = [field.get_db_prep_save(field.pre_save(self, True), database) for field in fields]
        with database.cursor() as cursor:
            cursor.execute(statement, values)
            self.pk = self.pk or cursor.fetchone()[0]
        self._state.adding, self._state.db, self._stored_owner = False, database.alias, self.user_id

    @classmethod
    def update_row(cls, pk: object, changes: Mapping[str, object], **wanted: object) -> int:
        """Update one row of the owner in scope whose columns are as `wanted`, as fast as `insert`; return the rows."""
        cls.refuse_columns(changes)
        meta: Any = cls._meta
        written = {meta.get_field(name): value for name, value in changes.items()}
        columns = ", ".join(f"{field.column} = %s" for field in written)
        values = [field.get_db_prep_save(value, connection) for field, value in written.items()]
        rows = {"user_id": owner_id(), meta.pk.column: meta.pk.get_db_prep_save(pk, connection), **wanted}
        where = " AND ".join(f"{name} IS NULL" if value is None else f"{name} = %s" for name, value in rows.items())
        values += [value for value in rows.values() if value is not None]
        with connection.cursor() as cursor:
            cursor.execute(f'UPDATE "{meta.db_table}" SET {columns} WHERE {where}', values)  # noqa: S608 - names of ours
            return int(cursor.rowcount)

    def delete(self, using: str | None = None, keep_parents: bool = False) -> tuple[int, dict[str, int]]:
        self.guard()
        if self._state.adding:
            # Django deletes by id, which may be the id of a foreign row.
            raise ScopeError("only a row that was read or saved can be deleted")
        return super().delete(using, keep_parents)

    @classmethod
    def refuse_columns(cls, columns: Iterable[str]) -> None:
        """Raise ScopeError if a column is immutable."""
        if refused := ({"user", "user_id"} | cls.frozen_columns) & set(columns):
            raise ScopeError(f"the {', '.join(sorted(refused))} of a stored row never changes")

    def guard(self) -> None:
        """Set an empty owner; refuse a foreign or changed one."""
        owner = current_owner()
        if self._stored_owner not in (None, self.user_id):
            raise ScopeError("the owner of a row never changes")
        if isinstance(owner, System):
            if self.user_id is None:
                raise ScopeError("the system scope must name an owner")
            return
        if self.user_id is None:
            self.user_id = owner_id()
        if self.user_id != owner:
            raise ScopeError("foreign row")

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[object]) -> Self:
        """Build the row, unless a join loaded a foreign one."""
        names = list(field_names)
        row = super().from_db(db, names, list(values))
        if "user_id" in names:
            owner = _find_owner()
            if not (owner is SYSTEM or row.user_id == owner):
                raise ScopeError("foreign row loaded")
            row._stored_owner = row.user_id
        return row


@cache
def _build_insert(model: type[OwnedModel]) -> tuple[Sequence[models.Field[Any, Any]], str]:
    meta: Any = model._meta
    fields = [field for field in meta.concrete_fields if not field.db_returning]
    names, places = ", ".join(field.column for field in fields), ", ".join("%s" for _ in fields)
    table, key = meta.db_table, meta.pk.column
    return fields, f'INSERT INTO "{table}" ({names}) VALUES ({places}) RETURNING {key}'  # noqa: S608 - names of ours


@contextmanager
def _database_setting(value: str, using: str, *, is_outermost: bool) -> Iterator[None]:
    """Set `app.user_id` for this transaction; restore the outer value."""
    connection = connections[using]
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('app.user_id', true), set_config('app.user_id', %s, true)", [value])
        previous = cursor.fetchone()[0] or ""
    yield
    # The end of the outermost transaction and a rollback restore it. A transaction that needs a rollback accepts no
    # further statement.
    if not is_outermost and previous != value and not connection.needs_rollback:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('app.user_id', %s, true)", [previous])


@contextmanager
def _transaction(value: str, using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    is_outermost = not connections[using].in_atomic_block
    with transaction.atomic(using=using):
        if connections[using].vendor == "postgresql":
            with _database_setting(value, using, is_outermost=is_outermost):
                yield
        else:
            yield


def _get_id(user: AbstractBaseUser | AnonymousUser | int | None) -> int | None:
    return user if user is None or isinstance(user, int) else user.pk


def _reading(value: str) -> AbstractContextManager[None]:
    # SQLite: nothing, so that readers never queue behind a writer. PostgreSQL: a transaction, since the policies read a
    # setting that lives as long as it.
    return _transaction(value) if connection.vendor == "postgresql" else nullcontext()


@contextmanager
def owned(user: AbstractBaseUser | AnonymousUser | int | None) -> Iterator[None]:
    """Open the scope to read as a user."""
    uid = _get_id(user)
    with _as_owner(uid), _reading(str(uid)):
        yield


@contextmanager
def owned_tx(user: AbstractBaseUser | AnonymousUser | int | None) -> Iterator[None]:
    """Open the scope and one transaction to write."""
    uid = _get_id(user)
    with _as_owner(uid), _transaction(str(uid)):
        yield


@contextmanager
def system(reason: str) -> Iterator[None]:
    """Open the scope of all rows to read, as `owned` does for one user's."""
    with _as_system(reason), _reading(SYSTEM_SETTING):
        yield


@contextmanager
def system_tx(reason: str, using: str = "default") -> Iterator[None]:
    """Open the scope of all rows; `reason` goes to the log."""
    with _as_system(reason), _transaction(SYSTEM_SETTING, using):
        yield
