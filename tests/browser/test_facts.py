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
from memory.facts.services import archive_fact, delete_fact, link_facts, remember_fact, set_switches
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
        propose_fact(
            kind=ProposalKind.CONFLICT,
            content="Trades SOL now and then",
            topic="symbols",
            target_id=facts["alts"].pk,
            why="You said in a chat that you bought SOL.",
            origin=Origin(),
            now=now,
        )
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


# --- How they look ---


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


@pytest.mark.timeout(240)
def test_pages_of_an_empty_memory_that_is_paused(site, logged_in, page, shoot):
    with owned_tx(logged_in):
        set_switches(uses_facts=False, learns=False)
    for name in ("facts", "review", "places", "preview", "settings"):
        page.goto(site + reverse(f"memory:{name}"))
        check_looks(page, shoot, f"memory-{name}-empty")


# --- What they do ---


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


def test_all_on_the_page_are_selected_and_let_go_again(site, life, page):
    page.goto(site + FACTS)

    page.get_by_role("link", name="Select all on this page").click()
    expect(page.locator(".fact__pick:checked")).to_have_count(7)
    page.get_by_role("link", name="Select none").click()

    expect(page.locator(".fact__pick:checked")).to_have_count(0)


def test_a_deleted_fact_is_restored_from_the_trash(site, life, page):
    page.goto(site + FACTS)
    menu_of(page, "Wants short answers").get_by_role("button", name="Delete").click()
    expect(page.locator(".undo-line")).to_contain_text("Memory deleted")

    page.get_by_role("link", name=re.compile("Trash")).click()
    trashed = fact_of(page, "Wants short answers")
    expect(trashed).to_contain_text("Gone for good in 30 days")
    menu_of(page, "Wants short answers").get_by_role("button", name="Restore").click()

    expect(page.locator(".undo-line")).to_contain_text("Memory restored")
    page.goto(site + FACTS)
    expect(menu_of(page, "Wants short answers").get_by_role("button", name="Archive")).to_be_visible()


def test_what_was_forgotten_lately_is_restored_in_its_place(site, life, page):
    page.goto(site + FACTS)
    forgotten = page.get_by_role("region", name="Recently forgotten")

    forgotten.get_by_role("button", name="Restore").click()

    expect(forgotten).to_contain_text("Memory restored")
    expect(forgotten.get_by_role("button", name="Undo")).to_be_visible()


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


def test_a_place_is_added_corrected_removed_and_brought_back(site, life, page):
    page.goto(site + reverse("memory:places"))
    page.get_by_label("Name").fill("Blue Bottle")
    page.get_by_role("button", name="Add the place").click()
    place = fact_of(page, "Blue Bottle")
    place.get_by_role("link", name="Edit").click()
    page.get_by_role("form", name="Edit a place").get_by_label("Notes").fill("Coffee before the open")
    page.get_by_role("button", name="Save").click()
    expect(place).to_contain_text("Coffee before the open")

    place.get_by_role("button", name="Remove").click()
    expect(place).to_have_count(0)
    page.get_by_role("button", name="Undo").click()

    expect(place).to_contain_text("Coffee before the open")


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


def test_the_document_is_downloaded_and_brought_in_again(site, life, logged_in, page, tmp_path):
    page.goto(site + reverse("memory:settings"))
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    file = tmp_path / "memory.json"
    download.value.save_as(file)

    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Bring it in").click()

    expect(page.get_by_text("0 new,")).to_be_visible()


def test_an_end_date_is_read_from_words_changed_on_the_page_and_ends_the_fact(site, logged_in, page):
    with owned_tx(logged_in):
        remember_fact(content="I trade half size", now=timezone.now() - timedelta(days=9))
    page.goto(f"{site}{FACTS}?add#add")
    page.get_by_role("textbox", name="Fact", exact=True).fill("Until 1 March 2091 I use no leverage")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(fact_of(page, "no leverage")).to_contain_text("True until 1 Mar 2091")

    menu_of(page, "no leverage").get_by_role("link", name="Edit").click()
    form = page.get_by_role("article", name="Edit a fact")
    form.get_by_label("True until").fill("2091-04-01")
    form.get_by_role("button", name="Save").click()
    expect(fact_of(page, "no leverage")).to_contain_text("True until 1 Apr 2091")

    half = fact_of(page, "half size")
    menu = menu_of(page, "half size")
    expect(menu).to_contain_text("In the next chat")
    menu.get_by_role("link", name="Edit").click()
    form.get_by_text("Shorter line, detail").click()
    form.get_by_label("True until").fill(f"{timezone.now() - timedelta(days=1):%Y-%m-%d}")
    form.get_by_role("button", name="Save").click()
    expect(half).to_contain_text("Was true until")
    expect(menu_of(page, "half size")).to_contain_text("Not in the next chat")
    page.goto(site + reverse("memory:preview"))
    expect(page.locator("pre.block")).to_have_text(re.compile("no leverage.*until 2091-04-01"))
    expect(page.locator("pre.block")).not_to_contain_text("half size")


def test_a_full_document_marks_what_is_outside_of_it_and_takes_it_back(site, logged_in, page, settings):
    settings.MEMORY_TOKEN_LIMIT = 600
    with owned_tx(logged_in):
        remember_fact(content="I never risk more than 1% per trade", topic="risk", now=timezone.now())
        for number in range(8):
            remember_fact(content=f"Fact {number}: {'gold and silver ' * 8}", now=timezone.now())
    page.goto(site + FACTS)

    note = page.get_by_role("status").filter(has_text="The memory document is full")
    expect(note).to_contain_text("outside of it and marked below")
    outside = page.locator("article.fact", has_text="Outside the memory document")
    expect(outside.filter(has_text="Fact 0")).to_be_visible()
    expect(fact_of(page, "1% per trade")).not_to_contain_text("Outside the memory document")
    for number in (3, 4, 5, 6, 7):
        menu_of(page, f"Fact {number}").get_by_role("button", name="Delete").click()
        expect(page.locator(".undo-line", has_text=f"Fact {number}")).to_contain_text("Memory deleted")
    page.reload()
    expect(outside).to_have_count(0)
    expect(fact_of(page, "Fact 0")).to_be_visible()


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
