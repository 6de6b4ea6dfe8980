"""The dashboard in a browser: the first steps by keyboard, and figures that lead to their rows."""

from playwright.sync_api import expect

from tests.browser.keys import tab_to
from tests.browser.looks import check_looks


def test_a_new_user_takes_the_three_steps_by_keyboard(site, logged_in, page, shoot):
    page.goto(f"{site}/")
    expect(page.get_by_text("0 of 3")).to_be_visible()

    tab_to(page, "Some time")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 of 3")).to_be_visible()
    tab_to(page, "Skip")
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 of 3")).to_be_visible()
    tab_to(page, "first-rule")
    page.keyboard.type("I never use more than 3x leverage")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="To confirm")).to_be_visible()

    page.goto(f"{site}/")
    expect(page.get_by_role("heading", name="First steps")).to_have_count(0)
    expect(page.get_by_role("link", name="1 rule to confirm")).to_be_visible()
    check_looks(page, shoot, "home-first-rule")
