"""CPU of the charts: thinning 50,000 points, and a deployment with 5,000 trades, 35,000 equity points and 50,000
bars.
"""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from benchmarks.report import Report, benchmark, size, time_cpu
from benchmarks.site import make_bars, make_user, sign_in, walk
from config.lib.charts.thinning import Ohlc, group_candles, pick_extremes
from config.lib.owned import owned, owned_tx
from tests.factories.record import DeploymentFactory, TradeFactory
from trading.market.candles import read_candles
from trading.models import Bar, Deployment, EquityPoint, Trade, Trader
from trading.record.deployment_queries import read_curve

POINTS, TRADES, CURVE = size(50_000, 2_000), size(5_000, 200), size(35_000, 1_400)
START = datetime(2025, 1, 1, tzinfo=UTC)
QUARTER = timedelta(minutes=15)


def make_record(user: Trader, values: Sequence[Decimal]) -> Deployment:
    with owned_tx(user):
        deployment = DeploymentFactory(created_at=START)
        points = (
            EquityPoint(user=user, deployment=deployment, tick=n, at=START + n * QUARTER, equity_usd=value)
            for n, value in enumerate(values[:CURVE], 1)
        )
        EquityPoint.objects.bulk_create(points, batch_size=2_000)
        same = {"user": user, "deployment": deployment}
        trades = (
            TradeFactory.build(
                entry_tick_at=START + n * (POINTS // TRADES) * QUARTER, gross_pnl_usd=Decimal(n % 36 - 8), **same
            )
            for n in range(TRADES)
        )
        Trade.objects.bulk_create(trades, batch_size=500)
    Bar.objects.bulk_create(make_bars(values, "15m", QUARTER, START), batch_size=2_000)
    return deployment


@benchmark
def main(report: Report) -> None:
    values = walk(POINTS, first=10_000, spread=0.001)
    candles = [Ohlc(START + n * QUARTER, value, value + 2, value - 2, value) for n, value in enumerate(values)]
    report.add("line of 50,000 points, thinned", time_cpu(lambda: pick_extremes([values])))
    report.add("50,000 candles, grouped", time_cpu(lambda: group_candles(candles)))
    user = make_user()
    deployment, client = make_record(user, values), sign_in(user)
    here = f"/deployments/{deployment.pk}/"

    def read_all() -> None:
        with owned(user):
            read_curve(deployment)

    parts = {
        "curve": read_all,
        "candles": lambda: read_candles("BTC", START, START + POINTS * QUARTER),
        "prices": lambda: client.get(f"{here}prices/?symbol=BTC"),
        "live part": lambda: client.get(f"{here}live/"),
    }
    print(", ".join(f"{name}: {time_cpu(part):.0f} ms" for name, part in parts.items()))
    report.add("page of a large deployment", time_cpu(lambda: client.get(here)))
    print(f"page: {len(client.get(here).content) / 1000:.0f} kB of HTML")


if __name__ == "__main__":
    sys.exit(main())
