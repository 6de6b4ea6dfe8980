from decimal import Decimal
from random import Random
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from config.lib.owned import ScopeError
from tests.factories.memory import JUNE
from tests.factories.record import DecisionSnapshotFactory, DeploymentFactory, TradeFactory
from tests.owners import as_owner
from tests.trading.ledger.test_rebuild import at, execution, record, rows
from trading.ledger.positions import Book, Funding, Tick
from trading.ledger.rows import (
    Intent,
    dump_trip,
    insert_trades,
    load_trip,
    new_trade_row,
    outcome_columns,
    update_trades,
)
from trading.ledger.services import Ledger, TickMissing, TickOutOfTime, lock_deployment, record_tick
from trading.ledger.trips import PathBar
from trading.models import Deployment, EquityPoint, Fill, OrderOrigin, Trade

D = Decimal


@pytest.fixture
def deployment(as_trader):
    return DeploymentFactory()


def test_trade_keeps_both_ends_with_their_reasons(deployment):
    entry = DecisionSnapshotFactory(deployment=deployment)
    done = DecisionSnapshotFactory(deployment=deployment)
    buy, sell = execution(2, 100, 0.5, name="b"), execution(-2, 110, 1.5, name="s", fee="0.3")

    opened = record(
        deployment,
        1,
        buy,
        intents={"b": Intent(OrderOrigin.AGENT, "Breakout", entry.pk, leverage=D(3))},
        regimes={"BTC": "trend"},
        equity_usd=D("9999.9"),
    )
    trade = Trade.objects.get()
    assert (opened.opened, opened.closed, trade.status, trade.quantity) == (1, 0, "open", 2)
    closed = record(deployment, 2, sell, intents={"s": Intent(OrderOrigin.STOP, "Stop at 110", done.pk)})

    trade.refresh_from_db()
    assert (closed.opened, closed.closed, trade.status, trade.quantity) == (0, 1, "closed", 0)
    assert (trade.entry_reason, trade.entry_snapshot, trade.entry_leverage) == ("Breakout", entry, 3)
    assert (trade.exit_reason, trade.exit_snapshot, trade.exit_kind) == ("Stop at 110", done, "stop")
    assert (trade.entry_regime_tag, trade.skill_version, trade.exit_skill_version) == ("trend", 1, 1)
    assert (trade.entry_tick_at, trade.entry_at, trade.exit_tick_at, trade.exit_at) == (at(1), at(0.5), at(2), at(1.5))
    assert (trade.gross_pnl_usd, trade.fees_usd, trade.realized_pnl_usd) == (20, D("0.4"), D("19.6"))
    assert (trade.holding_minutes, trade.reconciled, trade.first_fill_id, trade.state) == (1, "exact", "b", {})
    assert EquityPoint.objects.get().equity_usd == D("9999.9")


def test_exit_kind_says_who_wanted_it(as_trader):
    kinds = {"agent": "signal", "stop": "stop", "halt": "halt", "command": "command", None: "external"}
    for origin, kind in kinds.items():
        deployment = DeploymentFactory()
        record(deployment, 1, execution(1, 100, 0))
        wish = {"s": Intent(OrderOrigin(origin), "Because")} if origin else {}
        record(deployment, 2, execution(-1, 100, 1.5, name="s"), intents=wish)
        assert Trade.objects.get(deployment=deployment).exit_kind == kind


def test_flip_and_liquidation_say_so_for_any_origin(deployment):
    intents = {"flip": Intent(OrderOrigin.AGENT, "Turn"), "gone": Intent(OrderOrigin.AGENT, "Never")}

    record(deployment, 1, execution(1, 100, 0))
    record(deployment, 2, execution(-3, 100, 1.5, name="flip"), intents=intents)
    record(deployment, 3, execution(2, 150, 2.5, name="gone", is_liquidation=True), intents=intents)

    assert list(Trade.objects.order_by("entry_at").values_list("exit_kind", "exit_reason", "entry_reason")) == [
        ("flip", "Turn", ""),
        ("liquidation", "Never", "Turn"),
    ]


def test_change_without_a_fill_takes_the_reason_of_its_symbol(deployment):
    wish = {"BTC": Intent(OrderOrigin.COMMAND, "You asked to close all")}

    record(deployment, 1, held={"BTC": "1"})
    record(deployment, 2, held={}, symbol_intents=wish)

    trade = Trade.objects.get()
    assert (trade.exit_kind, trade.exit_reason, trade.reconciled) == ("command", "You asked to close all", "estimated")


def test_path_and_funding_reach_the_row(deployment):
    bar = PathBar(at(1), at(2), D(130), D(80), D(120))
    record(deployment, 1, execution(1, 100, 0.5))
    record(deployment, 2, tick=Tick(at(2), funding=[Funding("BTC", at(1.5), D("-0.7"))], bars={"BTC": [bar]}))

    trade = Trade.objects.get()
    assert (trade.mfe_usd, trade.mae_usd, trade.funding_usd) == (30, -20, D("-0.7"))
    assert trade.realized_pnl_usd == D("-0.8")


def test_record_tick_ignores_a_repeated_tick(deployment):
    first = [execution(1, 100, 0)]
    record(deployment, 1, *first)
    before = (rows(deployment), list(Fill.objects.values()), Deployment.objects.values().get())

    again = record(deployment, 1, *first, execution(5, 100, 0.2), minute=9)

    assert not again.is_applied
    assert (rows(deployment), list(Fill.objects.values()), Deployment.objects.values().get()) == before


