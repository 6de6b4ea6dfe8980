import re

import pytest
from django.urls import reverse
from django.utils import timezone

from memory.facts.services import archive_fact, remember_fact, supersede_fact
from memory.facts.versions import FactWrite
from tests.memory.browsing import FACTS, SECRET, act, into, is_page, slot, text_of
from tests.owners import as_owner


def test_archive_leaves_the_undo_line_in_the_place_of_the_fact(client, know, last):
    fact = know()

    response = client.post(act("archive", fact), headers=into(slot(fact)))

    assert last(fact).is_archived
    assert "<article" not in response.content.decode()
    assert "Memory archived “trades BTC only”" in text_of(response)
    assert 'id="count-archived" hx-swap-oob="innerHTML">1<' in response.content.decode()


def test_an_act_that_changes_nothing_says_so(client, know):
    fact = know(confidence="asserted")

    piece = client.post(act("promote", fact), headers=into(slot(fact)))
    page = client.post(act("promote", fact), {"next": FACTS}, follow=True)

    assert "Nothing changed" in text_of(piece)
    assert "Undo" not in text_of(piece)
    assert "Nothing changed" in text_of(page)


def test_edit_supersedes_and_shows_the_new_version_in_its_place(client, know, last):
    fact = know("max 5x", topic="risk")

    data = {"content": "max 3x", "topic": "", "category": "fact"}
    response = client.post(act("edit", fact), data, headers=into(slot(fact)))

    new = last(fact)
    assert (new.content, new.topic, new.category) == ("max 3x", "", "fact")
    assert (new.confidence, new.source) == ("asserted", "profile")
    assert f'id="slot-{new.pk}"' in response.content.decode()
    assert "Memory updated" in text_of(response)
    assert re.search(r"<article[^>]*autofocus", response.content.decode())


@pytest.mark.parametrize("content", ["abc", "", SECRET])
def test_edit_refuses_and_keeps_what_was_typed(client, know, last, content):
    fact = know()
    data = {"content": content, "topic": "goal", "category": "fact"}

    page = client.post(act("edit", fact), data)
    piece = client.post(act("edit", fact), data, headers=into(slot(fact)))
    part = client.post(act("edit", fact), data, headers=into("fact-page"))

    assert last(fact).pk == fact.pk
    assert (is_page(page), is_page(piece), is_page(part)) == (True, False, False)
    for response in (page, piece, part):
        assert response.status_code == 422
        assert f"{content}</textarea>" in response.content.decode()
        assert "field__error" in response.content.decode()


def test_edit_of_a_fact_that_changed_since_loses_nothing_and_can_be_saved_again(client, trader, know, last):
    fact = know("max 5x")
    as_owner(trader, lambda: supersede_fact(fact_id=fact.pk, content="max 4x", now=timezone.now()))
    data = {"content": "max 3x", "topic": "", "category": "fact"}

    refused = client.post(act("edit", fact), data, headers=into(slot(fact)))
    again = re.search(r'hx-post="([^"]+/edit/)"', refused.content.decode())[1]

    assert refused.status_code == 409
    assert "It now reads: “max 4x”" in text_of(refused)
    assert "max 3x</textarea>" in refused.content.decode()
    assert client.post(again, data, headers=into(slot(fact))).status_code == 200
    assert last(fact).content == "max 3x"


def test_edit_of_a_fact_archived_since_keeps_the_words(client, trader, know):
    fact = know("max 5x")
    as_owner(trader, lambda: archive_fact(fact_id=fact.pk, now=timezone.now()))

    page = client.post(act("edit", fact), {"content": "max 3x", "topic": "", "category": "fact"})

    assert page.status_code == 409
    assert "Restore it first" in text_of(page)
    assert "max 3x</textarea>" in page.content.decode()


@pytest.mark.parametrize("target", ["", "slot-", "fact-page"], ids=["page", "list", "piece of the page"])
@pytest.mark.parametrize("verb", ["promote", "demote", "confirm", "archive"])
def test_an_act_on_an_older_version_is_refused_and_shows_the_last(client, trader, know, verb, target):
    fact = know("max 5x")
    as_owner(trader, lambda: supersede_fact(fact_id=fact.pk, content="max 4x", now=timezone.now()))

    response = client.post(act(verb, fact), headers=into(target) if target else {})

    assert response.status_code == 409
    assert "fact has changed" in text_of(response)
    assert "max 4x" in text_of(response)
    assert is_page(response) is (not target)


@pytest.fixture
def saved(trader) -> FactWrite:
    """A fact of the trader, just saved."""
    return as_owner(trader, lambda: remember_fact(content="trades BTC only", now=timezone.now()))


@pytest.mark.parametrize(
    ("headers", "data"),
    [
        pytest.param(into("memory-1", at="/chat/"), {}, id="by the element"),
        pytest.param(into("", at="/chat/"), {"surface": "chat"}, id="by the field"),
    ],
)
def test_undo_from_a_chat_answers_with_the_line_marked(client, saved, last, headers, data):
    response = client.post(act("undo", saved.event), data, headers=headers)

    assert last(saved.fact).archived_reason == "undone"
    assert f'class="memory-line memory-line--undone" id="memory-{saved.event.pk}"' in response.content.decode()
    assert "Undone: Memory saved" in text_of(response)
    assert "<form" not in response.content.decode()


def test_event_shows_the_difference_in_place_and_without_script_leads_to_the_fact(client, trader, saved):
    changed = as_owner(
        trader,
        lambda: supersede_fact(fact_id=saved.fact.pk, content="trades ETH only", topic="symbols", now=timezone.now()),
    )
    address = reverse("memory:event", args=[changed.event.pk])

    response = client.get(address, headers=into("memory-1"))

    assert "trades removed: BTC added: ETH only Topic: was none now symbols" in text_of(response)
    assert not is_page(response)
    assert client.get(address, follow=True).redirect_chain[-1][0] == reverse("memory:fact", args=[changed.fact.pk])


def test_undo_refused_says_why_in_the_line_of_a_chat_and_shows_the_fact_as_it_is_elsewhere(client, trader, saved, last):
    as_owner(trader, lambda: supersede_fact(fact_id=saved.fact.pk, content="trades ETH", now=timezone.now()))

    line = client.post(act("undo", saved.event), headers=into("memory-1"))
    page = client.post(act("undo", saved.event))
    piece = client.post(act("undo", saved.event), headers=into(slot(saved.fact)))

    assert f'class="memory-line" id="memory-{saved.event.pk}"' in line.content.decode()
    for response in (line, page, piece):
        assert response.status_code == 409
        assert "undo the later change first" in text_of(response)
        assert ("trades ETH" in text_of(response)) is (response is not line)
    assert last(saved.fact).content == "trades ETH"
