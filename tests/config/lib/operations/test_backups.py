"""Backup and restore: every table equal, damage and wrong targets refused, on both engines."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZIP_DEFLATED, ZipFile

import psycopg
import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from config.lib.operations.backups import BackupRefused, restore_backup, write_backup
from config.lib.owned import owned, system, system_tx
from config.lib.work.models import BACKUP, WorkRun
from memory.models import UserFact
from tests.strangers import CANARY, dump, make_person
from trading.models import Trader

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def bob():
    """A user with a row of every kind."""
    return make_person(CANARY)


@pytest.fixture
def other(tmp_path):
    """A function that runs SQL on an empty database of the same engine, and its URL."""
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        path = tmp_path / "restored.sqlite3"
        yield f"sqlite:///{path}", lambda sql: sqlite3.connect(path).execute(sql).fetchall()
        return
    name = f"{settings['NAME']}_restored"
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}"')
        cursor.execute(f'CREATE DATABASE "{name}"')
    url = f"postgresql://{settings['USER']}:{settings['PASSWORD']}@{settings['HOST']}:{settings['PORT']}/{name}"

    def run(sql):
        with psycopg.connect(url) as there:
            there.execute("SELECT set_config('app.user_id', '0', true)")
            cursor = there.execute(sql)
            return cursor.fetchall()

    yield url, run
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}"')


def restore_elsewhere(archive, url: str) -> str:
    """Restore as an operator does: one command, with another database in the environment."""
    done = subprocess.run(
        [sys.executable, "manage.py", "restore", str(archive)],
        # With the tables of the jobs' engine, as the settings of the tests have them.
        env={
            **os.environ,
            **{"DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": url, "REDIS_URL": ""},
            "JOBS_ENGINE": "procrastinate" if connection.vendor == "postgresql" else "embedded",
        },
        cwd=django_settings.BASE_DIR,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_with(run, tables) -> dict[str, list[str]]:
    columns = '"{0}"::text' if connection.vendor == "postgresql" else "*"
    queries = {name: f'SELECT {columns.format(name)} FROM "{name}"' for name in tables}  # noqa: S608
    return {name: sorted(map(repr, run(query))) for name, query in queries.items()}


def read_tables() -> dict[str, list[str]]:
    """Return every row of every table, as its driver has it; SQLite's own counts are no data."""
    with system("compares databases"), connection.cursor() as cursor:
        tables = [name for name in connection.introspection.table_names(cursor) if not name.startswith("sqlite_")]
        if connection.vendor == "postgresql":
            return read_with(lambda sql: fetch(cursor.cursor, sql), tables)
        # Django's connections convert values by their columns.
        plain = sqlite3.connect(connection.settings_dict["NAME"])
        return read_with(lambda sql: fetch(plain.cursor(), sql), tables)


def fetch(cursor, sql):
    cursor.execute(sql)
    return cursor.fetchall()


POLICIES = """
SELECT relname::text, relrowsecurity::text, relforcerowsecurity::text FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
UNION ALL SELECT tablename, policyname, qual FROM pg_policies
"""


def test_restore_into_an_empty_database_makes_every_table_equal(bob, other, tmp_path, usual_umask):
    url, run = other
    archive = tmp_path / "backup.zip"
    manifest = write_backup(archive, now=timezone.now())

    restore_elsewhere(archive, url)

    here = read_tables()
    assert read_with(run, here) == here
    assert manifest["rows"] == {name: len(rows) for name, rows in here.items()}
    assert sum(manifest["rows"].values()) > 100
    assert archive.stat().st_mode & 0o077 == 0, "it is for its owner alone"
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            assert sorted(run(POLICIES)) == sorted(fetch(cursor, POLICIES))
    # The sequences continue: a new row gets a new id.
    highest = run("SELECT coalesce(max(id), 0) FROM auth_group")[0][0]
    assert run("INSERT INTO auth_group (name) VALUES ('another') RETURNING id")[0][0] > highest


def test_restore_with_replace_brings_the_rows_of_the_backup_back(bob, tmp_path):
    before, facts = read_tables(), dump(bob.user)
    write_backup(tmp_path / "backup.zip", now=timezone.now())
    with system_tx("test"):
        Trader.objects.get(pk=bob.user.pk).delete()
    make_person("somebody")

    restore_backup(tmp_path / "backup.zip", replace=True)

    assert read_tables() == before
    assert dump(bob.user) == facts
    with owned(bob.user):
        assert UserFact.objects.exists()


