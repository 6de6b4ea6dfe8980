"""The coach's dialogues in a browser, unscripted (seed 003)."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from chat.models import ActionCard, CardStatus, Receipt
from config.lib.owned import owned, owned_tx
from tests.factories.record import BarFactory, DeploymentFactory, MarketEventFactory, SkillVersionFactory, TradeFactory
from trading.models import Deployment, DeploymentCommand, SkillDraft, SkillVersion

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
REASON = "Funding flipped negative while the trend held above its mean"


@pytest.fixture(autouse=True)
def _offline(settings):
    settings.CHAT_AGENT_MODEL = "offline/keel"
    settings.TITLE_MODELS = ["offline/keel"]
    settings.OFFLINE_DELAY_SECONDS = 0


@dataclass
class Desk:
    """A running deployment that holds a BTC long, in a market with a past."""

    deployment: Deployment
    now: datetime


@pytest.fixture
def desk(logged_in) -> Desk:
    """Four past CPI prints of which each moved BTC by 2 %, and one to come in twenty hours."""
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    prints = [now - days * DAY - 4 * HOUR for days in (150, 120, 90, 60)]
    price = Decimal(100_000)
    for at in prints:
        MarketEventFactory(kind="cpi", starts_at=at, symbols=[], importance=0.9)
        for number in range(-3, 4):
            _bar(at + number * HOUR, price * Decimal("0.98") if number >= 0 else price)
    for number in range(1, 40):
        _bar(now - number * HOUR, price)
    MarketEventFactory(kind="cpi", starts_at=now + 20 * HOUR, symbols=[], importance=0.9, title="US consumer prices")
    with owned_tx(logged_in):
        deployment = DeploymentFactory(
            version=SkillVersionFactory(skill__name="Funding reversion"), created_at=now - DAY
        )
        TradeFactory(
            deployment=deployment,
            symbol="BTC",
            side="long",
            still_open=True,
            entry_reason=REASON,
            entry_at=now - 5 * HOUR,
        )
    return Desk(deployment, now)


def _bar(opened_at: datetime, close: Decimal) -> None:
    BarFactory(symbol="BTC", opened_at=opened_at, open=close, high=close, low=close, close=close)


def open_panel(page: Page) -> Locator:
    """Open the coach beside the page."""
    page.get_by_role("link", name="Ask Keel").click()
    panel = page.locator("#coach-panel")
    expect(panel.locator("[data-chat][data-ready]")).to_be_attached(timeout=15_000)
    return panel


def say(place: Locator, text: str) -> Locator:
    """Send a message; return the finished answer."""
    answers = place.locator(".message--assistant")
    before = answers.count()
    place.get_by_role("textbox", name=re.compile("Message")).fill(text)
    place.page.keyboard.press("Enter")
    expect(answers).to_have_count(before + 1, timeout=20_000)
    expect(answers.last).to_have_attribute("data-status", "complete", timeout=30_000)
    return answers.last


# --- Coaching ---


def test_why_did_you_open_this_position(site, desk, page):
    page.goto(site + reverse("trading:deployment", args=[desk.deployment.pk]))
    panel = open_panel(page)

    answer = say(panel, "Why did you open this position?")

    expect(answer).to_contain_text(REASON)
    expect(answer).to_contain_text("BTC")
    expect(answer).to_contain_text("UTC")
    expect(answer.locator(".tool")).not_to_have_count(0)


def test_what_will_cpi_do_to_my_btc_long(site, desk, page):
    page.goto(site + reverse("trading:deployment", args=[desk.deployment.pk]))
    panel = open_panel(page)

    answer = say(panel, "What will CPI do to my BTC long?")

    expect(answer).to_contain_text(re.compile(r"2(\.0+)?\s?%"))
    expect(answer).to_contain_text("4")  # past events of the kind


def test_stop_it_prepares_a_card_that_only_a_click_commits(site, desk, logged_in, page, shoot):
    page.goto(site + reverse("trading:deployment", args=[desk.deployment.pk]))
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
        assert (command.kind, command.deployment_id) == ("stop", desk.deployment.pk)
        assert ActionCard.objects.filter(status=CardStatus.CONFIRMED).count() == 1


def test_card_that_is_cancelled_does_nothing(site, desk, logged_in, page):
    page.goto(site + reverse("trading:deployment", args=[desk.deployment.pk]))
    panel = open_panel(page)
    say(panel, "Pause it")
    card = panel.locator(".action-card")

    card.get_by_role("button", name="Cancel").click()

    expect(card).to_contain_text("Nothing was done")
    with owned(logged_in):
        assert DeploymentCommand.objects.count() == 0
    page.reload()
    expect(page.locator("#coach-panel .action-card")).to_contain_text("Nothing was done", timeout=15_000)


def test_what_did_you_know_shows_what_the_answer_was_written_from(site, desk, logged_in, page):
    page.goto(f"{site}/chat/")
    place = page.locator(".chat__main")
    expect(page.locator("[data-chat][data-ready]")).to_be_attached()
    answer = say(place, "How are my deployments doing?")

    answer.get_by_role("link", name="What did you know?").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("What Keel knew")
    expect(page.get_by_text("put together again, byte for byte")).to_be_visible()
    expect(page.locator("main")).to_contain_text("get_my_deployments")
    with owned(logged_in):
        assert Receipt.objects.count() == 1


# --- Authoring ---


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


def test_first_authoring_session_asks_how_much_one_has_traded(site, logged_in, page):
    page.goto(f"{site}/skills/new/")
    question = page.get_by_text("How much have you traded?")
    expect(question).to_be_visible()

    page.get_by_role("button", name=re.compile("new", re.IGNORECASE)).first.click()

    expect(question).to_have_count(0)
    logged_in.refresh_from_db()
    assert logged_in.experience_tier == "novice"


def test_novice_is_walked_from_a_template_to_a_draft(site, logged_in, page, shoot):
    panel = begin_authoring(page, site, logged_in, "novice")

    answer = say(panel, "Help me build a BTC funding-flip mean-reversion strategy")

    assert read_draft(logged_in)["context"]["symbols"] == ["BTC"]
    expect(answer).to_contain_text(re.compile("backtest", re.IGNORECASE))
    expect(page.locator("#draft-place")).to_contain_text("BTC", timeout=10_000)
    shoot("coach-novice")


def test_intermediate_answers_questions_and_the_draft_grows(site, logged_in, page):
    panel = begin_authoring(page, site, logged_in, "intermediate")

    first = say(panel, "I want to trade ETH breakouts")
    expect(first).to_contain_text("?")
    say(panel, "Enter when ETH closes above its 20 hour high. Exit when it closes below the 10 hour low.")
    say(panel, "At most 5% per position and 2x leverage.")

    draft = read_draft(logged_in)
    assert draft["context"]["symbols"] == ["ETH"]
    assert draft["risk"]["max_leverage"] == 2
    assert draft["risk"]["max_position_pct"] == 5


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
