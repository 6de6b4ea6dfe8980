from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chat.models import Conversation
from config.lib.owned import owned_tx
from tests.chat.tabs import signed_in
from tests.factories.chat import ConversationFactory, MessageFactory, ReplyFactory
from tests.factories.memory import MemoryEventFactory, UserFactFactory
from tests.owners import as_owner

DAY = timedelta(days=1)


@pytest.fixture
def ann(trader) -> Client:
    """The trader's browser, signed in."""
    return signed_in(trader)


@pytest.fixture
def chat(trader) -> Conversation:
    """A chat of two exchanges."""

    def make() -> Conversation:
        conversation = ConversationFactory(title="Sizing", last_message_at=timezone.now())
        for number in (1, 2):
            message = MessageFactory(conversation=conversation, content=f"Question {number} <b>")
            ReplyFactory(reply_to=message, content=f"Answer **{number}**")
        return conversation

    return as_owner(trader, make)


def url(name: str, conversation=None) -> str:
    return reverse(f"chat:{name}", args=[conversation.pk if hasattr(conversation, "pk") else conversation])


def text_of(response) -> str:
    assert response.status_code == 200, response.status_code
    return response.content.decode()


# --- Pages ---


def test_chat_shows_its_messages_in_order(ann, chat):
    html = text_of(ann.get(url("conversation", chat)))

    marks = ("Question 1 &lt;b&gt;", "Answer <strong>1</strong>", "Question 2", "Answer <strong>2</strong>")
    places = [html.index(mark) for mark in marks]
    assert places == sorted(places)
    assert html.count('data-action="retry"') == 1
    assert f'data-socket="/ws/chat/{chat.pk}/"' in html


def test_chat_is_marked_in_the_list(ann, chat, trader):
    as_owner(trader, lambda: ConversationFactory(title="Another", last_message_at=timezone.now()))

    html = text_of(ann.get(url("conversation", chat)))

    assert "Another" in html
    assert f'data-thread="{chat.pk}" aria-current="page"' in html


def test_empty_chat_makes_no_row(ann):
    html = text_of(ann.get(reverse("chat:index")))

    assert "data-conversation" not in html
    assert "What is on your mind?" in html


def test_number_of_queries_does_not_grow_with_the_chat(ann, chat, trader, django_assert_max_num_queries):
    def grow() -> None:
        ConversationFactory.create_batch(20, last_message_at=timezone.now())
        for _ in range(20):
            event = MemoryEventFactory()
            part = {"kind": "memory", "event_id": str(event.pk), "event_kind": "save", "text": "x", "fact_id": None}
            ReplyFactory(reply_to=MessageFactory(conversation=chat), parts=[part])

    as_owner(trader, grow)

    with django_assert_max_num_queries(12):
        ann.get(url("conversation", chat))


def test_times_are_shown_in_the_zone_of_the_reader(ann, chat, trader):
    trader.time_zone = "Asia/Tokyo"
    trader.save(update_fields=["time_zone"])

    html = text_of(ann.get(url("conversation", chat)))

    assert "21:00 JST" in html  # the factories' noon in UTC
    assert "12:00 UTC" in html  # in the title of the time


def test_home_shows_where_the_user_left_off(ann, chat, trader):
    as_owner(trader, lambda: UserFactFactory(content="Never trades alts"))

    html = text_of(ann.get(reverse("home")))

    assert "Sizing" in html
    assert "Never trades alts" in html


def test_home_shows_strangers_what_keel_is(client, db):
    response = client.get(reverse("home"))

    assert response.status_code == 200
    assert "landing.html" in [template.name for template in response.templates]


def test_offline_model_is_named_where_it_answers(ann, settings):
    assert "No language model is connected" not in text_of(ann.get(reverse("chat:index")))

    settings.CHAT_AGENT_MODEL = settings.OFFLINE_MODEL

    assert "No language model is connected" in text_of(ann.get(reverse("chat:index")))


# --- Fragments ---


def test_panel_shows_the_chat_it_is_asked_for(ann, chat):
    html = text_of(ann.get(reverse("chat:panel"), {"conversation": chat.pk}))

    assert "Answer <strong>2</strong>" in html
    assert f'data-conversation="{chat.pk}"' in html
    assert "<html" not in html


@pytest.mark.parametrize(
    "wanted", ["", "nonsense", "00000000-0000-4000-8000-000000000000", "\x00", "'; --", "\u0661" * 32]
)
def test_panel_is_empty_without_a_chat_of_that_id(ann, wanted):
    html = text_of(ann.get(reverse("chat:panel"), {"conversation": wanted}))

    assert "data-conversation" not in html
    assert "What is on your mind?" in html


