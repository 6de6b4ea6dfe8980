"""Each figure of the own trades links to its rows, or its line says of how many."""

import re
from datetime import timedelta
from html.parser import HTMLParser

import time_machine

from tests.factories.memory import JUNE
from tests.factories.record import DeploymentFactory, TradeFactory

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
_FIGURE = re.compile(r"[-+\u2212]?\$[\d,.]+|[-+\u2212]?\d[\d,.]*\s?%")
_COUNT = re.compile(
    r"\b\d[\d,]*\s+(?:closed |open |past )?(?:trades?|events?|fills?|days?|hours?|bars?)\b|\bn = ?\d", re.I
)
_LINES = {"tr", "li", "p", "dl", "dd", "div", "section", "caption", "td", "article"}
_VOID = {"br", "img", "input", "hr", "meta", "link", "path", "circle", "line", "rect", "use", "wbr"}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[dict] = []
        self.lines: list[dict] = []
        self.figures: list[tuple[str, list[dict]]] = []

    def handle_starttag(self, tag, attrs):
        if tag not in _VOID:
            self.open.append({"tag": tag, "text": "", "links": False, "attrs": dict(attrs)})
            if tag == "a":
                for one in self.open:
                    one["links"] = True

    def handle_endtag(self, tag):
        while self.open and self.open.pop()["tag"] != tag:
            pass

    def handle_data(self, data):
        for one in self.open:
            one["text"] += f" {data.strip()}"
        tags = [one["tag"] for one in self.open]
        if "main" in tags and not {"option", "label", "script", "style"} & set(tags):
            self.figures += [(figure, list(self.open)) for figure in _FIGURE.findall(data)]


def find_bare_figures(html: str) -> list[str]:
    """Return the figures without a link and without a count in their line or card."""
    page = _Page()
    page.feed(html)
    bare = []
    for figure, around in page.figures:
        lines = [one for one in around if one["tag"] in _LINES][-2:]
        if not any(one["tag"] == "a" for one in around) and not any(
            one["links"] or _COUNT.search(one["text"]) for one in lines
        ):
            bare.append(f"{figure} in {lines[-1]['text'].strip()[:80] if lines else ''}")
    return bare


def test_find_bare_figures_tells_them_from_others():
    html = "<main><p>$5</p><p>$6 of 3 trades</p><p><a href='/'>7 %</a></p><table><tr><td>8 %</td><td>n = 4</td></tr>"
    assert [one.split()[0] for one in find_bare_figures(html)] == ["$5"]


def test_each_figure_of_a_page_has_rows_or_a_count(client):
    deployment = DeploymentFactory(broker_kind="live", label="Mine")
    for number in range(8):
        at = JUNE - (number + 2) * DAY
        times = {"entry_at": at, "entry_tick_at": at, "exit_at": at + HOUR, "exit_tick_at": at + HOUR}
        TradeFactory(deployment=deployment, symbol="BTC", **times)
    TradeFactory(deployment=deployment, symbol="ETH", still_open=True)

    for address in ("/trades/", "/trades/?show=groups", "/trades/?show=days"):
        with time_machine.travel(JUNE, tick=False):
            html = client.get(address).content.decode()
        assert _FIGURE.search(html), address
        assert find_bare_figures(html) == []
