from dataclasses import replace
from decimal import Decimal

import pytest

from tests.factories.record import BarFactory, DeploymentFactory
from tests.tables import each_case
from tests.trading.ledger.test_rebuild import NOW, at, bring, deployment, execution, rows
from trading.ledger.arrivals import RecordKept, preview_entries, undo_batch
from trading.ledger.entries import Entries, EntriesRefused
from trading.ledger.positions import Check, Funding
from trading.models import Fill, ImportBatch, Trade

D = Decimal
__all__ = ["deployment"]


def test_add_entries_makes_trades_of_fills_once(deployment):
    fills = [execution(2, 100, 1), execution(-2, 110, 5)]
    done = bring(deployment, fills)

    trade = Trade.objects.get()
    assert (done.new_fills, done.opened, done.closed, done.gaps) == (2, 1, 1, 0)
    assert (trade.gross_pnl_usd, trade.exit_kind, trade.skill_version) == (20, "external", 1)
    assert (trade.entry_tick_at, trade.exit_tick_at, trade.entry_decided_at) == (at(1), at(5), None)
    assert ImportBatch.objects.get().new_fills == 2

    bring(deployment, [execution(-1, 110, 6), execution(4, 90, 7)])
    before = list(Trade.objects.order_by("pk").values()), list(Fill.objects.values())
    again = bring(deployment, [*fills, *fills])
    assert (again.new_fills, again.known_fills, again.batch_id) == (0, 4, None)
    assert (list(Trade.objects.order_by("pk").values()), list(Fill.objects.values())) == before


def test_add_entries_refuses_the_record_of_a_runner(as_trader):
    with pytest.raises(RecordKept):
        bring(DeploymentFactory(), [execution(1, 100)])


@pytest.mark.limit("trading.ledger.executions.MAX_AMOUNT")
@each_case(
    "fill, words",
    [
        (execution(1, 100, 60 * 24 * 99), "fill 2: its time, .* lies in the future"),
        (execution("1e-13", 100, 1), "fill 2: its quantity, 1E-13, is below the precision"),
        (execution(1, "1e-13", 1), "fill 2: its price"),
        (execution(1, 100, 1, name="gap:1"), "fill 2: its id"),
        (execution("1e18", 100, 1), "fill 2: its quantity is out of range"),
        (execution(1, 100, -60 * 24 * 365 * 30), "fill 2: its time"),
    ],
)
def test_add_entries_refuses_a_bad_fill_with_its_row_and_takes_nothing(deployment, fill, words):
    with pytest.raises(EntriesRefused, match=words):
        bring(deployment, [execution(1, 100, 0), fill])

    assert not Fill.objects.exists()


def test_add_entries_keeps_a_known_fill_and_reports_other_numbers(deployment):
    fill = execution(2, 100, 1, name="a")
    bring(deployment, [fill])

    done = bring(deployment, [replace(fill, price=D(101)), execution(-1, 100, 2)])

    (conflict,) = done.conflicts
    assert (conflict.key, conflict.place, conflict.text) == ("a", 0, "price: 100 is kept, 101 came")
    assert ImportBatch.objects.get(pk=done.batch_id).conflicts[0]["key"] == "a"
    assert Fill.objects.get(fill_id="a").price == 100


def test_preview_entries_counts_and_writes_nothing(deployment):
    bring(deployment, [execution(2, 100, 1, name="a")])
    entries = Entries([execution(2, 100, 1, name="a"), execution(1, 100, 60 * 24 * 99)], [Funding("BTC", at(3), D(1))])

    seen = preview_entries(deployment_id=deployment.pk, entries=entries, now=NOW)

    assert (seen.new_fills, seen.known_fills, seen.new_funding, len(seen.problems)) == (1, 1, 1, 1)
    assert Fill.objects.count() == 1


