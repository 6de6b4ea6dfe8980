from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from django.db import connection

from config.lib.errors import DomainError
from config.lib.owned import owned, owned_tx
from tests.factories.record import DeploymentFactory
from tests.trading.ledger.test_rebuild import at, execution, record
from trading.models import Deployment, EquityPoint, Fill, Trade

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

RUNNERS = 8


def race(trader, *works):
    """Do all at once, each as the trader and on a connection of its own; return results and refusals."""

    def as_trader(work):
        with owned_tx(trader.pk):
            return work()

    return race_freely(*(partial(as_trader, work) for work in works))


def race_freely(*works):
    """Do all at once that open their own doors, each on a connection of its own; return results and refusals."""
    start = Barrier(len(works))

    def run(work):
        try:
            start.wait()
            return work()
        except DomainError as refusal:
            return refusal
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def test_of_many_runners_one_applies_a_tick(trader):
    with owned_tx(trader):
        deployment = DeploymentFactory()
        fills = [execution(1, 100, 0.5, name="a"), execution(-3, 110, 0.6, name="b")]

    done = race(trader, *[lambda: record(deployment, 1, *fills, equity_usd=1)] * RUNNERS)

    with owned(trader):
        assert sorted(tick.is_applied for tick in done) == [False] * (RUNNERS - 1) + [True]
        assert (Trade.objects.count(), Fill.objects.count(), EquityPoint.objects.count()) == (2, 2, 1)


def test_ticks_that_race_are_applied_in_their_order_or_refused(trader):
    with owned_tx(trader):
        deployment = DeploymentFactory()

    race(
        trader,
        *[
            lambda number=number: record(deployment, number, execution(1, 100, number - 0.5))
            for number in range(1, RUNNERS + 1)
        ],
    )

    with owned(trader):
        row = Deployment.objects.get()
        assert 1 <= row.last_tick <= RUNNERS
        assert row.last_tick_at == at(row.last_tick)
        assert Trade.objects.get().quantity == row.last_tick == Fill.objects.count()
