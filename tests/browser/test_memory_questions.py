"""Keel asks before it ends a fact in doubt or saves a contradiction, in a browser on the rule-based model."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_story import ask_in_new_chat, say

LOSSES = "I stop for the day after three losses in a row"


@pytest.fixture(autouse=True)
def _offline(settings):
    settings.CHAT_AGENT_MODEL = "offline/keel"
    settings.OFFLINE_DELAY_SECONDS = 0


def test_doubtful_forget_ends_nothing_until_the_fact_is_named(site, logged_in, page):
    ask_in_new_chat(page, site, f"Remember that {LOSSES}")

    asked = say(page, "Forget that I get angry after three losses")
    assert LOSSES in asked
    assert "Which one should I forget?" in asked
    expect(page.locator(".memory-line")).to_have_count(1)

    unknown = say(page, "Forget that I never work on Mondays")
    assert "No current fact" in unknown

    assert "I have forgotten" in say(page, "Forget that I stop after three losses")
    assert LOSSES not in ask_in_new_chat(page, site, "What do you know about me?")


@pytest.mark.parametrize(
    ("answer", "left"), [("It replaces that", ["I trade alts"]), ("Both hold", ["I never trade alts", "I trade alts"])]
)
def test_contradiction_is_asked_about_once(site, logged_in, page, answer, left):
    ask_in_new_chat(page, site, "Remember that I never trade alts")

    asked = say(page, "I trade alts")
    assert "Does it replace that, or do both hold?" in asked
    expect(page.locator(".memory-line")).to_have_count(1)
    page.goto(f"{site}/profile/facts/review/")
    expect(page.get_by_text("I trade alts", exact=True)).to_be_visible()
    page.go_back()

    say(page, answer)
    page.goto(f"{site}/profile/facts/")
    for text in left:
        expect(page.locator("article.fact p", has_text=re.compile(f"^\\s*{text}\\s*$"))).to_be_visible()
    expect(page.locator("article.fact")).to_have_count(len(left))


def test_new_limit_replaces_the_old_one_at_once(site, logged_in, page):
    ask_in_new_chat(page, site, "Remember that my max leverage is 5x")

    say(page, "I cut my max leverage to 3x")
    expect(page.locator(".memory-line").last).to_contain_text("Memory updated")

    known = ask_in_new_chat(page, site, "What do you know about me?")
    assert "3x" in known
    assert "5x" not in known
