from zoneinfo import ZoneInfo

import pytest

from tests.factories.memory import JUNE
from trading.asking.query import QueryRefused, parse_query

ZONE = ZoneInfo("UTC")


def parse(**words):
    return parse_query(words, zone=ZONE, now=JUNE)


def test_question_without_words_is_the_net_of_all():
    query = parse(measure=" ", symbol="")

    assert (query.measure, query.group, query.where, query.period) == ("net", "", {}, None)


def test_filter_takes_values():
    for name, text, values in (
        ("symbol", "btc, ETH,btc", ("BTC", "ETH")),
        ("side", "Long", ("long",)),
        ("version", "2,03", ("2", "3")),
        ("exit", "stop,liquidation", ("stop", "liquidation")),
        ("hour", "9", ("09",)),
        ("hour", "9-12", ("09", "10", "11")),
        ("hour", "22-2", ("22", "23", "00", "01")),
        ("hour", "9-11,10-12", ("09", "10", "11")),
        ("hour", "0-24", tuple(f"{hour:02}" for hour in range(24))),
        ("weekday", "Saturday,sun", ("sat", "sun")),
        ("event", "any", ("any",)),
        ("skill", "Dips, and more", ("Dips, and more",)),
        ("record", "own", ("own",)),
        ("result", "lost", ("lost",)),
        ("deployment", "5F0C5CBE-8F5A-4C50-9B8D-0E0F6E2D7A11", ("5f0c5cbe-8f5a-4c50-9b8d-0e0f6e2d7a11",)),
    ):
        assert parse(**{name: text}).where == {name: values}


@pytest.mark.limit("trading.asking.query.MAX_VALUES")
def test_words_that_the_record_cannot_answer_are_refused():
    for words in (
        {"measure": "profit"},
        {"group": "colour"},
        {"colour": "red"},
        {"month": "2026-03"},  # the period says so
        {"symbol": "a b"},
        {"symbol": ","},
        {"symbol": ",".join(f"C{number}" for number in range(25))},
        {"side": "up"},
        {"version": "one"},
        {"version": "\u0662"},
        {"hour": "25"},
        {"hour": "9-"},
        {"hour": "-9"},
        {"hour": "9-30"},
        {"weekday": "so"},
        {"deployment": "mine"},
        {"measure": "win_rate", "group": "trade"},
    ):
        with pytest.raises(QueryRefused):
            parse(**words)


def test_words_of_a_question_ask_it_again():
    words = {"measure": "r", "group": "weekday", "period": "last month", "symbol": "btc,eth", "hour": "22-1"}

    query = parse(**words)

    assert parse(**query.words) == query
    assert query.words == {**words, "symbol": "BTC,ETH", "hour": "22,23,00"}
