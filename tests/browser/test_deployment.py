"""A deployment's page: charts on a canvas, the keyboard, the table, and what follows the runner in another tab."""

from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from config.lib.owned import owned_tx
from tests.browser.looks import check_looks
from tests.factories.memory import HOUR
from tests.factories.record import (
    BarFactory,
    DecisionSnapshotFactory,
    DeploymentFactory,
    EquityPointFactory,
    OrderFactory,
    ReflectionNoteFactory,
    TradeFactory,
)
from trading.models import Deployment

HAS_INK = """canvas => { const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
                         return data.some(value => value > 0) }"""


@pytest.fixture
def deployment(logged_in):
    """A paused deployment on a simulated market: a day of equity, trades, a stop and a lesson."""
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    start = now - 30 * HOUR
    with owned_tx(logged_in):
        made = DeploymentFactory(version__skill__name="Dips", status="paused", created_at=start)
        for hour in range(30):
            at, price = start + hour * HOUR, Decimal(100 + hour % 6)
            BarFactory(opened_at=at, open=price, close=price, high=price + 2, low=price - 2, is_simulated=True)
            EquityPointFactory(deployment=made, at=at, equity_usd=Decimal(10_000 + 40 * hour - 25 * (hour % 4)))
        for hour in range(0, 24, 3):
            TradeFactory(deployment=made, entry_tick_at=start + hour * HOUR)
        TradeFactory(deployment=made, still_open=True, entry_tick_at=now - 2 * HOUR)
        OrderFactory(deployment=made, stop_price=Decimal(95), proposed_at=now - 2 * HOUR)
        for tick, verdict in enumerate(("accepted", "refused", "none"), 1):
            code = "R3_POSITION_CAP" if verdict == "refused" else ""
            DecisionSnapshotFactory(deployment=made, tick=tick, verdict=verdict, verdict_code=code)
        ReflectionNoteFactory(
            deployment=made, generated_at=now - 15 * HOUR, window_start=start, window_end=now - 15 * HOUR
        )
    return made


def open_page(page, site, deployment) -> None:
    page.goto(site + reverse("trading:deployment", args=[deployment.pk]))


def test_charts_are_drawn_read_by_keyboard_and_agree_with_their_table(site, deployment, page, shoot):
    hosts = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    open_page(page, site, deployment)
    equity = page.locator("[data-chart=equity][data-drawn]")
    equity.wait_for()
    figure = page.locator("figure", has=equity)
    assert any(canvas.evaluate(HAS_INK) for canvas in equity.locator("canvas").all())

    equity.focus()
    last = figure.locator("[data-readout]").inner_text()
    page.keyboard.press("ArrowLeft")
    expect(figure.locator("[data-readout]")).not_to_have_text(last)
    page.keyboard.press("End")
    expect(figure.locator("[data-readout]")).to_have_text(last)
    assert equity.get_attribute("aria-valuenow") == equity.get_attribute("aria-valuemax") == "29"

    figure.get_by_text("Equity: as a table").click()
    newest = figure.locator("tbody tr").first.locator("td").first.inner_text()
    assert f"Equity {newest} " in last
    expect(page.locator(".stat", has_text="Equity").first).to_contain_text(newest)

    page.locator("#deployment-prices").scroll_into_view_if_needed()
    page.mouse.move(0, 0)  # scrolled under the pointer, the chart would read out the candle there
    page.locator("[data-chart=price][data-drawn]").focus()
    page.keyboard.press("End")
    expect(page.locator("#deployment-prices [data-readout]")).to_contain_text("Stop at 95")
    first = page.locator("svg[aria-label^=Verdicts] a").first
    first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("svg[aria-label^=Verdicts] a").nth(1)).to_be_focused()
    assert hosts == {site.removeprefix("http://")}
    check_looks(page, shoot, "deployment")


def test_status_follows_the_runner_in_a_second_tab(site, deployment, page, context, logged_in):
    second = context.new_page()
    for tab in (page, second):
        open_page(tab, site, deployment)
    page.locator(".confirm > summary", has_text="Resume").click()
    page.get_by_role("button", name="Resume it").click()
    expect(second.locator("#commands")).to_contain_text("Waiting", timeout=4_000)

    second.locator(".confirm > summary", has_text="Stop").click()
    with owned_tx(logged_in):
        Deployment.objects.filter(pk=deployment.pk).update(status="running")

    expect(page.locator("#deployment-live .badge").first).to_have_text("Running", timeout=4_000)
    # What is about to be confirmed stays; it follows once the confirmation is closed.
    expect(second.get_by_role("button", name="Stop it for good")).to_be_visible()
    second.locator(".confirm > summary", has_text="Stop").click()
    expect(second.locator("#deployment-live .badge").first).to_have_text("Running", timeout=4_000)
