from contextvars import Context
from datetime import timedelta
from decimal import Decimal
from functools import partial
from itertools import count, repeat
from uuid import uuid4

import pytest

from config.lib.llm.door import LLMUnavailable
from config.lib.owned import system
from config.lib.work.models import SiteDay
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
from trading.agent.context import preview_prompt, restore_context
from trading.agent.decide import decide
from trading.models import (
    BacktestRun,
    Bar,
    DecisionSnapshot,
    Deployment,
    EquityPoint,
    Fill,
    ReflectionNote,
    Trade,
    WorkStatus,
)
from trading.record.backtests import cancel_backtest, list_backtests_to_run
from trading.record.decisions import digest_prompt
from trading.reviews.reflection import reflect_if_due
from trading.runs import backtest, runner
from trading.runs.backtest import NO_BARS, run_backtest, schedule_instants
from trading.skills.schemas import Schedule

D = Decimal
NOW = JUNE + timedelta(days=90)
pytestmark = pytest.mark.django_db


def clock():
    return NOW


def make_run(ticks=40, **fields):
    deployment = make_deployment(broker_kind="backtest", **fields.pop("deployment", {}))
    values = {"deployment": deployment, "starts_at": at(1), "ends_at": at(ticks), "reflects": False}
    return BacktestRunFactory(**{**values, **fields}).pk


def play(run_id, ask=offline, clock=clock, **more):
    """Play it as a worker does, outside the scope of the test."""
    user_id = BacktestRun.objects.get(pk=run_id).user_id
    return Context().run(run_backtest, run_id, user_id=user_id, clock=clock, ask=ask, **more)


def of(run_id):
    return BacktestRun.objects.select_related("deployment").get(pk=run_id)


def decisions(deployment_id):
    rows = DecisionSnapshot.objects.filter(deployment=deployment_id).order_by("tick")
    return list(rows.values_list("tick_at", "system__text", "prompt_sha256", "proposal", "verdict", "verdict_code"))


def trades(deployment_id):
    rows = Trade.objects.filter(deployment=deployment_id).order_by("entry_at", "symbol")
    return [{k: v for k, v in numbers(trade).items() if k not in ("created_at", "updated_at")} for trade in rows]


# --- The same, live and in a backtest ---


@pytest.mark.computing
def test_equal_inputs_give_byte_equal_prompts_in_a_backtest_and_in_a_live_paper_run(as_trader):
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
    costs = {"fee_bps": D(4), "slippage_bps": D(2), "volume_pct": D(10)}
    run_id = make_run(ticks=100, reflects=True, deployment=fields, **costs)
    live = make_deployment(**fields).pk

    assert play(run_id, ask=None) == WorkStatus.DONE
    for number in range(1, 101):
        (ran,) = Context().run(run_due, at(number))
        if ran.ticked.closed:
            Context().run(reflect_if_due, live, user_id=as_trader.pk, now=at(number), clock=clock)

    played = of(run_id).deployment_id
    assert decisions(played) == decisions(live)
    assert trades(played) == trades(live)
    seen = decisions(live)
    assert len(seen) == 100
    assert any("Lessons from your recent trades" in system for _, system, *_ in seen)
    assert {verdict for *_, verdict, _ in seen} >= {"none", "accepted"}
    assert Trade.objects.filter(deployment=live, status="closed").count() > 3
    for made in Deployment.objects.select_related("skill", "version"):
        for decision in DecisionSnapshot.objects.filter(deployment=made):
            again = preview_prompt(made, at=decision.tick_at)
            assert digest_prompt(again.system, again.context) == decision.prompt_sha256
            assert decision.context == again.context


# --- The strategy's own lines ---


