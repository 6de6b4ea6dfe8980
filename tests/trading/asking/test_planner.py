from datetime import datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.lib.intervals import mean_interval
from config.lib.words.rules import Symbols, dump_rule
from tests.factories.memory import HOUR, JUNE, MAY
from tests.factories.record import (
    BacktestRunFactory,
    DeploymentFactory,
    FundingPaymentFactory,
    FundingRateFactory,
    MarketEventFactory,
    SkillFactory,
    TradeFactory,
    TradingRuleFactory,
)
from tests.owners import as_owner
from tests.properties import examples
from tests.trading.asking import ledgers
from trading.asking.planner import MAX_GROUPS, MAX_IDS, answer_question
from trading.asking.query import GROUPS, MEASURES, parse_query
from trading.ledger.services import DeploymentNotFound
from trading.models import Trade
from trading.skills.queries import SkillNotFound

D = Decimal
ZONE = ZoneInfo("America/New_York")
NOW = JUNE + timedelta(days=200)


def ask(now=NOW, zone=ZONE, **words):
    return answer_question(parse_query(words, zone=zone, now=now))


@pytest.fixture
def accounts(as_trader):
    """Two agents and an account of own trades; the funding of some symbols is on record."""
    kinds = {"paper": "paper", "second": "paper", "live": "live"}
    deployments = {
        account: DeploymentFactory(version__skill=SkillFactory(name=NAMES[account]), broker_kind=kind)
        for account, kind in kinds.items()
    }
    FundingPaymentFactory(deployment=deployments["live"], symbol="ETH")
    FundingRateFactory(symbol="BTC", at=MAY)
    FundingRateFactory(symbol="BTC", at=MAY + timedelta(days=200))
    for day in (3, 20):
        MarketEventFactory(starts_at=MAY + timedelta(days=day, hours=6))
    return deployments


FUNDED = {("live", "ETH"), ("paper", "BTC"), ("second", "BTC")}
NAMES = {"paper": "Dips", "second": "Breaks", "live": "My trades"}
EVENTS = [MAY + timedelta(days=day, hours=6) for day in (3, 20)]
LABELS = {
    **{"long": "Long", "short": "Short", "trend": "Trend", "chop": "Chop", "unknown": "Unknown"},
    **{"signal": "The agent", "stop": "Stop price", "external": "Outside of Keel"},
}
COMPARED = sorted(set(GROUPS) - {"trade", "deployment", "rule"})
FILTERS = {
    "symbol": ("BTC,SOL", lambda row: row["symbol"] != "ETH"),
    "side": ("short", lambda row: row["side"] == "short"),
    "skill": ("breaks", lambda row: row["account"] == "second"),
    "version": ("2", lambda row: row["version"] == 2),
    "record": ("agents", lambda row: row["account"] != "live"),
    "regime": ("chop,trend", lambda row: row["regime"] != "unknown"),
    "exit": ("stop", lambda row: row["exit"] == "stop"),
    "result": ("lost,even", lambda row: row["net"] <= 0),
    "hour": ("22-6", lambda row: not 6 <= row["entry"].astimezone(ZONE).hour < 22),
    "weekday": ("sat,sunday", lambda row: row["entry"].astimezone(ZONE).weekday() > 4),
    "event": ("any", lambda row: any(abs(at - row["entry"]) <= timedelta(hours=2) for at in EVENTS)),
}
PERIODS = {
    "": (None, None),
    "2026-05": (datetime(2026, 5, 1, tzinfo=ZONE), datetime(2026, 6, 1, tzinfo=ZONE)),
    "2026-05-10..2026-06-10": (datetime(2026, 5, 10, tzinfo=ZONE), datetime(2026, 6, 11, tzinfo=ZONE)),
}


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=ledgers.LEDGERS,
    filters=st.sets(st.sampled_from(sorted(FILTERS)), max_size=1),
    period=st.sampled_from(sorted(PERIODS)),
)
def test_answers_equal_the_figures_of_plain_code(accounts, rows, filters, period):
    Trade.objects.all().delete()
    ledgers.store(rows, accounts)
    words = {"period": period, **{name: FILTERS[name][0] for name in filters}}
    fitting = [row for row in rows if all(FILTERS[name][1](row) for name in filters)]
    fitting = sorted(
        (row for row in fitting if ledgers.in_period(row, *PERIODS[period])), key=lambda row: (row["ends"], row["id"])
    )

    for measure, group in [*((measure, "symbol") for measure in MEASURES), *(("net", group) for group in COMPARED)]:
        check_answer(ask(measure=measure, group=group, **words), fitting, measure, group)


