"""Scheduled jobs of trading; each is also a command."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from config.lib.owned import system_tx
from config.lib.work.jobs import Job, start_clock
from config.lib.work.per_user import for_each_user
from trading.intake.files import drop_old_files
from trading.intake.sync import list_users_with_due_accounts, sync_due_accounts
from trading.market.simulation import extend_market, list_simulated_symbols
from trading.reviews.reflection import MAX_PER_RUN, Outcome, list_all_due, reflect_all
from trading.runs.backtest import run_waiting_backtests
from trading.runs.due import run_due


def reflect_due(now: datetime) -> str:
    """Run the due reflections of all users; stop after a failure."""
    outcomes: Counter[Outcome] = Counter()
    due = list_all_due(now, limit=MAX_PER_RUN)
    for reflected in reflect_all(due, now=now, clock=start_clock(now), is_forced=False):
        outcomes[reflected.outcome] += 1
        if reflected.outcome == Outcome.FAILED:
            break
    return ", ".join(f"{count} reflections {outcome}" for outcome, count in outcomes.items()) or "no reflection is due"


def run_deployments(now: datetime) -> str:
    """Run the due ticks and commands of all users."""
    ran = list(run_due(now, workers=settings.AGENT_WORKERS))
    if ran and all(one.has_failed for one in ran):
        raise RuntimeError("every deployment that was due failed")
    ticks = Counter(one.ticked.outcome for one in ran if one.ticked)
    said = [f"{count} ticks {outcome}" for outcome, count in ticks.items()]
    commands = sum(len(one.commands) for one in ran)
    failed = sum(one.has_failed for one in ran)
    said += [f"{count} {what}" for count, what in ((commands, "commands"), (failed, "failed")) if count]
    return ", ".join(said) or "no deployment is due"


def run_backtests(now: datetime) -> str:
    """Run the waiting backtests."""
    outcomes = Counter(status for _, status in run_waiting_backtests(start_clock(now)))
    return ", ".join(f"{count} backtests {status}" for status, count in outcomes.items()) or "no backtest waits"


def extend_simulation(now: datetime) -> str:
    """Extend the simulated market, if there is one."""
    symbols = list_simulated_symbols()
    extended = extend_market(now=now, symbols=symbols)
    said = [f"{extended.bars.total()} bars simulated"] if extended.bars else []
    said += [f"{symbol} has bars from elsewhere" for symbol in extended.skipped]
    return ", ".join(said) or ("no bar has ended" if symbols else "no market is simulated")


def sync_accounts(now: datetime) -> str:
    """Read the due venue accounts of all users."""
    clock = start_clock(now)
    counts: Counter[str] = Counter()
    with system_tx("whose venue accounts are due"):
        users = list_users_with_due_accounts(now)
    for user_id in users:
        counts += sync_due_accounts(user_id, now=clock())
    return ", ".join(f"{count} {what}" for what, count in counts.items()) or "no venue account is due"


def drop_trade_files(now: datetime) -> str:
    """Drop the files of trades that nobody imported."""
    dropped = sum(result.result or 0 for result in for_each_user("files of trades", lambda: drop_old_files(now=now)))
    return f"{dropped} files of trades dropped"


JOBS: Final = (
    Job("run_deployments", timedelta(seconds=5), run_deployments, lane="agents"),
    Job("run_backtests", timedelta(seconds=5), run_backtests, lane="backtests"),
    Job("reflect_on_trades", timedelta(minutes=1), reflect_due, lane="reflections"),
    Job("sync_accounts", timedelta(minutes=1), sync_accounts, lane="venues"),
    Job("drop_trade_files", timedelta(hours=1), drop_trade_files),
    Job("extend_simulated_market", timedelta(minutes=1), extend_simulation, lane="market"),
)
