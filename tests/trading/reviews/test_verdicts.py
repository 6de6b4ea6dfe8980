from decimal import Decimal
from random import Random

from trading.reviews.verdicts import Advice, ClosedNet, judge_groups, record_lines

WINS = ["12", "9", "15", "11", "8", "14", "10", "13", "9", "12"]
SYMBOLS = ["BTC", "ETH", "SOL"]


def trades(*nets, symbol="BTC", side="long", regime="unknown"):
    return [ClosedNet(symbol, side, regime, Decimal(net)) for net in nets]


def judge(rows, symbols=("BTC",)):
    return judge_groups(rows, symbols=symbols)


def test_group_with_an_interval_above_zero_is_to_repeat_and_below_to_avoid():
    (group,) = judge(trades(*WINS))
    (lost,) = judge(trades(*(f"-{net}" for net in WINS)))

    assert (group.name, group.trades, group.won, group.net_usd) == ("BTC long", 10, 10, 113)
    assert (group.verdict, lost.verdict) == (Advice.REPEAT, Advice.AVOID)


def test_group_whose_interval_includes_zero_or_is_unknown_has_no_verdict():
    for nets, verdict in (
        (["1234.50", "30", "20", "10", "-5"] * 2, Advice.OPEN),
        (WINS[:9], Advice.TOO_FEW),
        (["10"] * 10, Advice.OPEN),
    ):
        (group,) = judge(trades(*nets))

        assert group.verdict == verdict


def test_group_is_decided_by_its_first_trades_at_the_last_planned_look():
    for count, decided, following in ((10, 10, 20), (19, 10, 20), (20, 20, 40), (79, 40, 80)):
        random = Random(3)
        nets = [f"{random.gauss(1, 10):.2f}" for _ in range(count)]
        (group,) = judge(trades(*nets))
        (same,) = judge(trades(*nets[:decided], *["-500"] * (count - decided)))
        assert (group.decided.trades, group.next_look) == (decided, following)
        assert same.decided == group.decided  # what came since changes the sums alone


def test_number_of_groups_is_that_of_the_skill_and_not_of_the_record():
    weak = ["6", "0", "4", "3", "1", "4", "5", "0", "3", "6"]
    (alone,) = judge(trades(*weak))
    (of_many,) = judge(trades(*weak), symbols=[f"S{at}" for at in range(20)])
    beside = [row for symbol in SYMBOLS[1:] for row in trades("1", "-2", symbol=symbol)]
    among = next(group for group in judge([*trades(*weak), *beside], SYMBOLS) if group.name == "BTC long")

    assert (alone.verdict, of_many.verdict) == (Advice.REPEAT, Advice.OPEN)
    assert among.decided == judge(trades(*weak), SYMBOLS)[0].decided


def play(random, count: int, shift: float = 0.0) -> list[ClosedNet]:
    """Return a record of three symbols, two sides and three regimes; long S0 is `shift` off zero."""
    rows = []
    for _ in range(count):
        symbol, side = f"S{random.randrange(3)}", "long" if random.random() < 0.7 else "short"
        net = random.gauss(0, 1) + (shift if (symbol, side) == ("S0", "long") else 0)
        rows.append(ClosedNet(symbol, side, random.choice(["trend", "chop", "shock"]), Decimal(f"{net:.4f}")))
    return rows


def read_all(rows, *, every: int = 10) -> list[set[tuple[str, Advice]]]:
    """Return the verdicts that an agent reads at each reflection over the life of a record."""
    return [
        {(group.name, group.verdict) for group in judge(rows[:end], ["S0", "S1", "S2"])}
        for end in range(every, len(rows) + 1, every)
    ]


def test_agent_without_an_edge_rarely_reads_a_verdict_over_the_whole_life_of_its_record():
    random, rounds, ever = Random(8), 100, 0
    for _ in range(rounds):
        seen = set().union(*read_all(play(random, 100)))
        ever += any(verdict in (Advice.REPEAT, Advice.AVOID) for _, verdict in seen)

    assert ever / rounds <= 0.15  # 10 % nominal; a verdict at each reflection would give 50 %


def test_group_that_loses_a_deviation_is_found_within_a_hundred_trades():
    random, rounds = Random(9), 40
    found = sum(("S0 long", Advice.AVOID) in set().union(*read_all(play(random, 100, -1.0))) for _ in range(rounds))

    assert found / rounds >= 0.5  # 68 % in the long run


def test_regimes_are_groups_where_there_are_two_and_lines_name_their_sample():
    rows = [*trades("1", "2", regime="trend"), *trades("-9", regime="chop"), *trades("4")]

    assert [group.name for group in judge(rows)] == ["BTC long", "regime chop", "regime trend"]
    assert [group.name for group in judge(rows[:2])] == ["BTC long"]

    rows = [*trades(*WINS, "-1", "-1"), *trades("-3", symbol="ETH", side="short")]

    (line,) = record_lines(judge(rows))

    assert line.startswith("- BTC long: 12 trades, 10 won, net $111.00: repeat by the first 10 (a trade $")
    assert line.endswith("); next look at 20")
