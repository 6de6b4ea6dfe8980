"""CPU of one more fill, imported in order, late or over REST, and of one more live tick, after 30,000 fills of a
symbol.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from http import HTTPStatus
from statistics import median

from django.db import connection
from django.urls import reverse

from benchmarks.report import Report, benchmark, size
from benchmarks.site import make_user, sign_in
from config.lib.owned import owned_tx
from tests.factories.record import DeploymentFactory
from trading.ledger.arrivals import add_entries
from trading.ledger.entries import Entries
from trading.ledger.executions import Execution
from trading.ledger.positions import Tick
from trading.ledger.services import record_tick
from trading.models import Deployment, EntrySource, Trader

START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = START + timedelta(days=60)
SHORT, LONG, MORE = size(1_000, 50), size(30_000, 200), size(20, 2)
Add = Callable[[Deployment, Execution], None]
sign_in_once = cache(sign_in)


def make_fill(place: int) -> Execution:
    """Return a fill that opens a trade, or one that closes it."""
    return Execution(str(place), "S", START + timedelta(minutes=place), Decimal(1 - 2 * (place % 2)), Decimal(100))


def import_fills(deployment: Deployment, *fills: Execution) -> None:
    with owned_tx(deployment.user_id):
        add_entries(deployment_id=deployment.pk, entries=Entries(fills), source=EntrySource.API, now=LATER)


def import_late(deployment: Deployment, fill: Execution) -> None:
    """Import a fill and its reverse near the start of the history."""
    at, late = START + (fill.at - START) % timedelta(hours=2), timedelta(seconds=20)
    back = replace(fill, fill_id=f"{fill.fill_id}b", at=at + 2 * late, quantity=-fill.quantity)
    import_fills(deployment, replace(fill, at=at + late), back)


def push(deployment: Deployment, fill: Execution) -> None:
    names = ("fill_id", "symbol", "at", "quantity", "price")
    body = {"fills": [{name: str(getattr(fill, name)) for name in names}]}
    address = reverse("api:trading:pushes-push-fills", args=[deployment.pk])
    answer = sign_in_once(deployment.user).post(address, body, content_type="application/json", secure=True)
    assert answer.status_code == HTTPStatus.OK, answer.content


def tick(deployment: Deployment, *fills: Execution) -> None:
    """Record the fills as the next live tick, with the position after them."""
    positions = {"S": Decimal(1)} if int(fills[-1].fill_id) % 2 == 0 else {}
    news = Tick(fills[-1].at, fills, marks={"S": Decimal(100)}, positions=positions)
    with owned_tx(deployment.user_id):
        number = Deployment.objects.get(pk=deployment.pk).last_tick + 1
        record_tick(deployment_id=deployment.pk, number=number, tick=news, skill_version=1, now=LATER)


def time_one_more(user: Trader, history: int, add: Add) -> float:
    """Return the median CPU milliseconds of adding one fill to a symbol's history."""
    took = []
    with owned_tx(user):
        deployment = DeploymentFactory(broker_kind="paper" if add is tick else "live")
    (tick if add is tick else import_fills)(deployment, *map(make_fill, range(history)))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as autovacuum does within a minute; without, PostgreSQL picks any index
    for place in range(history, history + MORE):
        began = time.process_time()
        add(deployment, make_fill(place))
        took.append((time.process_time() - began) * 1e3)
    return median(took)


@benchmark
def main(report: Report) -> None:
    user = make_user()
    ways: dict[str, Add] = {
        "one more fill": import_fills,
        "one more fill that comes late": import_late,
        "one more fill over REST": push,
        "one more live tick": tick,
    }
    for claim, add in ways.items():
        _, short, long = (time_one_more(user, history, add) for history in (10, SHORT, LONG))  # the first warms up
        print(f"{claim}: {short:.1f} ms after {SHORT:,}, {long:.1f} ms after {LONG:,}")
        report.add(claim, long / short)


if __name__ == "__main__":
    sys.exit(main())