def check_answer(answer, fitting, measure, group):
    n, value = ledgers.figure_of(fitting, measure, FUNDED)
    assert (answer.figure.trades, answer.unknown) == (n, len(fitting) - n)
    assert answer.figure.value == (None if value is None else pytest.approx(value, abs=1e-6))
    assert answer.trade_ids == [row["id"] for row in reversed(fitting)][:MAX_IDS]
    assert len(answer.trade_ids) + answer.ids_left_out == len(fitting)
    parts = {}
    for row in fitting:
        key = ledgers.group_of(row, group, ZONE, NAMES, EVENTS)
        parts.setdefault(LABELS.get(key, key), []).append(row)
    expected = {key: ledgers.figure_of(part, measure, FUNDED) for key, part in parts.items()}
    assert {one.label for one in answer.groups} == set(expected)
    for one in answer.groups:
        n, value = expected[one.label]
        assert one.figure.trades == n
        assert one.figure.value == (None if value is None else pytest.approx(value, abs=1e-6))


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=ledgers.LEDGERS,
    measure=st.sampled_from(["net", "expectancy", "fees", "funding", "holding", "mfe", "mae", "r"]),
)
def test_each_trade_is_ranked_by_its_value(accounts, rows, measure):
    Trade.objects.all().delete()
    ledgers.store(rows, accounts)

    answer = ask(measure=measure, group="trade")

    values = {row["id"]: ledgers.value_of(row, measure, FUNDED) for row in rows}
    known = sorted((float(value) for value in values.values() if value is not None), reverse=True)
    shown = known if len(known) <= MAX_GROUPS else known[:12] + known[-12:]
    assert [one.value for one in answer.trades] == pytest.approx(shown)
    assert answer.left_out == len(known) - len(shown)
    assert all(one.value == pytest.approx(float(values[one.trade.pk])) for one in answer.trades)
    ends = [one and one.value for one in (answer.best, answer.worst)]
    assert ends == (pytest.approx([known[0], known[-1]]) if len(known) > 1 else [None, None])


def test_intervals_of_groups_share_ninety_percent(accounts):
    rows = [
        TradeFactory(deployment=accounts["paper"], symbol=symbol, gross_pnl_usd=D(gross))
        for symbol in ("BTC", "ETH")
        for gross in (3, -4, 9, 11, -7, 2)
    ]
    TradeFactory(deployment=accounts["paper"], symbol="SOL")  # too few to be compared

    answer = ask(measure="expectancy", group="symbol")

    nets = [float(row.realized_pnl_usd) for row in rows if row.symbol == "BTC"]
    intervals = {one.label: one.figure.interval for one in answer.groups}
    assert intervals == {"BTC": mean_interval(nets, groups=2), "ETH": mean_interval(nets, groups=2), "SOL": None}
    assert ask(measure="expectancy", symbol="BTC").figure.interval == mean_interval(nets)


def test_sum_has_the_interval_of_what_a_trade_adds(accounts):
    rows = [TradeFactory(deployment=accounts["paper"], gross_pnl_usd=D(gross)) for gross in range(-3, 4)]

    figure = ask().figure

    nets = [float(row.realized_pnl_usd) for row in rows]
    assert (figure.value, figure.mean, figure.interval) == (sum(nets), -1.0, mean_interval(nets))


def test_open_trades_are_left_out_and_backtests_count_only_by_their_deployment(as_trader):
    run = BacktestRunFactory()
    TradeFactory(deployment=run.deployment)
    TradeFactory(still_open=True)

    assert ask(measure="count").figure.value == 0
    assert ask(measure="count", deployment=str(run.deployment_id)).figure.value == 1


def test_own_trades_are_not_around_simulated_events(accounts):
    MarketEventFactory(starts_at=MAY, is_simulated=True)
    for account in ("live", "paper"):
        TradeFactory(deployment=accounts[account], entry_tick_at=MAY)

    found = {one.label: one.figure.value for one in ask(measure="count", group="event").groups}

    assert found == {"Fed decision": 1, "No event": 1}


def test_trades_are_told_apart_by_the_own_rules(accounts):
    TradingRuleFactory(valid_from=MAY)  # at most 5x
    TradingRuleFactory(valid_from=MAY, payload=dump_rule(Symbols(mode="only", symbols=("BTC",))))
    for symbol, leverage, since in (("BTC", 6, MAY), ("BTC", 5, MAY), ("BTC", None, MAY), ("BTC", 9, MAY - HOUR)):
        TradeFactory(symbol=symbol, entry_leverage=leverage and D(leverage), entry_tick_at=since)
    TradeFactory(symbol="ETH", entry_tick_at=MAY)  # broken, whatever its leverage

    found = {one.label: one.figure.value for one in ask(measure="count", group="rule").groups}

    assert found == {"Broke a rule": 2, "Kept the rules": 1, "Cannot tell": 1, "No rule then": 1}
    assert ask(measure="count", rule="broken").figure.value == 2


def test_rows_of_a_stranger_are_neither_counted_nor_named(accounts, stranger):
    theirs = as_owner(stranger, lambda: TradeFactory(deployment=DeploymentFactory(version__skill__name="Theirs")))

    assert ask(measure="count").figure.value == 0
    with pytest.raises(DeploymentNotFound):
        ask(deployment=str(theirs.deployment_id))
    for name in ("Theirs", str(theirs.skill_id)):
        with pytest.raises(SkillNotFound):
            ask(skill=name)


def test_question_takes_few_queries_however_many_trades(accounts, django_assert_max_num_queries):
    for number in range(40):
        TradeFactory(deployment=accounts["paper"], symbol=f"C{number}", entry_tick_at=MAY + timedelta(hours=number))

    for measure in MEASURES:
        with django_assert_max_num_queries(7):
            ask(measure=measure, group="version", hour="0-12", event="none", skill="dips")
