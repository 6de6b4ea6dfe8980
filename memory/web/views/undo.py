"""The timeline of writes to memory; undo one or a batch."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.vary import vary_on_headers

from config.lib.lists import ListForm
from config.lib.web import PageRequest, owned_act, owned_page
from memory.facts.history import compare_event, get_timeline
from memory.facts.queries import find_event, find_last_version
from memory.facts.undo import undo_batch, undo_event
from memory.models import WriteKind
from memory.web.views.fact_list import build_batch_listing, show_refusal, show_result
from memory.web.views.places import show_places_result
from memory.web.views.responses import CONFLICT, find_named, is_for_element, redirect_back, show_page, try_write


@owned_page
def show_changes(request: PageRequest) -> HttpResponse:
    """Show all writes to facts, newest first."""
    filters = ListForm(request.GET)
    return show_page(request, "changes", {"page": get_timeline(filters.number), "filters": filters})


@owned_page
@vary_on_headers("HX-Request")
def show_event(request: PageRequest, event_id: UUID) -> HttpResponse:
    """Show what one write to a fact changed."""
    event = find_event(event_id)
    if event is None or event.lineage is None:
        raise Http404
    if not request.htmx:
        return redirect("memory:fact", event.lineage)
    return TemplateResponse(request, "memory/_event.html", {"event": event, **compare_event(event)})


@owned_act
def undo_write(request: PageRequest, event_id: UUID) -> HttpResponse:
    """Undo a write from these pages or a chat."""
    now = timezone.now()
    refusal = try_write(request, undo_event, event_id=event_id, now=now)
    event = find_event(event_id)
    if event is None:
        raise Http404
    if is_for_element(request, "memory-") or (request.htmx and request.POST.get("surface") == "chat"):
        context = {"event": event, "refusal": refusal}
        status = CONFLICT if refusal else 200
        return TemplateResponse(request, "memory/_memory_line.html", context, status=status)
    if event.lineage is None:
        return show_places_result(request, event=event, refusal=refusal)
    # Of a link the form says which end it shows.
    is_of_two = event.kind in (WriteKind.LINK, WriteKind.UNLINK)
    end = find_named(request.POST, "of", find_last_version) if is_of_two else None
    shown_id = end.pk if end else event.lineage
    if refusal:
        return show_refusal(request, shown_id, refusal, now)
    return show_result(request, shown_id, now, event=event)


@owned_act
def undo_writes(request: PageRequest, batch_id: UUID) -> HttpResponse:
    """Undo a batch, all or none."""
    now = timezone.now()
    refusal = try_write(request, undo_batch, batch_id=batch_id, now=now)
    refusal = f"Nothing was undone. {refusal}" if refusal else ""
    if is_for_element(request, "results"):
        shown = build_batch_listing(request, batch_id, now, notice=refusal)
        return TemplateResponse(request, "memory/_found.html", shown, status=CONFLICT if refusal else 200)
    if refusal:
        messages.error(request, refusal)
    return redirect_back(request, reverse("memory:facts"), batch=batch_id)
