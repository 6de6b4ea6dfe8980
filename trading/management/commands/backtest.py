from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from config.lib.owned import owned, owned_tx
from config.lib.work.commands import KeelCommand, add_user_argument, get_user_by_email
from config.lib.work.leases import LEASE
from trading.management.arguments import instant_argument, number_argument, positive_argument
from trading.management.owners import find_skill
from trading.models import WorkStatus
from trading.record.backtests import VOLUME_PCT, claim_backtest, get_backtest, start_backtest
from trading.record.deployments import STARTING_EQUITY_USD
from trading.runs.backtest import BacktestProgress, run_backtest


class Command(KeelCommand):
    help = "Run a skill over past bars, as on paper, and print its performance."

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_user_argument(parser)
        parser.add_argument("--skill", metavar="NAME_OR_ID", help="by default the user's only skill")
        parser.add_argument("--since", type=instant_argument, required=True, help="such as 2022-01-01, in UTC")
        parser.add_argument("--until", type=instant_argument, help="by default now")
        parser.add_argument("--equity", type=positive_argument, default=STARTING_EQUITY_USD, help="initial USD")
        parser.add_argument("--fee-bps", type=number_argument, default=Decimal(4), help="of notional; by default 4")
        parser.add_argument("--slippage-bps", type=number_argument, default=Decimal(2), help="by default 2")
        parser.add_argument(
            "--volume-pct", type=number_argument, default=VOLUME_PCT, help="of a bar's volume; 0: no limit"
        )
        parser.add_argument("--no-reflection", action="store_true", help="write no lessons")
        parser.add_argument("--by-rules", action="store_true", help="let the rule-based model decide, as a baseline")

    def run(self, *, user: str, skill: str | None, since: datetime, until: datetime | None, **options: Any) -> None:
        owner = get_user_by_email(user)
        now = timezone.now()
        with owned_tx(owner):
            run = start_backtest(
                skill_id=find_skill(skill).pk,
                starts_at=since,
                ends_at=until or now,
                starting_equity_usd=options["equity"],
                fee_bps=options["fee_bps"],
                slippage_bps=options["slippage_bps"],
                volume_pct=options["volume_pct"],
                reflects=not options["no_reflection"],
                by_rules=options["by_rules"],
                now=now,
            )
            # Claimed with it, or a worker could be faster.
            lease = uuid4()
            claim_backtest(run_id=run.pk, lease=lease, until=now + LEASE, now=now)
        status = run_backtest(run.pk, user_id=owner.pk, clock=timezone.now, report=self._show_progress, lease=lease)
        if self.stderr.isatty():
            self.stderr.write("")
        with owned(owner):
            run = get_backtest(run.pk)
        if status != WorkStatus.DONE:
            raise CommandError(run.error or f"The backtest is {run.get_status_display().lower()}.")
        numbers = run.summary
        self.say(
            f"{run.ticks_done} ticks, {numbers['trades']} closed trades, net ${Decimal(numbers['net_usd']):,.2f}",
            backtest_id=run.pk,
            deployment_id=run.deployment_id,
            ticks=run.ticks_done,
            summary=numbers,
        )

    def _show_progress(self, progress: BacktestProgress) -> None:
        # On a terminal only: a log needs no progress.
        if self.stderr.isatty():
            done, total = progress.ticks_done, progress.ticks_total
            self.stderr.write(f"\r{done} of {total} ticks, {progress.at:%Y-%m-%d %H:%M}", ending="")
