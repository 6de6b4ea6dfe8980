"""Pages of skills and deployments: scripts, no scripts, keyboard."""

from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from config.lib.owned import owned_tx
from tests.browser.looks import check_looks
from tests.factories.record import (
    BarFactory,
    DecisionSnapshotFactory,
    DeploymentCommandFactory,
    DeploymentFactory,
    EquityPointFactory,
    ReflectionNoteFactory,
    SkillVersionFactory,
    TradeFactory,
)
from trading.agent.context import preview_prompt
from trading.models import Deployment, DeploymentCommand, Skill, SkillDraft
from trading.skills.services import apply_template_to_draft, patch_draft, save_draft, start_draft

HOUR = timedelta(hours=1)


@dataclass
class Record:
    """Rows on every page."""

    skill: Skill
    deployment: Deployment


@pytest.fixture
def record(logged_in) -> Record:
    """A skill in two versions, with drafts, and a halted deployment of its first that holds something."""
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    for number in range(1, 80):
        BarFactory(opened_at=now - number * HOUR, is_simulated=True)
    with owned_tx(logged_in):
        start_draft(now=now)
        version = _saved(None, {"name": "Funding mean reversion"}, now)
        deployment = DeploymentFactory(
            version=version,
            created_at=now,
            last_tick=40,
            last_tick_at=now,
            halt_code="R6_DAILY_LOSS_HALT",
            halted_until=now + 9 * HOUR,
        )
        _saved(version.skill, {"schedule": {"value": "1m"}, "context": {"bars_lookback": 500}}, now)
        start_draft(skill_id=version.skill_id, now=now)
        start_draft(now=now)
        SkillVersionFactory(skill__name="An old idea", skill__archived_at=now)
        for number in range(12):
            TradeFactory(deployment=deployment, entry_tick_at=now - number * 20 * HOUR)
        TradeFactory(deployment=deployment, still_open=True, entry_tick_at=now - 3 * HOUR)
        EquityPointFactory(deployment=deployment, at=now)
        DeploymentCommandFactory(deployment=deployment, kind="redeploy")
        finding = {"code": "small_sample", "bullet": "Wait", "text": "This rests on fewer than five trades."}
        note = ReflectionNoteFactory(deployment=deployment, findings=[finding])
        ReflectionNoteFactory(deployment=deployment, status="superseded", superseded_at=now)
        _decisions(deployment, note, now)
    return Record(version.skill, deployment)


def _saved(skill, patch, now):
    draft = start_draft(skill_id=skill.pk if skill else None, now=now)
    if skill is None:
        apply_template_to_draft(draft_id=draft.pk, template="funding_mean_reversion", now=now)
    patch_draft(draft_id=draft.pk, patch=patch, now=now)
    return save_draft(draft_id=draft.pk, now=now)


def _decisions(deployment, note, now) -> None:
    prompt = preview_prompt(deployment, at=now)
    refused = {
        "verdict": "refused",
        "verdict_code": "R3_POSITION_CAP",
        "verdict_text": "BTC would be $2,500.00, above 10.0% of equity, $1,000.00",
        "proposal": {"symbol": "BTC", "side": "long", "size_usd": 2500.0, "leverage": 1, "reason": "Crowded"},
    }
    for tick in range(1, 41):
        DecisionSnapshotFactory(
            deployment=deployment,
            tick=tick,
            tick_at=now - (40 - tick) * HOUR,
            system_prompt=prompt.system,
            context=prompt.context,
            note_id=note.pk,
            steps=[{"text": "Look", "calls": [{"name": "get_bars", "arguments": "{}", "result": "- none"}]}],
            **(refused if tick % 13 == 1 else {}),
        )


# --- How they look ---


@pytest.mark.timeout(300)
def test_pages_of_skills_and_deployments(site, record, page, shoot):
    skill, deployment = record.skill.pk, record.deployment.pk
    pages = {
        "skills": "/skills/",
        "skill-new": "/skills/new/",
        "skill-new-form": "/skills/new/?view=form",
        "skill-edit": reverse("trading:edit_skill", args=[skill]),
        "skill-edit-form": reverse("trading:edit_skill", args=[skill]) + "?view=form",
        "skill": reverse("trading:skill", args=[skill]) + "?compare=1..2",
        "skill-version": reverse("trading:version", args=[skill, 1]),
        "deployments": "/deployments/",
        "deployment": reverse("trading:deployment", args=[deployment]),
        "decision": reverse("trading:decision", args=[deployment, 40]),
        "agent-prompt": reverse("trading:agent_prompt", args=[deployment]),
    }
    for name, address in pages.items():
        page.goto(site + address)
        check_looks(page, shoot, name)


def test_pages_of_who_has_no_skill(site, logged_in, page, shoot):
    for name, address in {"skills": "/skills/", "deployments": "/deployments/"}.items():
        page.goto(site + address)
        check_looks(page, shoot, f"{name}-empty")


# --- What they do ---


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


def test_a_command_asks_once_more_also_without_scripts(site, record, browser, sign_in, logged_in):
    with browser.new_context(java_script_enabled=False) as context:
        sign_in(context, logged_in)
        page = context.new_page()
        page.goto(site + reverse("trading:deployment", args=[record.deployment.pk]))
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
