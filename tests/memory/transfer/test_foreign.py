from datetime import datetime

import pytest

from memory.claims.topics import guess_topic
from memory.transfer.foreign import in_first_person, read_foreign
from tests.memory.transfer.foreign_cases import SEEN
from tests.memory.transfer.foreign_cases import UNSEEN as UNSEEN_EXPORTS

# Half of the cases was unseen while the rules were written.
PERSONS = [
    ("The user is a swing trader", "I am a swing trader"),
    ("User prefers concise answers.", "I prefer concise answers."),
    ("The user never risks more than 1% per trade", "I never risk more than 1% per trade"),
    ("User's favourite exchange is Kraken", "My favourite exchange is Kraken"),
    ("You trade BTC and ETH only", "I trade BTC and ETH only"),
    ("Your max leverage is 3x", "My max leverage is 3x"),
    ("You are based in Lisbon", "I am based in Lisbon"),
    ("The user has two accounts and uses Binance", "I have two accounts and use Binance"),
    ("The user doesn't trade on Fridays", "I don't trade on Fridays"),
    ("User tries to keep their stops tight", "I try to keep my stops tight"),
    ("Trades gold only", "I trade gold only"),
    ("I trade in the mornings", "I trade in the mornings"),
]
UNSEEN = [
    ("The user watches funding before an entry", "I watch funding before an entry"),
    ("User currently lives in Porto and works from home", "I currently live in Porto and work from home"),
    ("The user's goal is to retire at 55", "My goal is to retire at 55"),
    ("You prefer that Keel asks you first", "I prefer that Keel asks me first"),
    ("You've been trading since 2019", "I've been trading since 2019"),
    ("The user was a teacher", "I was a teacher"),
    ("User usually closes positions before his weekend", "I usually close positions before my weekend"),
    ("The user can trade only in the evening", "I can trade only in the evening"),
    ("Your trades are small, and you close them yourself", "My trades are small, and I close them myself"),
    ("Usually trades at night", "I usually trade at night"),
    ("The user passes on every trade with a wide spread", "I pass on every trade with a wide spread"),
    ("Users of Kraken pay less", "Users of Kraken pay less"),
    ("Never holds over a weekend", "I never hold over a weekend"),
    ("Doesn't trade on Fridays", "I don't trade on Fridays"),
    ("Stops at 2%", "Stops at 2%"),
    ("Trades after 17:00 are forbidden", "Trades after 17:00 are forbidden"),
    ("Plans for 2026: trade half size", "Plans for 2026: trade half size"),
    ("Is BTC the main market?", "Is BTC the main market?"),
]
TOPICS = [
    ("I never risk more than 1 %", "risk"),
    ("I prefer concise answers", "style"),
    ("I trade only BTC", "symbols"),
    ("I trade in the mornings", "session"),
    ("My goal is 10 % a year", "goal"),
    ("My account is at Kraken", "account"),
    ("I pay taxes in Portugal", "tax"),
    ("I have a dog", ""),
]


@pytest.mark.parametrize(("text", "expected"), PERSONS + UNSEEN)
def test_sentence_about_the_user_becomes_the_users_own(text, expected):
    assert in_first_person(text) == expected


@pytest.mark.parametrize(("text", "topic"), TOPICS)
def test_topic_is_guessed_from_the_words(text, topic):
    assert guess_topic(text) == topic


def list_dated(text: str) -> list[tuple[str, str]]:
    return [(fact.text, f"{fact.said_at:%Y-%m-%d}" if fact.said_at else "") for fact in read_foreign(text)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1. [2025-04-02]. The user is a swing trader.", ("I am a swing trader.", "2025-04-02")),
        ("[2025-04-02] - Trades BTC only", ("I trade BTC only", "2025-04-02")),
        ("- 2025-04-02: You trade BTC only", ("I trade BTC only", "2025-04-02")),
        ("* (2025-04-02) Trades BTC only", ("I trade BTC only", "2025-04-02")),
        ("[unknown] - Trades BTC only", ("I trade BTC only", "")),
        ("Trades BTC only [saved 2025-04-02]", ("I trade BTC only", "2025-04-02")),
        ("- **Trades BTC** only (2025-04-02)", ("I trade BTC only", "2025-04-02")),
        ("[2025-04-02T10:00:00Z] Trades BTC only", ("I trade BTC only", "2025-04-02")),
        ("Started on 2019-05-06 with BTC", ("Started on 2019-05-06 with BTC", "")),
        ("Unknown coins are not for me", ("Unknown coins are not for me", "")),
        ("2025-13-99: Trades BTC only", ("I trade BTC only", "")),
    ],
)
def test_line_keeps_its_date_and_loses_its_frame(line, expected):
    assert list_dated(line) == [expected]


def test_headings_are_no_facts_and_name_the_topic():
    text = "## Risk\n- Stays small\n**Answers:**\n- Short\nDemographics:\n```\n- Has a dog\n```\n---\n"

    assert [(fact.text, fact.topic) for fact in read_foreign(text)] == [
        ("Stays small", "risk"),
        ("Short", "style"),
        ("I have a dog", ""),
    ]


EXPORTS = SEEN + UNSEEN_EXPORTS


def format_day(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d}" if at else ""


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in EXPORTS], ids=[case[0] for case in EXPORTS])
def test_export_of_a_product_gives_its_facts_alone(text, expected):
    found = [(fact.text, format_day(fact.said_at), format_day(fact.ends_at)) for fact in read_foreign(text)]

    assert found == expected


@pytest.mark.parametrize("text", ["7", "null", "{}", "[]", "[[[]]]", '{"memory": 7}', "[" * 5000, "\n\n", '"x"'])
def test_text_of_no_known_form_raises_nothing(text):
    list(read_foreign(text))
