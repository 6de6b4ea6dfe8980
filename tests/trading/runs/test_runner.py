from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, OperationalError

from config.lib.llm.door import LLMUnavailable
from config.lib.owned import owned
from config.lib.proofs import OPERATOR
from tests.factories.memory import JUNE
from tests.factories.record import FundingRateFactory, SkillVersionFactory
from tests.trading.ticking import (
    FREE,
    TICK,
    Desk,
    Script,
    at,
    bar,
    close,
    list_due,
    long,
    numbers,
    offline,
    run_due,
    store_prices,
    store_walk,
)
from trading.ledger.services import TickOutOfTime
from trading.models import Bar, DecisionSnapshot, Deployment, EquityPoint, Fill, OrderState, Verdict
from trading.record.deployments import apply_command, request_command
from trading.runs.due import carry_out_commands
from trading.runs.orders import REST_EXPIRED
from trading.runs.paper import Costs
from trading.runs.runner import Ticker, TickOutcome
from trading.skills.queries import SkillNotFound

D = Decimal
pytestmark = pytest.mark.django_db


# --- From decision to record ---


def test_order_fills_at_the_next_open_and_becomes_a_trade_with_reasons(desk):
    desk.costs = Costs(D(10), D(0))
    store_prices(*[100] * 3, *[110] * 3, *[121] * 6)

    first = desk.tick(1, long(1100, leverage=2))
    desk.tick(2, close())
    desk.tick(3)

    assert first.outcome == TickOutcome.DECIDED
    trade = desk.trades[0]
    assert (trade.status, trade.side, trade.quantity, trade.peak_quantity) == ("closed", "long", 0, 10)
    assert (trade.entry_price, trade.exit_price) == (110, 121)
    assert (trade.gross_pnl_usd, trade.fees_usd) == (110, D("2.31"))
    assert trade.realized_pnl_usd == D("107.69")
    assert (trade.entry_reason, trade.exit_reason, trade.exit_kind) == ("it rises", "it has risen", "signal")
    assert (trade.entry_leverage, trade.reconciled) == (2, "exact")
    assert (trade.entry_decided_at, trade.entry_at, trade.entry_tick_at) == (at(1), at(1), at(2))
    assert (trade.exit_decided_at, trade.exit_at, trade.exit_tick_at) == (at(2), at(2), at(3))
    assert [trade.entry_snapshot_id, trade.exit_snapshot_id] == [desk.decision(1).pk, desk.decision(2).pk]
    assert [order.state for order in desk.orders] == [OrderState.FILLED] * 2
    assert desk.equity()[-1] == D("10107.69")


def test_snapshot_keeps_prompt_and_decision(trader):
    desk = Desk(trader, tools=["propose_order", "get_bars"])
    store_prices(*[100] * 6)
    script = Script(("get_bars", {"symbol": "BTC", "interval": "5m"}), long(stop_price=90))

    desk.tick(1, script=script)

    row = desk.decision(1)
    with owned(trader):
        assert [row.system_prompt, row.context] == [message["content"] for message in script.seen[0][:2]]
    assert D(row.account["broker"]["cash_usd"]) == D(row.account["day_start_equity_usd"]) == 10_000
    assert row.account["is_halted"] is False
    assert (row.verdict, row.verdict_code, row.model) == (Verdict.ACCEPTED, "", "scripted/model")
    assert (row.input_tokens, row.output_tokens) == (200, 20)
    assert row.proposal["stop_price"] == 90
    assert [step["calls"][0]["name"] for step in row.steps] == ["get_bars", "propose_order"]
    assert "100 100 100 100" in row.steps[0]["calls"][0]["result"]


def test_next_prompt_names_the_refusal(desk):
    store_prices(*[100] * 9)
    script = Script(long(9000))

    desk.tick(1, script=script)
    desk.tick(2, script=script)

    assert desk.orders[0].state == OrderState.REFUSED
    assert desk.decision(1).verdict_code == desk.orders[0].verdict_code == "R3_POSITION_CAP"
    assert "refused R3_POSITION_CAP: BTC would be $9,000.00" in script.seen[1][1]["content"]
    assert desk.trades == []


def test_model_that_is_away_costs_the_decision_and_nothing_else(desk):
    store_prices(*[100] * 12)

    desk.tick(1, long())
    failed = desk.tick(2, LLMUnavailable("timeout"))
    desk.tick(3)

    assert failed.outcome == TickOutcome.DECIDED
    assert (desk.decision(2).verdict, desk.decision(2).proposal) == (Verdict.FAILED, None)
    assert "too long" in desk.decision(2).verdict_text
    assert desk.trades[0].status == "open"
    assert desk.row.last_tick == 3


