import re

import pytest
from django.urls import reverse

from chat.conversations.search import MAX_HITS
from chat.web.views.search import BESIDE, PAGE_SIZE
from tests.factories.chat import ConversationFactory, MessageFactory, ReplyFactory
from tests.factories.memory import JUNE
from tests.memory.browsing import into, is_page, text_of
from tests.owners import as_owner

SEARCH = "/chat/search/"


@pytest.fixture(autouse=True)
def _by_words_alone(settings):
    """What is near in meaning differs from model to model; these tests are about the page."""
    settings.MEMORY_EMBEDDING_MODEL = ""


def make_chat(title: str, asked: str = "Hello", told: str = "Hi", **values):
    message = MessageFactory(conversation=ConversationFactory(title=title, **values), content=asked)
    return ReplyFactory(reply_to=message, content=told)


def ask(client, query, **more) -> str:
    return client.get(SEARCH, {"q": query, **more}).content.decode()


def titles(html: str) -> list[str]:
    return [re.sub(r"<[^>]+>", "", found) for found in re.findall(r'class="hit__title"[^>]*>(.*?)</a>', html)]


def test_result_leads_to_the_message_and_marks_the_words(ann, trader):
    reply = as_owner(trader, lambda: make_chat("Funding <b>", told="The funding flips at noon <i>"))

    html = ask(ann, "funding")

    assert f'href="{reverse("chat:conversation", args=[reply.conversation_id])}#message-{reply.pk}"' in html
    assert "<mark>Funding</mark> &lt;b&gt;" in html
    assert "The <mark>funding</mark> flips at noon &lt;i&gt;" in html
    assert "1 chat found, best first." in text_of(ann.get(SEARCH, {"q": "funding"}))


def test_title_alone_leads_to_the_chat(ann, trader):
    chat = as_owner(trader, lambda: ConversationFactory(title="Sizing"))

    assert f'href="{reverse("chat:conversation", args=[chat.pk])}"' in ask(ann, "sizing")


def test_archived_chat_is_marked_and_trashed_ones_are_left_out(ann, trader):
    def make():
        make_chat("Funding old", archived=True)
        make_chat("Funding gone", trashed_at=JUNE)

    as_owner(trader, make)

    html = ask(ann, "funding")

    assert titles(html) == ["Funding old"]
    assert re.search(r"class=\"badge[^>]*>Archived<", html)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "What are you looking for?"),
        ("   ", "What are you looking for?"),
        ("a", "Type at least one whole word."),
        ("?!", "Type at least one whole word."),
        ("zebra", "Nothing was found for “ zebra ”."),
        ("\x00", "What are you looking for?"),
        ("<script>", "Nothing was found for"),
    ],
)
def test_page_says_why_nothing_is_listed(ann, trader, query, said):
    as_owner(trader, lambda: make_chat("Funding", asked="a ?!"))

    response = ann.get(SEARCH, {"q": query})

    assert said in text_of(response)
    assert titles(response.content.decode()) == []
    assert b'<script>"' not in response.content


def test_one_sign_of_a_script_without_spaces_is_a_word(ann, trader):
    as_owner(trader, lambda: make_chat("多空", told="做多"))

    assert titles(ask(ann, "多")) == ["多空"]


def test_results_have_pages_with_addresses(ann, trader):
    as_owner(trader, lambda: [make_chat(f"Funding {number:02}") for number in range(PAGE_SIZE + 3)])

    first, second = ask(ann, "funding"), ask(ann, "funding", page=2)

    assert (len(titles(first)), len(titles(second))) == (PAGE_SIZE, 3)
    assert not set(titles(first)) & set(titles(second))
    assert 'href="/chat/search/?q=funding&amp;page=2"' in first
    assert 'href="/chat/search/?q=funding"' in second
    assert titles(ask(ann, "funding", page=99)) == titles(second)


def test_no_more_is_listed_than_can_be_ranked(ann, trader):
    as_owner(trader, lambda: [ConversationFactory(title=f"Funding {number}") for number in range(MAX_HITS + 1)])

    html = ask(ann, "funding", page=MAX_HITS // PAGE_SIZE)

    assert len(titles(html)) == PAGE_SIZE
    assert f"{MAX_HITS + 1} chats found; the best {MAX_HITS} are listed" in html


def test_long_query_is_cut(ann):
    assert ann.get(SEARCH, {"q": "funding " * 500}).status_code == 200


def test_results_appear_beside_a_chat_while_one_types(ann, trader):
    as_owner(trader, lambda: [make_chat(f"Funding {number}") for number in range(BESIDE + 1)])

    response = ann.get(SEARCH, {"q": "funding"}, headers=into("found", "/chat/"))

    assert not is_page(response)
    assert len(titles(response.content.decode())) == BESIDE
    assert f"All {BESIDE + 1} chats found" in text_of(response)
    assert "HX-Replace-Url" not in response


def test_nothing_is_shown_beside_a_chat_for_an_empty_field(ann):
    response = ann.get(SEARCH, {"q": ""}, headers=into("found", "/chat/"))

    assert text_of(response).strip() == ""
    assert b"<" not in response.content


def test_typing_on_the_page_changes_its_address(ann, trader):
    as_owner(trader, lambda: make_chat("Funding"))

    response = ann.get(SEARCH, {"q": "funding now"}, headers=into("results", SEARCH))

    assert not is_page(response)
    assert response["HX-Replace-Url"] == "/chat/search/?q=funding+now"


def test_field_stands_beside_each_chat_and_works_without_scripts(ann):
    html = ann.get("/chat/").content.decode()
    form = html[html.index('<form class="finder"') :].split("</form>")[0]

    assert f'method="get" action="{SEARCH}"' in form
    assert 'name="q"' in form


def test_number_of_queries_does_not_grow_with_the_results(ann, trader, django_assert_max_num_queries):
    as_owner(trader, lambda: [make_chat(f"Funding {number}") for number in range(30)])

    with django_assert_max_num_queries(10):
        ask(ann, "funding")
