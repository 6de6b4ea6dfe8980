"""The coach's dialogues in a browser, unscripted (seed 003): what only a browser does."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from chat.models import ActionCard, CardStatus
from config.lib.owned import owned, owned_tx
from tests.browser.talk import offline, say
from tests.factories.memory import DAY, HOUR
from tests.factories.record import DeploymentFactory, SkillVersionFactory, TradeFactory
from trading.models import Deployment, DeploymentCommand, SkillDraft, SkillVersion

__all__ = ["offline"]

pytestmark = pytest.mark.usefixtures("offline")


@pytest.fixture
def deployment(logged_in) -> Deployment:
    """A running deployment that holds a BTC long."""
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    with owned_tx(logged_in):
        deployment = DeploymentFactory(
            version=SkillVersionFactory(skill__name="Funding reversion"), created_at=now - DAY
        )
        TradeFactory(deployment=deployment, symbol="BTC", side="long", still_open=True, entry_at=now - 5 * HOUR)
    return deployment


def open_panel(page: Page) -> Locator:
    """Open the coach beside the page."""
    page.get_by_role("link", name="Ask Keel").click()
    panel = page.locator("#coach-panel")
    expect(panel.locator("[data-chat][data-ready]")).to_be_attached(timeout=15_000)
    return panel


def test_stop_it_prepares_a_card_that_only_a_click_commits(site, deployment, logged_in, page, shoot):
    page.goto(site + reverse("trading:deployment", args=[deployment.pk]))
    panel = open_panel(page)

    say(panel, "Stop it")

    card = panel.locator(".action-card")
    expect(card).to_contain_text("Funding reversion")
    with owned(logged_in):
        assert DeploymentCommand.objects.count() == 0
    say(panel, "Yes, confirm it")
    with owned(logged_in):
        assert DeploymentCommand.objects.count() == 0, "a word in the chat does nothing"
    shoot("coach-card")

    card.first.get_by_role("button", name=re.compile("Confirm|Stop")).first.click()

    expect(card.first.get_by_role("button", name="Confirm")).to_have_count(0)
    with owned(logged_in):
        command = DeploymentCommand.objects.get()
        assert (command.kind, command.deployment_id) == ("stop", deployment.pk)
        assert ActionCard.objects.filter(status=CardStatus.CONFIRMED).count() == 1


def begin_authoring(page: Page, site: str, logged_in, tier: str) -> Locator:
    """Open the page of a new skill as a person of that experience, with the coach beside it."""
    type(logged_in)._default_manager.filter(pk=logged_in.pk).update(experience_tier=tier)
    page.goto(f"{site}/skills/new/")
    return open_panel(page)


def read_draft(user) -> dict:
    """Return the payload of the user's draft."""
    with owned(user):
        payload: dict = SkillDraft.objects.get().payload
    return payload


def test_expert_hands_over_a_pitch_and_gets_push_back_then_saves(site, logged_in, page, shoot):
    panel = begin_authoring(page, site, logged_in, "expert")

    answer = say(
        panel,
        "Pitch: BTC and ETH trend breakout on 4h bars, called Harbour. Enter on a close above the 20-bar high. "
        "Max 10% per position, 3x leverage, check every 4h.",
    )

    draft = read_draft(logged_in)
    assert draft["context"]["symbols"] == ["BTC", "ETH"]
    assert draft["risk"]["max_leverage"] == 3
    expect(answer).to_contain_text(re.compile("exit", re.IGNORECASE))
    shoot("coach-expert")
    say(panel, "Exit on a close below the 10-bar low. Call it Harbour.")
    expect(page.locator("#draft-place")).to_contain_text("10-bar low", timeout=10_000)
    page.locator("#draft-place, main").get_by_role("button", name="Save").first.click()
    expect(page).to_have_url(re.compile(r"/skills/[0-9a-f-]{36}/$"))
    with owned(logged_in):
        assert SkillVersion.objects.get().payload["name"] == "Harbour"
