"""The seeds' own sentences, by the rule-based model and by one that calls what the seed says."""

from datetime import UTC, datetime

import pytest

from chat.tools import TOOLS
from config.lib.text import normal_form
from memory.facts.services import remember_fact
from memory.models import Place, UserFact
from offline.requests import read_place
from offline.statements import read_statements
from tests.chat.tools.talking import Toolbox
from tests.offline.real import RealChat
from tests.offline.sets import SETS

NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
SAVES = {
    "coach": ("remember", "fact", {"confidence": "asserted"}),
    "advisor": ("save_preference", "content", {"category": "fact"}),
    "companion": ("manage_user_memory", "content", {"operation": "add_fact"}),
}


def split_row(row):
    face, _, rest = row.partition(": ")
    return face, *(part.strip() for part in rest.split(" => "))


def list_current():
    return {normal_form(fact.content) for fact in UserFact.objects.current(NOW)}


def tell(user, face, text):
    chat = RealChat(user, TOOLS[face], NOW)
    return chat, chat.say(text)


def learn(known):
    for fact in filter(lambda text: text != "-", known.split(" / ")):
        remember_fact(content=fact, topic="", confidence="asserted", source="chat", now=NOW)


@pytest.mark.parametrize("row", SETS["seeds: statements"])
def test_statement_of_a_seed_is_kept_by_rules(as_trader, row):
    face, known, said, after = split_row(row)
    learn(known)

    tell(as_trader, face, said)

    readings = [{normal_form(fact) for fact in one.split(" / ") if fact != "-"} for one in after.split(" || ")]
    assert list_current() in readings


@pytest.mark.parametrize("row", [row for row in SETS["seeds: statements"] if ": - =>" in row])
def test_statement_of_a_seed_is_kept_by_a_model_that_saves_it(as_trader, row):
    face, _, said, after = split_row(row)
    tool, argument, more = SAVES[face]
    content = after.split(" || ")[-1]

    result = Toolbox(as_trader, face, said).call(tool, **{argument: content, **more})

    assert (result["memoryEvent"]["kind"], list_current()) == ("save", {normal_form(content)})


@pytest.mark.parametrize("row", SETS["seeds: places"])
def test_place_of_a_seed_is_kept_by_rules(as_trader, row):
    said, _, place = row.partition(" => ")

    tell(as_trader, "companion", said)

    assert [(one.place_id, one.name, one.notes) for one in Place.objects.all()] == [tuple(place.split(", ", 2))]


@pytest.mark.parametrize(
    ("said", "place_id"),
    [
        ("My office is at 9 King Street", "office"),
        ("My favourite restaurant is the one at the harbour", "favourite-restaurant"),
        ("Gym: 12 Park Lane", "gym"),
        ("My home address is 5 Hill Road, Porto.", "home"),
        ("My home is my castle", None),
        ("I work at night", None),
        ("My work is stressful", None),
        ("My favourite exchange is Kraken", None),
        ("Home office is where I trade", None),
    ],
)
def test_place_is_read_from_a_sentence_that_says_where(said, place_id):
    request = read_place(said)

    assert (request and request.arguments["place_id"]) == place_id


@pytest.mark.parametrize("row", SETS["seeds: asked"])
def test_question_of_a_seed_is_looked_up_and_not_kept(as_trader, row):
    face, said, tools = split_row(row)

    chat, told = tell(as_trader, face, said)

    called = {name for name, _ in chat.calls} or {"-"}
    assert not called.isdisjoint(tools.split(" | ")), (called, told)
    assert (list_current(), Place.objects.exists()) == (set(), False)


@pytest.mark.parametrize("said", SETS["seeds: commands"])
def test_command_is_no_statement(said):
    assert read_statements(said) == []