@pytest.mark.parametrize(("bars", "count"), [(54, 1), (55, 1), (56, 0)])
def test_breakout_looks_back_as_far_as_the_strategy_says(as_trader, bars, count):
    store_prices(120, *[100] * 55, *[110] * 12)  # the first price is 56 bars before the first of 110
    entry = f"Buy a close above the {bars}-bar high."
    run_id = make_run(ticks=22, deployment={"rules": {"entry": entry, "exit": "After 100 bars"}})

    assert play(run_id) == WorkStatus.DONE

    assert len(trades(of(run_id).deployment_id)) == count


def test_backtest_by_rules_asks_the_rule_based_model(as_trader, settings):
    settings.TRADING_AGENT_MODEL = "scripted/absent"
    store_walk(3 * 20)
    run_id = make_run(ticks=10, by_rules=True)

    assert play(run_id, ask=None) == WorkStatus.DONE

    assert set(DecisionSnapshot.objects.values_list("model", flat=True)) == {"offline/keel"}
    decision = DecisionSnapshot.objects.get(tick=10)
    assert (decision.packed, decision.context) == (None, "")
    assert restore_context(decision).context.endswith(f"Now: {at(10):%Y-%m-%dT%H:%M} UTC\n")
    Bar.objects.update(volume=1)
    assert restore_context(DecisionSnapshot.objects.get(tick=10)).context == "", "the agent saw other bars"


# --- Money ---


def assert_conserves_money(run):
    rows = list(Trade.objects.filter(deployment=run.deployment_id))
    fills = list(Fill.objects.filter(deployment=run.deployment_id))
    last = EquityPoint.objects.filter(deployment=run.deployment_id).order_by("tick").last()
    mark = D(run.deployment.account["marks"]["BTC"])
    net = sum(row.realized_pnl_usd for row in rows)
    unrealised = sum(row.quantity * (mark - row.entry_price) for row in rows if row.status == "open")
    assert abs(10_000 + net + unrealised - last.equity_usd) < D("1e-8")
    assert abs(sum(row.fees_usd for row in rows) - sum(fill.fee_usd for fill in fills)) < D("1e-8")
    assert {row.reconciled for row in rows} == {"exact"}
    assert len(rows) > 5


@pytest.mark.long
@pytest.mark.parametrize("seed", [4, 5])
def test_backtest_conserves_money(as_trader, seed):
    store_walk(3 * 160, seed=seed)
    FundingRateFactory(at=at(33), rate=D("0.001"))
    play(run_id := make_run(ticks=150, fee_bps=D(7), slippage_bps=D(3)))

    assert_conserves_money(of(run_id))


def test_backtest_knows_nothing_kept_for_the_skill_later_and_counts_ticks_without_a_decision(as_trader):
    store_prices(*[100] * 60)
    run_id = make_run(ticks=5)
    ReflectionNoteFactory(deployment=None, skill=of(run_id).deployment.skill, lessons_text="- Learned next year")

    play(run_id, ask=Script(LLMUnavailable("timeout"), LLMUnavailable("timeout")))

    assert of(run_id).error == "At 2 ticks no decision was made; the decisions say why."
    told = [system for _, system, *_ in decisions(of(run_id).deployment_id)]
    assert (len(told), "next year" in str(told)) == (5, False)


# --- To its end ---


class Killed(BaseException):
    """The process dies."""