def test_order_that_nothing_is_left_for_is_cancelled(desk):
    store_prices(*[100] * 12)
    desk.tick(1, long())
    desk.tick(2, close())

    command(desk, "flatten", 2)
    desk.tick(3)

    assert [trade.exit_kind for trade in desk.trades] == ["signal"]
    late = next(order for order in desk.orders if order.origin == "command")
    assert (late.state, late.error) == (OrderState.CANCELLED, "There was nothing left to trade.")
    assert {order.state for order in desk.orders if order != late} == {OrderState.FILLED}


@pytest.mark.parametrize(
    ("share", "first", "state", "error", "held"),
    [("0.0003", 9, OrderState.FILLED, "", 15), ("0.0001", 3, OrderState.CANCELLED, REST_EXPIRED, 13)],
    ids=["filled later", "expired"],
)
def test_order_filled_in_part_says_so_until_it_is_over(desk, share, first, state, error, held):
    desk.costs = Costs(D(0), D(0), D(share))
    store_prices(*[100] * 30)

    desk.tick(1, long(1500))
    desk.tick(2)
    [order] = desk.orders
    assert (order.state, desk.trades[0].quantity) == (OrderState.PARTLY_FILLED, first)
    for number in range(3, 8):
        desk.tick(number)

    [order] = desk.orders
    assert (order.state, order.error, desk.trades[0].quantity) == (state, error, held)


def test_stop_price_outlives_the_process_and_holds_against_late_bars(desk):
    store_prices(*[100] * 6)
    desk.tick(1, long(stop_price=95))
    desk.tick(2)
    desk.tick(3)
    Bar.objects.bulk_create([bar(at(2), 100, 101, 94, 96), bar(at(3), 99, 99, 99, 99)])  # the import was down

    desk.tick(4)

    trade = desk.trades[0]
    assert (trade.exit_kind, trade.exit_price) == ("stop", 95)
    assert trade.exit_at < at(2.5)
    assert trade.exit_reason == "The stop price was reached."
    # The decision of a stop's exit is the one that set the stop.
    assert (trade.exit_snapshot_id, trade.exit_decided_at) == (desk.decision(1).pk, at(1))


def test_payment_that_comes_late_is_paid_once(desk):
    store_prices(*[100] * 18)
    desk.tick(1, long(1000))
    desk.tick(2)
    desk.tick(3)
    for when in (0.5, 2.5):  # before the position, and while it was held
        FundingRateFactory(at=at(when), rate=D("0.001"))

    desk.tick(4)
    desk.tick(5)

    assert desk.trades[0].funding_usd == -1
    assert desk.equity()[-1] == 9_999


def test_longer_bars_fill_the_holes_of_shorter_ones(desk):
    store_prices(*[100] * 6)
    whole = bar(at(2).replace(minute=0) + timedelta(hours=1), 100, 100, 80, 95)
    whole.interval = "1h"
    Bar.objects.bulk_create([bar(at(2), 100, 100, 100, 100), whole])
    desk.tick(1, long(stop_price=90))
    desk.tick(2)

    desk.tick(8)

    assert desk.trades[0].exit_kind == "stop"


def test_orders_that_wait_count_against_the_caps(trader):
    desk = Desk(trader, risk={"max_position_pct": 10})
    store_prices(*[100] * 3)

    for number in (1, 2, 3):
        desk.tick(number, long(600))  # no bar comes to fill them

    assert [order.verdict_code for order in desk.orders] == ["", "R3_POSITION_CAP", "R3_POSITION_CAP"]


def test_nothing_is_opened_while_it_is_being_closed_or_after_a_stop_while_the_model_thinks(desk):
    store_prices(*[100] * 6)
    desk.tick(1, long())
    desk.tick(2, close())
    desk.tick(3, long())
    assert desk.orders[-1].verdict_code == "R1_HALTED"
    store_prices(*[100] * 9, since=at(2))

    class Slow(Script):
        def __call__(self, messages, tools):
            command(desk, "stop", 4)
            return super().__call__(messages, tools)

    desk.tick(4, script=Slow(long()))
    desk.tick(5)

    assert desk.decision(4).verdict_code == "R1_HALTED"
    assert [trade.status for trade in desk.trades] == ["closed"]


# --- Limits of the day ---


