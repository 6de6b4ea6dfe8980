from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from random import Random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.factories.memory import JUNE, MINUTE
from tests.factories.record import DeploymentFactory
from tests.trading.data import FILLS, needs_fills
from trading.intake.guessing import propose_mapping
from trading.intake.ledgers import _build_entries
from trading.intake.reading import read_fills
from trading.intake.tables import read_table
from trading.ledger.arrivals import add_entries
from trading.ledger.entries import Entries
from trading.ledger.executions import Execution
from trading.ledger.positions import Funding, Tick
from trading.ledger.rows import Intent
from trading.ledger.services import record_tick
from trading.models import Deployment, OrderOrigin, Trade

D = Decimal
NOW = JUNE + timedelta(days=90)


def at(minute: float):
    return JUNE + minute * MINUTE


def execution(quantity, price, minute=0.0, *, fee="0.1", name=None, symbol="BTC", **more) -> Execution:
    return Execution(
        name or f"{minute}:{quantity}", symbol, at(minute), D(str(quantity)), D(str(price)), D(fee), **more
    )


def record(deployment: Deployment, number: int, *fills: Execution, held=None, mark="100", minute=None, **more):
    positions = None if held is None else {symbol: D(quantity) for symbol, quantity in held.items()}
    now = at(number if minute is None else minute)
    tick = Tick(now, fills, marks={"BTC": D(mark), "ETH": D(mark)}, positions=positions)
    tick = more.pop("tick", tick)
    return record_tick(deployment_id=deployment.pk, number=number, tick=tick, skill_version=1, now=now, **more)


def bring(deployment, fills, funding=(), openings=()):
    return add_entries(deployment_id=deployment.pk, entries=Entries(fills, funding, openings), source="api", now=NOW)


@pytest.fixture
def deployment(as_trader):
    return DeploymentFactory(broker_kind="live")


def rows(deployment: Deployment, *, but=()) -> list[dict]:
    """Return a deployment's trades but for what differs between two records of the same."""
    left_out = {"id", "deployment_id", "skill_id", "user_id", "created_at", "updated_at", *but}
    return [
        {name: value for name, value in row.items() if name not in left_out}
        for row in Trade.objects.filter(deployment=deployment).order_by("entry_at", "symbol", "first_fill_id").values()
    ]


# --- Late entries ---


@pytest.mark.parametrize("delay", [3, 60 * 23, 60 * 25, 60 * 24 * 40])
def test_late_fill_of_any_age_replaces_the_estimate_of_an_exit_and_leaves_its_reasons(deployment, delay):
    wish = {"BTC": Intent(OrderOrigin.AGENT, "Target met")}
    record(deployment, 1, execution(2, 100, 0.5), held={"BTC": "2"})
    record(deployment, 2, held={}, mark="110", symbol_intents=wish)
    kept = Trade.objects.get().pk

    done = record(deployment, 3, execution(-2, 104, 1.5, name="late"), held={}, minute=delay)

    trade = Trade.objects.get()
    assert (trade.pk, done.opened, done.closed) == (kept, 0, 0)
    assert (trade.gross_pnl_usd, trade.exit_price, trade.reconciled, trade.state) == (8, 104, "exact", {})
    assert (trade.exit_kind, trade.exit_reason, trade.exit_skill_version) == ("signal", "Target met", 1)
    assert (trade.exit_at, trade.exit_tick_at) == (at(1.5), at(delay))


def test_late_fill_replaces_the_estimate_of_an_entry(deployment):
    record(deployment, 1, held={})
    record(deployment, 2, held={"BTC": "2"}, mark="100")
    kept = Trade.objects.get().pk

    record(deployment, 3, execution(2, 97, 1.5), held={"BTC": "2"})

    trade = Trade.objects.get()
    assert (trade.pk, trade.entry_price, trade.entry_at, trade.reconciled) == (kept, 97, at(1.5), "exact")


