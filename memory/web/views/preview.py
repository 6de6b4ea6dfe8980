"""The preview of each assistant's memory block, and the timeline of changes."""

from typing import Final

from django.http import HttpResponse
from django.utils import timezone

from config.lib.paging import build_page_links, parse_page_number
from config.lib.web import PageRequest, owned_page
from memory.facts.history import get_timeline
from memory.web import queries
from memory.web.views.responses import show_page

ABOUT: Final = {
    "coach": "The ten facts it used last, whatever their category. Inferred ones are marked as such.",
    "advisor": "By category, as many as each one’s budget of tokens holds: what you said first, then the newest.",
    "companion": "Every fact, with the day Keel learned it, and your places.",
}


@owned_page
def show_changes(request: PageRequest) -> HttpResponse:
    """Show all writes to facts, newest first."""
    timeline = get_timeline(parse_page_number(request.GET.get("page", "")))
    links = build_page_links(timeline, lambda number: f"?page={number}")
    return show_page(request, "changes", {"timeline": timeline, "links": links})


@owned_page
def show_preview(request: PageRequest) -> HttpResponse:
    """Show the block of an assistant's next chat, and the omitted facts."""
    name, page = request.GET.get("assistant", ""), parse_page_number(request.GET.get("page", ""))
    assistant = name if name in ABOUT else "coach"
    context = {
        "preview": queries.get_preview(assistant=assistant, page=page, now=timezone.now()),
        "assistant": assistant,
        "assistants": [(name, name.capitalize()) for name in ABOUT],
        "about": ABOUT[assistant],
    }
    return show_page(request, "preview", context)
