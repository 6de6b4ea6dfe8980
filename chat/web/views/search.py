"""Search chats: a page, and results beside a chat."""

from typing import Final

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.vary import vary_on_headers

from chat.conversations.search import MAX_HITS, ConversationHit, Range, search_conversations
from chat.models import ConversationStatus
from chat.parts import Json
from chat.web.forms import WordsForm
from config.lib.lists import address
from config.lib.search.terms import list_query_terms
from config.lib.web import PageRequest, goes_into, owned_page

HERE: Final = "chat:search"
PAGE_SIZE: Final = 10
BESIDE: Final = 8  # results in the list beside a chat


@owned_page
@vary_on_headers("HX-Request", "HX-Target")
def search(request: PageRequest) -> HttpResponse:
    """Show the chats that answer a query, best first."""
    filters = WordsForm(request.GET, home=reverse(HERE))
    is_beside = goes_into(request, "found")
    context = _search_context(filters, 1 if is_beside else filters.number, BESIDE if is_beside else PAGE_SIZE)
    if is_beside:
        return TemplateResponse(request, "chat/_found.html", context)
    if not request.htmx:
        return TemplateResponse(request, "chat/search.html", context)
    response = TemplateResponse(request, "chat/_found_page.html", context)
    # Typing on stays in one entry of the browser's history.
    response["HX-Replace-Url"] = address(filters, page=1)
    return response


def _search_context(filters: WordsForm, number: int, size: int) -> Json:
    """Return the context of results; `why` a query is not searched: it is `empty`, or `short`."""
    query = filters.query
    context = {"query": query, "filters": filters, "all_url": address(filters, page=1)}
    # One letter of an alphabet stands in every chat; one sign of a script without spaces is a word.
    if not query or not list_query_terms(query) or (len(query) == 1 and query.isascii()):
        return context | {"why": "short" if query else "empty", "hits": [], "total": 0}
    most = min(number * size, MAX_HITS)
    found = search_conversations(query=query, limit=most)
    page = Paginator(range(min(found.total, MAX_HITS)), size).get_page(number)  # of those within reach
    return context | {
        "why": "",
        "hits": [_build_hit(found.rows[place]) for place in page],
        "total": found.total,
        "best": MAX_HITS if found.total > MAX_HITS else 0,
        "page": page,
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
