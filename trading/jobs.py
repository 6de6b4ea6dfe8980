"""The tasks on rows and the scheduled jobs of trading."""

from datetime import datetime, timedelta
from functools import partial
from typing import Final

from config.lib.work.jobs import Clock, Job, Key, Task
from config.lib.work.per_user import for_each_user
from trading.intake.files import drop_old_files, select_old_files
from trading.intake.sync import SYNC, list_due_accounts, sync_account
from trading.market.simulation import extend_market, list_simulated_symbols
from trading.record.backtests import PLAY, list_backtests_to_run
from trading.record.deployments import TICK
from trading.reviews import reflection
from trading.runs.backtest import run_backtest
from trading.runs.due import list_due, run_deployment


def tick_deployment(key: Key, clock: Clock) -> str:
    """Run a deployment's commands and its due tick."""
    ran = run_deployment(key, now=clock())
    said = [f"{command.kind} {command.status}" for command in ran.commands]
    return ", ".join([*said, *([f"tick {ran.ticked.outcome}"] if ran.ticked else [])]) or "nothing is due"


def reflect_on_trades(key: Key, clock: Clock) -> str:
    """Write the lessons of a deployment, if they are due."""
    done = reflection.reflect_if_due(key.row_id, user_id=key.user_id, now=clock(), clock=clock)
    return f"reflection {done.outcome}"


def play_backtest(key: Key, clock: Clock) -> str:
    """Run a backtest that waits or was cut off."""
    return f"backtest {run_backtest(key.row_id, user_id=key.user_id, clock=clock)}"


def extend_simulation(now: datetime) -> str:
    """Extend the simulated market, if there is one."""
    symbols = list_simulated_symbols()
    extended = extend_market(now=now, symbols=symbols)
    said = [f"{extended.bars.total()} bars simulated"] if extended.bars else []
    said += [f"{symbol} has bars from elsewhere" for symbol in extended.skipped]
    return ", ".join(said) or ("no bar has ended" if symbols else "no market is simulated")


def read_account(key: Key, clock: Clock) -> str:
    """Read the trades of a venue account, if it is due."""
    counts = sync_account(key.row_id, user_id=key.user_id, now=clock())
    return ", ".join(f"{count} {what}" for what, count in counts.items()) or "nothing is due"


def drop_trade_files(now: datetime) -> str:
    """Drop the files of trades that nobody imported."""
    drop, select = partial(drop_old_files, now=now), partial(select_old_files, now=now)
    dropped = sum(count or 0 for count in for_each_user("files of trades", drop, select=select))
    return f"{dropped} files of trades dropped"


JOBS: Final = (
    Task(TICK, "agents", timedelta(seconds=5), list_due, tick_deployment),
    Task(PLAY, "backtests", timedelta(seconds=5), list_backtests_to_run, play_backtest),
    Task(reflection.REFLECT, "reflections", timedelta(minutes=1), reflection.list_due, reflect_on_trades),
    Task(SYNC, "venues", timedelta(minutes=1), list_due_accounts, read_account),
    Job("drop_trade_files", timedelta(hours=1), drop_trade_files),
    Job("extend_simulated_market", timedelta(minutes=1), extend_simulation, lane="market"),
)
