"""The page of all facts and the page of one fact."""

from datetime import datetime
from typing import Final
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.vary import vary_on_headers

from config.lib.errors import DomainError
from config.lib.web import PageRequest, owned_form, owned_page
from memory.facts.queries import list_shown_facts
from memory.facts.review import close_fulfilled
from memory.facts.services import remember_fact
from memory.facts.versions import FactNotFound, FactWrite, get_last_version
from memory.models import Confidence, FactSource
from memory.web.forms import EditFactForm, FactForm
from memory.web.views import fact_list
from memory.web.views.responses import (
    REFUSED,
    find_query_event,
    get_source_address,
    is_for_element,
    parse_source_query,
    write_or_404,
)

KNOWN: Final = "Keel knows this already."


# The back button must show later changes, and facts must stay out of the browser's cache: hence `never_cache`.
@owned_form
@vary_on_headers("HX-Request", "HX-Target")
def show_facts(request: PageRequest) -> HttpResponse:
    """Show the facts, or add one."""
    if request.method == "POST":
        return _add_fact(request)
    if is_for_element(request, "add"):
        form = fact_list.make_fact_form() if "add" in request.GET else None
        return TemplateResponse(request, "memory/_adding.html", {"form": form, "here": get_source_address(request)})
    shown = fact_list.build_listing(request.GET, timezone.now())
    if is_for_element(request, "more"):
        return TemplateResponse(request, "memory/_pieces.html", {**shown, "is_more": True})
    if not is_for_element(request, "results"):
        return fact_list.show_facts_page(request, shown)
    response = TemplateResponse(request, "memory/_found.html", shown)
    before, after = parse_source_query(request).get("q"), request.GET.get("q")
    # Further typing replaces the browser's history entry; any other change adds one.
    is_typing_on = bool(before and after) and before != after
    response["HX-Replace-Url" if is_typing_on else "HX-Push-Url"] = shown["here"]
    return response


@owned_page
@vary_on_headers("HX-Request", "HX-Target")
def show_fact(request: PageRequest, fact_id: UUID) -> HttpResponse:
    """Show a fact with its history, or its slot or form."""
    now = timezone.now()
    last = get_last_version(fact_id)
    if is_for_element(request, "slot-"):
        if "edit" not in request.GET or last.is_archived:
            return fact_list.show_slot(request, last, now)
        form = EditFactForm(last)
        form.focus_first_field()
        return fact_list.show_edit_form(request, form)
    if is_for_element(request, "menu-"):
        context = {"shown": list_shown_facts([last], now)[0], "here": get_source_address(request)}
        return TemplateResponse(request, "memory/_fact_panel.html", context)
    if last.pk != fact_id:
        # An older version's address, from a chat or a bookmark, leads to the newest.
        return redirect(fact_list.get_fact_address(last, request.GET))
    return fact_list.show_fact_page(request, last, now, event=find_query_event(request.GET))


def _add_fact(request: PageRequest) -> HttpResponse:
    now = timezone.now()
    form = FactForm(request.POST, auto_id="add-%s")
    if form.is_valid():
        try:
            with write_or_404(request, FactNotFound):
                written = remember_fact(
                    content=form.cleaned_data["content"],
                    topic=form.cleaned_data["topic"],
                    category=form.cleaned_data["category"] or None,
                    confidence=Confidence.ASSERTED,
                    source=FactSource.PROFILE,
                    validity=form.cleaned_data["validity"],
                    now=now,
                )
                close_fulfilled(conversation_id=None, now=now)
        except DomainError as error:
            form.add_error("content", str(error))
        else:
            return _show_added_fact(request, written, now)
    form.focus_first_field()
    if is_for_element(request, "add"):
        context = {"form": form, "here": get_source_address(request)}
        return TemplateResponse(request, "memory/_add.html", context, status=REFUSED)
    return fact_list.show_facts_page(
        request, fact_list.build_listing(parse_source_query(request), now), form, status=REFUSED
    )


def _show_added_fact(request: PageRequest, written: FactWrite, now: datetime) -> HttpResponse:
    if not is_for_element(request, "add"):
        return fact_list.show_result(request, written.fact.pk, now, event=written.event, notice=KNOWN)
    shown = fact_list.build_listing(parse_source_query(request), now, event=written.event)
    context = {**shown, "form": fact_list.make_fact_form(), "known": None if written.event else written.fact}
    return TemplateResponse(request, "memory/_added.html", context)
