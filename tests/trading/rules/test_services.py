from decimal import Decimal
from random import Random
from uuid import uuid4

import pytest

from config.lib.words.rules import DailyLoss, Leverage, LossPause, RiskPerTrade, StopRequired, TradesPerDay, dump_rule
from tests.factories.memory import DAY, HOUR, JUNE, MAY
from tests.factories.record import (
    BacktestRunFactory,
    DecisionSnapshotFactory,
    DeploymentFactory,
    EquityPointFactory,
    OrderFactory,
    TradeFactory,
    TradingRuleFactory,
)
from trading.models import RuleState, TradingRule
from trading.rules.services import (
    RuleNotFound,
    RuleReading,
    decide_rule,
    find_trades_by_verdict,
    follow_readings,
    judge_period,
    judge_trade,
    list_rule_records,
    list_valid_rules,
)

D = Decimal
# Losses, in a row, minutes.
PAUSES = [(1, True, 300), (2, True, None), (3, True, 240), (2, False, None), (4, True, 1_500)]
FIVE = Leverage(limit=D(5))


def judge_record():
    found = judge_period(list_valid_rules(), since=MAY - 1000 * DAY, until=MAY + 1000 * DAY)
    return [one for _, one in found]


def read(rule=FIVE, *, lineage=None, valid_from=MAY, valid_until=None):
    fact_id = uuid4()
    return RuleReading(fact_id, lineage or fact_id, "Never above 5x", rule, valid_from, valid_until)


def test_follow_readings_lets_a_new_one_wait_and_deletes_one_without_a_fact(as_trader):
    follow_readings([read()], now=JUNE)
    row = TradingRule.objects.get()
    assert (row.state, row.payload, row.valid_from) == ("waiting", dump_rule(FIVE), MAY)
    assert list(judge_record()) == []
    follow_readings([], now=JUNE)
    assert not TradingRule.objects.exists()
    with pytest.raises(RuleNotFound):
        decide_rule(rule_id=uuid4(), state=RuleState.CONFIRMED, now=JUNE)


def test_follow_readings_of_the_same_version_changes_the_dates_alone(as_trader):
    first = read()
    follow_readings([first], now=JUNE)
    decide_rule(rule_id=TradingRule.objects.get().pk, state=RuleState.CONFIRMED, now=JUNE)
    ended = RuleReading(first.fact_id, first.lineage, first.words, FIVE, MAY, JUNE)
    follow_readings([ended], now=JUNE)
    row = TradingRule.objects.get()
    assert (row.state, row.valid_until) == ("confirmed", JUNE)


@pytest.mark.parametrize(("rule", "state"), [(FIVE, "confirmed"), (Leverage(limit=D(3)), "waiting")])
def test_follow_readings_of_a_new_version_stays_confirmed_if_it_reads_the_same(as_trader, rule, state):
    first = read(valid_until=JUNE)
    follow_readings([first], now=JUNE)
    decide_rule(rule_id=TradingRule.objects.get().pk, state=RuleState.CONFIRMED, now=JUNE)
    second = read(rule, lineage=first.lineage, valid_from=JUNE)
    follow_readings([first, second], now=JUNE)
    assert TradingRule.objects.get(fact_id=second.fact_id).state == state


def test_judge_record_leaves_backtests_and_unconfirmed_rules_out(as_trader):
    rule = TradingRuleFactory()
    TradingRuleFactory(state="dismissed")
    mine = TradeFactory(entry_leverage=D(10))
    TradeFactory(deployment=BacktestRunFactory().deployment, entry_leverage=D(10))
    assert [(one.rule_id, one.trade_id, one.verdict) for one in judge_record()] == [(rule.pk, mine.pk, "broken")]


def make_risked(deployment, *, stop_price, later=False):
    """A trade of $200 in BTC that opened at 100 with an order of an agent."""
    snapshot = DecisionSnapshotFactory(deployment=deployment, tick_at=MAY)
    OrderFactory(deployment=deployment, snapshot=snapshot, stop_price=stop_price, proposed_at=MAY)
    if later:
        OrderFactory(deployment=deployment, stop_price=D(50), proposed_at=MAY + HOUR, tick=2)
    return TradeFactory(deployment=deployment, entry_snapshot=snapshot)