@pytest.mark.computing
def test_backtest_saves_summary_progress_and_money_and_cut_off_is_finished_with_the_same_numbers(as_trader):
    store_walk(3 * 160, seed=3)
    FundingRateFactory(at=at(33), rate=D("0.001"))
    costs = {"fee_bps": D(7), "slippage_bps": D(3)}
    whole, cut = make_run(ticks=120, **costs), make_run(ticks=120, **costs)
    told, asked = [], []

    status = play(whole, report=told.append)

    one = of(whole)
    assert (status, one.status, one.ticks_done, one.ticks_total) == ("done", "done", 120, 120)
    assert (one.finished_at, one.lease, one.error) == (NOW, None, "")
    assert (told[-1].ticks_done, told[-1].at) == (120, at(120))
    closed = [row for row in trades(one.deployment_id) if row["status"] == "closed"]
    assert one.summary["trades"] == len(closed) > 0
    assert D(one.summary["net_usd"]) == round(sum(row["realized_pnl_usd"] for row in closed), 8)
    assert_conserves_money(one)

    def dying(messages, tools):
        asked.append(1)
        if len(asked) in (17, 61, 62):
            raise Killed
        return offline(messages, tools)

    for hour in range(3):
        go_on = partial(play, cut, ask=dying, clock=repeat(NOW + timedelta(hours=hour)).__next__)
        with pytest.raises(Killed):
            go_on()
        assert go_on() == WorkStatus.RUNNING, "the lease still holds"
    play(cut, ask=dying, clock=lambda: NOW + timedelta(hours=3))

    other = of(cut)
    assert other.status == WorkStatus.DONE
    assert decisions(one.deployment_id) == decisions(other.deployment_id)
    assert trades(one.deployment_id) == trades(other.deployment_id)
    assert one.summary == other.summary


@pytest.mark.computing
def test_replay_equals_single_ticks_also_if_its_process_dies_within_a_block(as_trader, monkeypatch):
    """By rules many ticks share a transaction: of one that breaks off nothing is left."""
    store_walk(3 * 130, seed=3)
    for tick in (33, 70):
        FundingRateFactory(at=at(tick), rate=D("0.001"))
    fields = {"context": {"memory": {"reflection": {"every_n_trades": 3}}}, "risk": {"daily_loss_halt_pct": D("0.1")}}
    costs = {"fee_bps": D(7), "slippage_bps": D(3), "reflects": True, "deployment": fields}
    single, replayed = make_run(ticks=120, **costs), make_run(ticks=120, **costs)
    monkeypatch.setattr(backtest, "REPLAYED_AT_ONCE", 7)
    asked, ends = [], []

    def dying(*args, **more):
        asked.append(1)
        if len(asked) in (5, 40, 95):
            raise Killed
        return decide(*args, **more)

    assert play(single, ask=offline) == WorkStatus.DONE
    monkeypatch.setattr(runner, "decide", dying)
    for hour in range(3):
        with pytest.raises(Killed):
            play(replayed, ask=None, clock=lambda: NOW + timedelta(hours=hour))  # noqa: B023 - called at once
        ends.append(
            (of(replayed).ticks_done, DecisionSnapshot.objects.filter(deployment=of(replayed).deployment).count())
        )
    assert play(replayed, ask=None, clock=lambda: NOW + timedelta(hours=3)) == WorkStatus.DONE

    assert ends[0] == (0, 0), "the first block is lost whole"
    assert all(done == decided for done, decided in ends)
    one, other = of(single), of(replayed)
    assert decisions(one.deployment_id) == decisions(other.deployment_id)
    assert trades(one.deployment_id) == trades(other.deployment_id)
    assert (one.summary, one.deployment.account["cash_usd"]) == (other.summary, other.deployment.account["cash_usd"])
    points = EquityPoint.objects.order_by("tick").values_list("tick", "at", "equity_usd")
    assert list(points.filter(deployment=one.deployment)) == list(points.filter(deployment=other.deployment))
    assert Trade.objects.filter(deployment=one.deployment, status="closed").count() > 3
    assert ReflectionNote.objects.filter(deployment=other.deployment).exists()
    assert DecisionSnapshot.objects.filter(deployment=other.deployment, account__is_halted=True).exists()


def test_cancelled_replay_leaves_nothing_of_its_last_block(as_trader, monkeypatch):
    store_walk(3 * 60)
    run_id, seconds = make_run(ticks=50), count()
    monkeypatch.setattr(backtest, "REPLAYED_AT_ONCE", 20)

    def cancel(progress):
        as_owner(as_trader, lambda: cancel_backtest(run_id=run_id, now=NOW))

    status = play(run_id, ask=None, report=cancel, clock=lambda: NOW + timedelta(seconds=next(seconds)))

    assert (status, of(run_id).ticks_done) == (WorkStatus.CANCELLED, 20)
    assert DecisionSnapshot.objects.count() == EquityPoint.objects.count() == of(run_id).deployment.last_tick == 20


