"""Measure the speed of a backtest: ticks per second, and growth with history.

The backtest runs a month of one-minute bars in ticks of fifteen minutes. The bars come from the CSV file in BENCH_BARS,
else from a random walk of the same length. The growth exponent relates the time of a tick to the number of ticks before
it, by the median ticks of the second and the last quarter: 0 means that history costs nothing. The reference in the
same run is the offline model alone, with the same requests.
"""

import math
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import django

FOLDER = tempfile.mkdtemp(prefix="keel-bench-")
os.environ |= {
    "READ_DOT_ENV": "false",
    "SECRET_KEY": "only-for-benchmarks-" + "x" * 30,
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "LOG_LEVEL": "ERROR",
}
os.environ.setdefault("DATABASE_URL", os.environ.get("BENCH_DATABASE_URL", f"sqlite:///{FOLDER}/bench.sqlite3"))
django.setup()

from django.core.management import call_command  # noqa: E402 - after the settings

from config.lib.llm.door import Completion  # noqa: E402
from config.lib.owned import owned_tx  # noqa: E402
from offline.model import decide  # noqa: E402
from tests.trading.ticking import make_deployment  # noqa: E402
from trading.agent.decide import Ask, model_client  # noqa: E402
from trading.market.imports.bars import list_longer_intervals, read_bars, split_pages, store_bars  # noqa: E402
from trading.models import BacktestRun, Bar, Trade, Trader  # noqa: E402
from trading.runs.backtest import run_backtest  # noqa: E402

START = datetime(2022, 1, 1, tzinfo=UTC)
DAYS = 31
GOAL_SECONDS = 60


def fill_market() -> None:
    path = os.environ.get("BENCH_BARS")
    bars = read_bars(Path(path), symbol="BTC", interval="1m", source="benchmark") if path else walk()
    store_bars(split_pages(bars), aggregate=list_longer_intervals("1m"))


def walk() -> Iterator[Bar]:
    random, price = Random(1), 40_000.0
    for number in range(DAYS * 24 * 60):
        first, price = price, price * math.exp(random.gauss(0, 0.0006))
        high, low = max(first, price) * 1.0002, min(first, price) * 0.9998
        prices = dict(zip(("open", "high", "low", "close"), (first, high, low, price), strict=True))
        yield Bar(
            symbol="BTC",
            interval="1m",
            opened_at=START + timedelta(minutes=number),
            volume=Decimal(1),
            source="benchmark",
            **{name: Decimal(f"{value:.2f}") for name, value in prices.items()},
        )


class Timed:
    """The offline model, with the time and content of each request: one per tick."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.asked: list[float] = []
        self.seen: list[tuple[Any, Any]] = []

    def __call__(self, messages: Any, tools: Any) -> Completion:
        self.asked.append(time.perf_counter())
        self.seen.append((messages, tools))
        return self._ask(messages, tools)


def main() -> None:
    call_command("migrate", verbosity=0)
    user = Trader.objects.create_user("bench@example.com")
    began = time.perf_counter()
    fill_market()
    print(f"import with all longer bars: {time.perf_counter() - began:.1f} s")
    with owned_tx(user):
        deployment = make_deployment(
            broker_kind="backtest", context={"bars_interval": "15m", "bars_lookback": 48}, created_at=START
        )
        run = BacktestRun.objects.create(
            deployment=deployment,
            starts_at=START + timedelta(days=1),
            ends_at=START + timedelta(days=DAYS),
            reflects=False,
            created_at=START,
        )
    with model_client(["offline/keel"], clock=lambda: datetime.now(UTC)) as ask:
        model = Timed(ask)
        began, cpu_began = time.perf_counter(), time.process_time()
        status = run_backtest(run.pk, user_id=user.pk, clock=lambda: datetime.now(UTC), ask=model)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    with owned_tx(user):
        closed = Trade.objects.filter(deployment=deployment, status="closed").count()
    ticks = len(model.asked)
    lengths = [later - earlier for earlier, later in pairwise(model.asked)]
    quarter = ticks // 4
    second, last = (statistics.median(lengths[at : at + quarter]) for at in (quarter, ticks - 1 - quarter))
    exponent = math.log(last / second) / math.log(3.5 / 1.5)  # between the middles of these quarters
    began = time.perf_counter()
    for messages, tools in model.seen:
        decide(messages, tools)
    alone = time.perf_counter() - began
    print(f"backtest {status}: {ticks} ticks, {closed} closed trades")
    print(f"{seconds:.1f} s (goal {GOAL_SECONDS}), of which {cpu:.1f} of CPU")
    print(f"{ticks / seconds:.0f} ticks a second; median tick {statistics.median(lengths) * 1000:.1f} ms")
    print(f"growth exponent of a tick over history: {exponent:+.2f} (goal 0)")
    print(f"a tick over the model's decision alone: {seconds / alone:.0f} x")


if __name__ == "__main__":
    main()
