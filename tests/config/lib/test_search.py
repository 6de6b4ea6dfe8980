# ruff: noqa: RUF001 - characters that look like others are what these tests are about

import pytest
from django.db.models import Q

from config.lib.owned import owned_tx
from config.lib.search import MAX_WORDS, has_words
from memory.models import UserFact
from tests.factories.memory import UserFactFactory
from tests.factories.trading import TraderFactory

pytestmark = pytest.mark.django_db

FACTS = {
    "latin": ("Trades BTC and ETH perps", "symbols"),
    "percent": ("Risks at most 1% per trade", "risk"),
    "underscore": ("Account is called main_01", "account"),
    "backslash": (r"Keeps notes in C:\trades", ""),
    "quote": ("Says 'never again' to \"alts\"", ""),
    "german": ("Größe höchstens fünfzig Euro", ""),
    "cyrillic": ("Торгует только Биткоином", ""),
    "hindi": ("केवल बिटकॉइन में व्यापार", ""),
    "chinese": ("只交易比特币", "風險"),
    "arabic": ("يتداول البيتكوين فقط", ""),
}


@pytest.fixture
def facts():
    with owned_tx(TraderFactory()):
        for content, topic in FACTS.values():
            UserFactFactory(content=content, topic=topic)
        yield


def found(query: str, *columns: str) -> set[str]:
    names = {content: name for name, (content, _) in FACTS.items()}
    rows = UserFact.objects.filter(has_words(query, *(columns or ("normalised", "topic"))))
    return {names[row.content] for row in rows}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("btc", {"latin"}),
        ("perps TRADES", {"latin"}),
        ("perp", {"latin"}),
        ("btc alts", set()),
        ("symbols eth", {"latin"}),
        ("1%", {"percent"}),
        ("%", {"percent"}),
        ("_", {"underscore"}),
        ("main_01", {"underscore"}),
        ("main-01", set()),
        ("\\", {"backslash"}),
        ("c:\\trades", {"backslash"}),
        ("'never", {"quote"}),
        ('"alts"', {"quote"}),
        ("GRÖSSE", {"german"}),
        ("größe", {"german"}),
        ("fu\u0308nfzig", {"german"}),
        ("БИТКОИНОМ", {"cyrillic"}),
        ("बिटकॉइन", {"hindi"}),
        ("比特币", {"chinese"}),
        ("風險", {"chinese"}),
        ("البيتكوين", {"arabic"}),
        ("ｂｔｃ", {"latin"}),
        ("BTC!", {"latin"}),
        ("b\u200btc", {"latin"}),
        ("'; DROP TABLE user_facts; --", set()),
        ("\x00btc", {"latin"}),
        ("\ud800", set(FACTS)),
        ("", set(FACTS)),
        ("  \n", set(FACTS)),
    ],
)
def test_has_words_finds_each_word_as_it_is_typed(query, names, facts):
    assert found(query) == names


def test_has_words_looks_into_the_named_columns_alone(facts):
    assert found("symbols", "normalised") == set()
    assert found("symbols", "topic") == {"latin"}


def test_has_words_counts_no_more_words_than_anyone_types(facts):
    assert found(" ".join(["btc"] * MAX_WORDS + ["nonsense"])) == {"latin"}
    assert found(" ".join(["btc"] * (MAX_WORDS - 1) + ["nonsense"])) == set()


def test_has_words_joins_with_other_conditions(facts):
    rows = UserFact.objects.filter(has_words("trade", "normalised"), ~Q(topic="risk"))

    assert {row.content for row in rows} == {FACTS["latin"][0], FACTS["backslash"][0]}
