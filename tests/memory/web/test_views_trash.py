from datetime import timedelta

import pytest
from django.utils import timezone

from memory.facts.services import archive_fact, delete_fact, forget_fact
from memory.models import UserFact
from tests.memory.browsing import FACTS, act, into, open_menu, slot, text_of
from tests.owners import as_owner

TRASH = f"{FACTS}?show=trash"


@pytest.fixture
def throw_away(trader, know):
    """A function by which the trader deletes a fact, some days ago."""

    def delete(content: str = "trades BTC only", *, days_ago: int = 0) -> UserFact:
        fact = know(content, days_ago=days_ago + 1)
        now = timezone.now() - timedelta(days=days_ago)
        return as_owner(trader, lambda: delete_fact(fact_id=fact.pk, now=now).fact)

    return delete


def test_delete_puts_a_fact_into_the_trash_with_undo_in_its_place(client, know, last):
    fact = know()

    response = client.post(act("delete", fact), headers=into(slot(fact)))

    assert last(fact).trashed_at is not None
    assert "Memory deleted “trades BTC only”" in text_of(response)
    assert 'id="count-trashed" hx-swap-oob="innerHTML">1<' in response.content.decode()
    assert 'id="count-archived" hx-swap-oob="innerHTML">0<' in response.content.decode()


@pytest.mark.parametrize(
    ("days_ago", "left"), [(0, "in 30 days"), (29, "in 1 day"), (40, "in 0 days")], ids=["today", "soon", "overdue"]
)
def test_the_trash_says_how_long_it_keeps_a_fact(client, throw_away, days_ago, left):
    throw_away(days_ago=days_ago)

    words = text_of(client.get(TRASH))

    assert f"Gone for good {left}" in words
    assert "Trash 1" in words
    assert "Archived 0" in words


def test_a_fact_in_the_trash_can_be_restored_or_erased_and_nothing_else(client, throw_away):
    fact = throw_away()

    for answer in (open_menu(client, fact, at=TRASH), client.get(act("fact", fact))):
        body = answer.content.decode()
        assert f"{act('fact', fact)}restore/" in body
        assert f"{act('fact', fact)}erase/" in body
        for verb in ("delete", "archive", "promote", "demote"):
            assert f"{act('fact', fact)}{verb}/" not in body


def test_what_was_forgotten_lately_is_listed_with_restore(client, trader, know, throw_away, last):
    forgotten, old = know("forgotten in a chat", days_ago=50), know("archived long ago", days_ago=50)
    now = timezone.now()
    as_owner(trader, lambda: forget_fact(id_or_substring=str(forgotten.pk), now=now))
    as_owner(trader, lambda: archive_fact(fact_id=old.pk, now=now - timedelta(days=31)))
    throw_away("deleted by hand")

    response = client.get(FACTS)

    words = text_of(response).partition("Recently forgotten")[2]
    assert "forgotten in a chat Forgotten in a chat" in words
    assert "archived long ago" not in words
    assert "deleted by hand" not in words
    client.post(act("restore", forgotten), headers=into(slot(forgotten)))
    assert not last(forgotten).is_archived
    assert "Recently forgotten" not in text_of(client.get(FACTS))


@pytest.mark.parametrize("query", ["?q=trades", "?show=archived", "?page=2"])
def test_what_was_forgotten_lately_stands_below_the_whole_list_alone(client, trader, know, query):
    fact = know()
    as_owner(trader, lambda: archive_fact(fact_id=fact.pk, now=timezone.now()))

    assert "Recently forgotten" not in text_of(client.get(FACTS + query))
