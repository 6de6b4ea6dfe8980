"""Migrations on PostgreSQL beside a site that reads and writes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from time import sleep
from typing import Final

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import DatabaseError, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor as Editor
from django.db.migrations.operations import AddIndex
from django.db.migrations.state import ProjectState as State
from psycopg.errors import LockNotAvailable

LOCK_MILLISECONDS: Final = 2_000  # all later readers and writers queue behind a lock that waits
PAUSE_SECONDS: Final = 3.0  # for those who queued
_LIMITS: Final = ("statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout")

# Old transactions of others on our tables, the oldest first: what they ask may quote a user, so it is left out.
_BLOCKERS: Final = """
SELECT pid, extract(epoch FROM clock_timestamp() - min(xact_start))::int, string_agg(DISTINCT relname, ', ')
FROM pg_locks JOIN pg_stat_activity USING (pid) JOIN pg_class ON pg_class.oid = relation
WHERE granted AND relkind = 'r' AND pid <> pg_backend_pid() AND relnamespace = current_schema()::regnamespace
GROUP BY pid ORDER BY 2 DESC NULLS LAST LIMIT 3
"""


@contextmanager
def lift_limits(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Let statements take as long as they need, and wait for a lock only for a moment."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        for name, value in zip(_LIMITS, (0, 0, LOCK_MILLISECONDS), strict=True):
            cursor.execute(f"SET {name} = {value}")
    try:
        yield
    finally:
        with suppress(DatabaseError), connection.cursor() as cursor:  # else it hides why the migration failed
            for name in _LIMITS:
                cursor.execute(f"RESET {name}")


def retry_locked(act: Callable[[], None], connection: BaseDatabaseWrapper, say: Callable[[str], object]) -> None:
    """Run an act again, after a pause, as long as a lock that it needs is taken; say who has it."""
    while True:
        try:
            act()
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable):
                raise
            say(f"A table is in use; trying again. {_describe_blockers(connection)}")
            sleep(PAUSE_SECONDS)
        else:
            return


def _describe_blockers(connection: BaseDatabaseWrapper) -> str:
    with connection.cursor() as cursor:
        cursor.execute(_BLOCKERS)
        rows = cursor.fetchall()
    found = (f"process {pid} of PostgreSQL, for {timedelta(seconds=age or 0)}: {tables}" for pid, age, tables in rows)
    return "In use by " + "; ".join(found) + "." if rows else "Its user has just ended."


class AddIndexBesideWriters(AddIndexConcurrently):
    """Add an index while others write, on PostgreSQL; its migration says `atomic = False`.

    It waits for older transactions as long as they take, since nobody waits for it. SQLite builds it in one step.
    """

    def database_forwards(self, app_label: str, schema_editor: Editor, from_state: State, to_state: State) -> None:
        if schema_editor.connection.vendor != "postgresql":
            AddIndex.database_forwards(self, app_label, schema_editor, from_state, to_state)
            return
        self._ensure_not_in_transaction(schema_editor)
        name = schema_editor.quote_name(self.index.name)
        is_valid = _find_index(schema_editor, self.index.name)
        schema_editor.execute("SET lock_timeout = 0", params=None)
        try:
            if is_valid is False:  # an earlier build was cut off
                schema_editor.execute(f"DROP INDEX CONCURRENTLY {name}", params=None)
            if not is_valid:
                super().database_forwards(app_label, schema_editor, from_state, to_state)
        finally:
            schema_editor.execute(f"SET lock_timeout = {LOCK_MILLISECONDS}", params=None)

    def database_backwards(self, app_label: str, schema_editor: Editor, from_state: State, to_state: State) -> None:
        if schema_editor.connection.vendor != "postgresql":
            AddIndex.database_backwards(self, app_label, schema_editor, from_state, to_state)
            return
        super().database_backwards(app_label, schema_editor, from_state, to_state)


def _find_index(editor: Editor, name: str) -> bool | None:
    """Tell whether an index is valid; None: there is none."""
    with editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
            " WHERE relname = %s AND relnamespace = current_schema()::regnamespace",
            [name],
        )
        row = cursor.fetchone()
    return row and bool(row[0])
