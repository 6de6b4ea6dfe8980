"""The term index and its triggers.

A table beside the searched one contains tokens (`build_tokens`) and ids of the rows that may be found, no words.
Triggers update it in the transaction of each write. SQLite: FTS5 without a copy of the text. PostgreSQL: a tsvector
with GIN, in a table of its own, because under row-level security no index answers `@@` before the policy has checked
the row. Foreign rows are out of reach: tokens differ between owners, and the policy guards the table of the ids.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db import connection, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor as Editor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState as State
from django.db.models.expressions import Col, F, Func
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row")

# Statements by engine; braces take the table's names.
_Script = dict[str, tuple[str, ...]]

_CREATE: Final[_Script] = {
    "sqlite": (
        # Our own ids for FTS5, which needs numbers: SQLite may change its row ids when it compacts the file.
        "CREATE TABLE {table}_search_rows (docid integer PRIMARY KEY, row_id {type} NOT NULL UNIQUE)",
        "CREATE VIRTUAL TABLE {table}_search USING fts5(tokens, content='', detail=none, tokenize='ascii')",
    ),
    "postgresql": (
        "CREATE TABLE {table}_search (docid bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
        " row_id {type} NOT NULL UNIQUE, tokens tsvector NOT NULL)",
        # No list of pending entries, which each search would have to scan.
        "CREATE INDEX {table}_search_tokens ON {table}_search USING gin (tokens) WITH (fastupdate = off)",
        """
        CREATE FUNCTION {table}_search_follow() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF TG_OP = 'TRUNCATE' THEN
            TRUNCATE {table}_search;
            RETURN NULL;
          END IF;
          IF TG_OP <> 'INSERT' THEN
            DELETE FROM {table}_search WHERE row_id = OLD.{pk};
          END IF;
          IF TG_OP <> 'DELETE' AND NEW.{column} <> '' AND NEW.{unless} IS NULL THEN
            INSERT INTO {table}_search (row_id, tokens)
              VALUES (NEW.{pk}, array_to_tsvector(string_to_array(NEW.{column}, ' ')));
          END IF;
          RETURN NULL;
        END $$
        """,
    ),
}
# Index rows that already have terms, as when the index is rebuilt.
_TAKE_IN: Final[_Script] = {
    "sqlite": (
        "INSERT INTO {table}_search_rows (row_id) SELECT {pk} FROM {table} WHERE {column} <> '' AND {unless} IS NULL",
        "INSERT INTO {table}_search (rowid, tokens) SELECT docid, {column}"
        " FROM {table}_search_rows JOIN {table} ON {pk} = row_id",
    ),
    "postgresql": (
        "SELECT set_config('app.user_id', '0', true)",  # the rows of all users; the policy also binds the table's owner
        "INSERT INTO {table}_search (row_id, tokens)"
        " SELECT {pk}, array_to_tsvector(string_to_array({column}, ' ')) FROM {table}"
        " WHERE {column} <> '' AND {unless} IS NULL",
    ),
}
# SQLite alone drops triggers with the table that it remakes, and then misses rows; elsewhere the index is complete.
_EMPTY: Final[_Script] = {
    "sqlite": ("INSERT INTO {table}_search ({table}_search) VALUES ('delete-all')", "DELETE FROM {table}_search_rows")
}
_DROP: Final[_Script] = {
    "sqlite": ("DROP TABLE {table}_search", "DROP TABLE {table}_search_rows"),
    "postgresql": ("DROP FUNCTION {table}_search_follow()", "DROP TABLE {table}_search"),
}

_ENTER = """
  INSERT INTO {table}_search_rows (row_id) SELECT NEW.{pk}
    WHERE NEW.{column} <> '' AND NEW.{unless} IS NULL;
  INSERT INTO {table}_search (rowid, tokens)
    SELECT docid, NEW.{column} FROM {table}_search_rows WHERE row_id = NEW.{pk};
"""
# FTS5 stores no text here, so deleting a row needs the text that was indexed.
_LEAVE = """
  INSERT INTO {table}_search ({table}_search, rowid, tokens)
    SELECT 'delete', docid, OLD.{column} FROM {table}_search_rows WHERE row_id = OLD.{pk};
  DELETE FROM {table}_search_rows WHERE row_id = OLD.{pk};
