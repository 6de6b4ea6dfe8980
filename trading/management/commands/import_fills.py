import argparse
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from config.lib.work.commands import get_user_by_email
from trading.intake.formats import FIELDS
from trading.management.imports import Corrections, FillsCommand
from trading.management.owners import add_optional_user_argument, find_deployment_owner


class Command(FillsCommand):
    help = (
        "Import fills from a venue's export, or from any CSV: into the user's own trades, or into the record of another"
        " program's deployment. The same file twice changes nothing."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        super().add_own_arguments(parser)
        parser.add_argument("--deployment", type=UUID, help="of another program: see `deploy --broker live`")
        add_optional_user_argument(parser)
        parser.add_argument("--account", metavar="ADDRESS", help="your address, to identify liquidations")
        parser.add_argument("--ledger", metavar="NAME", help="the account's, if you have several at a venue")
        parser.add_argument("--zone", help="the file's time zone, where it names none; by default the user's")
        parser.add_argument(
            "--column",
            action="append",
            type=_parse_column,
            default=[],
            metavar="FIELD=COLUMN",
            help=f"what a column is; fields are {', '.join(FIELDS)}",
        )
        parser.add_argument("--dates", choices=("ymd", "dmy", "mdy"), help="the order of day, month and year")

    def run(self, *, user: str | None, deployment: UUID | None, column: list[tuple[str, str]], **options: Any) -> None:
        if deployment is None and user is None:
            raise CommandError("Say whose trades they are with --user, or name a --deployment.")
        owner = find_deployment_owner(deployment, email=user) if deployment else get_user_by_email(user or "")
        given = {name: options.pop(name) for name in ("account", "ledger", "zone", "dates")}
        corrections = Corrections.model_construct(columns=dict(column), **given)
        self.import_file(owner=owner, corrections=corrections, deployment=deployment, **options)


def _parse_column(text: str) -> tuple[str, str]:
    name, found, column = text.partition("=")
    if not found or name not in FIELDS:
        raise argparse.ArgumentTypeError(f"write FIELD=COLUMN with one of {', '.join(FIELDS)}")
    return name, column
