"""One migrated database: each test process copies it, and empties its copy after a test that commits.

Migrating takes seconds, a copy takes milliseconds. SQLite's migrated database stays for the next run, as long as no
migration changes; PostgreSQL's does with `--reuse-db`, on a server that stays. `--create-db` makes them again.
"""

import fcntl
import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings
from django.db import connection

from config.lib.owned import system_tx

ROOT = Path(__file__).parent.parent
KEPT = ROOT / ".pytest_cache" / "databases"
# What the migrations write, which no test may change for the others.
STAYING = {"django_migrations", "django_content_type", "auth_permission", "auth_group", "auth_group_permissions"}


def make_database(name: str, *, reuse: bool = False, renew: bool = False) -> None:
    """Make this process a database of its own, migrated, and let the connections go to it."""
    source = _source_name(reuse)
    with _one_at_a_time():
        if renew or not _is_migrated(source):
            _migrate(source)
        if connection.vendor == "postgresql":
            _point_to(source)
            connection.creation.clone_test_db(suffix=name, verbosity=0)
            copy = connection.creation.get_test_db_clone_settings(name)["NAME"]
        else:
            copy = shutil.copyfile(source, f"{settings.TEST_FOLDER}/{name}.sqlite3")
    _point_to(copy)


def drop_database() -> None:
    """Drop the database of this process."""
    connection.close()
    if connection.vendor == "postgresql":
        connection.creation._destroy_test_db(connection.settings_dict["NAME"], verbosity=0)
    else:
        Path(connection.settings_dict["NAME"]).unlink()


def drop_source() -> None:
    """Drop the migrated database of this run, if there is one; its processes are done."""
    if connection.vendor == "postgresql" and _note_of(_source_name(reuse=False)).exists():
        connection.creation._destroy_test_db(_source_name(reuse=False), verbosity=0)


def empty_tables() -> None:
    """Delete all rows that tests write.

    Django's own way truncates every table and fires `post_migrate`. Few tests write to more than ten tables, so
    deleting their rows takes a fraction of that time.
    """
    tables = _tables()
    checks = ", ".join(f"EXISTS (SELECT 1 FROM {table})" for table in tables)  # noqa: S608 - names of our tables
    with system_tx("test: empty the tables"), connection.cursor() as cursor:
        cursor.execute(f"SELECT {checks}")
        filled = [table for table, has_rows in zip(tables, cursor.fetchone(), strict=True) if has_rows]
        for table in filled:
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608 - foreign keys are checked at the end


@cache
def _tables() -> list[str]:
    return sorted(set(connection.introspection.django_table_names(only_existing=True, include_views=False)) - STAYING)


def _source_name(reuse: bool) -> str:
    if connection.vendor == "postgresql":
        return f"test_keel_migrated_{_digest_of_migrations()}" if reuse else "test_keel_migrated"
    return str(KEPT / f"{_digest_of_migrations()}.sqlite3")


@cache
def _digest_of_migrations() -> str:
    # The ground is part of it: migrations call its operations for policies and the search index.
    folders = [Path(app.path) / "migrations" for app in apps.get_app_configs() if Path(app.path).is_relative_to(ROOT)]
    paths = sorted(path for folder in [*folders, ROOT / "config" / "lib"] for path in folder.rglob("*.py"))
    digest = hashlib.sha256(django.__version__.encode())
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _note_of(source: str) -> Path:
    """Return the file that says that a database is migrated to its end; SQLite's own file is enough there."""
    return Path(settings.TEST_FOLDER) / source if connection.vendor == "postgresql" else Path(source)


def _is_migrated(source: str) -> bool:
    if _note_of(source).exists() or connection.vendor != "postgresql":
        return _note_of(source).exists()
    if "_migrated_" not in source:
        return False  # of another run, on a server that stays
    with connection.creation._nodb_cursor() as cursor:
        return connection.creation._database_exists(cursor, source)


def _migrate(source: str) -> None:
    unfinished = f"{source}_unfinished" if connection.vendor == "postgresql" else f"{source}-unfinished"
    original = settings.DATABASES["default"]["NAME"]
    connection.settings_dict["TEST"]["NAME"] = unfinished
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()
        connection.settings_dict["NAME"] = original
        with connection.creation._nodb_cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS {source}")
            cursor.execute(f"ALTER DATABASE {unfinished} RENAME TO {source}")
        _note_of(source).touch()
    else:
        for older in KEPT.glob("*.sqlite3"):
            older.unlink()
        shutil.move(unfinished, source)  # the last connection has emptied the write-ahead log


def _point_to(name: str) -> None:
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()
    settings.DATABASES["default"]["NAME"] = name
    connection.settings_dict["NAME"] = name


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    # Processes start together. The first migrates; PostgreSQL copies only a database nobody uses.
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
