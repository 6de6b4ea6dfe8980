"""A chat of 1,000 messages, the command palette, and the keys of the composer."""

import re

from playwright.sync_api import Page, expect

from chat.models import Conversation, Message
from tests.browser.looks import MOST_SHIFT, SHIFT
from tests.factories.chat import ConversationFactory, MessageFactory
from tests.owners import as_owner

MOST_BYTES = 600_000  # of the page; whole, such a chat took 2.95 MB


def make_chat(user, count: int) -> tuple[Conversation, list[int]]:
    """Return a chat of that many messages, and their ids."""

    def make() -> tuple[Conversation, list[int]]:
        chat = ConversationFactory(title="A long chat")
        lines = [f"Line {number} of the chat" for number in range(count)]
        rows = [MessageFactory.build(conversation=chat, user_id=user.pk, content=line) for line in lines]
        return chat, [row.pk for row in Message.objects.bulk_create(rows)]

    return as_owner(user, make)


def top_of(page: Page, message_id: int) -> float:
    box = page.locator(f"#message-{message_id}").bounding_box()
    assert box is not None
    return box["y"]


def test_long_chat_opens_at_its_end_and_older_messages_come_where_the_reader_goes(site, logged_in, page):
    chat, ids = make_chat(logged_in, 1_000)
    address = f"{site}/chat/{chat.pk}/"

    answer = page.goto(address)
    expect(page.locator("[data-chat][data-ready]")).to_be_attached()

    assert len(answer.body()) < MOST_BYTES
    expect(page.locator(f"#message-{ids[-1]}")).to_be_in_viewport()
    assert page.locator(".message").count() == 50

    first = ids[-50]
    page.locator(f"#message-{first}").scroll_into_view_if_needed()
    before = top_of(page, first)
    expect(page.locator(f"#message-{ids[-100]}")).to_be_attached()
    assert abs(top_of(page, first) - before) < 3

    page.goto(f"{address}#message-{ids[10]}")
    expect(page.locator(f"#message-{ids[10]}")).to_be_in_viewport()
    assert page.locator(".message").count() < 300
    page.reload()
    expect(page.locator(f"#message-{ids[10]}")).to_be_in_viewport()


def test_palette_finds_a_chat_and_up_edits_the_last_message(site, logged_in, page):
    chat, _ = make_chat(logged_in, 2)
    page.goto(f"{site}/")

    page.keyboard.press("Control+/")
    expect(page.get_by_role("option", name="A long chat")).to_be_visible()
    page.keyboard.type("alch")
    expect(page.get_by_role("option", selected=True)).to_have_text("A long chat")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site}/chat/{chat.pk}/")

    expect(page.locator("[data-chat][data-ready]")).to_be_attached()
    page.get_by_role("textbox", name=re.compile("Message")).press("ArrowUp")
    expect(page.get_by_role("textbox", name="Your message")).to_have_value("Line 1 of the chat")


def test_chat_on_a_phone_does_not_move_when_its_script_runs(site, logged_in, page):
    chat, _ = make_chat(logged_in, 20)
    page.set_viewport_size({"width": 390, "height": 844})

    page.goto(f"{site}/chat/{chat.pk}/")
    expect(page.locator("[data-chat][data-ready]")).to_be_attached()

    assert page.evaluate(SHIFT) <= MOST_SHIFT
    expect(page.locator(".drawer")).to_be_hidden()
    page.get_by_role("button", name="All chats").click()
    expect(page.locator(".drawer")).to_be_visible()
