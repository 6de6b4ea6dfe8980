"""Files that their owner alone reads."""

import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO


def open_private(path: Path) -> BinaryIO:
    """Open a file to write bytes that its owner alone reads, also where one stands that was open to others."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):  # not a terminal or a pipe
        os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "wb")


def keep_text(path: Path, fresh: str) -> str:
    """Return the text of a file, made with `fresh` the first time.

    So a restart neither signs users out nor loses the keys of venues.
    """
    if not path.exists():
        path.parent.mkdir(0o700, exist_ok=True)
        with open_private(path) as file:
            file.write(fresh.encode())
    return path.read_text()


class PrivateConnection(sqlite3.Connection):
    """Opens a database that its owner alone reads: on a shared machine, others would read all chats.

    SQLite gives the mode of the database to the files that it makes beside it.
    """

    def __init__(self, database: str | Path, **options: Any) -> None:
        """Open it as sqlite3.connect does, and close files that are open to others; a new one is still empty then.

        Only by their names: to open the database here and close it again would end all locks of this process on it, and
        another process, a command beside the server, would take its log away under it.
        """
        super().__init__(database, **options)
        if not str(database).startswith((":memory:", "file:")):
            with suppress(OSError):  # of another owner: as it is
                for path in (f"{database}{end}" for end in ("", "-wal", "-shm")):
                    if os.path.exists(path) and os.stat(path).st_mode & 0o077:
                        os.chmod(path, 0o600)
