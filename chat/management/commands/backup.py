from pathlib import Path

from django.core.management.base import CommandParser
from django.utils import timezone

from config.lib.operations.backups import write_backup
from config.lib.work.commands import KeelCommand
from config.lib.work.models import BACKUP, WorkRun


class Command(KeelCommand):
    help = "Write the whole database to one archive with checksums, while Keel runs."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, help="default: keel-<date>-<time>.zip in this folder")

    def run(self, *, file: Path | None, **options: object) -> None:
        now = timezone.now()
        path = file or Path(f"keel-{now:%Y%m%d-%H%M%S}.zip")
        manifest = write_backup(path, now=now)
        WorkRun.objects.update_or_create(
            name=BACKUP, key="", defaults={"started_at": now, "finished_at": timezone.now(), "summary": "written"}
        )
        rows, size = sum(manifest["rows"].values()), path.stat().st_size
        text = f"{path}: {len(manifest['rows'])} tables, {rows:,} rows, {size:,} bytes"
        self.say(text, file=str(path), tables=len(manifest["rows"]), rows=rows, bytes=size)
