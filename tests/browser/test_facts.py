"""Memory pages in a browser: scripts, no scripts, keyboard, pictures."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from config.lib.owned import owned, owned_tx
from memory.facts.places import add_place
from memory.facts.review import propose_fact, propose_merge
from memory.facts.services import archive_fact, delete_fact, link_facts, remember_fact
from memory.facts.versions import Origin
from memory.models import ProposalKind, UserFact
from tests.browser.looks import check_looks
from tests.factories.memory import UserFactFactory

FACTS = "/profile/facts/"


@pytest.fixture
def life(logged_in) -> dict[str, UserFact]:
    """A memory with something on every page: facts by a short name."""
    now = timezone.now() - timedelta(days=2)
    with owned_tx(logged_in):
        facts = {
            name: remember_fact(content=content, topic=topic, confidence=confidence, now=now).fact
            for name, content, topic, confidence in (
                ("risk", "Risks at most 1% of the account per trade", "risk", "asserted"),
                ("loss", "Lost 12% in March by doubling a losing BTC long", "", "asserted"),
                ("twin", "Lost 12% in March when doubling a losing long", "", "asserted"),
                ("style", "Wants short answers", "style", "asserted"),
                ("setup", "Seems to favour mean-reversion setups", "style", "inferred"),
                ("hours", "Seems to trade the US morning", "session", "inferred"),
                ("alts", "Never trades alts", "symbols", "asserted"),
                ("gone", "Is looking for a second exchange", "account", "asserted"),
                ("trash", "Holds some DOGE", "account", "asserted"),
            )
        }
        link_facts(from_id=str(facts["risk"].pk), to_id=str(facts["loss"].pk), relation="because_of", now=now)
        archive_fact(fact_id=facts["gone"].pk, now=now)
        delete_fact(fact_id=facts["trash"].pk, now=now)
        conflict = {"kind": ProposalKind.CONFLICT, "content": "Trades SOL now and then", "topic": "symbols"}
        why = "You said in a chat that you bought SOL."
        propose_fact(target_id=facts["alts"].pk, why=why, origin=Origin(), now=now, **conflict)
        propose_merge(fact_id=facts["twin"].pk, into_id=facts["loss"].pk, why="They say the same.", now=now)
        add_place(place_id="gym", name="Ironworks", notes="The gym on 5th", now=now)
    return facts


def fact_of(page: Page, words: str):
    return page.locator("article.fact", has_text=words)


def menu_of(page: Page, words: str):
    """Open the menu of a fact in the list; return it."""
    fact = fact_of(page, words)
    fact.locator("summary").click()
    menu = fact.locator(".fact__panel")
    expect(menu.get_by_role("button").first).to_be_visible()
    return menu


@pytest.mark.timeout(240)
def test_pages_of_a_memory(site, life, page, shoot):
    addresses = {
        "facts": FACTS,
        "facts-selected": f"{FACTS}?select=all",
        "facts-trash": f"{FACTS}?show=trash",
        "fact": reverse("memory:fact", args=[life["risk"].pk]),
        "fact-trashed": reverse("memory:fact", args=[life["trash"].pk]),
        "review": reverse("memory:review"),
        "places": reverse("memory:places"),
        "preview-coach": reverse("memory:preview"),
        "preview-advisor": f"{reverse('memory:preview')}?assistant=advisor",
        "settings": reverse("memory:settings"),
    }
    for name, address in addresses.items():
        page.goto(site + address)
        check_looks(page, shoot, f"memory-{name}")


def test_many_facts_are_archived_together_and_brought_back_by_one_undo(site, life, page):
    page.goto(site + FACTS)
    expect(page.locator("#bulk").get_by_role("button", name="Archive")).to_be_hidden()

    for words in ("Wants short answers", "Never trades alts"):
        fact_of(page, words).get_by_role("checkbox", name="Select").check()
    page.locator("#bulk").get_by_role("button", name="Archive").click()

    expect(page.locator(".undo-line")).to_contain_text("2 facts archived")
    expect(page.locator("#count-archived")).to_have_text("3")
    expect(page.locator(".undo-line").get_by_role("button", name="Undo all")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".undo-line")).to_contain_text("Undone: 2 facts archived")
    expect(menu_of(page, "Never trades alts").get_by_role("button", name="Keel’s guess")).to_be_visible()


def test_filters_are_folded_and_open_by_keyboard(site, life, page):
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(site + FACTS)
    expect(page.get_by_label("Source")).to_be_hidden()

    page.get_by_label("Filters").focus()
    page.keyboard.press("Space")
    page.get_by_label("Confidence").select_option("inferred")

    expect(page.get_by_text("2 facts fit.")).to_be_visible()
    expect(page).to_have_url(re.compile("confidence=inferred"))


def test_a_fact_is_linked_by_words_and_the_link_removed_and_brought_back(site, life, page, problems):
    page.goto(site + reverse("memory:fact", args=[life["style"].pk]))
    page.get_by_text("Link it to another fact").click()
    page.get_by_label("The other fact").fill("lost 12%")
    page.get_by_role("button", name="Link", exact=True).click()
    page.get_by_role("button", name=re.compile("Lost 12% in March by")).click()  # two facts fit

    links = page.get_by_role("region", name="Linked facts")
    expect(links).to_contain_text("Lost 12% in March by doubling")
    links.get_by_role("button", name="Remove").click()
    expect(links).to_contain_text("Linked to no other fact")
    page.get_by_role("button", name="Undo").click()
    expect(links).to_contain_text("Lost 12% in March by doubling")
    problems[:] = [problem for problem in problems if "422" not in problem]  # when several facts fitted


def test_a_proposal_is_accepted_taken_back_and_dismissed(site, life, logged_in, page):
    page.goto(site + reverse("memory:review"))
    conflict = page.locator("[id^=proposal-]", has_text="Trades SOL")

    conflict.get_by_role("button", name="Replace it").click()
    expect(conflict).to_contain_text("Accepted")
    with owned(logged_in):
        assert UserFact.objects.believed().filter(content="Trades SOL now and then").exists()
    conflict.get_by_role("button", name="Undo").click()
    expect(conflict.get_by_role("button", name="Dismiss")).to_be_visible()
    with owned(logged_in):
        assert UserFact.objects.believed().filter(content="Never trades alts").exists()
    conflict.get_by_role("button", name="Dismiss").click()
    expect(conflict).to_contain_text("Dismissed")


def test_a_switch_turns_in_its_place(site, logged_in, page):
    page.goto(site + reverse("memory:settings"))
    learning = page.locator(".switch-row", has_text="Learn from my chats")

    learning.get_by_role("button", name="Pause").click()
    expect(learning).to_contain_text("No chat saves anything")
    expect(learning.get_by_role("button", name="Resume")).to_be_focused()  # the keyboard stayed on it
    page.keyboard.press("Enter")

    expect(learning).to_contain_text("Keel saves lasting facts")


def test_everything_works_without_scripts(site, life, logged_in, browser, sign_in):
    context = browser.new_context(java_script_enabled=False)
    sign_in(context, logged_in)
    page = context.new_page()

    page.goto(site + FACTS)
    page.get_by_role("link", name="Select all on this page").click()
    page.locator("#bulk").get_by_role("button", name="Keel’s guess").click()
    expect(page.locator(".undo-line")).to_contain_text("facts marked as inferred")
    page.get_by_role("button", name="Undo all").click()
    expect(page.locator(".undo-line")).to_contain_text("Undone")

    page.goto(site + reverse("memory:review"))
    asked = page.locator(".asked", has=page.locator("textarea", has_text="mean-reversion"))
    asked.get_by_label("Fact").fill("Trades mean reversion in calm markets")
    page.locator(".asked", has=page.locator("textarea", has_text="US morning")).get_by_label("Forget it").check()
    page.get_by_role("button", name="Save the answers").click()
    expect(page.locator(".undo-line")).to_contain_text("1 fact corrected, 1 forgotten")

    page.locator("[id^=proposal-]", has_text="Trades SOL").get_by_role("button", name="Dismiss").click()
    expect(page.get_by_role("region", name="Decided lately")).to_contain_text("Trades SOL")

    page.goto(site + reverse("memory:settings"))
    page.locator(".switch-row", has_text="Use what you know").get_by_role("button", name="Pause").click()
    page.goto(site + FACTS)
    expect(page.get_by_text("No chat uses what Keel knows")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("No chat uses what Keel knows")).to_have_count(0)
    context.close()


def test_a_thousand_facts_come_in_pieces_and_a_menu_works_by_keyboard(site, logged_in, page):
    with owned_tx(logged_in):
        rows = UserFactFactory.build_batch(1_000, user_id=logged_in.pk)
        UserFact.objects.bulk_create(rows)
    page.goto(site + FACTS)
    expect(page.locator("article.fact")).to_have_count(100)

    page.locator("#more").scroll_into_view_if_needed()
    expect(page.locator("article.fact")).to_have_count(200)
    page.get_by_role("searchbox").fill(f"number {rows[-1].content.split()[-1]}")
    expect(page.locator("article.fact")).to_have_count(1)

    fact = page.locator("article.fact")
    fact.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(fact.get_by_role("button", name="Archive")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(fact.locator(".fact__panel")).to_be_hidden()
    expect(fact.locator("summary")).to_be_focused()
