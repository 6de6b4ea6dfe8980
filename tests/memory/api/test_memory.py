"""The undo log, block, document, switches, proposals and places over REST."""

import pytest

from config.lib.llm.tokens import count_tokens
from memory.facts.queries import get_next_block
from memory.facts.review import propose_fact
from memory.facts.services import archive_fact
from memory.facts.versions import PAGE
from memory.models import EventKind, MemoryProposal, Place, ProposalKind, UserFact
from tests.factories.memory import JUNE, MAY
from tests.memory.browsing import contents
from tests.owners import as_owner

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("assistant", ["coach", "advisor", "companion"])
def test_block_is_what_the_next_chat_starts_with_and_reading_it_notes_nothing(api, fact, trader, assistant):
    block = api("get", "memory/block/", assistant=assistant)

    expected = as_owner(trader, lambda: get_next_block(assistant=assistant, now=JUNE))
    assert (block["text"], block["sha256"], block["fact_ids"]) == (expected.text, expected.sha256, [str(fact.pk)])
    assert block["tokens"] == count_tokens(expected.text)
    assert as_owner(trader, lambda: UserFact.objects.get(pk=fact.pk)).last_referenced_at == MAY


def test_block_is_empty_while_facts_are_not_to_be_used(api, fact):
    assert api("patch", "memory/switches/", {"uses_facts": False}) == {"uses_facts": False, "learns": True}

    assert api("get", "memory/block/")["text"] == ""
    assert api("get", "memory/switches/") == {"uses_facts": False, "learns": True}


def test_document_goes_out_and_comes_in_as_one_batch(api, fact, trader):
    document = api("get", "memory/document/")
    document["facts"].append({"id": "a", "content": "Likes gold", "added_at": "2026-05-01T12:00:00Z"})

    done = api("post", "memory/document/", document)

    assert (done["added"], done["known"], done["refused"]) == (1, 1, [])
    assert "Likes gold" in contents(api("get", "facts/"))
    undone = api("post", f"memory/batches/{done['batch_id']}/undo/", {})
    assert [event["kind"] for event in undone["events"]] == ["import"]
    assert contents(api("get", "facts/")) == ["Never trades alts"]


@pytest.mark.parametrize(
    "body", [{}, {"facts": []}, {"facts": [{}], "placer_user_datapoints": [], "metadata": {}}, [], "text"], ids=repr
)
def test_what_is_no_document_is_refused(api, body):
    assert api("post", "memory/document/", body, status=422)["status"] == 422


def test_events_are_listed_the_newest_first(api, fact, trader):
    as_owner(trader, lambda: archive_fact(fact_id=fact.pk, now=JUNE))

    [event] = api("get", "memory/events/")["items"]

    assert (event["kind"], event["before"], event["undone_at"]) == (EventKind.ARCHIVE, str(fact.pk), None)


def test_a_list_is_proposed_and_accepted_and_taken_back(api, trader):
    done = api("post", "memory/list/", {"text": "- Likes gold\n- Lives in Seattle"})

    assert (done["added"], done["batch_id"]) == (2, None)
    assert contents(api("get", "facts/")) == []
    proposal = next(item for item in api("get", "proposals/")["items"] if item["payload"]["content"] == "I like gold")
    accepted = api("post", f"proposals/{proposal['id']}/accept/", {})
    assert accepted["status"] == "accepted"
    assert contents(api("get", "facts/")) == ["I like gold"]
    assert api("post", f"proposals/{proposal['id']}/accept/", {}, status=409)["code"] == "proposal_decided"
    assert api("post", f"proposals/{proposal['id']}/reopen/", {})["status"] == "pending"
    assert contents(api("get", "facts/")) == []


def test_a_proposal_is_dismissed(api, trader):
    def make():
        return propose_fact(kind=ProposalKind.CONFLICT, content="Likes tin", why="", origin=PAGE, now=MAY)

    proposal = as_owner(trader, make)

    assert api("post", f"proposals/{proposal.pk}/dismiss/", {})["status"] == "dismissed"
    assert api("get", "proposals/")["items"] == []
    assert [item["id"] for item in api("get", "proposals/?status=dismissed")["items"]] == [str(proposal.pk)]
    assert as_owner(trader, lambda: MemoryProposal.objects.get().decided_at) == JUNE


def test_places_are_saved_listed_removed_and_brought_back(api, trader):
    made = api("post", "places/", {"place_id": "home", "name": "Home", "notes": "123 Main St"}, status=201)
    api("post", "places/", {"place_id": "home", "name": "Home"}, status=200)

    [place] = api("get", "places/")["places"]
    assert (place["id"], place["name"], place["notes"], place["conversations"]) == (
        made["id"],
        "Home",
        "123 Main St",
        0,
    )
    removed = api("delete", f"places/{made['id']}/")
    assert api("get", "places/")["places"] == []
    api("post", f"memory/events/{removed['event_id']}/undo/", {})
    assert as_owner(trader, lambda: Place.objects.get().removed_at) is None
