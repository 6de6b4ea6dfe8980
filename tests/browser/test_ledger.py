"""Pages of trades, backtests and calendar: scripts, no scripts, keyboard."""

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone
from PIL import Image
from playwright.sync_api import expect

from config.lib.owned import owned_tx
from tests.factories.memory import DAY, HOUR
from tests.factories.record import (
    BacktestRunFactory,
    BarFactory,
    DecisionSnapshotFactory,
    DeploymentFactory,
    EquityPointFactory,
    FillFactory,
    TradeFactory,
)
from trading.models import BacktestRun, Bar, Trade


@dataclass
class Record:
    """Rows on every page."""

    closed: Trade
    done: BacktestRun
    running: BacktestRun


@pytest.fixture
def record(logged_in) -> Record:
    """A deployment with trades of every kind, backtests in three states, and events."""
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    _market(now)
    with owned_tx(logged_in):
        deployment = DeploymentFactory(version__skill__name="Funding mean reversion", created_at=now - 30 * DAY)
        snapshots = [DecisionSnapshotFactory(deployment=deployment, tick=tick, tick_at=now - DAY) for tick in (1, 2)]
        ends = {"entry_snapshot": snapshots[0], "exit_snapshot": snapshots[1], "entry_tick_at": now - DAY}
        closed = TradeFactory(deployment=deployment, **ends)
        for quantity, at in ((1, now - DAY), (1, now - DAY + HOUR / 2), (-2, now - DAY + 2 * HOUR)):
            FillFactory(deployment=deployment, quantity=quantity, at=at, fee_usd=Decimal("0.3"))
        for number in range(60):
            _trade(deployment, number, now)
        TradeFactory(deployment=deployment, still_open=True, symbol="ETH", entry_tick_at=now - 3 * HOUR)
        of = {"deployment__version": deployment.version, "ticks_total": 720}
        done = BacktestRunFactory(done=True, is_simulated=True, ticks_done=720, **of)
        for number in range(12):
            _trade(done.deployment, number, now)
        for number in range(40):
            at, equity = now - (40 - number) * DAY, 10_000 + 9 * number - 60 * (number % 3)
            EquityPointFactory(deployment=done.deployment, at=at, equity_usd=equity)
        running = BacktestRunFactory(status="running", ticks_done=130, **of)
        BacktestRunFactory(status="failed", error="No model answered.", finished_at=now, **of)
    return Record(closed, done, running)


def _trade(deployment, number: int, now: datetime) -> None:
    TradeFactory(
        deployment=deployment,
        symbol=("BTC", "ETH", "SOL")[number % 3],
        side="long" if number % 3 > 0 else "short",
        entry_tick_at=now - 2 * DAY - number * 7 * HOUR,
        gross_pnl_usd=Decimal(number + 3 if number % 4 > 0 else -7),
        mfe_usd=Decimal(100),
    )


def _market(now: datetime) -> None:
    prices = {"open": 100, "high": 110, "low": 90, "is_simulated": True}
    Bar.objects.bulk_create(
        BarFactory.build(symbol=symbol, opened_at=now - number * HOUR, close=100 + number % 7, **prices)
        for symbol in ("BTC", "ETH")
        for number in range(1, 100 * 24)
    )


def test_filters_write_the_address_and_back_undoes_them(site, record, page):
    page.goto(f"{site}/trades/")
    page.get_by_text("Filters and columns").click()
    page.get_by_label("Symbol", exact=True).select_option("SOL")

    expect(page).to_have_url(re.compile(r"/trades/\?symbol=SOL$"))
    expect(page.locator("#results")).to_contain_text("20 trades fit")
    page.go_back()
    expect(page.locator("#results")).to_contain_text("62 trades")


@pytest.mark.timeout(120)
def test_charts_are_drawn_and_a_picture_is_kept_without_metadata(site, record, page, tmp_path):
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    Image.new("RGB", (80, 40), "teal").save(tmp_path / "photo.jpg", exif=exif)
    trade = reverse("trading:trade", args=[record.closed.pk])
    for address in ("/trades/", reverse("trading:backtest", args=[record.done.pk]), trade):
        page.goto(site + address)
        page.locator("[data-chart]").first.scroll_into_view_if_needed()
        expect(page.locator("[data-chart] canvas").first).to_be_visible()

    page.get_by_label("Picture", exact=True).set_input_files(tmp_path / "photo.jpg")
    page.get_by_role("button", name="Save the picture").click()
    picture = page.get_by_alt_text("Your picture of this trade")
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("naturalWidth", 80)  # once it is loaded
    expect(picture).to_have_js_property("naturalHeight", 40)

    served = page.request.get(site + reverse("trading:picture", args=[record.closed.pk]))
    assert b"taken at home" not in served.body()
    assert served.headers["content-security-policy"] == "default-src 'none'; sandbox"


def test_filters_work_without_scripts(site, record, browser, sign_in, logged_in):
    with browser.new_context(java_script_enabled=False) as context:
        sign_in(context, logged_in)
        page = context.new_page()
        page.goto(f"{site}/trades/")
        page.get_by_text("Filters and columns").click()
        page.get_by_label("Side", exact=True).select_option("short")
        page.get_by_role("button", name="Apply").click()

        expect(page.locator("#results")).to_contain_text("20 trades fit")
        page.goto(f"{site}/backtests/")
        page.get_by_role("button", name="Count the bars").click()
        expect(page.locator("#backtest-bars")).to_contain_text("of BTC")


def test_a_backtest_shows_its_progress_until_it_is_over(site, record, logged_in, page):
    page.goto(site + reverse("trading:backtest", args=[record.running.pk]))
    expect(page.locator("#backtest-run")).to_contain_text("130 of 720 decisions")

    with owned_tx(logged_in):
        BacktestRun.objects.filter(pk=record.running.pk).update(ticks_done=500)
    expect(page.locator("#backtest-run")).to_contain_text("500 of 720 decisions")
    with owned_tx(logged_in):
        BacktestRun.objects.filter(pk=record.running.pk).update(
            ticks_done=720, status="done", finished_at=timezone.now()
        )

    expect(page.locator("#backtest-run")).to_contain_text("Too few to say")
    expect(page.locator("#backtest-run")).not_to_have_attribute("hx-get", re.compile("."))


def test_a_backtest_is_started_and_cancelled_by_keyboard(site, record, page, problems):
    page.goto(f"{site}/backtests/")
    page.get_by_label("First day (UTC)").fill("2001-01-01")
    page.get_by_label("Last day (UTC)").fill("2001-01-02")
    expect(page.locator("#backtest-bars")).to_contain_text("There are no 1h bars of BTC, ETH on these days")

    page.goto(f"{site}/backtests/")
    page.get_by_role("button", name="Start").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("It waits for its turn.")).to_be_visible()
    page.get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Enter")

    expect(page.locator("#backtest-run")).to_contain_text("It was ended before its first decision.")
    # A page that was left may have been asking how far its backtests are.
    problems[:] = [problem for problem in problems if "htmx:" not in problem]
