"""CPU of a backtest by rules: a month of one-minute bars in ticks of fifteen minutes, a week of it for the growth.

Printed beside: a plain loop of the same rule over the same bars, which stores nothing. The bars come from the CSV
file in BENCH_BARS, else from a random walk.
"""

import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean

from benchmarks.report import Report, benchmark, size
from benchmarks.site import make_bars, make_user, walk
from config.lib.operations.sizes import measure_database
from config.lib.owned import owned, owned_tx
from tests.trading.ticking import make_deployment
from trading.market.imports.bars import list_longer_intervals, read_bars, split_pages, store_bars
from trading.models import BacktestRun, Bar, Trade, Trader
from trading.runs.backtest import run_backtest

START = datetime(2022, 1, 1, tzinfo=UTC)
MINUTE, DAY, YEAR = timedelta(minutes=1), timedelta(days=1), timedelta(days=365)
DAYS, WEEK = size(31, 3), size(7, 1)


def fill_market() -> None:
    if path := os.environ.get("BENCH_BARS"):
        bars = read_bars(Path(path), symbol="BTC", interval="1m", source="benchmark")
    else:
        bars = make_bars(walk(DAYS * 24 * 60, first=40_000, spread=0.0006), "1m", MINUTE, START)
    store_bars(split_pages(bars), aggregate=list_longer_intervals("1m"))


def play(user: Trader, days: int) -> tuple[int, float, int]:
    """Run a backtest of so many days after the first; return its ticks, the CPU seconds and the closed trades."""
    with owned_tx(user):
        deployment = make_deployment(
            broker_kind="backtest", context={"bars_interval": "15m", "bars_lookback": 48}, created_at=START
        )
        run = BacktestRun.objects.create(
            deployment=deployment,
            starts_at=START + DAY,
            ends_at=START + DAY + days * DAY,
            reflects=False,
            by_rules=True,
            created_at=START,
        )
    began = time.process_time()
    status = run_backtest(run.pk, user_id=user.pk, clock=lambda: datetime.now(UTC))
    took = time.process_time() - began
    assert status == "done", status
    with owned(user):
        closed = Trade.objects.filter(deployment=deployment, status="closed").count()
        return BacktestRun.objects.get(pk=run.pk).ticks_done, took, closed


def play_plainly(bars: Sequence[tuple[float, float, float]]) -> int:
    """Trade the rule over bars of (high, low, close), without a record; return how many trades it closed.

    Enter on a close beyond the high or low of twenty bars; leave on a close back through the mean of ten, or at a stop
    of three average ranges.
    """
    side, stop, closed = 0, 0.0, 0
    for at in range(20, len(bars)):
        (high, low, close), before = bars[at], bars[at - 20 : at]
        is_stopped = (low <= stop) if side > 0 else (high >= stop)
        if side and (is_stopped or side * (close - fmean(bar[2] for bar in bars[at - 9 : at + 1])) < 0):
            side, closed = 0, closed + 1
        elif not side:
            side = (close > max(bar[0] for bar in before)) - (close < min(bar[1] for bar in before))
            stop = close - side * 3 * fmean(bar[0] - bar[1] for bar in before[-14:])
    return closed


def read_prices() -> list[tuple[float, float, float]]:
    rows = Bar.objects.filter(interval="15m", opened_at__gte=START + DAY).order_by("opened_at")
    return [(float(row.high), float(row.low), float(row.close)) for row in rows]


@benchmark
def main(report: Report) -> None:
    user = make_user()
    fill_market()
    play(user, 1)  # what the first run of a process loads
    ticks, took, _ = play(user, WEEK)
    of_week = took / ticks
    before = measure_database()
    ticks, took, closed = play(user, DAYS - 1)
    grown = (measure_database() - before) / ticks
    prices = read_prices()
    began = time.process_time()
    closed_plainly = play_plainly(prices)
    plain = (time.process_time() - began) / len(prices)
    print(
        f"{ticks} ticks, {ticks / took:.0f} a second of CPU, {closed} closed trades; a plain loop closes"
        f" {closed_plainly} and takes {plain * 1e6:.1f} us a bar, a {took / ticks / plain:,.0f}th"
    )
    report.add("CPU of a tick by rules", took / ticks * 1e3)
    report.add("CPU of a tick of a month", took / ticks / of_week)
    report.add("database of a year of ticks", grown * (YEAR / timedelta(minutes=15)) / 1e6)


if __name__ == "__main__":
    sys.exit(main())
