from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from config.lib.operations.backups import restore_backup
from config.lib.work.commands import KeelCommand


class Command(KeelCommand):
    help = "Restore an archive of `backup` into an empty database. Stop Keel first."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--replace", action="store_true", help="replace all rows of a database that is not empty")

    def run(self, *, file: Path, replace: bool, **options: object) -> None:
        if not file.is_file():
            raise CommandError(f"There is no file {file}.")
        manifest = restore_backup(file, replace=replace)
        rows = sum(manifest["rows"].values())
        text = f"Restored {rows:,} rows of {len(manifest['rows'])} tables, as they were at {manifest['created_at']}."
        self.say(text, tables=len(manifest["rows"]), rows=rows, created_at=manifest["created_at"])