"""
_IS_TOUCHED = "(OLD.{column} <> NEW.{column} OR (OLD.{unless} IS NULL) <> (NEW.{unless} IS NULL))"
_FOLLOW: Final[_Script] = {
    "sqlite": (
        f"CREATE TRIGGER {{table}}_search_insert AFTER INSERT ON {{table}} BEGIN {_ENTER} END",
        "CREATE TRIGGER {table}_search_update AFTER UPDATE OF {column}, {unless} ON {table}"
        f" WHEN {_IS_TOUCHED} BEGIN {_LEAVE} {_ENTER} END",
        f"CREATE TRIGGER {{table}}_search_delete AFTER DELETE ON {{table}} BEGIN {_LEAVE} END",
    ),
    "postgresql": (
        "CREATE TRIGGER {table}_search_insert AFTER INSERT OR DELETE ON {table}"
        " FOR EACH ROW EXECUTE FUNCTION {table}_search_follow()",
        "CREATE TRIGGER {table}_search_update AFTER UPDATE OF {column}, {unless} ON {table}"
        f" FOR EACH ROW WHEN {_IS_TOUCHED} EXECUTE FUNCTION {{table}}_search_follow()",
        "CREATE TRIGGER {table}_search_delete AFTER TRUNCATE ON {table}"
        " FOR EACH STATEMENT EXECUTE FUNCTION {table}_search_follow()",
    ),
}
_TRIGGERS: Final = ("insert", "update", "delete")
_LIST_TRIGGERS: Final = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s",
    "postgresql": "SELECT tgname FROM pg_trigger WHERE tgrelid = to_regclass(%s) AND NOT tgisinternal",
}
_UNFOLLOW: Final[_Script] = {
    "sqlite": tuple(f"DROP TRIGGER IF EXISTS {{table}}_search_{act}" for act in _TRIGGERS),
    "postgresql": tuple(f"DROP TRIGGER IF EXISTS {{table}}_search_{act} ON {{table}}" for act in _TRIGGERS),
}

# The documents that hold a word; the rest is alike on all engines.
_HOLDERS: Final = {
    "sqlite": "SELECT rowid AS docid FROM {table}_search WHERE {table}_search MATCH %s",
    "postgresql": "SELECT docid FROM {table}_search WHERE tokens @@ %s::tsquery",
}
# `+ 0` keeps PostgreSQL from reading the rows of all users, newest first, until enough of them match.
_NEWEST: Final = {"sqlite": "docid DESC", "postgresql": "docid + 0 DESC"}
_ROWS: Final = {"sqlite": "{table}_search_rows", "postgresql": "{table}_search"}
# The array makes PostgreSQL look up the index first. It underestimates the rows that the policy lets through, and would
# read all rows of the owner and search the index for each.
_IS_HOLDER: Final = {"sqlite": "{key} IN ({find})", "postgresql": "{key} = ANY (ARRAY({find}))"}
_OR: Final = {"sqlite": " OR ", "postgresql": " | "}


class ContainsAny(Func):
    """The condition that a row contains any of the tokens."""

    conditional = True
    output_field = models.BooleanField()

    def __init__(self, wanted: Sequence[str], *, newest: int | None = None, always: Sequence[str] = ()) -> None:
        """Match `wanted` in the `newest` indexed rows, `always` in all."""
        self.wanted = tuple(wanted)
        self.newest = newest
        self.always = tuple(always)
        super().__init__(F("pk"))

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *args: object, **context: object
    ) -> tuple[str, tuple[str, ...]]:
        any_holders = newest = _HOLDERS[connection.vendor]
        if self.newest is not None:
            # A subquery: otherwise the order and the limit would apply to the whole union.
            found = f"{any_holders} ORDER BY {_NEWEST[connection.vendor]} LIMIT {int(self.newest)}"
            newest = f"SELECT docid FROM ({found}) AS found"  # noqa: S608 - ours
        parts = [(self.always, any_holders), (() if self.newest == 0 else self.wanted, newest)]
        asked = [(group, holders) for group, holders in parts if group]
        if not asked:
            raise EmptyResultSet
        (key,) = self.source_expressions
        assert isinstance(key, Col)
        docids = " UNION ALL ".join(holders for _, holders in asked)
        find = f"SELECT row_id FROM {_ROWS[connection.vendor]} WHERE docid IN ({docids})"  # noqa: S608 - ours
        table = key.target.model._meta.db_table
        condition = _IS_HOLDER[connection.vendor].format(key=compiler.compile(key)[0], find=find.format(table=table))
        return condition, tuple(_join_tokens(group, connection) for group, _ in asked)


def count_holders(model: type[models.Model], *groups: Sequence[str]) -> list[int]:
    """Return each group's row count by token, in one query."""
    holders = _HOLDERS[connection.vendor].format(table=model._meta.db_table)
    counts = f"(SELECT count(*) FROM ({holders}) AS found)"  # noqa: S608 - ours
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(counts for _ in groups)}", [_join_tokens(group, connection) for group in groups]
        )
        return list(cursor.fetchone())


