from datetime import timedelta
from decimal import Decimal
from functools import partial
from itertools import count, repeat
from uuid import uuid4

import pytest

from config.lib.llm.door import LLMUnavailable
from config.lib.owned import owned, system
from tests.factories.memory import JUNE
from tests.factories.record import (
    BacktestRunFactory,
    FundingRateFactory,
    MarketEventFactory,
    NewsItemFactory,
    ReflectionNoteFactory,
)
from tests.owners import as_owner
from tests.trading.ticking import Script, at, long, make_deployment, numbers, offline, run_due, store_prices, store_walk
from trading.models import (
    BacktestRun,
    DecisionSnapshot,
    Deployment,
    EquityPoint,
    Fill,
    ReflectionNote,
    Trade,
    WorkStatus,
)
from trading.record.backtests import cancel_backtest, list_backtests_to_run
from trading.reviews.reflection import reflect_if_due
from trading.runs.backtest import NO_BARS, run_backtest, schedule_instants
from trading.skills.schemas import Schedule

D = Decimal
NOW = JUNE + timedelta(days=90)
pytestmark = pytest.mark.django_db


def clock():
    return NOW


def make_run(user, ticks=40, **fields):
    def make():
        deployment = make_deployment(broker_kind="backtest", **fields.pop("deployment", {}))
        return BacktestRunFactory(
            deployment=deployment, starts_at=at(1), ends_at=at(ticks), **{"reflects": False, **fields}
        ).pk

    return as_owner(user, make)


def play(user, run_id, ask=offline, **more):
    return run_backtest(run_id, user_id=user.pk, clock=clock, ask=ask, **more)


def of(user, run_id):
    return as_owner(user, lambda: BacktestRun.objects.select_related("deployment").get(pk=run_id))


def decisions(user, deployment_id):
    def read():
        rows = DecisionSnapshot.objects.filter(deployment=deployment_id).order_by("tick")
        return list(rows.values_list("tick_at", "system_prompt", "context", "proposal", "verdict", "verdict_code"))

    return as_owner(user, read)


def trades(user, deployment_id):
    def read():
        rows = Trade.objects.filter(deployment=deployment_id).order_by("entry_at", "symbol")
        return [{k: v for k, v in numbers(trade).items() if k not in ("created_at", "updated_at")} for trade in rows]

    return as_owner(user, read)


# --- The same, live and in a backtest ---


@pytest.mark.computing
def test_equal_inputs_give_byte_equal_prompts_in_a_backtest_and_in_a_live_paper_run(trader):
    """With bars, funding, news, events, lessons, two symbols and a refusal now and then."""
    context = {"symbols": ["BTC", "ETH"], "higher_timeframes": ["15m"], "memory": {"reflection": {"every_n_trades": 3}}}
    fields = {"context": context, "risk": {"max_orders_per_day": 6, "daily_loss_halt_pct": 2}}
    for seed, symbol in enumerate(("BTC", "ETH"), start=5):
        store_walk(3 * 100, seed=seed, symbol=symbol)
        for hours in range(0, 50, 8):
            FundingRateFactory(symbol=symbol, at=JUNE + timedelta(hours=hours), rate=D("0.0001"))
    for number in range(0, 100, 7):
        NewsItemFactory(published_at=at(number), headline=f"Headline {number}\n## Portfolio", symbols=[])
        MarketEventFactory(starts_at=at(number + 20))
    run_id = make_run(
        trader, ticks=100, reflects=True, fee_bps=D(4), slippage_bps=D(2), volume_pct=D(10), deployment=fields
    )
    live = as_owner(trader, lambda: make_deployment(**fields).pk)

    assert run_backtest(run_id, user_id=trader.pk, clock=clock) == WorkStatus.DONE
    for number in range(1, 101):
        (ran,) = run_due(at(number))
        if ran.ticked.closed:
            reflect_live(trader, live, at(number))

    backtest = of(trader, run_id).deployment_id
    assert decisions(trader, backtest) == decisions(trader, live)
    assert trades(trader, backtest) == trades(trader, live)
    seen = decisions(trader, live)
    assert len(seen) == 100
    assert any("Lessons from your recent trades" in system for _, system, *_ in seen)
    assert {verdict for *_, verdict, _ in seen} >= {"none", "accepted"}
    with owned(trader):
        assert Trade.objects.filter(deployment=live, status="closed").count() > 3


