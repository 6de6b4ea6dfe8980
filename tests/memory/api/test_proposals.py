"""Proposals over REST."""

import pytest

from memory.facts.review import propose_fact
from memory.facts.versions import PAGE
from memory.models import MemoryProposal, ProposalKind
from tests.factories.memory import JUNE, MAY
from tests.owners import as_owner

pytestmark = pytest.mark.django_db


def contents(page):
    return [item["content"] for item in page["items"]]


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
