from decimal import Decimal
from random import Random

import pytest

from tests.factories.record import TradeFactory
from trading.reviews.verdicts import Verdict, judge_groups, record_lines

WINS = ["12", "9", "15", "11", "8", "14", "10"]


def trades(*nets, symbol="BTC", side="long", regime="unknown"):
    return [
        TradeFactory.build(
            deployment=None,
            skill=None,
            symbol=symbol,
            side=side,
            entry_regime_tag=regime,
            realized_pnl_usd=Decimal(net),
        )
        for net in nets
    ]


def test_group_with_an_interval_above_zero_is_to_repeat():
    (group,) = judge_groups(trades(*WINS))

    assert (group.name, group.net.trades, group.won, group.net.value) == ("BTC long", 7, 7, 79)
    assert group.verdict == Verdict.REPEAT


def test_group_with_an_interval_below_zero_is_to_avoid():
    (group,) = judge_groups(trades(*(f"-{net}" for net in WINS)))

    assert group.verdict == Verdict.AVOID


@pytest.mark.parametrize(
    ("nets", "verdict"),
    [(["1234.50", "30", "20", "10", "-5"], Verdict.OPEN), (["10"] * 4, Verdict.TOO_FEW), (["10"] * 9, Verdict.OPEN)],
    ids=["one large winner", "four trades", "no spread"],
)
def test_group_whose_interval_includes_zero_or_is_unknown_has_no_verdict(nets, verdict):
    (group,) = judge_groups(trades(*nets))

    assert group.verdict == verdict


def test_comparing_more_groups_takes_a_weak_verdict_back():
    weak = ["5", "-1", "4", "3", "-1", "4", "2", "-1", "3"]
    (alone,) = judge_groups(trades(*weak))
    others = [row for at in range(20) for row in trades("1", "-2", "2", "-1", "1", symbol=f"S{at}")]
    among = next(group for group in judge_groups([*trades(*weak), *others]) if group.name == "BTC long")

    assert (alone.verdict, among.verdict) == (Verdict.REPEAT, Verdict.OPEN)


def test_random_results_in_many_groups_rarely_give_any_verdict():
    random, verdicts, rounds = Random(8), 0, 60
    for _ in range(rounds):
        rows = [row for at in range(10) for row in trades(*(random.gauss(0, 10) for _ in range(8)), symbol=f"S{at}")]
        verdicts += any(group.verdict in (Verdict.REPEAT, Verdict.AVOID) for group in judge_groups(rows))

    assert verdicts / rounds < 0.2  # one by one, two of three rounds would have one


def test_regimes_are_groups_where_there_are_two():
    rows = [*trades("1", "2", regime="trend"), *trades("-9", regime="chop"), *trades("4")]

    assert [group.name for group in judge_groups(rows)] == ["BTC long", "regime chop", "regime trend"]
    assert [group.name for group in judge_groups(rows[:2])] == ["BTC long"]


def test_record_lines_name_the_sample_the_interval_and_the_verdict():
    lines = record_lines(judge_groups([*trades(*WINS), *trades("-3", symbol="ETH", side="short")]))

    assert lines[0].startswith("- BTC long: 7 trades, 7 won, net $79.00; a trade $")
    assert lines[0].endswith(": repeat")
    assert lines[1] == "- ETH short: 1 trade, 0 won, net -$3.00: too few trades"
