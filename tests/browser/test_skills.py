"""Pages of skills and deployments: scripts, no scripts, keyboard."""

from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from config.lib.owned import owned_tx
from tests.factories.record import DeploymentFactory
from trading.models import Deployment, DeploymentCommand, SkillDraft
from trading.skills.services import apply_template_to_draft, patch_draft, start_draft


def test_a_skill_is_written_saved_and_deployed(site, logged_in, page):
    page.goto(f"{site}/skills/")
    page.get_by_role("button", name="Start from Range fade").click()
    page.get_by_role("link", name="Write it by hand").click()
    page.get_by_label("Name", exact=True).fill("My range")
    page.keyboard.press("Enter")  # saves, as the main button does

    expect(page.get_by_role("heading", level=1)).to_have_text("My range")
    page.get_by_role("button", name="Deploy version 1 on paper").click()
    expect(page.get_by_text("No decision yet.")).to_be_visible()
    with owned_tx(logged_in):
        assert (Deployment.objects.count(), SkillDraft.objects.filter(status="editing").count()) == (1, 0)


def test_the_preview_keeps_up_with_the_draft_and_marks_what_changed(site, logged_in, page):
    def write(patch) -> None:
        with owned_tx(logged_in):
            draft = start_draft(now=timezone.now())
            patch_draft(draft_id=draft.pk, patch=patch, now=timezone.now())

    page.goto(f"{site}/skills/new/")
    page.get_by_role("button", name="Skip").click()
    expect(page.get_by_role("heading", name="Tell Keel what you trade")).to_be_visible()
    write({"name": "Dips"})
    page.evaluate("document.body.dispatchEvent(new CustomEvent('keel:draft'))")  # as the chat does
    expect(page.get_by_role("heading", name="Dips")).to_be_visible()

    page.get_by_role("button", name="Close").focus()
    write({"risk": {"max_leverage": 7}})

    expect(page.locator("[data-card].is-changed")).to_have_count(1, timeout=10_000)  # it looks by itself
    expect(page.locator("#draft-told")).to_have_text("The draft has changed: Risk.")
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    expect(page.locator("[data-card].is-changed")).to_have_count(0)


def test_the_preview_works_without_scripts(site, logged_in, browser, sign_in):
    with owned_tx(logged_in):
        draft = start_draft(now=timezone.now())
        apply_template_to_draft(draft_id=draft.pk, template="range_fade", now=timezone.now())
    with browser.new_context(java_script_enabled=False) as context:
        sign_in(context, logged_in)
        page = context.new_page()
        page.goto(f"{site}/skills/new/")

        page.get_by_role("link", name="Reload the draft").click()
        page.get_by_role("button", name="Save the skill").click()

        expect(page.get_by_role("heading", level=1)).to_have_text("Range fade")


def test_what_is_wrong_is_found_from_the_head_of_the_form(site, logged_in, page, problems):
    page.goto(f"{site}/skills/new/?view=form")
    expect(page.get_by_label("Bars of each symbol")).to_be_hidden()  # the form begins with its first step
    expect(page.locator(".form-steps [aria-current=step]")).to_have_text("1. Basics")
    page.get_by_role("link", name="3. What the agent sees").click()
    expect(page.locator(".form-steps [aria-current=step]")).to_have_text("3. What the agent sees")
    page.get_by_label("Bars of each symbol").fill("9999")
    page.get_by_role("button", name="Save the skill").click()

    expect(page.locator(".form-steps [aria-current=step]")).to_have_text("All at once")
    page.get_by_role("link", name="What the agent sees: Bars of each symbol").click()
    expect(page.get_by_label("Bars of each symbol")).to_have_value("9999")
    expect(page.get_by_label("Bars of each symbol")).to_have_attribute("aria-invalid", "true")
    problems.clear()  # the answer was a 422


def test_a_command_asks_once_more_also_without_scripts(site, browser, sign_in, logged_in):
    with owned_tx(logged_in):
        deployment = DeploymentFactory()
    with browser.new_context(java_script_enabled=False) as context:
        sign_in(context, logged_in)
        page = context.new_page()
        page.goto(site + reverse("trading:deployment", args=[deployment.pk]))
        expect(page.get_by_role("button", name="Stop it for good")).not_to_be_visible()

        page.locator("summary", has_text="Stop").click()
        page.get_by_role("button", name="Stop it for good").click()

        expect(page.get_by_text("The runner does it at its next round")).to_be_visible()
    with owned_tx(logged_in):
        assert DeploymentCommand.objects.filter(kind="stop", status="pending").exists()


def test_on_a_phone_the_less_used_ways_stand_behind_more(site, logged_in, page):
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{site}/skills/")
    rail = page.get_by_role("navigation", name="Main")
    expect(rail.get_by_role("link", name="Trades")).to_have_count(0)

    rail.locator("summary").click()
    rail.get_by_role("link", name="Trades").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Trades")