def test_late_flip_explains_both_trades(deployment):
    record(deployment, 1, execution(2, 100, 0.5), held={"BTC": "2"})
    record(deployment, 2, held={"BTC": "-1"}, mark="90")

    record(deployment, 3, execution(-3, 95, 1.5, fee="0.3"), held={"BTC": "-1"})

    long, short = Trade.objects.order_by("entry_at", "side")
    assert (long.gross_pnl_usd, long.fees_usd, long.reconciled) == (-10, D("0.3"), "exact")
    assert (short.entry_price, short.fees_usd, short.reconciled) == (95, D("0.1"), "exact")


def test_late_fill_explains_a_part_of_an_estimate(deployment):
    record(deployment, 1, held={})
    record(deployment, 2, held={"BTC": "3"}, mark="100")

    record(deployment, 3, execution(1, 94, 1.5), held={"BTC": "3"})

    trade = Trade.objects.get()
    assert (trade.entry_price, trade.quantity, trade.reconciled) == (98, 3, "estimated")


@pytest.fixture
def folded(monkeypatch):
    """How many fills each tick had that a rebuild applied."""
    found = []
    monkeypatch.setattr("trading.ledger.rebuild.Tick", lambda *args: found.append(len(args[1])) or Tick(*args))
    return found


def test_rebuild_reads_the_history_from_the_last_flat_point(deployment, folded):
    bring(deployment, [execution((-1) ** minute, 100, minute) for minute in range(200)])
    before = {row["first_fill_id"]: row["id"] for row in Trade.objects.values("id", "first_fill_id")}
    folded.clear()

    bring(deployment, [execution(2, 100, 189.5)])

    assert folded == [3, 11]  # up to the next flat point first; the symbol is not flat there any more
    assert sum(before[row.first_fill_id] == row.pk for row in Trade.objects.filter(entry_at__lt=at(189))) == 95


def test_rebuild_ends_where_the_symbol_is_flat_as_before(deployment, folded):
    bring(deployment, [execution((-1) ** minute, 100, minute) for minute in range(200)])
    folded.clear()

    bring(deployment, [], [Funding("BTC", at(20.5), D(3))])

    assert folded == [2]
    assert Trade.objects.get(entry_at=at(20)).funding_usd == 3
    assert Trade.objects.count() == 100


def test_append_to_an_open_trade_folds_the_new_fills_alone(deployment, folded):
    bring(deployment, [execution(1, 100 + minute, minute) for minute in range(50)])
    folded.clear()

    bring(deployment, [execution(-50, 200, 60)])

    assert folded == [1]
    assert Trade.objects.get().gross_pnl_usd == 50 * 200 - sum(range(100, 150))


@pytest.mark.parametrize("minute", [20.5, 20])
def test_late_fill_costs_as_many_statements_whatever_followed(as_trader, minute):
    counts = set()
    for history in (60, 600):
        deployment = DeploymentFactory(broker_kind="live")
        bring(deployment, [execution((-1) ** minute, 100, minute) for minute in range(history)])

        with CaptureQueriesContext(connection) as statements:
            bring(deployment, [execution(1, 100, minute, name="late"), execution(-1, 100, minute, name="later")])

        counts.add(len(statements))

    assert len(counts) == 1


# --- One ledger by any path ---


