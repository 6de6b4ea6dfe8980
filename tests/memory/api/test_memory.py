"""The undo log, block, documents, lists and places over REST."""

import pytest

from config.lib.llm.tokens import count_tokens
from memory.facts.queries import get_next_block
from memory.facts.services import archive_fact, set_switches
from memory.models import MemoryProposal, Place, UserFact, WriteKind
from tests.factories.memory import JUNE, MAY
from tests.memory.browsing import contents
from tests.owners import as_owner, note_sign_in

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("assistant", ["coach", "advisor", "companion"])
def test_block_is_what_the_next_chat_starts_with_and_reading_it_notes_nothing(api, fact, trader, assistant):
    block = api("get", "memory/block/", assistant=assistant)

    expected = as_owner(trader, lambda: get_next_block(assistant=assistant, now=JUNE))
    assert (block["text"], block["sha256"], block["fact_ids"]) == (expected.text, expected.sha256, [str(fact.pk)])
    assert block["tokens"] == count_tokens(expected.text)
    assert as_owner(trader, lambda: UserFact.objects.get(pk=fact.pk)).last_referenced_at == MAY


def test_block_is_empty_while_facts_are_not_to_be_used(api, fact, trader):
    as_owner(trader, lambda: set_switches(uses_facts=False))

    assert api("get", "memory/block/")["text"] == ""


def test_document_goes_out_and_comes_in(api, fact, trader, client):
    note_sign_in(client, trader)
    document = api("get", "memory/document/")
    document["facts"].append({"id": "a", "content": "Likes gold", "added_at": "2026-05-01T12:00:00Z"})

    done = api("post", "memory/document/", document)

    assert (done["added"], done["known"], done["refused"]) == (1, 1, [])
    assert "Likes gold" in contents(api("get", "facts/"))
    for other in ({"facts": []}, "text"):
        assert api("post", "memory/document/", other, status=422)["status"] == 422


def test_events_are_listed_the_newest_first(api, fact, trader):
    as_owner(trader, lambda: archive_fact(fact_id=fact.pk, now=JUNE))

    [event] = api("get", "memory/events/")["items"]

    assert (event["kind"], event["before"], event["undone_at"]) == (WriteKind.ARCHIVE, str(fact.pk), None)


def test_a_list_is_proposed(api, trader):
    done = api("post", "memory/list/", {"text": "- Likes gold\n- Lives in Seattle"})

    assert (done["added"], done["batch_id"]) == (2, None)
    assert contents(api("get", "facts/")) == []
    proposed = as_owner(trader, lambda: {proposal.payload["content"] for proposal in MemoryProposal.objects.all()})
    assert "I like gold" in proposed


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
