import sys
import tempfile
from pathlib import Path
from shutil import copyfileobj

from django.conf import settings
from django.core.management.base import CommandParser

from config.lib.operations.backups import restore_backup
from config.lib.work.commands import KeelCommand


class Command(KeelCommand):
    help = "Restore an archive of `backup` into an empty database. Stop Keel first."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="-: read it from standard input")
        parser.add_argument("--replace", action="store_true", help="replace all rows of a database that is not empty")

    def run(self, *, file: Path, replace: bool, **options: object) -> None:
        # Beside the database: the other folders of a container may be in memory.
        with tempfile.NamedTemporaryFile(dir=settings.HOME_DIR, prefix=".restore-") as given:
            if file == Path("-"):
                copyfileobj(sys.stdin.buffer, given)
                given.flush()
                file = Path(given.name)
            manifest = restore_backup(file, replace=replace)
        rows = sum(manifest["rows"].values())
        text = f"Restored {rows:,} rows of {len(manifest['rows'])} tables, as they were at {manifest['created_at']}."
        self.say(text, tables=len(manifest["rows"]), rows=rows, created_at=manifest["created_at"])
