"""Streaming chats: reload, second tab, stop, sign-out and the panel."""

import re
import time

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from chat.models import Message
from config.lib.llm import door
from config.lib.owned import owned
from memory.models import UserFact
from tests.browser.talk import message_box, say
from tests.fakes import ScriptedModel

LONG = "What can you do? " * 3


@pytest.fixture(autouse=True)
def _slow_offline(settings):  # which also takes back what hurry() sets
    settings.CHAT_AGENT_MODEL = "offline/keel"
    settings.OFFLINE_DELAY_SECONDS = 0.08  # slow enough to act in the middle of an answer


def begin(page: Page, text: str = LONG) -> None:
    """Send a message and wait until its answer has begun."""
    expect(page.locator("[data-chat][data-ready]")).to_be_attached()
    message_box(page).fill(text)
    page.keyboard.press("Enter")
    expect(page.locator(".message--assistant").last).to_have_attribute("data-status", "streaming", timeout=20_000)
    expect(page.locator(".message--assistant .message__body").last).to_contain_text(re.compile(r"\S.{15}", re.DOTALL))


def hurry() -> None:
    """Let the rest of the answer come at once: the act in its middle is done."""
    settings.OFFLINE_DELAY_SECONDS = 0.005


def finished(page: Page) -> str:
    """Wait for the answer's end; return its text."""
    hurry()
    answer = page.locator(".message--assistant .message__body").last
    expect(page.locator(".message--assistant").last).to_have_attribute("data-status", "complete", timeout=30_000)
    return answer.inner_text()


def test_the_answer_streams_and_a_reload_in_the_middle_joins_it(site, logged_in, page):
    page.goto(f"{site}/chat/")
    begin(page)
    early = page.locator(".message--assistant").inner_text()

    page.reload()
    expect(page.locator(".message--assistant")).to_have_attribute("data-status", "streaming")
    text = finished(page)

    assert len(text) > len(early) - 40
    page.reload()
    assert page.locator(".message--assistant .message__body").inner_text() == text
    with owned(logged_in):
        assert Message.objects.count() == 2


def test_a_second_tab_sees_the_same_answer_grow_and_can_stop_it(site, logged_in, context, page):
    page.goto(f"{site}/chat/")
    begin(page)
    second = context.new_page()
    second.goto(page.url)
    expect(second.locator(".message--assistant")).to_have_attribute("data-status", "streaming")

    second.get_by_role("button", name=re.compile("Stop")).click()

    for tab in (page, second):
        expect(tab.locator(".message--assistant")).to_have_attribute("data-status", "interrupted", timeout=10_000)
    assert page.locator(".message--assistant .message__body").inner_text() == (
        second.locator(".message--assistant .message__body").inner_text()
    )


def test_a_message_of_one_tab_appears_in_the_other_whose_sign_out_closes_the_socket(site, logged_in, context, page):
    hurry()
    page.goto(f"{site}/chat/")
    say(page)
    second = context.new_page()
    second.goto(page.url)
    expect(second.locator(".message")).to_have_count(2)

    say(page, "Thanks")

    expect(second.locator(".message")).to_have_count(4, timeout=20_000)
    expect(second.locator(".message--user").last).to_contain_text("Thanks")
    expect(second.locator(".message--assistant").last).to_have_attribute("data-status", "complete", timeout=20_000)

    second.goto(f"{site}/accounts/logout/")
    began = time.monotonic()
    second.get_by_role("main").get_by_role("button", name=re.compile("Sign out")).click()
    expect(page.get_by_text(re.compile("signed out", re.IGNORECASE)).first).to_be_visible(timeout=10_000)
    assert time.monotonic() - began < 10


def test_stop_keeps_the_text_and_retry_answers_anew(site, logged_in, page):
    page.goto(f"{site}/chat/")
    begin(page)

    page.keyboard.press("Escape")

    answer = page.locator(".message--assistant")
    expect(answer).to_have_attribute("data-status", "interrupted", timeout=10_000)
    kept = answer.locator(".message__body").inner_text()
    assert len(kept) > 10
    page.get_by_role("button", name="Retry").click()
    assert len(finished(page)) > len(kept)
    expect(page.locator(".message")).to_have_count(2)