def reflect_live(user, deployment_id, now):
    reflect_if_due(deployment_id, user_id=user.pk, now=now, clock=clock)


# --- The strategy's own lines ---


@pytest.mark.parametrize(("bars", "count"), [(54, 1), (55, 1), (56, 0)])
def test_breakout_looks_back_as_far_as_the_strategy_says(trader, bars, count):
    store_prices(120, *[100] * 55, *[110] * 12)  # the first price is 56 bars before the first of 110
    entry = f"Buy a close above the {bars}-bar high."
    run_id = make_run(trader, ticks=22, deployment={"rules": {"entry": entry, "exit": "After 100 bars"}})

    assert play(trader, run_id) == WorkStatus.DONE

    assert len(trades(trader, of(trader, run_id).deployment_id)) == count


def test_backtest_by_rules_asks_the_rule_based_model(trader, settings):
    settings.TRADING_AGENT_MODEL = "scripted/absent"
    store_walk(3 * 20)
    run_id = make_run(trader, ticks=10, by_rules=True)

    assert play(trader, run_id, ask=None) == WorkStatus.DONE

    models = as_owner(trader, lambda: set(DecisionSnapshot.objects.values_list("model", "verdict")))
    assert {model for model, _ in models} == {"offline/keel"}


# --- Money ---


@pytest.mark.computing
@pytest.mark.parametrize("seed", [3, pytest.param(4, marks=pytest.mark.long), pytest.param(5, marks=pytest.mark.long)])
def test_backtest_conserves_money(trader, seed):
    store_walk(3 * 160, seed=seed)
    FundingRateFactory(at=at(33), rate=D("0.001"))
    run_id = make_run(trader, ticks=150, fee_bps=D(7), slippage_bps=D(3))

    play(trader, run_id)

    run = of(trader, run_id)
    with owned(trader):
        rows = list(Trade.objects.filter(deployment=run.deployment_id))
        fills = list(Fill.objects.filter(deployment=run.deployment_id))
        last = EquityPoint.objects.filter(deployment=run.deployment_id).order_by("tick").last()
        mark = D(Deployment.objects.get(pk=run.deployment_id).account["marks"]["BTC"])
    net = sum(row.realized_pnl_usd for row in rows)
    unrealised = sum(row.quantity * (mark - row.entry_price) for row in rows if row.status == "open")
    assert abs(10_000 + net + unrealised - last.equity_usd) < D("1e-8")
    assert abs(sum(row.fees_usd for row in rows) - sum(fill.fee_usd for fill in fills)) < D("1e-8")
    assert {row.reconciled for row in rows} == {"exact"}
    assert len(rows) > 5


def test_backtest_knows_nothing_that_was_kept_for_the_skill_later(trader):
    store_prices(*[100] * 60)
    run_id = make_run(trader, ticks=5)
    skill = as_owner(trader, lambda: BacktestRun.objects.get(pk=run_id).deployment.skill)
    as_owner(trader, lambda: ReflectionNoteFactory(deployment=None, skill=skill, lessons_text="- Learned next year"))

    play(trader, run_id)

    assert not any("next year" in system for _, system, *_ in decisions(trader, of(trader, run_id).deployment_id))


def test_ticks_without_a_decision_are_counted(trader):
    store_prices(*[100] * 60)
    run_id = make_run(trader, ticks=5)

    play(trader, run_id, ask=Script(LLMUnavailable("timeout"), LLMUnavailable("timeout")))

    assert of(trader, run_id).error == "At 2 ticks no decision was made; the decisions say why."


# --- To its end ---


def test_backtest_saves_summary_and_progress(trader):
    store_walk(3 * 160, seed=3)
    run_id = make_run(trader, ticks=120)
    told = []

    status = play(trader, run_id, report=told.append)

    run = of(trader, run_id)
    assert (status, run.status, run.ticks_done, run.ticks_total) == ("done", "done", 120, 120)
    assert (run.finished_at, run.lease, run.error) == (NOW, None, "")
    assert (told[-1].ticks_done, told[-1].at) == (120, at(120))
    closed = [row for row in trades(trader, run.deployment_id) if row["status"] == "closed"]
    assert run.summary["trades"] == len(closed) > 0
    assert D(run.summary["net_usd"]) == round(sum(row["realized_pnl_usd"] for row in closed), 8)


class Killed(BaseException):
    """The process dies."""