def test_judge_trade_weighs_the_risk_to_the_stop(as_trader):
    TradingRuleFactory(payload=dump_rule(RiskPerTrade(limit=D(1), unit="pct")))
    for stop_price, later, verdict, why in (
        (D(90), False, "kept", ""),  # $20 of $2,000
        (D(80), False, "broken", "2.00% of equity at risk"),
        (None, False, "unknown", "without a stop its risk has no bound"),
        (D(90), True, "unknown", "it was added to, and its stop may have moved"),
    ):
        deployment = DeploymentFactory()
        EquityPointFactory(deployment=deployment, at=MAY - HOUR, equity_usd=D(2000))
        EquityPointFactory(deployment=deployment, at=MAY + HOUR, equity_usd=D(9000))
        (found,) = judge_trade(make_risked(deployment, stop_price=stop_price, later=later))
        assert (found.verdict, found.why) == (verdict, why)


def test_judge_trade_of_an_import_cannot_tell_its_stop(as_trader):
    TradingRuleFactory(payload=dump_rule(StopRequired()))
    (found,) = judge_trade(TradeFactory())
    assert (found.verdict, found.why) == ("unknown", "its stop is not known")
    assert found.reading == "Each trade opens with a stop"


def test_list_rule_records_compares_what_kept_and_broken_trades_made(as_trader):
    TradingRuleFactory()
    deployment = DeploymentFactory()
    for number, (leverage, gross) in enumerate([(D(2), 20), (D(3), 30), (D(9), -30), (None, 5)]):
        values = {"entry_leverage": leverage, "gross_pnl_usd": D(gross), "mae_usd": D(-40)}
        TradeFactory(deployment=deployment, entry_tick_at=MAY + number * 3 * HOUR, **values)
    (record,) = list_rule_records()
    assert {verdict: len(ids) for verdict, ids in record.trade_ids.items()} == {"kept": 2, "broken": 1, "unknown": 1}
    assert record.whys == {"its leverage is not known": 1}
    assert (record.kept.trades, record.kept.net_usd, record.broken.net_usd) == (2, D(48), D(-31))


def test_find_trades_by_verdict_takes_the_worst_of_all_rules(as_trader):
    rule = TradingRuleFactory()
    TradingRuleFactory(payload=dump_rule(Leverage(limit=D(20))))
    broken = TradeFactory(entry_leverage=D(10))
    kept = TradeFactory(entry_leverage=D(1))
    assert find_trades_by_verdict("broken") == [broken.pk]
    assert find_trades_by_verdict("kept") == [kept.pk]
    assert find_trades_by_verdict("kept", rule.pk) == [kept.pk]


def test_judge_period_says_the_same_as_judging_the_whole_record(as_trader):
    """Random records with ties and long rows of losses, judged day by day."""
    random, agent, own = Random(7), DeploymentFactory(), DeploymentFactory(broker_kind="live", label="Own")
    second = DeploymentFactory(broker_kind="live", label="Second", version=own.version)
    rules = [
        *(LossPause(losses=n, is_in_row=row, minutes=m, zone="Europe/Oslo") for n, row, m in PAUSES),
        TradesPerDay(limit=2, zone="Asia/Tokyo"),
        DailyLoss(limit=D(20), unit="usd", zone="America/New_York"),
        FIVE,
    ]
    for rule in rules:
        TradingRuleFactory(payload=dump_rule(rule), valid_from=MAY - 30 * DAY)
    for _ in range(70):
        entry = MAY + random.randrange(0, 21 * 24, 3) * HOUR
        net, held = random.choice([-21, -21, -6, 19]), random.choice([1, 3, 3, 90])
        amounts = {"gross_pnl_usd": net + 1, "mfe_usd": 40, "mae_usd": -40}
        where = {"deployment": random.choice([agent, own, second]), "entry_leverage": D(random.choice([2, 9]))}
        TradeFactory(**where, **amounts, entry_tick_at=entry, exit_tick_at=entry + held * HOUR)
    whole = {(one.rule_id, one.trade_id): (one.verdict, one.why) for one in judge_record()}
    valid = list_valid_rules()

    found = {}
    for day in range(21):
        since, until = MAY + day * DAY, MAY + (day + 1) * DAY
        pairs = judge_period(valid, since=since, until=until)
        assert all(since <= trip.opened_at < until for trip, _ in pairs)
        found |= {(one.rule_id, one.trade_id): (one.verdict, one.why) for _, one in pairs}

    assert found == whole
    assert len({verdict for verdict, _ in whole.values()}) == 3
