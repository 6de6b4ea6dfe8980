import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from config.files import PrivateConnection, open_private

pytestmark = pytest.mark.usefixtures("usual_umask")


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "open to others"])
def test_file_is_for_its_owner_alone(tmp_path, is_new):
    path = tmp_path / "all.zip"
    if not is_new:
        path.write_bytes(b"of last year")
        path.chmod(0o644)

    with open_private(path) as file:
        mode = path.stat().st_mode & 0o777
        file.write(b"new")

    assert (mode, path.read_bytes()) == (0o600, b"new")


def test_new_file_is_open_to_nobody_else_for_a_moment(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fchmod", lambda *_: None)

    with open_private(tmp_path / "all.zip"):
        assert (tmp_path / "all.zip").stat().st_mode & 0o777 == 0o600


def test_what_is_no_file_keeps_its_mode():
    before = os.stat(os.devnull).st_mode

    open_private(Path(os.devnull)).close()

    assert os.stat(os.devnull).st_mode == before


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "open to others"])
def test_database_and_the_files_beside_it_are_for_their_owner_alone(tmp_path, is_new):
    path = tmp_path / "db.sqlite3"
    if not is_new:
        path.touch(0o644)

    with closing(sqlite3.connect(path, factory=PrivateConnection)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE chats (text)")
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}

    assert modes == {name: 0o600 for name in ("db.sqlite3", "db.sqlite3-wal", "db.sqlite3-shm")}


def test_log_that_an_earlier_version_left_open_to_others_is_closed(tmp_path):
    path = tmp_path / "db.sqlite3"
    with closing(sqlite3.connect(path)) as earlier:
        earlier.execute("PRAGMA journal_mode=WAL")
        earlier.execute("CREATE TABLE chats (text)")
        with closing(sqlite3.connect(path, factory=PrivateConnection)):
            modes = {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}

    assert modes == {0o600}


def test_one_more_connection_leaves_the_locks_of_the_others(tmp_path):
    path = tmp_path / "db.sqlite3"
    lock = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
    with closing(sqlite3.connect(path, factory=PrivateConnection)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        sqlite3.connect(path, factory=PrivateConnection).close()

        other = subprocess.run([sys.executable, "-c", lock, path], capture_output=True, text=True)

    assert "database is locked" in other.stderr


def test_database_in_memory_makes_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    for name in (":memory:", "file:chats?mode=memory"):
        sqlite3.connect(name, factory=PrivateConnection, uri=True).close()

    assert not list(tmp_path.iterdir())