def test_cancelled_backtest_stops_and_keeps_its_trades(as_trader):
    store_walk(3 * 60)
    run_id, script, seconds = make_run(ticks=50), Script(), count()

    def cancel(progress):
        as_owner(as_trader, lambda: cancel_backtest(run_id=run_id, now=NOW))

    status = play(run_id, ask=script, report=cancel, clock=lambda: NOW + timedelta(seconds=next(seconds)))

    assert status == of(run_id).status == WorkStatus.CANCELLED
    assert len(script.seen) == 2, "it is noticed when progress is noted"
    assert EquityPoint.objects.count() == 2


def test_backtest_that_fails_says_why_and_tells_no_secret(as_trader):
    bare = make_run()
    assert play(bare) == WorkStatus.FAILED
    assert of(bare).error == NO_BARS

    store_walk(3 * 60)
    broken = make_run()
    assert play(broken, ask=Script(RuntimeError("the key is sk-123"))) == WorkStatus.FAILED
    assert "sk-123" not in of(broken).error


def test_backtest_without_tokens_of_the_site_stops_before_its_next_tick(as_trader, settings):
    settings.TRADING_AGENT_MODEL, settings.SITE_DAILY_TOKEN_BUDGET = "scripted/model", 1
    SiteDay.objects.create(day=NOW.date(), tokens=1)
    store_walk(3 * 60)
    run_id = make_run()

    assert play(run_id, ask=None) == WorkStatus.FAILED

    assert "for all its users today are used up" in of(run_id).error
    assert of(run_id).deployment.last_tick == 0
    by_rules = make_run(ticks=3, by_rules=True)
    assert play(by_rules, ask=None) == WorkStatus.DONE


def test_only_who_claims_it_plays_it(as_trader):
    store_walk(3 * 60)
    run_id = make_run(status="running", lease=uuid4(), lease_until=NOW + timedelta(minutes=1))
    script = Script(long())

    assert play(run_id, ask=script) == WorkStatus.RUNNING
    assert script.seen == []


def test_list_backtests_to_run_names_those_of_all_users(trader, stranger):
    mine, theirs = (as_owner(user, lambda: make_run(ticks=10)) for user in (trader, stranger))
    as_owner(trader, lambda: make_run(ticks=10, done=True))

    with system("test"):
        assert set(list_backtests_to_run(clock())) == {(trader.pk, mine), (stranger.pk, theirs)}


@pytest.mark.long
def test_reflection_can_be_left_out(as_trader):
    store_walk(3 * 160, seed=3)
    dial = {"context": {"memory": {"reflection": {"every_n_trades": 2}}}}
    with_lessons = make_run(ticks=120, reflects=True, deployment=dial)
    without = make_run(ticks=120, deployment=dial)
    for run_id in (with_lessons, without):
        play(run_id, ask=None)

    notes = ReflectionNote.objects.order_by("generated_at")
    assert {note.deployment_id for note in notes} == {of(with_lessons).deployment_id}
    assert all(at(1) < note.generated_at <= at(120) for note in notes)
    assert notes.filter(status="active").count() == 1


def test_instants_of_a_schedule():
    for schedule, since, until, expected in (
        (Schedule(value="15m"), at(0), at(2), [at(0), at(1), at(2)]),
        (Schedule(value="15m"), at(0.5), at(2.5), [at(1), at(2)]),
        (Schedule(type="daily", value="13:30"), JUNE, JUNE + timedelta(days=2), [at(6), at(102)]),
        (Schedule(value="4h"), at(1), at(2), []),
    ):
        assert list(schedule_instants(schedule, since, until)) == expected
