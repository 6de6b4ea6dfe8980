"""What the tests of chats share: a rule-based model that answers at once, and messages to it."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect


@pytest.fixture
def offline(settings):
    """The rule-based model answers at once."""
    settings.CHAT_AGENT_MODEL = "offline/keel"
    settings.TITLE_MODELS = ["offline/keel"]
    settings.OFFLINE_DELAY_SECONDS = 0


def message_box(place: Page | Locator) -> Locator:
    return place.get_by_role("textbox", name=re.compile("Message"))


def say(place: Page | Locator, text: str = "Hello") -> Locator:
    """Send a message in the chat of a page or a panel; return the finished answer."""
    answers = place.locator(".message--assistant")
    expect(place.locator("[data-chat][data-ready]")).to_be_attached(timeout=15_000)
    before = answers.count()
    message_box(place).fill(text)
    (place if isinstance(place, Page) else place.page).keyboard.press("Enter")
    expect(answers).to_have_count(before + 1, timeout=20_000)
    expect(answers.last).to_have_attribute("data-status", "complete", timeout=30_000)
    return answers.last
