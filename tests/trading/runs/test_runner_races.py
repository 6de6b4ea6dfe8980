from contextlib import suppress
from threading import Barrier, BrokenBarrierError

import pytest

from config.lib.owned import owned
from tests.trading.ledger.test_races import race_freely
from tests.trading.ticking import Desk, Script, at, close, long, run_due, store_prices
from trading.models import DecisionSnapshot, EquityPoint, Fill, Order, Trade
from trading.runs.runner import Ticker, TickOutcome

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

WORKERS = 6


class Together(Script):
    """A model that answers when all workers ask, or after a second."""

    def __init__(self, line, *said):
        super().__init__(*said)
        self.line = line

    def __call__(self, messages, tools):
        with suppress(BrokenBarrierError):  # not all of them may come to ask
            self.line.wait(timeout=1)
        return super().__call__(messages, tools)


def rush(desk, number, said):
    """Let six workers do one tick at once, past all leases."""
    line = Barrier(WORKERS)
    tickers = [Ticker(desk.deployment_id, user_id=desk.user.pk, ask=Together(line, said)) for _ in range(WORKERS)]
    return race_freely(*[lambda ticker=ticker: ticker.tick(at(number)) for ticker in tickers])


def test_six_workers_on_one_deployment_never_leave_two_open_rows_nor_two_decisions(trader):
    desk = Desk(trader)
    store_prices(*[100] * 3, *[101] * 3, *[102] * 3, *[103] * 6)

    for number, said in enumerate([long(), long(), close(), long()], start=1):
        done = rush(desk, number, said)
        outcomes = sorted(ticked.outcome for ticked in done)
        assert outcomes == [TickOutcome.DECIDED] + [TickOutcome.REPEATED] * (WORKERS - 1)
    rush(desk, 5, close())

    with owned(trader):
        assert (DecisionSnapshot.objects.count(), EquityPoint.objects.count(), Order.objects.count()) == (5, 5, 5)
        assert Trade.objects.filter(status="open").count() == 1
        assert Trade.objects.filter(status="closed").count() == 1
        assert Fill.objects.count() == 4


def test_six_runners_that_look_at_once_tick_once(trader):
    desk = Desk(trader)
    store_prices(*[100] * 12)

    ran = race_freely(*[lambda: run_due(at(3))] * WORKERS)

    ticked = [one.ticked for found in ran for one in found if one.ticked is not None]
    assert [one.outcome for one in ticked].count(TickOutcome.DECIDED) == 1
    assert desk.row.last_tick == 1
