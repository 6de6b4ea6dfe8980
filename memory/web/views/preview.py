"""The preview of each assistant's memory block, and the timeline of changes."""

from typing import Final

from django.http import HttpResponse
from django.utils import timezone

from config.lib.paging import build_page_links
from config.lib.web import PageRequest, owned_page
from memory.facts.history import get_timeline
from memory.web import queries
from memory.web.forms import PageForm, PreviewForm
from memory.web.views.responses import show_page

ABOUT: Final = {
    "coach": "The ten facts it used last, whatever their category. Inferred ones are marked as such.",
    "advisor": "By category, as many as each one’s budget of tokens holds: what you said first, then the newest.",
    "companion": "Every fact, with the day Keel learned it, and your places.",
}


@owned_page
def show_changes(request: PageRequest) -> HttpResponse:
    """Show all writes to facts, newest first."""
    timeline = get_timeline(PageForm(request.GET).page_number())
    links = build_page_links(timeline, lambda number: f"?page={number}")
    return show_page(request, "changes", {"timeline": timeline, "links": links})


@owned_page
def show_preview(request: PageRequest) -> HttpResponse:
    """Show the block of an assistant's next chat, and the omitted facts."""
    form = PreviewForm(request.GET)
    assistant = form.known.get("assistant", "coach")
    context = {
        "preview": queries.get_preview(assistant=assistant, page=form.page_number(), now=timezone.now()),
        "assistant": assistant,
        "assistants": PreviewForm.ASSISTANTS,
        "about": ABOUT[assistant],
    }
    return show_page(request, "preview", context)
