from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from config.lib.owned import owned
from config.lib.proofs import OPERATOR
from config.lib.work.commands import KeelCommand, add_user_argument, get_user_by_email
from memory.facts.document import dump_document, export_document


class Command(KeelCommand):
    help = "Print a user's memory document, as JSON."

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_user_argument(parser)

    def run(self, *, user: str, **options: Any) -> None:
        """Print the document; `--json` changes nothing."""
        with owned(get_user_by_email(user)):
            text = dump_document(export_document(proof=OPERATOR, now=timezone.now()))
        self.stdout.write(text, ending="")
