"""Taking writes back: one by one, or what was done to many facts at once."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from config.lib.web import owned_view
from memory.facts.queries import find_event, find_last_version
from memory.facts.undo import undo_batch, undo_event
from memory.facts.versions import FactNotFound
from memory.models import EventKind, MemoryEvent
from memory.web.views.fact_list import answer, batch_listing, refused
from memory.web.views.places import places_answer
from memory.web.views.responses import CONFLICT, PageRequest, back_with, goes_into, refusal_of, uuid_or_none


@require_POST
@owned_view
def undo(request: PageRequest, event_id: UUID) -> HttpResponse:
    """Take a write back, from these pages or from a line in a chat."""
    now = timezone.now()
    refusal = refusal_of(request, FactNotFound, undo_event, event_id=event_id, now=now)
    event = find_event(event_id)
    if event is None:
        raise Http404
    if goes_into(request, "memory-") or (request.htmx and request.POST.get("surface") == "chat"):
        context = {"event": event, "refusal": refusal}
        status = CONFLICT if refusal else 200
        return TemplateResponse(request, "memory/_memory_line.html", context, status=status)
    if event.lineage is None:
        return places_answer(request, event=event, refusal=refusal)
    shown_id = _shown_id(request, event, event.lineage)
    if refusal:
        return refused(request, shown_id, refusal, now)
    return answer(request, shown_id, now, event=event)


@require_POST
@owned_view
def undo_many(request: PageRequest, batch_id: UUID) -> HttpResponse:
    """Take back what was done to many facts at once, all or nothing."""
    now = timezone.now()
    refusal = refusal_of(request, FactNotFound, undo_batch, batch_id=batch_id, now=now)
    refusal = f"Nothing was undone. {refusal}" if refusal else ""
    if goes_into(request, "results"):
        shown = batch_listing(request, batch_id, now, notice=refusal)
        return TemplateResponse(request, "memory/_found.html", shown, status=CONFLICT if refusal else 200)
    if refusal:
        messages.error(request, refusal)
    return back_with(request, reverse("memory:facts"), batch=batch_id)


def _shown_id(request: PageRequest, event: MemoryEvent, lineage: UUID) -> UUID:
    """Return the fact to show afterwards: a link is undone on the page of either end."""
    page_of = uuid_or_none(request.POST.get("of", ""))
    if event.kind in (EventKind.LINK, EventKind.UNLINK) and page_of and find_last_version(page_of):
        return page_of
    return lineage