def rewrite(archive, change) -> None:
    """Write the archive again with its entries changed."""
    with ZipFile(archive) as old:
        entries = {name: old.read(name) for name in old.namelist()}
    entries = change(entries)
    with ZipFile(archive, "w", ZIP_DEFLATED) as new:
        for name, content in entries.items():
            new.writestr(name, content)


def change_manifest(**values):
    def change(entries):
        return {**entries, "manifest.json": json.dumps({**json.loads(entries["manifest.json"]), **values}).encode()}

    return change


def flip_a_byte(entries):
    name, content = next((name, content) for name, content in entries.items() if content and "manifest" not in name)
    return {**entries, name: content[:-1] + bytes([content[-1] ^ 1])}


def drop_an_entry(entries):
    return dict(list(entries.items())[1:])


DAMAGES = {
    "a changed byte": (flip_a_byte, "checksum"),
    "a missing entry": (drop_an_entry, "damaged"),
    "another format": (change_manifest(format="tar"), "no backup"),
    "a later version": (change_manifest(version=2), "no backup"),
    "the other engine": (change_manifest(engine="oracle"), "of oracle"),
    "unknown migrations": (change_manifest(migrations=[["chat", "9999_later"]]), "newer version"),
    "no manifest": (lambda entries: {"x": b""}, "damaged"),
    "a manifest that is a list": (lambda entries: {**entries, "manifest.json": b"[1]"}, "damaged"),
}


def test_restore_over_rows_or_of_a_damaged_archive_is_refused_and_changes_nothing(bob, tmp_path):
    archive = tmp_path / "backup.zip"
    write_backup(archive, now=timezone.now())
    whole, before = archive.read_bytes(), read_tables()
    with pytest.raises(BackupRefused, match="not empty"):
        restore_backup(archive, replace=False)

    for name, (change, words) in DAMAGES.items():
        archive.write_bytes(whole)
        rewrite(archive, change)
        with pytest.raises(BackupRefused, match=words):
            restore_backup(archive, replace=True)
        assert read_tables() == before, name


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"text" * 1000])
def test_restore_of_another_file_is_refused(content, tmp_path):
    (tmp_path / "x.zip").write_bytes(content)

    with pytest.raises(BackupRefused, match="no backup"):
        restore_backup(tmp_path / "x.zip", replace=True)


@pytest.mark.sqlite
def test_copy_of_the_database_is_for_its_owner_alone(tmp_path, monkeypatch, usual_umask):
    modes = []

    def note(archive, name, chunks):
        (folder,) = Path(connection.settings_dict["NAME"]).parent.glob(".backup-*")
        modes.extend(path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir()))
        return ""

    monkeypatch.setattr("config.lib.operations.backups._write_entry", note)
    write_backup(tmp_path / "backup.zip", now=timezone.now())

    assert modes == [0o700, 0o600]


def test_backup_that_fails_leaves_neither_an_archive_nor_a_part(tmp_path, monkeypatch):
    archive = tmp_path / "backup.zip"
    archive.write_bytes(b"yesterday's")
    monkeypatch.setattr("config.lib.operations.backups._write_entry", lambda *args: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        write_backup(archive, now=timezone.now())

    assert [path.name for path in tmp_path.iterdir()] == ["backup.zip"]
    assert archive.read_bytes() == b"yesterday's"


def test_commands_name_tables_and_rows_and_refuse_what_they_cannot_read(bob, tmp_path, capsys, monkeypatch):
    archive, rows = tmp_path / "backup.zip", sum(map(len, read_tables().values()))
    call_command("backup", str(archive), json=True)
    written = json.loads(capsys.readouterr().out)

    assert written["rows"] == rows
    assert WorkRun.objects.get(name=BACKUP).finished_at is not None, "metrics tell its age"
    assert written["bytes"] == archive.stat().st_size
    with pytest.raises(CommandError, match="not empty"):
        call_command("restore", str(archive))
    call_command("restore", str(archive), replace=True)
    assert f"{written['rows']:,} rows" in capsys.readouterr().out
    with archive.open("rb") as file, monkeypatch.context() as patched:
        patched.setattr("sys.stdin", SimpleNamespace(buffer=file))
        call_command("restore", "-", replace=True)
    assert f"{written['rows']:,} rows" in capsys.readouterr().out
    for path, why in ((tmp_path / "nowhere.zip", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(CommandError, match=rf"cannot be read: {why}.*`restore - < FILE` takes it"):
            call_command("restore", str(path))
