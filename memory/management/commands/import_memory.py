import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from config.lib.owned import owned_tx
from config.lib.work.commands import KeelCommand, add_user_argument, get_user_by_email
from memory.transfer.uploads import parse_memory, read_upload


class Command(KeelCommand):
    help = (
        "Import a memory that Keel exported: the zip, its memory.json or a document. With --list, propose each fact "
        "of a list or of another assistant's export to the user."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_user_argument(parser)
        parser.add_argument(
            "--list", action="store_true", dest="is_list", help="the file is a list or of another assistant"
        )
        parser.add_argument("file", metavar="FILE", help="the file, or - for the standard input")

    def run(self, *, user: str, file: str, is_list: bool, **options: Any) -> None:
        """Import the file and print the counts."""
        text, owner = _read_file(file), get_user_by_email(user)
        bring = parse_memory(text, is_list=is_list)
        with owned_tx(owner):
            done = bring(now=timezone.now())
        for line in done.refused:
            self.say(f"Left out: {line}", refused=line)
        verb = "proposed" if is_list else "added"
        self.say(
            f"{done.added} {verb}, {done.known} known already, {len(done.refused)} left out.",
            added=done.added,
            known=done.known,
            left_out=len(done.refused),
            batch_id=done.batch_id,
        )
        if done.refused and not done.added and not done.known:
            raise CommandError("No entry of the list could be imported.")


def _read_file(file: str) -> str:
    try:
        return read_upload(sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes())
    except OSError as error:
        raise CommandError(f"Cannot read {file}: {error}") from error
