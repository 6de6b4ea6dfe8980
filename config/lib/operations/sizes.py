"""How many bytes the database and its tables take."""

from django.db import connection

_POSTGRESQL = """
SELECT relname, pg_total_relation_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
"""
_SQLITE = """
SELECT tbl_name, sum(pgsize) FROM dbstat JOIN sqlite_schema USING (name) GROUP BY tbl_name
"""


def measure_database() -> int:
    """Return the bytes of the database; on SQLite without the log of what is not yet in the file."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
        else:
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return int(cursor.fetchone()[0])


def measure_tables() -> dict[str, int]:
    """Return the bytes of each table with its indexes, the largest first; SQLite reads the whole file for it."""
    with connection.cursor() as cursor:
        cursor.execute(_POSTGRESQL if connection.vendor == "postgresql" else _SQLITE)
        return {name: int(size) for name, size in sorted(cursor.fetchall(), key=lambda row: (-row[1], row[0]))}