def test_the_panel_answers_on_another_page_and_keeps_its_chat(site, logged_in, page):
    hurry()
    page.goto(f"{site}/profile/")
    page.locator(".panel__open").click()
    say(page.locator("#coach-panel"))

    page.goto(f"{site}/profile/facts/")

    expect(page.locator("#coach-panel .message")).to_have_count(2, timeout=10_000)


def test_markup_in_a_message_stays_text_and_typed_text_survives_a_reload(site, logged_in, page):
    page.goto(f"{site}/chat/")
    hostile = "<img src=x onerror=alert(1)> Remember that I trade <b>BTC</b> & [x](javascript:alert(1)) only."
    begin(page, hostile)
    finished(page)

    expect(page.locator(".message--user .message__body")).to_have_text(hostile)
    assert page.locator(".message img, .message b, .message a[href^='javascript']").count() == 0

    message_box(page).fill("half a thought about funding")
    page.wait_for_timeout(600)
    page.reload()
    expect(message_box(page)).to_have_value("half a thought about funding")


def test_an_answer_that_was_stopped_goes_on_where_it_ended(site, logged_in, page):
    page.goto(f"{site}/chat/")
    begin(page)
    page.get_by_role("button", name=re.compile("Stop")).click()
    first = page.locator(".message--assistant").first
    expect(first).to_have_attribute("data-status", "interrupted", timeout=10_000)
    said = first.locator(".message__body").inner_text()

    first.get_by_role("button", name="Continue").click()

    expect(page.locator(".message--assistant")).to_have_count(2)
    finished(page)
    assert first.locator(".message__body").inner_text() == said
    page.reload()
    expect(page.locator(".message--assistant")).to_have_count(2)
    expect(page.locator(".message--user")).to_have_count(1)


def test_an_earlier_message_is_edited_and_all_after_it_answered_anew(site, logged_in, page, settings):
    settings.OFFLINE_DELAY_SECONDS = 0
    page.goto(f"{site}/chat/")
    for text in ("Hello", "Thanks"):
        say(page, text)

    page.locator(".message--user").first.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Your message").fill("What do you know about me?")
    page.get_by_role("button", name="Save & send").click()

    expect(page.locator(".message--assistant")).to_have_count(1)
    expect(page.locator(".message--user")).to_have_count(1)
    finished(page)
    expect(page.locator(".message--user .message__body")).to_have_text("What do you know about me?")
    page.reload()
    expect(page.locator(".message--user")).to_have_count(1)


def test_a_page_that_slept_through_an_answer_shows_all_of_it_once(site, logged_in, context, page):
    page.goto(f"{site}/chat/")
    begin(page)
    device = context.new_cdp_session(page)
    device.send("Page.setWebLifecycleState", {"state": "frozen"})
    hurry()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not _is_complete(logged_in):
        time.sleep(0.1)

    device.send("Page.setWebLifecycleState", {"state": "active"})

    text = finished(page)
    expect(page.locator(".message")).to_have_count(2)
    page.reload()
    assert page.locator(".message--assistant .message__body").inner_text() == text


def _is_complete(user) -> bool:
    with owned(user):
        return bool(Message.objects.filter(role="assistant", status="complete").exists())


def test_what_the_model_did_not_remember_can_be_saved_from_the_notice(site, logged_in, page):
    settings.CHAT_AGENT_MODEL = "scripted/model"
    model = ScriptedModel()
    door.register_provider("scripted", lambda: model)
    model.say("Sure.")
    model.say("I would rather not.")
    page.goto(f"{site}/chat/")
    message_box(page).fill("Please remember that I never trade alts.")
    page.keyboard.press("Enter")

    notice = page.locator(".chat__alert")
    expect(notice).to_contain_text("the model did not do it", timeout=20_000)
    page.set_viewport_size({"width": 360, "height": 720})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    notice.get_by_role("link", name="Save it").click()

    expect(page.get_by_role("textbox", name="Fact")).to_have_value("I never trade alts")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("article.fact", has_text="I never trade alts")).to_be_visible()
    with owned(logged_in):
        assert UserFact.objects.get().content == "I never trade alts"
