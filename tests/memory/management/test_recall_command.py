import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.factories.memory import UserFactFactory
from tests.owners import as_owner


def run(*args: str) -> str:
    out = StringIO()
    call_command("recall", *args, stdout=out)
    return out.getvalue()


@pytest.fixture
def facts(trader, stranger):
    as_owner(trader, lambda: UserFactFactory(content="Trades BTC perps", topic="symbols"))
    as_owner(trader, lambda: UserFactFactory(content="Trades ETH now and then", learned=True, score=0.4))
    as_owner(stranger, lambda: UserFactFactory(content="Trades gold BTC"))


def test_recall_prints_the_facts_found_best_first(trader, facts):
    first, second, last = run("--user", trader.email, "btc", "trades").splitlines()

    assert first.endswith("Trades BTC perps  (stated)")
    assert second.endswith("Trades ETH now and then  (inferred, learned with 0.40)")
    assert last == "2 found"


def test_recall_says_that_there_is_more(trader, facts):
    assert run("--user", trader.email, "--limit", "1", "trades").splitlines()[-1] == "2 found, the best shown"


def test_recall_prints_json_lines(trader, facts):
    lines = [json.loads(line) for line in run("--user", trader.email, "--json", "btc perps trades").splitlines()]

    assert [line["content"] for line in lines] == ["Trades BTC perps", "Trades ETH now and then"]
    assert lines[0].keys() == {"fact_id", "content", "topic", "rank", "origin", "score"}
    assert (lines[1]["origin"], lines[1]["score"]) == ("inferred", 0.4)


def test_recall_that_finds_nothing_says_so(trader, facts):
    assert run("--user", trader.email, "--", "?") == "0 found\n"


@pytest.mark.parametrize("limit", ["0", "51", "many"])
def test_a_limit_out_of_bounds_is_refused(limit, trader):
    with pytest.raises(CommandError, match="limit"):
        run("--user", trader.email, "--limit", limit, "btc")


def test_an_unknown_user_is_one_clear_line(db):
    with pytest.raises(CommandError, match=r"There is no user nobody@example\.com"):
        run("--user", "nobody@example.com", "btc")