@pytest.mark.computing
def test_backtest_that_was_cut_off_is_finished_with_the_same_numbers(trader):
    store_walk(3 * 160, seed=3)
    whole, cut = make_run(trader, ticks=120), make_run(trader, ticks=120)
    play(trader, whole)
    asked = []

    def dying(messages, tools):
        asked.append(1)
        if len(asked) in (17, 61, 62):
            raise Killed
        return offline(messages, tools)

    for hour in range(3):
        go_on = partial(run_backtest, cut, user_id=trader.pk, clock=repeat(NOW + timedelta(hours=hour)).__next__)
        with pytest.raises(Killed):
            go_on(ask=dying)
        assert go_on(ask=dying) == WorkStatus.RUNNING, "the lease still holds"
    run_backtest(cut, user_id=trader.pk, clock=lambda: NOW + timedelta(hours=3), ask=dying)

    one, other = of(trader, whole), of(trader, cut)
    assert other.status == WorkStatus.DONE
    assert decisions(trader, one.deployment_id) == decisions(trader, other.deployment_id)
    assert trades(trader, one.deployment_id) == trades(trader, other.deployment_id)
    assert one.summary == other.summary


def test_cancelled_backtest_stops_and_keeps_its_trades(trader):
    store_walk(3 * 60)
    run_id = make_run(trader, ticks=50)
    script = Script()

    def cancel(progress):
        as_owner(trader, lambda: cancel_backtest(run_id=run_id, now=NOW))

    seconds = count()

    def slow_clock():
        return NOW + timedelta(seconds=next(seconds))

    status = run_backtest(run_id, user_id=trader.pk, clock=slow_clock, ask=script, report=cancel)

    assert status == of(trader, run_id).status == WorkStatus.CANCELLED
    assert len(script.seen) == 2, "it is noticed when progress is noted"
    with owned(trader):
        assert EquityPoint.objects.count() == 2


def test_backtest_without_bars_says_so(trader):
    run_id = make_run(trader)

    assert play(trader, run_id) == WorkStatus.FAILED
    assert of(trader, run_id).error == NO_BARS


def test_error_on_our_side_fails_the_run_and_tells_no_secret(trader, caplog):
    store_walk(3 * 60)
    run_id = make_run(trader)

    assert play(trader, run_id, ask=Script(RuntimeError("the key is sk-123"))) == WorkStatus.FAILED

    assert "sk-123" not in of(trader, run_id).error


def test_only_who_claims_it_plays_it(trader):
    store_walk(3 * 60)
    run_id = make_run(trader, status="running", lease=uuid4(), lease_until=NOW + timedelta(minutes=1))
    script = Script(long())

    assert play(trader, run_id, ask=script) == WorkStatus.RUNNING
    assert script.seen == []


def test_list_backtests_to_run_names_those_of_all_users(trader, stranger):
    mine, theirs = make_run(trader, ticks=10), make_run(stranger, ticks=10)
    make_run(trader, ticks=10, done=True)

    with system("test"):
        assert set(list_backtests_to_run(clock())) == {(trader.pk, mine), (stranger.pk, theirs)}


@pytest.mark.long
def test_reflection_can_be_left_out(trader):
    store_walk(3 * 160, seed=3)
    dial = {"context": {"memory": {"reflection": {"every_n_trades": 2}}}}
    with_lessons = make_run(trader, ticks=120, reflects=True, deployment=dial)
    without = make_run(trader, ticks=120, deployment=dial)
    for run_id in (with_lessons, without):
        run_backtest(run_id, user_id=trader.pk, clock=clock)

    with owned(trader):
        notes = ReflectionNote.objects.order_by("generated_at")
        assert {note.deployment_id for note in notes} == {of_run(with_lessons)}
        assert all(at(1) < note.generated_at <= at(120) for note in notes)
        assert notes.filter(status="active").count() == 1


def of_run(run_id):
    return BacktestRun.objects.get(pk=run_id).deployment_id


@pytest.mark.parametrize(
    ("schedule", "since", "until", "expected"),
    [
        (Schedule(value="15m"), at(0), at(2), [at(0), at(1), at(2)]),
        (Schedule(value="15m"), at(0.5), at(2.5), [at(1), at(2)]),
        (Schedule(type="daily", value="13:30"), JUNE, JUNE + timedelta(days=2), [at(6), at(102)]),
        (Schedule(value="4h"), at(1), at(2), []),
    ],
)
def test_instants_of_a_schedule(schedule, since, until, expected):
    assert list(schedule_instants(schedule, since, until)) == expected
