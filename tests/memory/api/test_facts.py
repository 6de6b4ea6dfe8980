"""Facts over REST."""

import json
from datetime import timedelta
from uuid import uuid4

import pytest

from config.lib.rest.problems import PROBLEM_JSON
from memory.facts.services import archive_fact, delete_fact, remember_fact, supersede_fact
from memory.models import MemoryEvent
from tests.factories.memory import MAY, UserFactFactory
from tests.memory.browsing import contents
from tests.owners import as_owner

pytestmark = pytest.mark.django_db


def test_a_fact_is_added_said_outright_and_once(api, trader):
    made = api(
        "post", "facts/", {"content": "Risks 1% per trade", "topic": "risk", "detail": "Since 2019."}, status=201
    )

    assert (
        made["fact"] | {"content": "Risks 1% per trade", "confidence": "asserted", "source": "profile"} == made["fact"]
    )
    assert (made["fact"]["category"], made["fact"]["body"], made["fact"]["score"]) == ("profile", "Since 2019.", None)
    again = api("post", "facts/", {"content": "risks 1% per trade."}, status=200)
    assert (again["fact"]["id"], again["event_id"]) == (made["fact"]["id"], None)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"content": "My password is hunter2"}, "Keel never keeps those"),
        ({"content": "Never trades alts", "user": 2}, "not known here"),
        ({"content": "Never trades alts", "category": "secrets"}, "not a valid choice"),
    ],
)
def test_what_may_not_be_saved_is_refused_in_words(api, body, says):
    assert says in json.dumps(api("post", "facts/", body, status=422))


@pytest.mark.parametrize(
    ("state", "expected"),
    [("current", ["Holds"]), ("believed", ["Holds", "Over"]), ("archived", ["Archived"]), ("trash", ["Deleted"])],
)
def test_facts_are_listed_by_state(api, trader, state, expected):
    def make():
        UserFactFactory(content="Holds")
        UserFactFactory(content="Over", ended=True)
        archive_fact(fact_id=UserFactFactory(content="Archived").pk, now=MAY)
        delete_fact(fact_id=UserFactFactory(content="Deleted").pk, now=MAY)

    as_owner(trader, make)

    assert sorted(contents(api("get", "facts/", state=state))) == expected


def test_facts_are_filtered_and_paged(api, trader):
    def make():
        for number in range(5):
            UserFactFactory(content=f"Gold rule {number}", topic="risk", created_at=MAY + timedelta(minutes=number))
        UserFactFactory(content="Silver", topic="goal", inferred=True)

    as_owner(trader, make)

    first = api("get", "facts/", q="gold rule", limit=3)
    rest = api("get", "facts/", q="gold rule", limit=3, cursor=first["next_cursor"])
    assert contents(first) + contents(rest) == [f"Gold rule {number}" for number in (4, 3, 2, 1, 0)]
    assert rest["next_cursor"] == ""
    assert contents(api("get", "facts/", confidence="inferred")) == ["Silver"]
    assert contents(api("get", "facts/", topic="goal")) == ["Silver"]


def test_facts_are_listed_as_of_then_on_both_axes(api, trader):
    noon, later = MAY, MAY + timedelta(days=10)

    def make():
        fact = remember_fact(content="Max leverage 5x", now=noon).fact
        supersede_fact(fact_id=fact.pk, content="Max leverage 3x", now=later)

    as_owner(trader, make)
    day = timedelta(days=1)

    def as_of(**instants):
        return contents(api("get", "facts/", **{name: moment.isoformat() for name, moment in instants.items()}))

    assert as_of(valid_at=noon + day) == ["Max leverage 5x"]
    assert as_of(valid_at=later + day) == ["Max leverage 3x"]
    assert as_of(known_at=noon + day) == ["Max leverage 5x"]
    assert as_of(valid_at=noon - day) == []


def test_a_fact_is_changed_by_superseding_it(api, fact, trader):
    changed = api("patch", f"facts/{fact.pk}/", {"content": "Trades BTC only", "detail": "And that's it."})

    assert (changed["fact"]["supersedes"], changed["fact"]["topic"]) == (str(fact.pk), "symbols")
    assert changed["fact"]["body"] == "And that's it."
    assert api("get", f"facts/{fact.pk}/")["content"] == "Trades BTC only"
    history = api("get", f"facts/{fact.pk}/history/")["versions"]
    assert [version["content"] for version in history] == ["Never trades alts", "Trades BTC only"]
    stale = api("patch", f"facts/{fact.pk}/", {"content": "Trades ETH only"}, status=409)
    assert stale["code"] == "fact_changed"


@pytest.mark.parametrize("act", ["confirm", "demote", "archive", "delete"])
def test_acts_on_a_fact_can_be_undone(api, fact, trader, act):
    done = api("delete", f"facts/{fact.pk}/") if act == "delete" else api("post", f"facts/{fact.pk}/{act}/", {})

    event = as_owner(trader, lambda: MemoryEvent.objects.get(pk=done["event_id"]))
    assert event.kind == act
    assert api("post", f"memory/events/{event.pk}/undo/", {})["undone_at"] is not None
    newest = api("get", f"facts/{fact.pk}/")
    assert (newest["archived_at"], newest["confidence"], newest["last_confirmed_at"]) == (None, "asserted", None)


def test_recall_finds_what_no_prompt_carries(api, trader):
    as_owner(trader, lambda: UserFactFactory(content="May like tin", learned=True, score=0.4))

    found = api("get", "facts/recall/", query="tin")

    assert (found["total"], found["truncated"]) == (1, False)
    [row] = found["rows"]
    assert (row["fact"]["content"], row["origin"], row["score"]) == ("May like tin", "inferred", 0.4)


@pytest.mark.parametrize(
    ("method", "address"),
    [
        ("get", "facts/{id}/"),
        ("post", "facts/{id}/archive/"),
        ("post", "memory/events/{id}/undo/"),
        ("delete", "places/{id}/"),
    ],
)
def test_what_is_not_there_is_a_404_in_words(client, api, method, address):
    problem = api(method, address.format(id=uuid4()), {} if method != "get" else None, status=404)

    assert problem["title"] == "Not Found"
    assert problem["detail"].startswith("There is no")
    response = getattr(client, method)(f"/api/{address.format(id=uuid4())}")
    assert response["Content-Type"] == PROBLEM_JSON


def test_a_fact_is_added_and_changed_with_its_dates(api):
    dates = {"valid_from": "2026-01-01T00:00:00Z", "valid_until": "2099-01-01T00:00:00Z"}
    made = api("post", "facts/", {"content": "Trades half size", **dates}, status=201)["fact"]

    assert {name: made[name] for name in dates} == dates
    ended = api("patch", f"facts/{made['id']}/", {"valid_until": None})["fact"]
    assert (ended["valid_until"], ended["content"]) == (None, "Trades half size")
    over = {"content": "Trades gold", "valid_until": "2020-01-01T00:00:00Z"}
    assert "end after it begins" in json.dumps(api("post", "facts/", over, status=422))