def test_history_without_a_stated_start_is_unconfirmed_and_what_reduces_nothing_a_gap(deployment):
    bring(deployment, [execution(-1, 100, 1), execution(3, 90, 2), execution(-2, 95, 3), execution(1, 95, 4)])
    assert [row["reconciled"] for row in rows(deployment)] == ["unconfirmed", "unconfirmed", "unconfirmed"]

    other = DeploymentFactory(broker_kind="live")
    bring(other, [execution(-1, 110, 1, is_reducing=True)])
    trade = Trade.objects.get(deployment=other)
    assert (trade.side, trade.status, trade.reconciled, trade.gross_pnl_usd) == ("long", "closed", "gap", 0)


@pytest.mark.parametrize(("quantity", "expected"), [(2, ["estimated", "long", 10]), (0, ["exact"])])
def test_opening_position_begins_the_history(deployment, quantity, expected):
    opening = Check("BTC", at(0), D(quantity), D(90), is_opening=True)

    bring(deployment, [execution(-1, 100, 1)], openings=[opening])

    (trade,) = rows(deployment)
    assert [trade["reconciled"], *([trade["side"], trade["gross_pnl_usd"]] if quantity else [])] == expected


def test_fee_in_a_coin_is_converted_at_the_bar_of_the_fill_and_left_out_of_the_net_until_there_is_one(deployment):
    fee = {"fee": "0", "fee_coin": "BNB", "fee_in_coin": D("0.01")}
    done = bring(deployment, [execution(2, 100, 1, **fee), execution(-2, 110, 2)])
    trade = Trade.objects.get()
    assert (done.unpriced_fees, trade.realized_pnl_usd, trade.unpriced_fees) == (1, D("19.9"), {"BNB": "0.01"})

    BarFactory(symbol="BNB", interval="1h", opened_at=at(0), open=600, high=620, low=590, close=610)
    bring(deployment, [])

    trade.refresh_from_db()
    assert (trade.realized_pnl_usd, trade.unpriced_fees) == (D("13.8"), {})
    assert (trade.fees_usd, trade.converted_fees) == (D("6.2"), {"BNB": "0.01"})
    # A fee in the traded coin is worth the price of its fill.
    bring(deployment, [execution(2, 100, 3, fee="0", fee_coin="BTC", fee_in_coin=D("0.01"))])
    assert Trade.objects.get(status="open").fees_usd == 1


def test_funding_of_any_order_reaches_the_trade_that_was_open(deployment):
    bring(deployment, [execution(2, 100, 1), execution(-2, 110, 9)])

    paid = [Funding("BTC", at(minute), D("-0.5")) for minute in (0, 3, 6, 12)]
    done = bring(deployment, [], funding=paid)

    trade = Trade.objects.get()
    assert (done.new_funding, trade.funding_usd, trade.realized_pnl_usd) == (4, -1, D("18.8"))
    assert bring(deployment, [], funding=paid).new_funding == 0


def test_undo_batch_takes_the_entries_out_again(deployment):
    bring(deployment, [execution(2, 100, 1), execution(-2, 110, 5)])
    before = rows(deployment)
    batch_id = bring(deployment, [execution(1, 90, 0.5), execution(1, 100, 7)], funding=[Funding("BTC", at(3), D(1))])

    undone = undo_batch(batch_id=batch_id.batch_id, now=NOW)

    assert (rows(deployment), undone.undone_at) == (before, NOW)
    assert undo_batch(batch_id=batch_id.batch_id, now=NOW).undone_at == NOW


def test_undo_batch_leaves_what_a_later_import_brought_too(deployment):
    fills = [execution(2, 100, 1), execution(-2, 110, 5), execution(1, 100, 7)]
    first = bring(deployment, fills)
    bring(deployment, [*fills[:2], execution(3, 100, 9)])

    undo_batch(batch_id=first.batch_id, now=NOW)

    assert [fill.quantity for fill in Fill.objects.order_by("at")] == [2, -2, 3]