def test_loss_beyond_the_days_limit_halts_until_the_day_is_over(trader):
    desk = Desk(trader, risk={"daily_loss_halt_pct": 1})
    day = timedelta(hours=12) // TICK  # it is noon
    store_prices(*[100] * 6, *[96] * 3 * day)
    script = Script(long(4000), long(100), long(100))

    for number in (1, 2, 3, 4):
        desk.tick(number, script=script)

    assert (desk.row.halt_code, desk.row.halted_until) == ("R6_DAILY_LOSS_HALT", JUNE + timedelta(hours=12))
    assert [order.verdict_code for order in desk.orders] == ["", "", "R1_HALTED"]
    assert "Halted: positions may only be reduced" in script.seen[2][1]["content"]

    desk.tick(day, long(100))

    assert (desk.row.halt_code, desk.row.halted_until) == ("", None)
    assert desk.orders[-1].state == OrderState.PENDING


def test_orders_of_a_day_are_counted_without_the_refused(trader):
    desk = Desk(trader, risk={"max_orders_per_day": 2})
    store_prices(*[100] * 18)

    for number, said in enumerate([long(9000), long(100), long(100), long(100)], start=1):
        desk.tick(number, said)

    assert [order.verdict_code for order in desk.orders] == ["R3_POSITION_CAP", "", "", "R7_MAX_ORDERS"]


# --- Once, whatever comes ---


def test_same_instant_again_changes_nothing(desk):
    store_prices(*[100] * 9)
    desk.tick(1, long())
    desk.tick(2, close())
    before = (desk.row, desk.trades, desk.orders, desk.equity())
    script = Script()

    again = desk.tick(2, script=script)
    with pytest.raises(TickOutOfTime, match="has ticked at"):
        desk.tick(1)

    assert again.outcome == TickOutcome.REPEATED
    assert script.seen == []
    assert (desk.row, desk.trades, desk.orders, desk.equity()) == before
    assert desk.row.account == before[0].account


def test_repeated_tick_decides_if_it_was_interrupted(desk):
    store_prices(*[100] * 9)
    desk.tick(1, long())

    with pytest.raises(ZeroDivisionError):
        desk.tick(2, ZeroDivisionError())
    assert desk.ask(lambda: (DecisionSnapshot.objects.count(), Fill.objects.count())) == (1, 1)
    assert desk.row.last_tick == 2
    again = desk.tick(2, close())
    desk.tick(3)

    assert (again.outcome, again.number) == (TickOutcome.DECIDED, 2)
    assert [trade.status for trade in desk.trades] == ["closed"]
    assert desk.ask(lambda: (Fill.objects.count(), EquityPoint.objects.count())) == (2, 3)


def test_ticks_that_were_missed_lose_no_bar_on_the_way(desk):
    store_prices(*[100] * 6, 120, 80, *[100] * 10)

    desk.tick(1, long())
    desk.tick(2)
    desk.tick(5)

    trade = desk.trades[0]
    assert (trade.mfe_usd, trade.mae_usd) == (200, -200)


@pytest.mark.computing
def test_reused_ticker_gives_the_same_record_as_new_ones(trader, stranger):
    """What is carried from tick to tick is what would be read."""
    store_walk(3 * 45, seed=1)
    fresh, kept = Desk(trader), Desk(stranger)
    lasting = Ticker(kept.deployment_id, user_id=stranger.pk, ask=offline, costs=FREE)

    for number in range(1, 45):
        ticker = Ticker(fresh.deployment_id, user_id=trader.pk, ask=offline, costs=FREE)
        one, other = ticker.tick(at(number)), lasting.tick(at(number))
        assert one.snapshot.context == other.snapshot.context
        assert one.snapshot.system_prompt == other.snapshot.system_prompt

    assert [numbers(trade) for trade in fresh.trades] == [numbers(trade) for trade in kept.trades]
    assert len(fresh.trades) > 2
    assert fresh.row.account["cash_usd"] == kept.row.account["cash_usd"]


def test_trade_that_ends_at_the_instant_of_a_payment_is_in_the_prompt_at_once(trader):
    """Its fill is not after the last entry, so that the ledger builds the trade again when it is written."""
    desk = Desk(trader)
    store_prices(*[100] * 15)
    FundingRateFactory(at=at(2), rate=D("0.001"))

    desk.tick(1, long())
    desk.tick(2, close())
    last = desk.tick(3)

    assert (last.closed, desk.trades[0].exit_at) == (1, at(2))
    assert "## Recent trades on this skill (closed)\n- none yet" not in last.snapshot.context
    assert '"it rises"' in last.snapshot.context


