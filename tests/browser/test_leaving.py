"""Requests to the server when a chat is left in a browser."""

import re
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from chat.conversations.lifecycle import LEFT_AFTER
from chat.models import Conversation, ConversationStatus
from chat.web.consumers import RECHECK_SECONDS
from config.lib.owned import owned
from tests.browser.talk import offline, say

__all__ = ["offline"]

pytestmark = pytest.mark.usefixtures("offline")

PATIENCE = 10.0
# The note of a page that was left may overtake the page that follows it; its socket looks again, and corrects it.
RENEWAL = RECHECK_SECONDS + PATIENCE


@pytest.fixture
def chat_of(logged_in) -> Callable[[Page], Conversation]:
    """A function that returns the row of the chat at the address of a page."""

    def read(page_or_id: Page | UUID) -> Conversation:
        wanted = page_or_id if isinstance(page_or_id, UUID) else UUID(page_or_id.url.rstrip("/").rpartition("/")[2])
        with owned(logged_in):
            return Conversation.objects.get(pk=wanted)

    return read


def wait(holds: Callable[[], Any], patience: float = PATIENCE) -> None:
    """Wait until something holds; fail when it does not come."""
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, "what the test waits for did not come"
        time.sleep(0.05)


def is_here(chat: Conversation) -> bool:
    return chat.left_at is not None and chat.left_at > timezone.now() + LEFT_AFTER


def test_new_chat_or_another_thread_closes_the_one_before_and_reading_closes_nothing(site, logged_in, page, chat_of):
    page.goto(f"{site}/chat/")
    say(page, "First")
    first = chat_of(page).pk
    page.keyboard.press("Control+k")
    wait(lambda: chat_of(first).status == ConversationStatus.CLOSING)
    say(page, "Second")
    second = chat_of(page).pk
    assert first != second

    page.goto(f"{site}/chat/{first}/")

    wait(lambda: chat_of(second).status == ConversationStatus.CLOSING)
    before = chat_of(first)
    page.goto(f"{site}/chat/{second}/")
    page.wait_for_timeout(500)
    assert chat_of(first).closing_token == before.closing_token


def test_reload_and_other_pages_of_the_site_do_not_end_a_chat(site, logged_in, page, chat_of):
    page.goto(f"{site}/chat/")
    say(page)
    chat = chat_of(page).pk
    page.reload()
    expect(page.locator("[data-chat][data-ready]")).to_be_attached()
    wait(lambda: is_here(chat_of(chat)), RENEWAL)

    page.goto(f"{site}/profile/facts/")

    wait(lambda: not is_here(chat_of(chat)))
    wait(lambda: is_here(chat_of(chat)))
    assert chat_of(chat).status == ConversationStatus.ACTIVE


def test_leaving_the_site_is_noted_and_no_more(site, logged_in, page, chat_of):
    page.goto(f"{site}/chat/")
    say(page)
    chat = chat_of(page).pk

    page.goto("about:blank")

    wait(lambda: chat_of(chat).left_at <= timezone.now())
    assert chat_of(chat).status == ConversationStatus.ACTIVE
    assert timezone.now() - chat_of(chat).left_at < timedelta(seconds=PATIENCE)


def test_new_chat_is_what_was_chosen_and_says_so(site, logged_in, page, chat_of):
    page.goto(f"{site}/chat/")
    expect(page.locator("[data-chat][data-ready]")).to_be_attached()
    expect(page.locator(".chat__badges")).to_be_hidden()
    page.locator(".chat__choice summary").click()
    page.get_by_role("radio", name=re.compile("^Advisor")).check()
    page.get_by_role("checkbox", name=re.compile("^Temporary")).check()

    say(page)

    badges = page.locator(".chat__badges")
    expect(badges).to_contain_text("Advisor")
    expect(badges).to_contain_text("Temporary")
    assert (chat_of(page).assistant, chat_of(page).is_temporary) == ("advisor", True)
    page.reload()
    expect(badges).to_contain_text("Temporary")
    page.keyboard.press("Control+k")
    expect(page.locator("input[name=temporary]")).not_to_be_checked()
    expect(badges).to_be_hidden()
