"""Walk through a page by keyboard alone."""

import pytest
from playwright.sync_api import Page

MOST_TABS = 150
# What the focus is on, in the words that its user sees or hears.
FOCUSED = r"""() => {
    const one = document.activeElement;
    const label = one.getAttribute("aria-label") || (one.labels && one.labels[0] ? one.labels[0].innerText : "");
    return [label, one.innerText || "", one.id].map((words) => words.trim().replaceAll(/\s+/g, " "));
}"""


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the element of this text, label or id has the focus."""
    seen = []
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        words = page.evaluate(FOCUSED)
        if name in words:
            return
        seen.append(next(filter(None, words), ""))
    pytest.fail(f"Tab never reaches {name}, but {seen}")
