"""The preview of each assistant's memory block, and the timeline of changes."""

from typing import Final

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from config.lib.paging import build_page_links
from config.lib.web import PageRequest, owned_page
from memory.facts.history import get_timeline
from memory.web import queries
from memory.web.forms import PageForm, PreviewForm
from memory.web.views.responses import get_page_frame

ABOUT: Final = {
    "coach": "The ten facts it used last, whatever their category. Inferred ones are marked as such.",
    "advisor": "By category, as many as each one’s budget of tokens holds: what you said first, then the newest.",
    "companion": "Every fact, with the day Keel learned it, and your places.",
}


@owned_page
def show_changes(request: PageRequest) -> HttpResponse:
    """Show all writes to facts, newest first."""
    form = PageForm(request.GET)
    timeline = get_timeline(form.page_number())
    links = build_page_links(timeline, lambda number: f"?page={number}")
    return TemplateResponse(
        request, "memory/changes.html", {"timeline": timeline, "links": links, **get_page_frame("changes")}
    )


@owned_page
def show_preview(request: PageRequest) -> HttpResponse:
    """Show the block of an assistant's next chat, and the omitted facts."""
    form = PreviewForm(request.GET)
    assistant, page = form.read_choice()
    context = {
        "preview": queries.get_preview(assistant=assistant, page=page, now=timezone.now()),
        "assistant": assistant,
        "assistants": PreviewForm.ASSISTANTS,
        "about": ABOUT[assistant],
        **get_page_frame("preview"),
    }
    return TemplateResponse(request, "memory/preview.html", context)