def test_panel_does_not_show_a_strangers_chat(ann, stranger):
    theirs = as_owner(stranger, ConversationFactory)

    assert "data-conversation" not in text_of(ann.get(reverse("chat:panel"), {"conversation": theirs.pk}))


def test_messages_are_those_after_one(ann, chat, trader):
    with owned_tx(trader):
        first_reply = chat.messages.order_by("pk")[1]

    html = text_of(ann.get(url("messages", chat), {"after": first_reply.pk}))

    assert "Question 1" not in html
    assert "Question 2" in html
    assert "<html" not in html


@pytest.mark.parametrize("after", ["", "0", "-1", "x", "1.5", "9" * 30, "²", "٣", "\x00", "1 OR 1"])
def test_messages_after_nonsense_are_all_or_none(ann, chat, after):
    assert text_of(ann.get(url("messages", chat), {"after": after})) is not None


def test_messages_after_an_unknown_one_are_none(ann, chat):
    assert text_of(ann.get(url("messages", chat), {"after": 10**17})).strip() == ""


# --- Writing ---


def test_new_makes_a_conversation_and_says_where_it_is(ann, trader):
    response = ann.post(reverse("chat:new"))

    with owned_tx(trader):
        made = Conversation.objects.get()
    assert response.status_code == 201
    assert response.json() == {
        "id": str(made.pk),
        "url": f"/chat/{made.pk}/",
        "socket": f"/ws/chat/{made.pk}/",
        "assistant": "Coach",
        "temporary": False,
    }
    assert made.assistant == "coach"


def test_rename_sets_the_title(ann, chat, trader):
    response = ann.post(url("rename", chat), {"title": " New\nname "}, headers={"accept": "application/json"})

    with owned_tx(trader):
        chat.refresh_from_db()
    assert (response.json(), chat.title) == ({"title": "New name"}, "New name")


def test_rename_of_a_form_leads_back_to_the_chat(ann, chat):
    response = ann.post(url("rename", chat), {"title": "New name"})

    assert (response.status_code, response.url) == (302, url("conversation", chat))


@pytest.mark.parametrize("title", ["", " ", "x" * 81])
def test_rename_refuses_what_is_no_title(ann, chat, title):
    response = ann.post(url("rename", chat), {"title": title})

    assert (response.status_code, response.json()) == (422, {"error": "A title needs 1 to 80 characters."})


# --- Doors ---


@pytest.mark.parametrize("name", ["conversation", "messages"])
def test_strangers_chat_and_none_are_the_same(ann, stranger, name):
    theirs = as_owner(stranger, lambda: ConversationFactory(title="canary"))

    responses = [ann.get(url(name, wanted)) for wanted in (theirs, uuid4())]

    assert [response.status_code for response in responses] == [404, 404]
    assert "canary" not in responses[0].content.decode()


def test_rename_of_a_strangers_chat_and_of_none_are_the_same(ann, stranger):
    theirs = as_owner(stranger, lambda: ConversationFactory(title="Theirs"))

    codes = [ann.post(url("rename", wanted), {"title": "Mine"}).status_code for wanted in (theirs, uuid4())]

    assert codes == [404, 404]
    with owned_tx(stranger):
        theirs.refresh_from_db()
        assert theirs.title == "Theirs"


@pytest.mark.parametrize("name", ["index", "panel", "conversation", "messages"])
def test_signed_out_reader_is_led_to_the_door(client, chat, name):
    path = url(name, chat) if name in {"conversation", "messages"} else reverse(f"chat:{name}")

    response = client.get(path)

    assert response.status_code == 302
    assert response.url.startswith(reverse("account_login"))


@pytest.mark.parametrize("name", ["new", "rename"])
def test_writing_needs_a_post(ann, chat, name):
    path = reverse("chat:new") if name == "new" else url(name, chat)

    assert ann.get(path).status_code == 405


@pytest.mark.parametrize("name", ["new", "rename"])
def test_writing_needs_the_token_of_the_page(trader, chat, name):
    client = Client(enforce_csrf_checks=True)
    client.cookies = signed_in(trader).cookies
    path = reverse("chat:new") if name == "new" else url(name, chat)

    assert client.post(path, {"title": "Forged"}).status_code == 403


@pytest.mark.parametrize("name", ["index", "panel", "conversation", "messages"])
def test_chats_are_never_cached(ann, chat, name):
    path = url(name, chat) if name in {"conversation", "messages"} else reverse(f"chat:{name}")

    assert "no-store" in ann.get(path)["Cache-Control"]


def test_older_chats_are_listed_under_their_age(ann, trader):
    as_owner(trader, lambda: ConversationFactory(title="Long ago", last_message_at=timezone.now() - 90 * DAY))

    html = text_of(ann.get(reverse("chat:index")))

    assert html.index("Older") < html.index("Long ago")
