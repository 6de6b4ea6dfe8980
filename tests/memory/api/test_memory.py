"""The undo log, block, document and switches over REST."""

import pytest

from config.lib.llm.tokens import count_tokens
from memory.facts.queries import get_next_block
from memory.facts.services import archive_fact
from memory.models import EventKind, UserFact
from tests.factories.memory import JUNE, MAY
from tests.owners import as_owner

pytestmark = pytest.mark.django_db


def contents(page):
    return [item["content"] for item in page["items"]]


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
