"""How a page looks: in both themes and two widths, nothing that a person with another device or sense trips over."""

import os
from collections.abc import Callable
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

WIDE, NARROW = 1280, 360
RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]}
CONTRAST, TARGETS = ({"type": "rule", "values": [rule]} for rule in ("color-contrast", "target-size"))
# What can differ from the first look: colours by theme, sizes by width.
LOOKS = (("light", WIDE, RULES), ("dark", WIDE, CONTRAST), ("light", NARROW, TARGETS))
WIDTHS = (WIDE, NARROW)  # each page is loaded at
# `make test` tries every rule once and the width of a phone; `make test-all` takes each look.
if os.environ.get("KEEL_TEST_SCOPE") == "usual":
    LOOKS = (("light", WIDE, RULES), ("dark", NARROW, None))
    WIDTHS = (WIDE,)
MOST_ROWS = 5  # of a list; those after it come from the same template, and axe would look at each for long
MOST_SHIFT = 0.02
SET_THEME = "theme => { document.documentElement.dataset.theme = theme }"  # what the switch on the page does
OVERFLOWS = "document.documentElement.scrollWidth > window.innerWidth"
COVERS = """() => {
    const [button, content] = [".panel__open", ".content"].map((name) => document.querySelector(name));
    const edge = content && content.getBoundingClientRect().right - parseFloat(getComputedStyle(content).paddingRight);
    return Boolean(content && button?.checkVisibility()) && button.getBoundingClientRect().left < edge;
}"""
DRAWN_TWICE = "[...document.querySelectorAll('[data-chart]')].filter(place => place.childElementCount > 1).length"
RUN_AXE = f"""runOnly => axe.run(
    {{ exclude: [["tbody > tr:nth-child(n + {MOST_ROWS + 1})"], ["main li:nth-child(n + {MOST_ROWS + 1})"]] }},
    {{ runOnly, resultTypes: ["violations"], preload: false }})"""  # preloading is for sounds and for locked screens
SHIFT = """() => new Promise((done) => {
    let total = 0;
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) total += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
    requestAnimationFrame(() => requestAnimationFrame(() => done(total)));
})"""
IS_SETTLED = """() => !document.querySelector(".htmx-request") &&
    [...document.querySelectorAll("[data-chart]")].every((place) => "drawn" in place.dataset || !place.checkVisibility()
        || place.getBoundingClientRect().top > innerHeight + 200)"""
AXE = Axe()


def check_pages(page: Page, shoot: Callable[..., None], site: str, pages: dict[str, str], status: int = 200) -> None:
    """Open pages at each width and check them in each look: no other host is asked, and nothing moves once it is there.

    What is wrong with all of them is told at once.
    """
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    wrong = []
    for name, address in pages.items():
        for width in WIDTHS:
            resize(page, width)
            response = page.goto(site + address)
            if response is None or response.status != status:
                wrong.append(f"{name}: {address} answers with {response and response.status}")
            page.wait_for_function(IS_SETTLED)
            if (shift := page.evaluate(SHIFT)) > MOST_SHIFT:
                wrong.append(f"{name} at {width} pixels: its layout shifts by {shift:.3f}")
        wrong += list_faults(page, shoot, name)
    assert hosts <= {urlsplit(site).netloc, ""}, hosts
    assert wrong == [], "\n\n".join(wrong)


def check_looks(page: Page, shoot: Callable[..., None], name: str) -> None:
    """Check the page that is open in each look; all that is wrong is told at once."""
    wrong = list_faults(page, shoot, name)
    assert wrong == [], "\n\n".join(wrong)


def list_faults(page: Page, shoot: Callable[..., None], name: str) -> list[str]:
    """Return what is wrong with the page that is open."""
    page.evaluate(AXE.axe_script)
    wrong = []
    for theme, width, rules in LOOKS:
        resize(page, width)
        page.evaluate(SET_THEME, theme)
        shoot(f"{name}-{theme}-{width}", full_page=True)
        if page.evaluate(OVERFLOWS):
            wrong.append(f"{name} at {width} pixels, {theme}: it scrolls sideways")
        if width == WIDE and page.evaluate(COVERS):
            wrong.append(f"{name} at {width} pixels: the coach's button covers the page")
        for violation in page.evaluate(RUN_AXE, rules)["violations"] if rules else ():
            places = [f"{node['html']} {node['failureSummary']}" for node in violation["nodes"]]
            wrong.append("\n".join([f"{name} at {width} pixels, {theme}: {violation['help']}", *places]))
    if page.evaluate(DRAWN_TWICE):
        wrong.append(f"{name}: a chart is drawn twice")
    resize(page, WIDE)
    page.evaluate(SET_THEME, "light")
    return wrong


def resize(page: Page, width: int) -> None:
    """Give the window a width, unless it has it."""
    if page.viewport_size != {"width": width, "height": 800}:
        page.set_viewport_size({"width": width, "height": 800})
