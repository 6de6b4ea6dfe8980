import re
from uuid import uuid4

import pytest
from django.utils import timezone

from memory.facts.services import archive_fact, confirm_fact, supersede_fact
from memory.models import UserFact
from memory.web.views.facts import MOST_AT_ONCE
from tests.memory.browsing import FACTS, act, into, is_page, text_of
from tests.owners import as_owner

BULK = f"{FACTS}bulk/"


def ids(*facts: UserFact) -> list[str]:
    return [str(fact.pk) for fact in facts]


def undo_address(response) -> str:
    return re.search(r"/profile/facts/batches/[^/]+/undo/", response.content.decode())[0]


@pytest.mark.parametrize(
    ("verb", "said", "after"),
    [
        ("promote", "2 facts marked as said by you", ("asserted", False, False)),
        ("archive", "2 facts archived", ("inferred", True, False)),
        ("delete", "2 facts moved to the trash", ("inferred", True, True)),
    ],
)
def test_one_act_on_many_facts_is_undone_at_once(client, know, last, verb, said, after):
    facts = [know("trades BTC only"), know("wants short answers")]
    untouched = know("risks 1%")

    response = client.post(BULK, {"act": verb, "fact": ids(*facts), "next": FACTS}, follow=True)

    for fact in facts:
        now = last(fact)
        assert (now.confidence, now.is_archived, now.trashed_at is not None) == after
    assert said in text_of(response)
    assert response.redirect_chain[0][0].startswith(f"{FACTS}?batch=")
    assert last(untouched).pk == untouched.pk
    undone = client.post(undo_address(response), {"next": FACTS}, follow=True)
    assert f"Undone: {said}" in text_of(undone)
    for fact in facts:
        now = last(fact)
        assert (now.confidence, now.is_archived, now.trashed_at) == ("inferred", False, None)


def test_htmx_gets_the_list_as_it_was_asked_for_with_the_undo_line(client, know):
    fact = know("trades BTC only")
    know("trades ETH")

    response = client.post(
        BULK,
        {"act": "archive", "fact": ids(fact)},
        headers=into("results", at=f"{FACTS}?q=trades&select=all&event={uuid4()}"),
    )

    assert not is_page(response)
    assert "1 fact archived" in text_of(response)
    assert "1 fact fits" in text_of(response)
    assert "checked" not in response.content.decode().partition("facts__group")[2]


def test_facts_changed_since_are_skipped_and_reported(client, trader, know, last):
    changed, fine = know("max 5x"), know("trades BTC only")
    as_owner(trader, lambda: supersede_fact(fact_id=changed.pk, content="max 4x", now=timezone.now()))

    response = client.post(BULK, {"act": "archive", "fact": [*ids(changed, fine), str(uuid4())]}, follow=True)

    assert (last(changed).content, last(changed).is_archived) == ("max 4x", False)
    assert last(fine).is_archived
    assert "2 changed since and were left alone" in text_of(response)
    assert "1 fact archived" in text_of(response)


@pytest.mark.parametrize("data", [{}, {"act": "archive"}, {"act": "archive", "fact": "x"}, {"act": "erase"}])
def test_nothing_is_done_without_a_selection_and_an_act(client, know, last, data):
    fact = know()
    if data.get("act") == "erase":
        data = {**data, "fact": ids(fact)}

    page, piece = client.post(BULK, data), client.post(BULK, data, headers=into("results"))

    assert (page.status_code, piece.status_code) == (422, 422)
    assert (is_page(page), is_page(piece)) == (True, False)
    assert "Select at least one fact" in text_of(page)
    assert last(fact).pk == fact.pk
    assert not last(fact).is_archived


@pytest.mark.limit("memory.web.views.facts.MOST_AT_ONCE")
def test_no_more_than_500_are_done_at_once(client, trader, know):
    facts = [know(f"fact number {number}") for number in range(3)]
    padding = [str(uuid4()) for _ in range(MOST_AT_ONCE - 1)]

    client.post(BULK, {"act": "archive", "fact": [*padding, *ids(*facts)]})

    assert as_owner(trader, lambda: UserFact.objects.believed().count()) == 2


def test_undo_of_all_is_refused_whole_when_one_was_changed_since(client, trader, know, last):
    facts = [know("trades BTC only"), know("wants short answers")]
    done = client.post(BULK, {"act": "promote", "fact": ids(*facts)}, follow=True)
    as_owner(trader, lambda: supersede_fact(fact_id=last(facts[0]).pk, content="trades ETH", now=timezone.now()))

    page = client.post(undo_address(done), {"next": FACTS}, follow=True)
    piece = client.post(undo_address(done), headers=into("results"))

    assert "Nothing was undone" in text_of(page)
    assert piece.status_code == 409
    assert "undo the later change first" in text_of(piece)
    assert (last(facts[0]).content, last(facts[1]).confidence) == ("trades ETH", "asserted")


def test_all_on_the_page_can_be_selected_without_scripts(client, know):
    know("trades BTC only")
    know("wants short answers")

    none, every = client.get(FACTS).content.decode(), client.get(FACTS, {"select": "all"}).content.decode()

    assert (none.count('form="bulk"'), none.count("checked>")) == (2, 0)
    assert every.count("checked>") == 2
    assert f'href="{FACTS}?select=all"' in none


@pytest.mark.parametrize(
    ("query", "offered"),
    [
        ("", {"promote", "demote", "archive", "delete"}),
        ("?show=archived", {"restore", "delete"}),
        ("?show=trash", {"restore"}),
    ],
)
def test_each_shelf_offers_what_can_be_done_there(client, trader, know, query, offered):
    facts = [know("is held"), know("is archived"), know("is deleted")]
    as_owner(trader, lambda: archive_fact(fact_id=facts[1].pk, now=timezone.now()))
    client.post(act("delete", facts[2]))

    body = client.get(FACTS + query).content.decode()

    assert set(re.findall(r'name="act" value="(\w+)"', body)) == offered


def test_facts_are_grouped_by_category_or_not(client, trader, know):
    know("wants short answers", topic="style")
    know("risks 1%", topic="risk")
    know("works in Lisbon")
    as_owner(trader, lambda: confirm_fact(fact_id=UserFact.objects.get(topic="risk").pk, now=timezone.now()))

    grouped, flat = text_of(client.get(FACTS)), text_of(client.get(FACTS, {"group": "none"}))

    headings = ("Profile 1", "Response style 1", "Facts 1")
    assert sorted(headings, key=grouped.index) == list(headings)
    assert not any(heading in flat for heading in headings)
