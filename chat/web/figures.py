"""Mark the figures of a reply in its HTML: a link to the row, or "not from your record"."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from chat.grounding.checks import MAX_FIGURES, name_source
from chat.parts import Json
from chat.web.markdown import render_markdown

# Characters for private use stand around a figure while its text is rendered; a model's own are taken out.
_FIRST: Final = 0xE100
_END: Final = "\ue000"
_PRIVATE: Final = re.compile("[\ue000-\uf8ff]")
_MARKED: Final = re.compile(f"([{chr(_FIRST)}-{chr(_FIRST + MAX_FIGURES)}])([^<{_END}]*){_END}")
_TAG: Final = re.compile(r"(<[^>]*>)")
_PAGES: Final = {
    "trade": "trading:trade",
    "fact": "memory:fact",
    "backtest": "trading:backtest",
    "skill": "trading:skill",
    "deployment": "trading:deployment",
}


def find_page(source: Json | None) -> str:
    """Return the path of the row that states a figure; empty without a page."""
    if source is None or "id" not in source or source["kind"] not in _PAGES:
        return ""
    return reverse(_PAGES[source["kind"]], args=[source["id"]])


def render_text(text: str, figures: Sequence[Json], receipt: str) -> SafeString:
    """Return a text's safe HTML with its figures marked.

    `receipt` is the path of the reply's receipt, to which figures of rows without a page lead.
    """
    if not figures:
        return render_markdown(text)
    text, pieces, end = _PRIVATE.sub("\ufffd", text), [], 0
    for number, figure in enumerate(figures):
        pieces += [text[end : figure["start"]], chr(_FIRST + number), text[figure["start"] : figure["end"]], _END]
        end = figure["end"]
    html = render_markdown("".join([*pieces, text[end:]]))
    return mark_safe(  # noqa: S308  safe HTML, in whose text nodes format_html writes
        _PRIVATE.sub("", _replace_in_text(html, lambda number, shown: _mark(figures[number], shown, receipt)))
    )


def _replace_in_text(html: str, mark: Callable[[int, SafeString], SafeString]) -> str:
    """Replace the marked texts outside of tags and links."""
    pieces, links = _TAG.split(html), 0
    for at, piece in enumerate(pieces):
        if at % 2:
            links += piece.startswith("<a ") - piece.startswith("</a")
        elif not links:
            pieces[at] = _MARKED.sub(
                lambda match: mark(ord(match[1]) - _FIRST, mark_safe(match[2])),  # noqa: S308  a piece of safe HTML
                piece,
            )
    return "".join(pieces)


def _mark(figure: Json, shown: SafeString, receipt: str) -> SafeString:
    source = figure["source"]
    if source is None:
        return format_html(
            '<mark class="figure figure--unknown" title="Not from your record">{}'
            '<span class="visually-hidden"> (not from your record)</span></mark>',
            shown,
        )
    if source["kind"] in ("chat", "context", "clock"):
        return shown
    page = find_page(source) or f"{receipt}#figures"
    return format_html('<a class="figure" href="{}" title="From {}">{}</a>', page, name_source(source), shown)
