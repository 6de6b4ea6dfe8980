"""Backups: one archive of a database with checksums, and its restoration.

On SQLite the archive holds a copy of the file. On PostgreSQL it holds each table as COPY writes it, read in one
snapshot, and the migrations build the schema: `pg_dump` would have to fit the server and to pass by the policies.
"""

import json
import os
import sqlite3
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from functools import partial
from graphlib import TopologicalSorter
from hashlib import file_digest, sha256
from pathlib import Path
from shutil import copyfileobj
from typing import Any, Final
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from config.files import open_private
from config.lib.errors import StateConflict
from config.lib.owned import system

_FORMAT: Final = "keel-backup"
_VERSION: Final = 1
_MANIFEST: Final = "manifest.json"
_FILE: Final = "database.sqlite3"
_CHUNK: Final = 1024 * 1024
# What `migrate` itself writes: a database with rows in these alone is empty.
_OF_MIGRATE: Final = {
    *("django_migrations", "django_content_type", "auth_permission", "auth_group", "auth_group_permissions")
}

Manifest = dict[str, Any]


class BackupRefused(StateConflict):
    """The archive or the target does not allow the restoration."""


def write_backup(path: Path, *, now: datetime) -> Manifest:
    """Write the database to an archive, which appears at `path` once it is whole; return its manifest."""
    part = path.with_name(f".{path.name}.part")
    dump = _dump_postgresql if connection.vendor == "postgresql" else _dump_sqlite
    try:
        with open_private(part) as file:  # everybody's data
            with ZipFile(file, "w", ZIP_DEFLATED) as archive:
                manifest = {"format": _FORMAT, "version": _VERSION, "created_at": now.isoformat()}
                manifest |= {"engine": connection.vendor, **dump(archive)}
                archive.writestr(_MANIFEST, json.dumps(manifest, indent=1))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return manifest


def restore_backup(path: Path, *, replace: bool) -> Manifest:
    """Restore an archive and migrate to the schema of this version; return its manifest.

    Raises BackupRefused before anything is changed: the archive is damaged, newer than this version or of the other
    engine, or the database has rows and `replace` is false.
    """
    manifest = _read_manifest(path)
    if manifest["engine"] != connection.vendor:
        raise BackupRefused(f"This backup is of {manifest['engine']}; the database is {connection.vendor}.")
    migrations = MigrationExecutor(connection).loader.disk_migrations
    known = {*migrations, *(key for migration in migrations.values() for key in migration.replaces)}
    if unknown := set(map(tuple, manifest["migrations"])) - known:
        raise BackupRefused(f"A newer version of Keel made this backup: {min(unknown)} is unknown here.")
    if not replace and _has_rows():
        raise BackupRefused("The database is not empty. Restore into an empty one, or add --replace.")
    load = _load_postgresql if connection.vendor == "postgresql" else _load_sqlite
    with ZipFile(path) as archive:
        load(archive, manifest)
    connection.close()
    call_command("migrate", verbosity=0)
    return manifest


def _read_manifest(path: Path) -> Manifest:
    """Return an archive's manifest once every checksum fits. Raises BackupRefused."""
    try:
        with ZipFile(path) as archive:
            manifest: Manifest = json.loads(archive.read(_MANIFEST))
            if (manifest["format"], manifest["version"]) != (_FORMAT, _VERSION):
                raise BackupRefused("This archive is no backup that this version of Keel can read.")
            for name, digest in manifest["sha256"].items():
                with archive.open(name) as entry:
                    summed = file_digest(entry, sha256)  # type: ignore[arg-type]
                if summed.hexdigest() != digest:
                    raise BackupRefused(f"The backup is damaged: the checksum of {name} does not fit.")
    except (BadZipFile, EOFError, KeyError, TypeError, ValueError, zlib.error) as error:
        raise BackupRefused(f"{path.name} is no backup of Keel, or it is damaged.") from error
    except OSError as error:
        why = f"{path} cannot be read: {error.strerror}."
        raise BackupRefused(f"{why} `restore - < FILE` takes it from standard input.") from error
    return manifest


def _list_applied_migrations() -> list[tuple[str, str]]:
    return sorted(MigrationRecorder(connection).applied_migrations())


def _has_rows() -> bool:
    with system("rows of the database to restore into"), connection.cursor() as cursor:
        for table in set(connection.introspection.table_names(cursor)) - _OF_MIGRATE:
            cursor.execute(f"SELECT 1 FROM {connection.ops.quote_name(table)} LIMIT 1")  # noqa: S608 - a table's name
            if cursor.fetchone():
                return True
    return False


def _write_entry(archive: ZipFile, name: str, chunks: Iterable[bytes]) -> str:
    summed = sha256()
    with archive.open(name, "w", force_zip64=True) as entry:
        for chunk in chunks:
            summed.update(chunk)
            entry.write(chunk)
    return summed.hexdigest()


