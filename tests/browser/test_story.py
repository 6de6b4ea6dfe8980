"""The main story in a browser on the rule-based model, unscripted."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.talk import offline, say

__all__ = ["offline"]

pytestmark = pytest.mark.usefixtures("offline")

PASSWORD = "a-harbour-in-the-north-9"


def sign_up(page: Page, site: str, email: str) -> None:
    """Make an account as a person would."""
    page.goto(f"{site}/")
    page.get_by_role("link", name="Create account").first.click()
    page.get_by_label("Email").fill(email)
    page.get_by_role("textbox", name="Password", exact=True).fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Create account").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Welcome")


def ask_in_new_chat(page: Page, site: str, text: str) -> str:
    """Open an empty chat and ask; return the answer."""
    page.goto(f"{site}/chat/")
    return say(page, text).inner_text()


def test_the_full_circle_from_sign_up_to_a_chat_that_follows_the_page(site, page):
    sign_up(page, site, "zoe@example.com")
    page.get_by_role("navigation").first.get_by_role("link", name="Chat").click()

    say(page, "Remember that I never risk more than 1% per trade. I seem to favour mean reversion.")
    expect(page.locator(".memory-line")).to_have_count(2)
    known = ask_in_new_chat(page, site, "What do you know about me?")
    assert "never risk more than 1% per trade" in known
    assert "mean reversion" in known
    assert "(inferred)" in known

    # Edit in place, promote, archive.
    page.goto(f"{site}/profile/facts/")
    risk = page.locator("article.fact", has_text="never risk more than 1%")
    risk.locator("summary").click()
    risk.get_by_role("link", name="Edit", exact=True).click()
    editor = page.locator(".fact__edit")
    editor.get_by_role("textbox").first.fill("I never risk more than 2% per trade")
    editor.get_by_role("button", name="Save").click()
    expect(page.locator("article.fact", has_text="more than 2% per trade")).to_be_visible()
    style = page.locator("article.fact", has_text="mean reversion")
    style.locator("summary").click()
    style.get_by_role("button", name="I said so").click()
    expect(style.locator(".badge", has_text="Inferred")).to_have_count(0)
    known = ask_in_new_chat(page, site, "What do you know about me?")
    assert "more than 2% per trade" in known
    assert "more than 1% per trade" not in known
    assert "(inferred)" not in known

    page.goto(f"{site}/profile/facts/")
    style = page.locator("article.fact", has_text="mean reversion")
    style.locator("summary").click()
    style.get_by_role("button", name="Archive").click()
    expect(page.locator(".undo-line")).to_be_visible()
    known = ask_in_new_chat(page, site, "What do you know about me?")
    assert "more than 2% per trade" in known
    assert "mean reversion" not in known


def test_undo_in_the_chat_takes_the_fact_back(site, logged_in, page):
    page.goto(f"{site}/chat/")
    say(page, "Remember that I trade ETH only.")
    line = page.locator(".memory-line")
    expect(line).to_contain_text("Memory saved")

    line.get_by_role("button", name=re.compile("Undo")).click()

    expect(page.locator(".memory-line--undone")).to_be_visible()
    expect(line.get_by_role("button", name=re.compile("Undo"))).to_have_count(0)
    page.reload()
    expect(page.locator(".memory-line--undone")).to_be_visible()
    assert "ETH only" not in ask_in_new_chat(page, site, "What do you know about me?")


def open_by_its_menu(page) -> None:
    """Go to the page of the only fact, as one does without a script."""
    page.locator(".fact__menu summary").first.click()
    page.get_by_role("link", name="Edit, archive, history").first.click()


def test_facts_page_works_without_javascript(site, logged_in, browser, sign_in):
    context = browser.new_context(java_script_enabled=False)
    sign_in(context, logged_in)
    page = context.new_page()
    page.goto(f"{site}/profile/facts/")
    page.get_by_role("link", name="Add a fact").or_(page.get_by_role("button", name="Add a fact")).first.click()
    page.get_by_label(re.compile("Fact|Text")).first.fill("I trade the London open only")
    page.get_by_role("button", name=re.compile("Add|Save")).last.click()
    expect(page.locator("article.fact")).to_contain_text("London open")

    open_by_its_menu(page)
    page.get_by_role("button", name="Archive").click()
    page.goto(f"{site}/profile/facts/")
    expect(page.get_by_text("Recently forgotten")).to_be_visible()
    page.get_by_role("link", name=re.compile("^Archived")).click()
    open_by_its_menu(page)
    page.get_by_role("button", name="Restore").click()

    page.goto(f"{site}/profile/facts/")
    expect(page.get_by_text("Recently forgotten")).to_have_count(0)
    expect(page.locator("article.fact")).to_contain_text("London open")
    context.close()
