from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from config.lib.owned import owned
from config.lib.web import find_time_zone
from config.lib.work.commands import KeelCommand, add_user_argument, get_user_by_email
from trading.asking.answers import describe_check
from trading.asking.check import check_plan
from trading.asking.sizing import NUMBERS, PLAN, parse_plan


class Command(KeelCommand):
    help = (
        "Size a planned trade and check it against a user's rules, exposure, events and record. It commits nothing."
        " Give one of size, quantity and risk; the others follow from it."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_user_argument(parser)
        parser.add_argument("--symbol", required=True, help="such as BTC")
        parser.add_argument("--side", required=True, help="long or short")
        for name, label in NUMBERS.items():
            parser.add_argument(f"--{name.replace('_', '-')}", default="", help=label.replace("%", "%%"))
        parser.add_argument("--deployment", default="", metavar="ID", help="whose equity and positions count")

    def run(self, *, user: str, **options: Any) -> None:
        owner = get_user_by_email(user)
        plan = parse_plan({name: options[name] for name in PLAN})
        with owned(owner):
            zone = find_time_zone(getattr(owner, "time_zone", ""))
            found = describe_check(check_plan(plan, zone=zone, now=timezone.now()))
        rows = [*found["rules"], *found["events"]]
        why = [f"  {reason}" for reason in found["why"]]
        lists = [f"  {' '.join(str(value) for value in row.values() if value not in (None, ''))}" for row in rows]
        numbers = [
            f"  {name}: {found[name]}"
            for name in ("price", "size_usd", "quantity", "risk_usd", "risk_pct", "leverage", "exposure_after_usd")
            if found[name] is not None
        ]
        similar = found["similar"]
        past = f"  {similar['n']} such trades closed, expectancy {similar['expectancy_usd']} USD a trade"
        head = f"{found['symbol']} {found['side']}: {found['verdict']}"
        self.say("\n".join([head, *why, *numbers, *lists, past]), **found)