@dataclass(frozen=True, slots=True)
class SearchResult(Generic[Row]):
    """At most `most` rows of a search, out of `total`, which above `most` counts rows of the index."""

    rows: list[Row]
    total: int
    frequencies: dict[str, int]


def find_any(
    rows: models.QuerySet[models.Model, Row], wanted: Sequence[str], *, held: int, most: int
) -> SearchResult[Row]:
    """Return rows with any of the tokens, the best if too many.

    The candidates are all rows with a rare token, and the newest of those with common tokens only. So every engine
    returns the same rows. `held`: an upper bound of the owner's `rows`; saves a count where it is small.
    """
    total, frequencies = _count_rows(rows.model, wanted) if wanted and held > most else (0, {})
    if total <= most:
        found = list(rows.filter(ContainsAny(wanted)))
        return SearchResult(found, len(found), {})
    rare, newest = [], most  # the rarest tokens, and how many rows those leave room for
    for token in sorted(frequencies, key=lambda token: (frequencies[token], token)):
        if frequencies[token] > newest:
            break
        newest -= frequencies[token]
        rare.append(token)
    common = [token for token in wanted if token not in rare]
    # One look-up for both: SQLite would answer an OR of two by reading all rows of the owner.
    return SearchResult(list(rows.filter(ContainsAny(common, newest=newest, always=rare))), total, frequencies)


def _count_rows(model: type[models.Model], wanted: Sequence[str]) -> tuple[int, dict[str, int]]:
    """Return the total of matching rows, and each token's."""
    if len(wanted) == 1:
        (total,) = count_holders(model, wanted)
        return total, {wanted[0]: total}
    total, *each = count_holders(model, wanted, *([token] for token in wanted))
    return total, dict(zip(wanted, each, strict=True))


def _join_tokens(wanted: Sequence[str], using: BaseDatabaseWrapper) -> str:
    # Tokens are lower-case letters only, so they need no quotes and cannot be operators.
    return _OR[using.vendor].join(wanted)


def has_triggers(model: type[models.Model], using: BaseDatabaseWrapper) -> bool:
    """Tell whether the index of a searched model follows its writes."""
    table = model._meta.db_table
    with using.cursor() as cursor:
        cursor.execute(_LIST_TRIGGERS[using.vendor], [table])
        return {f"{table}_search_{act}" for act in _TRIGGERS} <= {name for (name,) in cursor.fetchall()}


class _OnIndex(Operation):
    """A migration operation on the index of one model."""

    def __init__(self, model: str, *, unless: str, column: str = "search_terms") -> None:
        """Index `column`, except rows where `unless` is set."""
        self.model = model
        self.unless = unless
        self.column = column

    def state_forwards(self, app_label: str, state: State) -> None:
        """Change no state: the index is not in the model."""

    def _run(self, app_label: str, editor: Editor, state: State, *scripts: _Script) -> None:
        model = state.apps.get_model(app_label, self.model)
        names = {
            "table": model._meta.db_table,
            "pk": model._meta.pk.column,
            "type": model._meta.pk.rel_db_type(editor.connection),
            "column": self.column,
            "unless": self.unless,
        }
        for script in scripts:
            for statement in script[editor.connection.vendor]:
                editor.execute(statement.format(**names), params=None)


class AddSearchIndex(_OnIndex):
    """Look up a model's rows by its `SearchTermsField`."""

    def database_forwards(self, app_label: str, schema_editor: Editor, from_state: State, to_state: State) -> None:
        self._run(app_label, schema_editor, to_state, _CREATE, _TAKE_IN, _FOLLOW)

    def database_backwards(self, app_label: str, schema_editor: Editor, from_state: State, to_state: State) -> None:
        self._run(app_label, schema_editor, to_state, _UNFOLLOW, _DROP)

    def describe(self) -> str:
        return f"Index the search terms of {self.model}"


class KeepSearchIndex(_OnIndex):
    """Make the triggers of an index again, and on SQLite its entries.

    SQLite alters a table by creating another, and drops the triggers with the old one. A migration that alters a
    searched model ends with this operation, and begins with it for the reverse. In a later migration the operation
    also indexes the rows that were written without triggers.
    """

    def database_forwards(self, app_label: str, schema_editor: Editor, from_state: State, to_state: State) -> None:
        refill = (_EMPTY, _TAKE_IN) if schema_editor.connection.vendor in _EMPTY else ()
        self._run(app_label, schema_editor, to_state, _UNFOLLOW, *refill, _FOLLOW)

    database_backwards = database_forwards

    def describe(self) -> str:
        return f"Keep the search index of {self.model}"
