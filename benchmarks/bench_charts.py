"""Thin 50,000 points and candles, and open a deployment with 5,000 trades, 35,000 equity points and 50,000 bars.

It measures the CPU time of this process, in which SQLite runs too, so other programs on the machine do not count.
"""

import random
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from benchmarks.bench_recall import set_up
from benchmarks.bench_store import measure

POINTS, TRADES, CURVE = 50_000, 5_000, 35_000
GOAL_THIN_MS, GOAL_PAGE_MS = 60.0, 250.0
START = datetime(2025, 1, 1, tzinfo=UTC)
QUARTER = timedelta(minutes=15)


def _walk(count: int) -> list[Decimal]:
    pick, value, values = random.Random(17), 10_000.0, []
    for _ in range(count):
        value *= 1 + pick.gauss(0, 0.001)
        values.append(Decimal(f"{value:.4f}"))
    return values


def _measure_thinning() -> bool:
    from config.lib.charts.thinning import Ohlc, group_candles, pick_extremes  # noqa: PLC0415

    values = _walk(POINTS)
    line = [(START + n * QUARTER, value) for n, value in enumerate(values)]
    candles = [Ohlc(at, value, value + 2, value - 2, value) for at, value in line]
    took = {"line": measure(lambda: pick_extremes([values])), "candles": measure(lambda: group_candles(candles))}
    print(", ".join(f"{POINTS:,} points as {name}: {ms:.1f} ms" for name, ms in took.items()))
    return max(took.values()) <= GOAL_THIN_MS


def _make_record(user: Any) -> Any:
    from config.lib.owned import owned_tx  # noqa: PLC0415
    from tests.factories.record import DeploymentFactory, TradeFactory  # noqa: PLC0415
    from trading.models import Bar, EquityPoint, Trade  # noqa: PLC0415

    values = _walk(POINTS)
    with owned_tx(user):
        deployment = DeploymentFactory(created_at=START)
        equity = enumerate(values[:CURVE], 1)
        EquityPoint.objects.bulk_create(
            [
                EquityPoint(user=user, deployment=deployment, tick=n, at=START + n * QUARTER, equity_usd=value)
                for n, value in equity
            ],
            batch_size=2_000,
        )
        model = TradeFactory.build
        trades = [
            model(
                user=user,
                deployment=deployment,
                entry_tick_at=START + n * 7 * QUARTER,
                gross_pnl_usd=Decimal(n % 36 - 8),
            )
            for n in range(TRADES)
        ]
        Trade.objects.bulk_create(trades, batch_size=500)
    bars = [
        Bar(
            symbol="BTC",
            interval="15m",
            opened_at=START + n * QUARTER,
            open=v,
            high=v + 2,
            low=v - 2,
            close=v,
            source="b",
        )
        for n, v in enumerate(values)
    ]
    Bar.objects.bulk_create(bars, batch_size=2_000)
    return deployment


def _measure_pages(user: Any) -> bool:
    from django.test import Client  # noqa: PLC0415

    from config.lib.owned import owned  # noqa: PLC0415
    from trading.market.candles import read_candles  # noqa: PLC0415
    from trading.record.deployment_queries import read_curve  # noqa: PLC0415

    deployment = _make_record(user)
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    here = f"/deployments/{deployment.pk}/"

    def read_all() -> None:
        with owned(user):
            read_curve(deployment)

    took = {
        "curve": measure(read_all),
        "candles": measure(lambda: read_candles("BTC", START, START + POINTS * QUARTER)),
        "page": measure(lambda: client.get(here)),
        "prices": measure(lambda: client.get(f"{here}prices/?symbol=BTC")),
        "live part": measure(lambda: client.get(f"{here}live/")),
    }
    print(", ".join(f"{name}: {ms:.0f} ms" for name, ms in took.items()))
    print(f"page: {len(client.get(here).content) / 1000:.0f} kB of HTML")
    return took["page"] <= GOAL_PAGE_MS


def main() -> int:
    """Print what charts take; 1 if thinning or the page misses its goal."""
    with tempfile.TemporaryDirectory() as folder:
        set_up(folder)
        from django.contrib.auth import get_user_model  # noqa: PLC0415

        user = get_user_model().objects.create_user(email="bench@example.com", password="a-long-password")
        return 0 if all([_measure_thinning(), _measure_pages(user)]) else 1


if __name__ == "__main__":
    sys.exit(main())
