"""Search chats: a page, and results beside a chat."""

from functools import partial
from typing import Final
from urllib.parse import urlencode

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.vary import vary_on_headers

from chat.conversations.search import MAX_HITS, ConversationHit, Range, search_conversations
from chat.models import ConversationStatus
from chat.parts import Json
from config.lib.paging import build_page_links, locate_page, parse_page_number
from config.lib.search.terms import list_query_terms
from config.lib.text import one_line
from config.lib.web import PageRequest, owned_page

MAX_QUERY: Final = 200  # characters
PAGE_SIZE: Final = 10
BESIDE: Final = 8  # results in the list beside a chat


@owned_page
@vary_on_headers("HX-Request", "HX-Target")
def search(request: PageRequest) -> HttpResponse:
    """Show the chats that answer a query, best first."""
    query = one_line(request.GET.get("q", "")[: 4 * MAX_QUERY])[:MAX_QUERY]
    is_beside = bool(request.htmx) and request.htmx.target == "found"
    number = 1 if is_beside else parse_page_number(request.GET.get("page", ""))
    context = _search_context(query, number, BESIDE if is_beside else PAGE_SIZE)
    if is_beside:
        return TemplateResponse(request, "chat/_found.html", context)
    if not request.htmx:
        return TemplateResponse(request, "chat/search.html", context)
    response = TemplateResponse(request, "chat/_found_page.html", context)
    # Typing on stays in one entry of the browser's history.
    response["HX-Replace-Url"] = _build_address(query)
    return response


def _search_context(query: str, number: int, size: int) -> Json:
    """Return the context of results; `why` explains a refused query."""
    why = _why_not(query)
    if why:
        return {"query": query, "why": why, "hits": [], "total": 0, "all_url": _build_address(query)}
    most = min(number * size, MAX_HITS)
    found = search_conversations(query=query, limit=most)
    within_reach = min(found.total, MAX_HITS)
    place = locate_page(number, total=within_reach, size=size)
    return {
        "query": query,
        "why": "",
        "hits": [_build_hit(row) for row in found.rows[place.rows]],
        "total": found.total,
        "best": MAX_HITS if found.total > MAX_HITS else 0,
        "number": place.number,
        "pages": place.pages,
        **build_page_links(place, partial(_build_address, query)),
        "all_url": _build_address(query),
    }


def _why_not(query: str) -> str:
    """Return why a query is not searched: `empty`, `short`; or nothing.

    One letter of an alphabet stands in every chat; one sign of a script without spaces is a word.
    """
    if not query:
        return "empty"
    return "short" if not list_query_terms(query) or (len(query) == 1 and query.isascii()) else ""


def _build_hit(row: ConversationHit) -> Json:
    anchor = f"#message-{row.message_id}" if row.message_id else ""
    return {
        "conversation": row.conversation,
        "url": f"{reverse('chat:conversation', args=[row.conversation.pk])}{anchor}",  # at the message found
        "title": _mark_ranges(row.conversation.title or "New chat", row.title_ranges),
        "snippet": _mark_ranges(row.snippet, row.snippet_ranges),
        "is_archived": row.conversation.status == ConversationStatus.ARCHIVED,
    }


def _mark_ranges(text: str, ranges: list[Range]) -> SafeString:
    ends = [0, *(end for _, end in ranges)]
    starts = [*(start for start, _ in ranges), len(text)]
    between = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    found = [*(text[start:end] for start, end in ranges), ""]
    pieces = zip(between, found, strict=True)
    marks = ((plain, format_html("<mark>{}</mark>", word) if word else "") for plain, word in pieces)
    return format_html_join("", "{}{}", marks)


def _build_address(query: str, number: int = 1) -> str:
    asked = {"q": query} | ({"page": str(number)} if number > 1 else {})
    return f"{reverse('chat:search')}?{urlencode(asked)}"
