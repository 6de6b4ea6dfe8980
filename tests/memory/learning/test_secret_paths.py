"""Secrets are refused on every write path."""

import json
from contextlib import suppress
from contextvars import Context
from uuid import uuid4

import pytest

from memory.facts.places import add_place
from memory.facts.review import propose_fact
from memory.facts.services import link_facts, remember_fact, supersede_fact
from memory.facts.versions import Origin
from memory.learning.writes import learn_fact
from memory.models import UserFact
from memory.transfer.documents import import_document, parse_document
from memory.transfer.lists import import_list, parse_list
from memory.wording import FactRefused
from tests.factories.memory import JUNE, MAY, UserFactFactory
from tests.strangers import dump

SECRET = "hunter2"
WORDS = f"password is {SECRET}"
QUOTED = Origin(quotes=({"message_id": 1, "start": 0, "end": 4},))


def remember(**values):
    return remember_fact(**{"content": "Trades gold only", "now": JUNE, **values})


def supersede(**values):
    return supersede_fact(
        fact_id=UserFact.objects.get(content="Funds only").pk, content="Bonds only", **values, now=JUNE
    )


def learn(**values):
    given = {"content": "Trades gold only", "topic": "", "category": None, "score": 0.9, "said_at": {1: MAY}}
    return learn_fact(**{**given, **values}, origin=QUOTED, now=JUNE)


def propose(**values):
    return propose_fact(
        **{"kind": "import", "content": "Trades gold only", "why": "", **values}, origin=Origin(), now=JUNE
    )


def place(**values):
    return add_place(**{"place_id": "home", "name": "Home", "now": JUNE, **values})


def bring(facts: list[dict], places: list[dict]):
    counts = {"total_facts": 0, "total_active_facts": 0, "total_pois": 0, "token_count": 0}
    time = {"added_at": "2026-05-01T12:00:00Z"}
    document = {
        "facts": [{"id": str(uuid4()), **time, **fact} for fact in facts],
        "placer_user_datapoints": [{**time, **row} for row in places],
        "metadata": {"last_updated": "2026-05-01T12:00:00Z", **counts},
    }
    return import_document(parse_document(json.dumps(document)), now=JUNE)


REFUSING = {
    "saved content": lambda: remember(content=f"My {WORDS}"),
    "saved topic": lambda: remember(topic=WORDS),
    "saved detail": lambda: remember(detail=f"At length:\nmy {WORDS}"),
    "detail over a line break": lambda: remember(detail=f"My password\nis {SECRET}"),
    "detail of known words": lambda: remember(content="Funds only", detail=WORDS),
    "corrected content": lambda: supersede_fact(fact_id=UserFact.objects.get().pk, content=f"My {WORDS}", now=JUNE),
    "corrected topic": lambda: supersede(topic=WORDS),
    "corrected summary": lambda: supersede(summary=WORDS),
    "corrected detail": lambda: supersede(detail=WORDS),
    "relation": lambda: link_facts(from_id="Funds only", to_id=str(UserFactFactory().pk), relation=WORDS, now=JUNE),
    "learned content": lambda: learn(content=f"My {WORDS}"),
    "learned topic": lambda: learn(topic=WORDS),
    "proposed content": lambda: propose(content=f"My {WORDS}"),
    "proposed topic": lambda: propose(topic=WORDS),
    "place id": lambda: place(place_id=WORDS),
    "place name": lambda: place(name=WORDS),
    "place notes": lambda: place(notes=WORDS),
}
LEAVING_OUT = {
    "imported fact": lambda: bring([{"content": f"My {WORDS}"}], []),
    "imported ended fact": lambda: bring([{"content": f"My {WORDS}", "is_active": False}], []),
    "imported place id": lambda: bring([], [{"place_id": WORDS, "place_name": "Home"}]),
    "imported place name": lambda: bring([], [{"place_id": "home", "place_name": WORDS}]),
    "imported notes": lambda: bring([], [{"place_id": "home", "place_name": "Home", "notes": WORDS}]),
    "listed line": lambda: import_list(parse_list(f"- My {WORDS}"), now=JUNE),
}


@pytest.fixture(autouse=True)
def _one_fact(as_trader):
    UserFactFactory(content="Funds only")


@pytest.mark.parametrize("path", REFUSING)
def test_secret_is_refused_with_a_message_that_says_so(path):
    with pytest.raises(FactRefused, match="never keeps those"):
        REFUSING[path]()


@pytest.mark.parametrize("path", LEAVING_OUT)
def test_secret_is_left_out_of_an_import_that_says_so(path):
    done = LEAVING_OUT[path]()

    assert (done.added, len(done.refused)) == (0, 1)
    assert "never keeps those" in done.refused[0]


@pytest.mark.parametrize("path", [*REFUSING, *LEAVING_OUT])
def test_no_row_of_any_table_holds_a_refused_secret(trader, path):
    with suppress(FactRefused):
        (REFUSING | LEAVING_OUT)[path]()

    assert SECRET not in str(Context().run(dump, trader))
