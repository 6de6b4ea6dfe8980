import argparse
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from config.lib.work.commands import KeelCommand, add_user_argument, get_user_by_email
from memory.recall.search import MAX_RECALLED, RecalledFact, recall_for_user


class Command(KeelCommand):
    help = "Search what Keel knows about a user, by words and by meaning, best first."

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_user_argument(parser)
        parser.add_argument(
            "--limit", type=_parse_limit, default=10, metavar="N", help=f"1 to {MAX_RECALLED}, by default 10"
        )
        parser.add_argument("query", metavar="QUERY", nargs="+", help="any of its words counts")

    def run(self, *, user: str, limit: int, query: list[str], **options: Any) -> None:
        found = recall_for_user(get_user_by_email(user).pk, query=" ".join(query), limit=limit, now=timezone.now())
        for row in found.rows:
            self._print_fact(row)
        if not self.is_json:
            more = ", the best shown" if found.truncated else ""
            self.stdout.write(f"{found.total} found{more}")

    def _print_fact(self, row: RecalledFact) -> None:
        origin = row.origin if row.score is None else f"{row.origin}, learned with {row.score:.2f}"
        self.say(
            f"{row.rank:6.2f}  {row.fact.content}  ({origin})",
            fact_id=row.fact.pk,
            content=row.fact.content,
            topic=row.fact.topic,
            rank=row.rank,
            origin=row.origin,
            score=row.score,
        )


def _parse_limit(text: str) -> int:
    number = int(text)
    if not 1 <= number <= MAX_RECALLED:
        raise argparse.ArgumentTypeError(f"not between 1 and {MAX_RECALLED}")
    return number
