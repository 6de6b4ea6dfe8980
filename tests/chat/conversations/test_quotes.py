"""A learned fact leads to the user's own words."""

import pytest
from django.urls import reverse

from tests.factories.chat import ConversationFactory, MessageFactory
from tests.factories.memory import UserFactFactory
from tests.memory.browsing import open_menu
from tests.owners import as_owner

pytestmark = pytest.mark.django_db
TYPED = "Hello. I never trade alts, by the way. What is new?"


@pytest.fixture
def learned(trader):
    """A fact learned from a message of the trader's, and that message."""

    def make():
        message = MessageFactory(conversation=ConversationFactory(), content=TYPED)
        quote = {"message_id": message.pk, "start": 9, "end": 25}
        fact = UserFactFactory(content="Never trades alts", learned=True, conversation_id=message.conversation_id)
        type(fact).objects.filter(pk=fact.pk).update(quotes=[quote])
        return fact, message

    return as_owner(trader, make)


def address(fact):
    return reverse("chat:quotes", args=[fact.pk])


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}], ids=["page", "htmx"])
def test_the_words_are_shown_marked_in_what_surrounds_them(ann, learned, headers):
    fact, message = learned

    html = ann.get(address(fact), headers=headers).content.decode()

    assert "Hello. I <mark>never trade alts</mark>, by the way. What is new?" in html
    assert f"/chat/{message.conversation_id}/#message-{message.pk}" in html
    assert ("<!doctype html>" in html.lower()) == (not headers)


def test_a_fact_with_quotes_links_to_them_and_one_without_does_not(ann, learned, trader):
    fact, _ = learned
    other = as_owner(trader, lambda: UserFactFactory(content="Likes gold"))

    assert address(fact) in open_menu(ann, fact).content.decode()
    assert address(other) not in open_menu(ann, other).content.decode()


def test_words_of_a_deleted_message_are_said_to_be_gone(ann, learned, trader):
    fact, message = learned
    as_owner(trader, message.delete)

    html = ann.get(address(fact)).content.decode()

    assert "The message it came from is deleted." in html
    assert "alts, by the way" not in html


def test_long_surroundings_are_cut(ann, trader):
    def make():
        message = MessageFactory(content=f"{'a ' * 300}I never trade alts{' b' * 300}")
        fact = UserFactFactory(content="Never trades alts", learned=True)
        start = message.content.index("never")
        quote = {"message_id": message.pk, "start": start, "end": start + 16}
        type(fact).objects.filter(pk=fact.pk).update(quotes=[quote])
        return fact

    html = ann.get(address(as_owner(trader, make)), headers={"HX-Request": "true"}).content.decode()

    assert "…" in html
    assert "<mark>never trade alts</mark>" in html
    assert len(html) < 1_200
