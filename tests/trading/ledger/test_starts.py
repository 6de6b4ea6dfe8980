"""Histories that begin inside a position: nothing is called exact before it is proven."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from importlib import import_module
from itertools import accumulate
from random import Random
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from tests.factories.record import DeploymentFactory
from tests.trading.ledger.test_rebuild import at, bring, deployment, execution, rows
from trading.ledger.arrivals import undo_batch
from trading.ledger.executions import Execution
from trading.ledger.openings import work_out_opening
from trading.ledger.positions import Book, Check, Starts, Tick
from trading.ledger.trips import Trip
from trading.models import ImportBatch, ReconcileState, Trade

__all__ = ["deployment"]

D = Decimal
GRAIN = D("1e-8")
SEEDS = range(60)


def tell_history(random: Random, count: int = 40, *, flips: bool = True) -> list[Execution]:
    """Return fills from zero with adds, partial exits and flips; each states its profit as a venue does."""
    held = average = D(0)
    fills = []
    for number in range(count):
        price, size = D(random.randint(5_000, 20_000)) / 100, D(random.randint(1, 9_000)) / 1000
        away = D(1 if held > 0 else -1)
        part = (abs(held) * random.randint(20, 90) / 100).quantize(D("0.001")) or abs(held)
        choices = [away * size, -away * part, -held, *([-held - away * size] if flips else [])]
        quantity = random.choice(choices) if held else size * random.choice((1, -1))
        out = -min(abs(quantity), abs(held)) * away if held * quantity < 0 else D(0)
        pnl = (out * (average - price)).quantize(GRAIN)
        if held * quantity >= 0:
            average = (held * average + quantity * price) / (held + quantity)
        elif abs(quantity) > abs(held):
            average = price
        held += quantity
        fills.append(execution(quantity, price, number, fee="0", name=f"{number:03}", pnl_usd=pnl))
    return fills


def fold(fills, *, opening: Check | None = None, starts: Starts | None = None) -> list[Trip]:
    book = Book(starts=starts or Starts())
    return book.apply(Tick(fills[-1].at + timedelta(days=1), fills, checks=[opening] if opening else []))


def without_profits(fills) -> list[Execution]:
    return [replace(fill, pnl_usd=None) for fill in fills]


def position_before(fills, cut: int) -> Check:
    """Return what was held before a fill, and at which average, by the trades of the whole history."""
    [trip] = [trip for trip in fold(fills[:cut], starts=Starts({"BTC"})) if trip.is_open]
    return Check("BTC", fills[cut].at, trip.quantity, trip.entry_price, is_opening=True)


def cut_inside(random: Random, fills) -> int:
    held = list(accumulate((fill.quantity for fill in fills), initial=D(0)))
    return random.choice([place for place in range(1, len(fills) - 5) if held[place]])


def span(trip: Trip) -> tuple:
    return trip.side, trip.entry_at, trip.exit_at, trip.peak_quantity, round(trip.gross_usd, 6)


@pytest.mark.parametrize("seed", SEEDS)
def test_history_cut_inside_a_position_has_no_exact_trade_without_a_proof(seed):
    random = Random(seed)
    fills = tell_history(random)

    trips = fold(without_profits(fills[cut_inside(random, fills) :]))

    assert ReconcileState.EXACT not in {trip.reconciled for trip in trips}


@pytest.mark.parametrize("seed", SEEDS)
def test_trades_that_stated_profits_call_exact_are_those_of_the_whole_history(seed):
    random = Random(seed)
    fills = tell_history(random)
    whole = {span(trip) for trip in fold(fills, starts=Starts({"BTC"})) if not trip.is_open}

    trips = fold(fills[cut_inside(random, fills) :])

    exact = {span(trip) for trip in trips if trip.reconciled is ReconcileState.EXACT and not trip.is_open}
    assert exact <= whole


@pytest.mark.parametrize("seed", SEEDS)
def test_with_the_true_opening_all_trades_are_those_of_the_whole_history(seed):
    random = Random(seed)
    fills = tell_history(random)
    cut = cut_inside(random, fills)
    whole = [trip for trip in fold(fills, starts=Starts({"BTC"})) if (trip.exit_at or at(99)) >= fills[cut].at]
    before = fold(fills[:cut], starts=Starts({"BTC"}))[-1].gross_usd

    first, *others = fold(fills[cut:], opening=position_before(fills, cut))

    assert [span(trip) for trip in others] == [span(trip) for trip in whole[1:]]
    assert {trip.reconciled for trip in others} <= {ReconcileState.EXACT}
    assert (first.reconciled, first.side) == (ReconcileState.ESTIMATED, whole[0].side)
    assert abs(first.gross_usd - (whole[0].gross_usd - before)) < D("1e-6")


@pytest.mark.parametrize("seed", SEEDS)
def test_opening_that_is_reduced_before_the_first_add_is_worked_out(seed):
    random = Random(seed)
    fills = tell_history(random, flips=False)
    held = list(accumulate((fill.quantity for fill in fills), initial=D(0)))
    places = [place for place in range(1, len(fills) - 1) if held[place] and fills[place].pnl_usd]
    cut = random.choice(places)
    flat = next((place for place in range(cut, len(held)) if not held[place]), len(fills))
    is_wholly_reduced = all(fill.pnl_usd for fill in fills[cut:flat]) and flat < len(fills)

    found, true = work_out_opening(fills[cut:]), position_before(fills, cut)

    assert found is not None
    assert (found.quantity * true.quantity > 0, abs(found.quantity) <= abs(true.quantity)) == (True, True)
    assert abs(found.price - true.price) < D("1e-4")
    if is_wholly_reduced:
        assert found.quantity == true.quantity


def test_trade_against_which_another_was_opened_is_never_exact():
    fills = [execution(2, 100, 0, is_reducing=False), execution(-2, 110, 1, is_reducing=False)]

    [trip] = fold(fills, starts=Starts({"BTC"}))

    assert (trip.gross_usd, trip.reconciled) == (20, ReconcileState.UNCONFIRMED)


# --- One ledger by any path ---


def divide(random: Random, fills: list[Execution], count: int) -> list[list[Execution]]:
    parts: list[list[Execution]] = [[] for _ in range(count)]
    for fill in fills:
        random.choice(parts).append(fill)
    return parts


def state_some(random: Random, fills: list[Execution]) -> list[Execution]:
    """Return the fills with a profit, a position before or neither, as of several sources."""
    held = accumulate((fill.quantity for fill in fills), initial=D(random.choice((0, 0, 3))))
    told = random.choice((0, 0, 0.1))
    return [
        replace(
            fill,
            start_quantity=before if random.random() < told else None,
            pnl_usd=random.choice((fill.pnl_usd, fill.pnl_usd, fill.pnl_usd, None, D(7))),
        )
        for fill, before in zip(fills, held, strict=False)
    ]


@pytest.mark.parametrize("seed", range(30))
def test_history_is_one_ledger_in_any_division_and_order(deployment, seed):
    random = Random(seed)
    whole = tell_history(random, 60)
    fills = state_some(random, whole[random.randint(0, 10) :])
    said = Check("BTC", whole[random.randint(0, 50)].at, D(random.choice((-3, 0, 0, 2))), D(100), is_opening=True)
    openings = [said] if random.random() < 0.6 else []
    bring(deployment, fills, openings=openings)
    expected = rows(deployment)

    other = DeploymentFactory(broker_kind="live")
    parts = [(part, ()) for part in divide(random, fills, random.randint(2, 6))]
    parts.insert(random.randint(0, len(parts)), ((), openings))
    for part, opening in parts:
        bring(other, part, openings=opening)
        if random.random() < 0.2 and (batch := ImportBatch.objects.filter(deployment=other).first()):
            undo_batch(batch_id=batch.pk, now=at(9999))
            bring(other, part, openings=opening)
    bring(other, fills, openings=openings)

    assert rows(other) == expected


def test_trades_that_were_exact_because_the_symbol_had_been_flat_are_unconfirmed_after_the_upgrade(deployment):
    turns = [execution((-1) ** minute, 100 + minute, minute) for minute in range(5)]
    bring(deployment, turns)
    bring(deployment, [replace(fill, symbol="ETH") for fill in turns], openings=[Check("ETH", at(0), D(0), D(1), True)])
    bring(deployment, [replace(fill, symbol="SOL", start_quantity=D(0)) for fill in turns[:1]])
    expected = rows(deployment)
    assert {(row["symbol"], row["reconciled"]) for row in expected} == {
        *(("BTC", "unconfirmed"), ("ETH", "exact"), ("SOL", "exact"))
    }
    for trade in Trade.objects.filter(symbol="BTC"):  # as they were
        trade.reconciled = "exact"
        trade.state.pop("is_unconfirmed", None)
        trade.save()
    upgrade = import_module("trading.migrations.0010_starts_without_a_proof").call_unproven_starts_unconfirmed

    upgrade(apps, SimpleNamespace(connection=connection))

    assert rows(deployment) == expected
