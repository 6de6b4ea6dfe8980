import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from chat.endings.export import iter_zip
from config.files import open_private
from config.lib.proofs import OPERATOR
from config.lib.work.commands import KeelCommand, add_user_argument, get_user_by_email


class Command(KeelCommand):
    help = "Write everything of a user as one zip of JSON files."

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_user_argument(parser)
        parser.add_argument("file", metavar="FILE", help="the zip to write, or - for the standard output")

    def run(self, *, user: str, file: str, **options: Any) -> None:
        parts = iter_zip(get_user_by_email(user).pk, proof=OPERATOR, now=timezone.now())
        if file == "-":
            sys.stdout.buffer.writelines(parts)
            return
        try:
            with open_private(Path(file)) as target:
                target.writelines(parts)
        except OSError as error:
            raise CommandError(f"Cannot write {file}: {error}") from error
        self.say(f"Wrote {file}.", file=file)
