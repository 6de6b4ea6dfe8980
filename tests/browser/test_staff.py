"""A memory of another assistant comes in by hand; staff act on a fact, and its owner reads why."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_story import sign_up
from trading.models import Trader

LIST = "## Risk\n1. [2025-04-02]. The user never risks more than 1% per trade\n2. You trade BTC and ETH only\n"


@pytest.mark.timeout(240)
def test_pasted_list_is_reviewed_and_staff_archive_a_fact_with_a_reason(site, page, browser):
    sign_up(page, site, "nora@example.com")
    page.goto(f"{site}/profile/facts/settings/")
    page.get_by_label("What it is").select_option("list")
    page.get_by_label("Or its text").fill(LIST)
    page.get_by_role("button", name="Bring it in").click()
    expect(page.get_by_role("main")).to_contain_text("I never risk more than 1% per trade")
    expect(page.get_by_role("main")).to_contain_text("I trade BTC and ETH only")
    page.get_by_role("button", name="Accept").first.click()
    page.goto(f"{site}/profile/facts/")
    expect(page.locator("main .fact, main li").first).to_be_visible()

    context = browser.new_context()
    desk = context.new_page()
    sign_up(desk, site, "desk@example.com")
    Trader.objects.filter(email="desk@example.com").update(is_staff=True, is_superuser=True)
    desk.goto(f"{site}/admin/memory/userfact/")
    expect(desk.locator(".messagelist")).to_contain_text("Nothing is open to you")
    owner = Trader.objects.get(email="nora@example.com")
    desk.goto(f"{site}/admin/trading/trader/{owner.pk}/change/")
    desk.get_by_role("button", name="Open the user’s data").click()
    desk.get_by_label("Reason").fill("she asks us to archive a fact")
    desk.get_by_role("button", name="Open the user’s data").click()
    desk.goto(f"{site}/admin/memory/userfact/")
    desk.locator("#result_list tbody a").first.click()
    desk.get_by_role("button", name="Archive").click()
    desk.get_by_label("Reason").fill("she asks us to archive a fact")
    desk.get_by_role("button", name="Archive").click()
    expect(desk.locator(".messagelist")).to_contain_text("Archive: 1 done")
    context.close()

    page.goto(f"{site}/profile/access/")
    expect(page.get_by_role("main")).to_contain_text("desk@example.com")
    expect(page.get_by_role("main")).to_contain_text("Reason: she asks us to archive a fact")
    page.goto(f"{site}/profile/facts/?show=archived")
    expect(page.get_by_role("main")).to_contain_text(re.compile("I (never risk|trade BTC)"))
