from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from config.lib.owned import owned
from config.lib.web import find_time_zone
from config.lib.work.commands import KeelCommand, add_user_argument, get_user_by_email
from trading.asking.answers import describe_answer, describe_groups, describe_scope, describe_total, format_value
from trading.asking.planner import answer_question
from trading.asking.query import FILTERS, GROUPS, MEASURES, parse_query


class Command(KeelCommand):
    help = "Print a figure of a user's closed trades, by group, with its number of trades and its interval."

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_user_argument(parser)
        parser.add_argument("--measure", default="", help=", ".join(MEASURES))
        parser.add_argument("--group", default="", help=", ".join(GROUPS))
        parser.add_argument("--period", default="", help="of the exit, in the user's zone, such as last month")
        parser.add_argument(
            "--where", nargs="*", default=[], metavar="FILTER=VALUE", help=f"such as side=long: {', '.join(FILTERS)}"
        )

    def run(self, *, user: str, where: list[str], **options: Any) -> None:
        owner = get_user_by_email(user)
        zone = find_time_zone(getattr(owner, "time_zone", ""))
        filters = dict(text.partition("=")[::2] for text in where)
        asked = {name: options[name] for name in ("measure", "group", "period")}
        with owned(owner):
            query = parse_query(filters | asked, zone=zone, now=timezone.now())
            answer = answer_question(query)
            lines = [describe_total(answer), *describe_groups(answer)]
        texts = [
            f"{line.label}: {line.value or 'not known'} of {line.trades}"
            f"{f', a trade {line.mean}' if line.mean else ''}{f', about 90% {line.interval}' if line.interval else ''}"
            f"{f', not known of {line.unknown} more' if line.unknown else ''}"
            for line in lines
        ]
        measure = answer.query.measure
        ranked = [
            f"{one.trade.symbol} {one.trade.side} {one.trade.exit_at:%Y-%m-%d}: {format_value(measure, one.value)}"
            for one in answer.trades
        ]
        self.say("\n".join([describe_scope(query), *texts, *ranked]), **describe_answer(answer))
