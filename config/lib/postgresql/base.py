"""Django's PostgreSQL backend with a pool that recovers at once when the server restarts."""

from typing import Any

from django.db.backends.postgresql import base
from psycopg import Connection, OperationalError


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection from the pool, tried before use.

    The pool's own check waits after each dead connection, for 1, 2 and 4 seconds: five idle ones outlasted its timeout.
    This check asks the pool to replace all dead ones, hence `CONN_HEALTH_CHECKS` stays off.
    """

    pool: Any  # django-stubs do not know it

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        while self.pool and not _is_alive(connection):
            self.pool.putconn(connection)
            self.pool.check()
            connection = super().get_new_connection(conn_params)
        return connection


def _is_alive(connection: Connection) -> bool:
    try:
        # One that was given back inside a transaction is without it, and the question would begin another one.
        connection.autocommit = True
        connection.execute("")
    except OperationalError:
        return False
    return True