@pytest.mark.parametrize("seed", range(8))
def test_trades_that_begin_in_one_instant_are_one_ledger_in_any_division(as_trader, seed):
    random = Random(seed)
    fills = [execution(random.choice([-2, -1, 1, 1]), 100 + n, n // 7, name=str(n), source_order=n) for n in range(150)]
    whole, divided = DeploymentFactory(broker_kind="live"), DeploymentFactory(broker_kind="live")
    bring(whole, fills)
    parts = [[fill for fill in fills if fill.at.minute % 5 == part] for part in range(5)]
    for part in random.sample(parts, 5):
        bring(divided, part)

    assert rows(divided, but={"entry_tick_at", "exit_tick_at"}) == rows(whole, but={"entry_tick_at", "exit_tick_at"})


def test_order_of_one_instant_is_the_sources_where_ids_do_not_tell(deployment):
    fills = [("z", 1), ("b", -2), ("y", 1)]
    given = [execution(quantity, 100, 0, name=name, source_order=n) for n, (name, quantity) in enumerate(fills)]

    bring(deployment, given[::-1])

    assert [(row["side"], row["first_fill_id"]) for row in rows(deployment)] == [("short", "b"), ("long", "z")]


@pytest.mark.parametrize(("is_rising", "sides"), [(True, ["long"]), (False, ["short"])])
def test_ids_that_rise_with_time_order_an_instant_that_a_spreadsheet_sorted(deployment, is_rising, sides):
    turns = [(minute, (-1) ** minute) for minute in range(30)] + [(30, 2), (30, -1), (30, -1)]
    ids = [100 + n if is_rising or n == 0 else 100 + n * 7 % 37 for n in range(len(turns))]
    ids[-3:] = sorted(ids[-3:])
    fills = [execution(q, 100, minute, name=str(ids[n])) for n, (minute, q) in enumerate(turns)]
    in_rows = sorted(fills, key=lambda fill: (fill.at, fill.quantity))  # sales before purchases

    bring(deployment, [replace(fill, source_order=row) for row, fill in enumerate(in_rows)])

    assert [row["side"] for row in rows(deployment) if row["entry_at"] == at(30)] == sides


def test_self_trade_cut_between_two_imports_is_chained(deployment):
    bring(deployment, [execution(-10, 101, 1, start_quantity=D(0))])
    for quantity, name in ((2, "7B"), (-2, "7A")):
        bring(deployment, [execution(quantity, 100, 5, name=name, start_quantity=D(-10))])

    [trade] = rows(deployment)
    assert (trade["quantity"], trade["peak_quantity"], trade["reconciled"]) == (-10, 12, "exact")


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_self_trade_after_a_hole_adds_first(deployment, names):
    bring(deployment, [execution(-10, 101, 1, start_quantity=D(0))])

    legs = zip((2, -2), names, strict=True)
    bring(deployment, [execution(quantity, 100, 5, name=name, start_quantity=D(-4)) for quantity, name in legs])

    [trade] = rows(deployment)
    assert (trade["quantity"], trade["reconciled"], round(trade["gross_pnl_usd"], 9)) == (-4, "gap", D("7.333333333"))


def by_ticks(deployment: Deployment, fills: list[Execution], size: int) -> None:
    ordered = sorted(fills, key=lambda fill: fill.at)
    for number in range(1, -(-len(ordered) // size) + 1):
        part = ordered[(number - 1) * size : number * size]
        now = max(part[-1].at, ordered[0].at) + number * timedelta(microseconds=1)
        record_tick(deployment_id=deployment.pk, number=number, tick=Tick(now, part), skill_version=1, now=now)


def read_real_fills() -> list[Execution]:
    table = read_table(FILLS.read_bytes())
    return list(_build_entries(read_fills(table, propose_mapping(table, zone="UTC"), now=JUNE), "", None).fills)


@needs_fills
def test_real_fills_give_the_ledger_that_was_counted_by_hand(as_trader):
    whole = DeploymentFactory(broker_kind="live")
    bring(whole, read_real_fills())

    expected = rows(whole)
    assert (len(expected), sum(row["reconciled"] == "gap" for row in expected)) == (32, 15)
    assert round(sum(row["realized_pnl_usd"] for row in expected), 4) == D("-154.8145")


@needs_fills
@pytest.mark.parametrize("is_newest_first", [False, True], ids=["oldest first", "newest first"])
@pytest.mark.parametrize("size", [50, 1])
def test_real_fills_give_one_ledger_in_parts(as_trader, size, is_newest_first):
    fills, whole, other = read_real_fills(), *DeploymentFactory.create_batch(2, broker_kind="live")
    bring(whole, fills)

    at_once = 470 if size == 1 else 0
    bring(other, fills[:at_once])
    parts = [fills[n : n + size] for n in range(at_once, 500, size)]
    for part in parts[::-1] if is_newest_first else parts:
        bring(other, part)

    assert rows(other) == rows(whole)


@needs_fills
@pytest.mark.parametrize("size", [500, 20])
def test_real_fills_give_one_ledger_by_ticks(as_trader, size):
    fills, whole, ticked = read_real_fills(), *DeploymentFactory.create_batch(2, broker_kind="live")
    bring(whole, fills)

    by_ticks(ticked, fills, size)

    but = ("entry_tick_at", "exit_tick_at", "state")
    assert rows(ticked, but=but) == rows(whole, but=but)