# --- SQLite ---


_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"


@contextmanager
def _make_folder() -> Iterator[Path]:
    """Make a folder beside the database, on whose disk there is room for a copy."""
    folder = Path(connection.settings_dict["NAME"]).parent
    with tempfile.TemporaryDirectory(dir=folder, prefix=".backup-") as name:
        yield Path(name)


def _dump_sqlite(archive: ZipFile) -> Manifest:
    with _make_folder() as folder:
        path = folder / _FILE
        path.touch(0o600)
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(path)])
        with closing(sqlite3.connect(path)) as copy:
            names = [name for (name,) in copy.execute(_TABLES)]
            rows = {name: copy.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}  # noqa: S608 - ours
            migrations = copy.execute("SELECT app, name FROM django_migrations ORDER BY app, name").fetchall()
        with path.open("rb") as file:
            digest = _write_entry(archive, _FILE, iter(partial(file.read, _CHUNK), b""))
    return {"migrations": migrations, "rows": rows, "sha256": {_FILE: digest}}


def _load_sqlite(archive: ZipFile, manifest: Manifest) -> None:
    with _make_folder() as folder, closing(sqlite3.connect(archive.extract(_FILE, folder))) as source:
        connection.ensure_connection()
        source.backup(connection.connection)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode=WAL")


# --- PostgreSQL ---

_COLUMNS: Final = """
SELECT column_name FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = %s AND is_generated = 'NEVER' ORDER BY ordinal_position
"""
_SEQUENCES: Final = "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = current_schema()"
_FORCED: Final = """
SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relforcerowsecurity
"""
_STRICT_KEYS: Final = """
SELECT own.relname, other.relname FROM pg_constraint
JOIN pg_class AS own ON own.oid = conrelid JOIN pg_class AS other ON other.oid = confrelid
WHERE contype = 'f' AND NOT condeferrable AND conrelid <> confrelid
"""


def _dump_postgresql(archive: ZipFile) -> Manifest:
    rows, columns, digests = {}, {}, {}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        cursor.execute("SET LOCAL statement_timeout = 0")
        with system("backup"):
            migrations = _list_applied_migrations()
            for table in sorted(connection.introspection.table_names(cursor)):
                cursor.execute(_COLUMNS, [table])
                columns[table] = [name for (name,) in cursor.fetchall()]
                query = f"SELECT {_join(columns[table])} FROM {_join([table])}"  # noqa: S608 - names of columns and tables
                with cursor.copy(f"COPY ({query}) TO STDOUT") as copy:
                    digests[f"tables/{table}"] = _write_entry(archive, f"tables/{table}", map(bytes, copy))
                rows[table] = cursor.rowcount
            cursor.execute(_SEQUENCES)
            sequences = dict(cursor.fetchall())
    return {"migrations": migrations, "rows": rows, "columns": columns, "sequences": sequences, "sha256": digests}


def _load_postgresql(archive: ZipFile, manifest: Manifest) -> None:
    archived = sorted(map(tuple, manifest["migrations"]))
    if not _list_applied_migrations():
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        steps = [step for step in plan if (step[0].app_label, step[0].name) in archived]
        executor.migrate([], steps)
    if _list_applied_migrations() != archived:
        raise BackupRefused("The database has other migrations than the backup. Restore into an empty database.")
    tables = sorted(manifest["columns"])
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        _alter(tables, "DISABLE TRIGGER USER")  # they keep the search index, which the archive holds
        cursor.execute(f"TRUNCATE {_join(tables)}")
        cursor.execute(_FORCED)
        forced = [name for (name,) in cursor.fetchall()]
        # COPY does not write under policies. The owner of a table passes by them while they are not forced, and a
        # rollback forces them again.
        _alter(forced, "NO FORCE ROW LEVEL SECURITY")
        cursor.execute(_STRICT_KEYS)
        # The tables that others refer to by a key that cannot wait come first.
        order: TopologicalSorter[str] = TopologicalSorter({table: [] for table in tables})
        for own, other in cursor.fetchall():
            order.add(own, other)
        for table in order.static_order():
            names = _join(manifest["columns"][table])
            with archive.open(f"tables/{table}") as entry, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                copyfileobj(entry, copy, _CHUNK)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        _alter(tables, "ENABLE TRIGGER USER")
        _alter(forced, "FORCE ROW LEVEL SECURITY")
        for name, value in manifest["sequences"].items():
            cursor.execute("SELECT setval(%s::regclass, %s, %s)", [name, value or 1, value is not None])


def _alter(tables: Iterable[str], action: str) -> None:
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"ALTER TABLE {_join([table])} {action}")


def _join(names: Iterable[str]) -> str:
    return ", ".join(map(connection.ops.quote_name, names))
