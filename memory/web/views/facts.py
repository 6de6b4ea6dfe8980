"""The page of what Keel knows, and each fact's own."""

from datetime import datetime
from typing import Final
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django.views.decorators.vary import vary_on_headers

from config.lib.errors import DomainError
from config.lib.web import owned_view
from memory.facts.services import remember_fact
from memory.facts.versions import FactNotFound, Written
from memory.models import Confidence, FactSource
from memory.web.forms import EditFactForm, FactForm
from memory.web.views.fact_list import (
    address,
    answer,
    editing,
    fact_page,
    facts_page,
    last_version,
    listing,
    new_form,
    slot,
)
from memory.web.views.responses import REFUSED, PageRequest, came_from, event_of, goes_into, shown_query, writing

KNOWN: Final = "Keel knows this already."


# Back must show what was changed meanwhile, and what Keel knows stays out of the browser's cache: hence `never_cache`.
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@vary_on_headers("HX-Request", "HX-Target")
@owned_view
def facts(request: PageRequest) -> HttpResponse:
    """Show the facts, and take a new one."""
    if request.method == "POST":
        return _add(request)
    if goes_into(request, "add"):
        form = new_form() if "add" in request.GET else None
        return TemplateResponse(request, "memory/_adding.html", {"form": form, "here": came_from(request)})
    shown = listing(request.GET, timezone.now())
    if not goes_into(request, "results"):
        return facts_page(request, shown)
    response = TemplateResponse(request, "memory/_found.html", shown)
    before, after = shown_query(request).get("q"), request.GET.get("q")
    # Typing on stays in one entry of the browser's history; anything else makes a new one.
    is_typing_on = bool(before and after) and before != after
    response["HX-Replace-Url" if is_typing_on else "HX-Push-Url"] = shown["here"]
    return response


@require_safe
@never_cache
@vary_on_headers("HX-Request", "HX-Target")
@owned_view
def fact(request: PageRequest, fact_id: UUID) -> HttpResponse:
    """Show one fact with its history; to htmx in the list, the fact alone or its form."""
    now = timezone.now()
    last = last_version(fact_id)
    if goes_into(request, "slot-"):
        if "edit" not in request.GET or last.is_archived:
            return slot(request, last, now)
        form = EditFactForm(last)
        form.begin_here()
        return editing(request, form)
    if last.pk != fact_id:
        # The address of an older version, from a chat or a bookmark, leads to the newest.
        return redirect(address(last, request.GET))
    return fact_page(request, last, now, event=event_of(request.GET))


def _add(request: PageRequest) -> HttpResponse:
    now = timezone.now()
    form = FactForm(request.POST, auto_id="add-%s")
    if form.is_valid():
        try:
            with writing(request, FactNotFound):
                written = remember_fact(
                    content=form.cleaned_data["content"],
                    topic=form.cleaned_data["topic"],
                    category=form.cleaned_data["category"] or None,
                    confidence=Confidence.ASSERTED,
                    source=FactSource.PROFILE,
                    now=now,
                )
        except DomainError as error:
            form.add_error("content", str(error))
        else:
            return _added(request, written, now)
    form.begin_here()
    if goes_into(request, "add"):
        context = {"form": form, "here": came_from(request)}
        return TemplateResponse(request, "memory/_add.html", context, status=REFUSED)
    return facts_page(request, listing(shown_query(request), now), form, status=REFUSED)


def _added(request: PageRequest, written: Written, now: datetime) -> HttpResponse:
    if not goes_into(request, "add"):
        return answer(request, written.fact.pk, now, event=written.event, notice=KNOWN)
    shown = listing(shown_query(request), now, event=written.event)
    context = {**shown, "form": new_form(), "known": None if written.event else written.fact}
    return TemplateResponse(request, "memory/_added.html", context)
