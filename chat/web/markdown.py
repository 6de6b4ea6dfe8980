"""Render Markdown as safe HTML."""

import re
from typing import Final

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

MAX_RENDERED: Final = 32_000  # characters; a longer text is shown plain
MAX_OPEN_BLOCK: Final = 4_000  # characters; a longer open block waits for the end of the reply

_TAGS: Final = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
# "*" for every tag: left out, nh3 lets `title` and `lang` pass.
_ATTRIBUTES: Final[dict[str, set[str]]] = {"*": set(), "a": {"href"}, "ol": {"start"}, "code": {"class"}}
_SCHEMES: Final = {"http", "https", "mailto"}
# The first word decides the kind of a line; `*`, `#` or `1` may yet become emphasis or a list, text or a heading.
_BEGINS_WITH_A_WORD: Final = re.compile(r" {0,3}(?:\*\*)?[^\W\d_]")


def _is_safe_link(url: str) -> bool:
    # A scheme-relative link leaves the site while it looks like a path of it.
    return not url.strip().startswith(("//", "\\", "/\\")) and (
        url.lower().startswith(("http://", "https://", "mailto:", "#")) or (url.startswith("/") and ":" not in url)
    )


def _build_markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "linkify": True, "breaks": True})
    markdown.enable(["table", "strikethrough", "linkify"]).disable("image")
    # The rule that looks for links character by character takes seconds for 32 kB of "://"; the one that looks at the
    # finished text finds the same links.
    markdown.inline.ruler.disable("linkify")
    markdown.validateLink = _is_safe_link  # type: ignore[method-assign]
    return markdown


_MARKDOWN: Final = _build_markdown()


def render_markdown(text: str) -> SafeString:
    """Return a text's safe HTML, a `pre` over MAX_RENDERED."""
    if len(text) > MAX_RENDERED:
        return mark_safe(f"<pre>{escape(text)}</pre>")  # noqa: S308  escaped in this line
    return _sanitise_html(_MARKDOWN.render(text))


def close_blocks(text: str) -> tuple[SafeString, str]:
    """Return the HTML of complete blocks, and the open text.

    A block is complete when another one has begun after it. Nothing is complete in a text over MAX_OPEN_BLOCK.
    """
    if "\n" not in text or len(text) > MAX_OPEN_BLOCK:
        return SafeString(""), text
    whole, _, last_line = text.rpartition("\n")
    seen = text if _BEGINS_WITH_A_WORD.match(last_line) else f"{whole}\n"
    starts = [
        token.map[0]
        for token in _MARKDOWN.parse(seen)
        if token.map is not None and token.level == 0 and token.nesting >= 0
    ]
    if len(starts) < 2:
        return SafeString(""), text
    lines = text.split("\n")
    closed, still_open = "\n".join(lines[: starts[-1]]), "\n".join(lines[starts[-1] :])
    return render_markdown(closed), still_open


def _sanitise_html(html: str) -> SafeString:
    clean = nh3.clean(
        html, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes=_SCHEMES, link_rel="noopener noreferrer nofollow"
    )
    return mark_safe(clean)  # noqa: S308  nh3 keeps the tags and attributes named above, nothing else
