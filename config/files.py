"""Files that their owner alone reads."""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any


def keep_text(path: Path, fresh: str) -> str:
    """Return the text of a file, made with `fresh` the first time.

    So a restart neither signs users out nor loses the keys of venues.
    """
    if not path.exists():
        path.parent.mkdir(0o700, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(fresh)
    return path.read_text()


class PrivateConnection(sqlite3.Connection):
    """Opens a database that its owner alone reads: on a shared machine, others would read all chats.

    SQLite gives the mode of the database to the files that it makes beside it.
    """

    def __init__(self, database: str | Path, **options: Any) -> None:
        """Open it as sqlite3.connect does; make a file that is missing, and close one that is open to others."""
        if not str(database).startswith((":memory:", "file:")):
            with suppress(OSError):  # of another owner, or in a folder that is missing: as it is
                os.close(os.open(database, os.O_RDWR | os.O_CREAT, 0o600))
                for path in (f"{database}{end}" for end in ("", "-wal", "-shm")):
                    if os.path.exists(path) and os.stat(path).st_mode & 0o077:
                        os.chmod(path, 0o600)
        super().__init__(database, **options)
