"""By keyboard alone: the first kept fact, imported trade, backtest and paused agent of a new user."""

import pytest
from django.utils import timezone
from playwright.sync_api import FileChooser, Page, TimeoutError, expect

from config.lib.owned import owned
from memory.models import UserFact
from tests.browser.keys import tab_to
from tests.factories.memory import HOUR
from tests.factories.record import BarFactory
from tests.trading.intake.samples import SAMPLES
from trading.models import BacktestRun, Bar, DeploymentCommand, Trade


def press(page: Page, name: str) -> None:
    """Go to a link or button by Tab and press Enter, which leads to another page."""
    tab_to(page, name)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def open_file_chooser(page: Page) -> FileChooser:
    """Press Enter on the field of a file until its dialogue opens: a busy Chromium loses the key's permission to."""
    for _ in range(2):
        try:
            with page.expect_file_chooser(timeout=10_000) as chooser:
                page.keyboard.press("Enter")
            return chooser.value
        except TimeoutError:
            continue
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    return chooser.value


@pytest.mark.timeout(300)
def test_new_user_reaches_every_first_step_by_keyboard(site, logged_in, page):
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    Bar.objects.bulk_create(
        [
            BarFactory.build(symbol=symbol, interval=interval, opened_at=now - number * HOUR)
            for symbol in ("BTC", "ETH", "SOL")
            for interval in ("15m", "1h")
            for number in range(1, 80)
        ]
    )
    page.goto(f"{site}/")

    tab_to(page, "first-rule")
    page.keyboard.type("I never use more than 3x leverage")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="To confirm")).to_be_visible()
    with owned(logged_in):
        assert UserFact.objects.get().content == "I never use more than 3x leverage"

    press(page, "Home")
    press(page, "Import your trades")
    tab_to(page, "File")
    file = {"name": "history.csv", "mimeType": "text/csv", "buffer": SAMPLES["binance futures"].content}
    open_file_chooser(page).set_files(file)
    press(page, "Look at the file")
    press(page, "Import 2 fills")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Binance futures")
    with owned(logged_in):
        assert Trade.objects.count() == 1

    press(page, "Skills")
    press(page, "New skill")
    press(page, "Start from Range fade")
    press(page, "Save the skill")
    expect(page.get_by_role("heading", level=1)).to_have_text("Range fade")
    press(page, "Backtest")
    press(page, "Start")
    expect(page.get_by_role("heading", name="Backtest of Range fade")).to_be_visible()
    with owned(logged_in):
        assert BacktestRun.objects.count() == 1

    press(page, "Skills")
    press(page, "Range fade")
    press(page, "Deploy version 1 on paper")
    expect(page.get_by_text("No decision yet.")).to_be_visible()
    tab_to(page, "Pause")
    page.keyboard.press("Enter")
    press(page, "Pause it")
    expect(page.get_by_text("The runner does it at its next round")).to_be_visible()
    with owned(logged_in):
        assert DeploymentCommand.objects.get().kind == "pause"
