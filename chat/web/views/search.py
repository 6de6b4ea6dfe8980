"""Search chats: a page, and results beside a chat."""

from functools import partial
from typing import Final

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.vary import vary_on_headers

from chat.conversations.search import MAX_HITS, ConversationHit, Range, search_conversations
from chat.models import ConversationStatus
from chat.parts import Json
from chat.web.forms import build_address, read_query
from config.lib.paging import build_page_links, locate_page, parse_page_number
from config.lib.search.terms import list_query_terms
from config.lib.web import PageRequest, owned_page

HERE: Final = "chat:search"
PAGE_SIZE: Final = 10
BESIDE: Final = 8  # results in the list beside a chat


@owned_page
@vary_on_headers("HX-Request", "HX-Target")
def search(request: PageRequest) -> HttpResponse:
    """Show the chats that answer a query, best first."""
    query = read_query(request)
    is_beside = bool(request.htmx) and request.htmx.target == "found"
    number = 1 if is_beside else parse_page_number(request.GET.get("page", ""))
    context = _search_context(query, number, BESIDE if is_beside else PAGE_SIZE)
    if is_beside:
        return TemplateResponse(request, "chat/_found.html", context)
    if not request.htmx:
        return TemplateResponse(request, "chat/search.html", context)
    response = TemplateResponse(request, "chat/_found_page.html", context)
    # Typing on stays in one entry of the browser's history.
    response["HX-Replace-Url"] = build_address(HERE, query)
    return response


def _search_context(query: str, number: int, size: int) -> Json:
    """Return the context of results; `why` a query is not searched: it is `empty`, or `short`."""
    # One letter of an alphabet stands in every chat; one sign of a script without spaces is a word.
    if not query or not list_query_terms(query) or (len(query) == 1 and query.isascii()):
        why = "short" if query else "empty"
        return {"query": query, "why": why, "hits": [], "total": 0, "all_url": build_address(HERE, query)}
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
        **build_page_links(place, partial(build_address, HERE, query)),
        "all_url": build_address(HERE, query),
    }


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
    marked = [(text[end:start], text[start:stop]) for end, (start, stop) in zip(ends, ranges, strict=False)]
    return format_html("{}{}", format_html_join("", "{}<mark>{}</mark>", marked), text[ends[-1] :])