# --- What the user tells it ---


def request(desk, kind, number):
    desk.ask(lambda: request_command(deployment_id=desk.deployment_id, kind=kind, proof=OPERATOR, now=at(number)))


def carry_out(desk, number):
    return carry_out_commands(desk.deployment_id, user_id=desk.user.pk, now=at(number))


def command(desk, kind, number):
    request(desk, kind, number)
    return carry_out(desk, number)


def test_paused_deployment_keeps_its_position_and_its_stop_and_decides_nothing(desk):
    store_prices(*[100] * 9, *[80] * 3)
    desk.tick(1, long(stop_price=90))
    desk.tick(2)

    command(desk, "pause", 2)
    script = Script(close())
    settled = desk.tick(3, script=script)
    desk.tick(4, script=script)

    assert (settled.outcome, script.seen) == (TickOutcome.SETTLED, [])
    assert desk.trades[0].exit_kind == "stop"
    assert desk.ask(DecisionSnapshot.objects.count) == 2


def test_stopped_deployment_can_be_flattened_and_is_settled_until_it_is_flat(desk):
    store_prices(*[100] * 6, *[105] * 6)
    desk.tick(1, long())
    desk.tick(2)
    command(desk, "stop", 2)

    assert [key.row_id for key in list_due(at(3))] == [desk.deployment_id]
    (done,) = command(desk, "flatten", 2)
    desk.tick(3)

    trade = desk.trades[0]
    assert (trade.exit_kind, trade.exit_reason, trade.exit_price) == ("command", "Closed at your command.", 105)
    assert (done.kind, trade.status) == ("flatten", "closed")
    assert [one.ticked for one in run_due(at(4))] == [None]
    assert list_due(at(99)) == []


def test_command_that_another_one_has_overtaken_changes_nothing(desk):
    request(desk, "stop", 1)
    request(desk, "pause", 2)

    done = carry_out(desk, 3)

    assert [one.kind for one in done] == ["stop", "pause"]
    assert done[1].outcome == "Only a running deployment can be paused."
    assert carry_out(desk, 3) == []
    assert desk.row.status == "stopped"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (SkillNotFound("You have no such version."), "It could not be done: You have no such version."),
        (IntegrityError("private"), "It could not be done. Nothing was changed; the log of the runner says why."),
    ],
    ids=["refused", "broken"],
)
def test_command_that_fails_is_over_and_keeps_no_other_waiting(desk, monkeypatch, error, outcome):
    store_prices(*[100] * 3)
    request(desk, "pause", 1)
    request(desk, "stop", 2)

    def half_done(*, command, now):
        said = apply_command(command=command, now=now)
        if command.kind == "stop":
            return said
        Deployment.objects.filter(pk=command.deployment_id).update(account={"half": "done"})
        raise error

    before = desk.row.account
    monkeypatch.setattr("trading.record.deployments.apply_command", half_done)
    (ran,) = run_due(at(3))

    assert [(one.kind, one.status) for one in ran.commands] == [("pause", "failed"), ("stop", "done")]
    assert ran.commands[0].outcome == outcome
    assert (desk.row.status, desk.row.account) == ("stopped", before)
    assert carry_out(desk, 4) == []


def test_command_waits_for_a_database_that_is_busy(desk, monkeypatch):
    request(desk, "pause", 1)

    def locked(*, command, now):
        raise OperationalError("database is locked")

    with monkeypatch.context() as patched:
        patched.setattr("trading.record.deployments.apply_command", locked)
        with pytest.raises(OperationalError):
            carry_out(desk, 2)

    (done,) = carry_out(desk, 3)
    assert (done.kind, done.status) == ("pause", "done")


def test_redeployed_version_decides_from_the_next_tick_on(desk):
    store_prices(*[100] * 9)
    desk.tick(1, long())

    def write_version():
        row = Deployment.objects.select_related("version", "skill").get(pk=desk.deployment_id)
        row.skill.latest_version = 2
        row.skill.save(update_fields=["latest_version"])
        SkillVersionFactory(skill=row.skill, version=2, payload={**row.version.payload, "description": "second"})

    desk.ask(write_version)
    command(desk, "redeploy", 1)
    desk.tick(2, close())
    desk.tick(3)

    assert [desk.decision(number).skill_version for number in (1, 2)] == [1, 2]
    assert (desk.trades[0].skill_version, desk.trades[0].exit_skill_version) == (2, 2)
