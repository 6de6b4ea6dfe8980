"""The dashboard in a browser: the first steps by keyboard, and figures that lead to their rows."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from config.lib.owned import owned_tx
from tests.browser.keys import tab_to
from tests.browser.looks import check_looks
from tests.factories.record import (
    BarFactory,
    DecisionSnapshotFactory,
    DeploymentFactory,
    EquityPointFactory,
    MarketEventFactory,
    TradeFactory,
    TradingRuleFactory,
)

DAY, HOUR = timedelta(days=1), timedelta(hours=1)


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


@pytest.fixture
def record(logged_in) -> None:
    """An agent and an own account with results of today, a position and what concerns it."""
    now = timezone.now()
    with owned_tx(logged_in):
        agent = DeploymentFactory(created_at=now - 20 * DAY, last_tick=7, last_tick_at=now)
        own = DeploymentFactory(broker_kind="live", label="Binance spot", starting_equity_usd=None)
        for number in range(20):
            at, equity = now - number * DAY, Decimal(10_000 + number % 4 * 90)
            EquityPointFactory(deployment=agent, at=at, equity_usd=equity, tick=number + 1)
            TradeFactory(deployment=own, entry_tick_at=at - HOUR, exit_tick_at=at)
        DecisionSnapshotFactory(deployment=agent, tick=7, tick_at=now, verdict="accepted")
        TradeFactory(deployment=agent, still_open=True, entry_tick_at=now - DAY, entry_leverage=Decimal(9))
        BarFactory(opened_at=now - HOUR, is_simulated=True)
        MarketEventFactory(starts_at=now + DAY)
        TradingRuleFactory()


def test_figures_of_the_dashboard_lead_to_their_rows(site, record, page, shoot):
    page.goto(f"{site}/")
    check_looks(page, shoot, "home-record")
    links = page.locator(".stats a, #positions-title a, .home table a, .home .lines a")
    found = [(one.inner_text().strip(), one.get_attribute("href")) for one in links.all()]
    assert len(found) >= 10

    amounts = [(text.lstrip("▲▼").strip(), href) for text, href in found if "$" in text]
    assert len(amounts) >= 3
    for text, href in found:
        assert page.goto(site + href).status == 200, (text, href)
        if (text.lstrip("▲▼").strip(), href) in amounts:
            expect(page.get_by_role("main")).to_contain_text(text.lstrip("▲▼").strip())
