import pytest
from django.urls import reverse
from django.utils import timezone

from memory.facts.services import link_facts
from memory.models import FactLink, MemoryEvent
from tests.memory.browsing import act, into, is_page, text_of
from tests.owners import as_owner


@pytest.fixture
def pair(know):
    """Two facts of the trader."""
    return know("risks 1% per trade"), know("lost 12% in March")


@pytest.fixture
def link(trader, pair) -> FactLink:
    """A link from the first to the second."""
    ends = {"from_id": str(pair[0].pk), "to_id": str(pair[1].pk)}
    as_owner(trader, lambda: link_facts(**ends, relation="because_of", now=timezone.now()))
    return as_owner(trader, FactLink.objects.get)


def unlink(fact, link_id) -> str:
    return reverse("memory:unlink", args=[fact.pk, link_id])


@pytest.mark.parametrize("by", ["words", "id"])
def test_link_relates_a_fact_to_the_one_that_is_named(client, trader, pair, by):
    one, other = pair
    to = "lost 12%" if by == "words" else str(other.pk)

    response = client.post(act("link", one), {"relation": "because_of", "to": to}, follow=True)

    link = as_owner(trader, FactLink.objects.get)
    assert (link.from_fact_id, link.to_fact_id, link.relation) == (one.pk, other.pk, "because_of")
    assert "Memories linked" in text_of(response)
    assert "because_of lost 12% in March" in text_of(response)


def test_words_that_fit_several_facts_are_asked_about_and_kept(client, trader, know, pair):
    one, other = pair
    know("lost 12% in May")
    data = {"relation": "because_of", "to": "lost 12%"}

    asked = client.post(act("link", one), data, headers=into("fact-page"))

    assert asked.status_code == 422
    assert not is_page(asked)
    assert "Pick the one you mean" in text_of(asked)
    assert 'value="lost 12%"' in asked.content.decode()
    assert f'name="pick" value="{other.pk}"' in asked.content.decode()
    client.post(act("link", one), {**data, "pick": str(other.pk)}, headers=into("fact-page"))
    assert as_owner(trader, FactLink.objects.get).to_fact_id == other.pk


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"relation": "because_of", "to": "zebra"}, "No current fact has these words"),
        ({"relation": "", "to": "lost"}, "Say how they relate"),
        ({"relation": "because_of", "to": ""}, "Name the other fact"),
        ({"relation": "because_of", "to": "risks 1%"}, "cannot be linked to itself"),
        ({"relation": "password is hunter2", "to": "lost"}, "Keel never keeps those"),
    ],
)
def test_link_refuses_and_keeps_what_was_typed(client, trader, pair, data, words):
    page, piece = (
        client.post(act("link", pair[0]), data),
        client.post(act("link", pair[0]), data, headers=into("fact-")),
    )

    for response in (page, piece):
        assert response.status_code == 422
        assert words in text_of(response)
    assert f'value="{data["to"]}"' in page.content.decode() or not data["to"]
    assert not as_owner(trader, FactLink.objects.exists)


@pytest.mark.parametrize("end", [0, 1], ids=["from", "to"])
def test_remove_takes_the_link_away_and_undo_brings_it_back_on_the_same_page(client, trader, pair, link, end):
    page = into("fact-page", at=act("fact", pair[end]))

    removed = client.post(unlink(pair[end], link.pk), headers=page)
    event = as_owner(trader, lambda: MemoryEvent.objects.get(kind="unlink"))
    undone = client.post(act("undo", event), {"of": str(pair[end].pk)}, headers=page)

    assert "Linked to no other fact" in text_of(removed)
    assert pair[end].content in text_of(removed)
    assert pair[1 - end].content in text_of(undone).partition("Linked facts")[2]
    assert undone["HX-Replace-Url"] == act("fact", pair[end])