def test_tick_that_comes_too_early_or_not_later_than_the_one_before_is_refused(deployment):
    record(deployment, 1, minute=5)

    with pytest.raises(TickMissing):
        record(deployment, 3, execution(1, 100), minute=9)
    with pytest.raises(TickOutOfTime):
        record(deployment, 2, execution(1, 100), minute=5)

    assert Deployment.objects.get().last_tick == 1
    assert not Fill.objects.exists()


def test_fill_that_was_seen_in_an_earlier_tick_counts_once_but_for_another_symbol(deployment):
    buy = execution(1, 100, 0, name="7")
    record(deployment, 1, buy)

    assert record(deployment, 2, buy, buy).fills == 0
    assert (Trade.objects.get().quantity, Fill.objects.count()) == (1, 1)
    assert record(deployment, 3, execution(1, 10, 2.5, name="7", symbol="ETH")).fills == 1
    assert Trade.objects.filter(status="open").count() == 2


def test_tick_that_fails_halfway_leaves_nothing(deployment, monkeypatch):
    monkeypatch.setattr(EquityPoint.objects, "bulk_create", lambda *args, **kwargs: 1 / 0)

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        record(deployment, 1, execution(1, 100, 0), equity_usd=D(1))

    assert not Trade.objects.exists()
    assert not Fill.objects.exists()
    assert Deployment.objects.get().last_tick == 0


def test_update_trades_leaves_a_strangers_row_unchanged(deployment, stranger):
    theirs = as_owner(stranger, lambda: TradeFactory(first_fill_id="b", still_open=True))
    [trip] = Book().apply(Tick(JUNE, [execution(1, 5, 0, name="b")]))

    # As a bug might.
    update_trades([{"id": theirs.pk, "user_id": deployment.user_id} | outcome_columns(trip)])

    assert as_owner(stranger, Trade.objects.get).entry_price == 100


@pytest.mark.parametrize("write", [insert_trades, update_trades])
def test_rows_of_another_owner_are_refused(deployment, stranger, write):
    theirs = as_owner(stranger, DeploymentFactory)
    [trip] = Book().apply(Tick(JUNE, [execution(1, 5, 0, name="b")]))

    with pytest.raises(ScopeError):
        write([new_trade_row(theirs, trip, JUNE) | outcome_columns(trip) | {"id": uuid4(), "skill_version": 1}])


def story(seed: int, ticks: int = 40) -> list[Tick]:
    """Return ticks with flips, adds, deltas without fills, bars and funding."""
    random, held, told = Random(seed), {"BTC": D(0), "ETH": D(0)}, []
    for number in range(1, ticks + 1):
        fills, marks = [], {}
        for symbol, held_now in list(held.items()):
            price = D(random.randint(9000, 11000)) / 100
            marks[symbol] = price
            for part in range(random.choice([0, 1, 1, 2])):
                goes_flat = held_now and random.random() < 0.3
                quantity = -held_now if goes_flat else round(D(random.randint(-300, 300) or 1) / 7, 8)
                held_now += quantity
                fill = execution(
                    quantity, price, number - 0.9 + part / 4, name=f"{number}.{part}", symbol=symbol, fee="0.013"
                )
                fills.append(fill)
                if random.random() < 0.05:
                    held_now += 1  # and nobody says how
            held[symbol] = held_now
        bars = {
            symbol: [PathBar(at(number - 1), at(number), mark * D("1.01"), mark * D("0.98"), mark)]
            for symbol, mark in marks.items()
        }
        funding = [Funding("BTC", at(number - 0.5), D(random.randint(-9, 9)) / 10)]
        positions = {symbol: quantity for symbol, quantity in held.items() if quantity}
        told.append(Tick(at(number), fills, funding, bars, marks, positions))
    return told


@pytest.mark.parametrize("seed", range(6))
def test_live_and_in_memory_write_the_same_bytes(seed, as_trader):
    ticks = story(seed)
    live, replayed = DeploymentFactory(), DeploymentFactory()
    for number, tick in enumerate(ticks, start=1):
        record_tick(deployment_id=live.pk, number=number, tick=tick, skill_version=1, now=JUNE)
    written = rows(live)

    ledger = Ledger.load(lock_deployment(replayed.pk), ticks[0])
    for number, tick in enumerate(ticks, start=1):
        ledger.apply(number, tick, skill_version=1)
        if number % 7 == 0:
            ledger.flush(JUNE)
    ledger.flush(JUNE)

    assert rows(replayed) == written
    assert len(written) > 10
    assert {row["reconciled"] for row in written} >= {"exact"}
    assert replayed.last_tick == 0 != Deployment.objects.get(pk=replayed.pk).last_tick


@pytest.mark.parametrize("seed", range(6))
def test_open_rows_match_the_snapshot(seed, deployment):
    for number, tick in enumerate(story(seed), start=1):
        record_tick(deployment_id=deployment.pk, number=number, tick=tick, skill_version=1, now=JUNE)

        held = {trade.symbol: load_trip(trade.state).quantity for trade in Trade.objects.filter(status="open")}
        assert held == pytest.approx(dict(tick.positions), abs=D("1e-9"))


def test_dumped_trip_is_the_same_trip():
    for seed in range(6):
        book = Book()
        for tick in story(seed):
            for trip in book.apply(tick):
                assert load_trip(dump_trip(trip)) == trip


def test_only_one_trade_of_a_symbol_is_open(deployment):
    record(deployment, 1, execution(1, 100, 0))

    with pytest.raises(IntegrityError), transaction.atomic():
        TradeFactory(deployment=deployment, still_open=True)
