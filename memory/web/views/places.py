"""The page of places: add, correct, remove."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.vary import vary_on_headers

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.text import make_slug, one_line
from config.lib.web import PageRequest, or_404, owned_act, owned_form
from memory.facts.places import add_place, find_place, find_place_event, remove_place
from memory.facts.queries import list_places
from memory.models import MemoryEvent
from memory.web.forms import PlaceForm
from memory.web.views import responses
from memory.wording import MAX_PLACE_ID


@owned_form
@vary_on_headers("HX-Request", "HX-Target")
def show_places(request: PageRequest) -> HttpResponse:
    """Show the places, or add one."""
    if request.method != "POST":
        event = responses.find_named(request.GET, "event", find_place_event)
        place = responses.find_named(request.GET, "edit", find_place)
        return _show_page(request, event=event, edit_form=PlaceForm.for_place(place) if place else None)
    form = PlaceForm(request.POST)
    return _save_place(
        request, form, key=make_slug(request.POST.get("name", ""), max_length=MAX_PLACE_ID), add_form=form
    )


@owned_act
def edit_place(request: PageRequest, place_id: UUID) -> HttpResponse:
    """Correct a place's name or notes."""
    place = find_place(place_id)
    if place is None:
        raise Http404
    form = PlaceForm.for_place(place, request.POST)
    return _save_place(request, form, key=place.place_id, edit_form=form)


@owned_act
def drop_place(request: PageRequest, place_id: UUID) -> HttpResponse:
    """Hide a place from the assistants."""
    with owned_tx(request.user):
        done = remove_place(id=place_id, now=timezone.now())
    return show_places_result(request, event=done.event)


def show_places_result(request: PageRequest, *, event: MemoryEvent | None, refusal: str = "") -> HttpResponse:
    """Show the places with undo line or refusal."""
    if responses.is_for_element(request, "places") or refusal:
        shown = find_place_event(event.pk) if event else None
        return _show_page(request, event=shown, refusal=refusal, status=responses.CONFLICT if refusal else 200)
    return responses.redirect_back(request, reverse("memory:places"), event=event.pk if event else None)


def _save_place(request: PageRequest, form: PlaceForm, *, key: str, **forms: PlaceForm) -> HttpResponse:
    if form.is_valid():
        try:
            with or_404(), owned_tx(request.user):
                # A name without letters or digits has no slug, so it is its own id.
                place_id = key or one_line(form.cleaned_data["name"])
                done = add_place(place_id=place_id, **form.cleaned_data, now=timezone.now())
        except DomainError as error:
            form.add_error("name", str(error))
        else:
            if done.event is None and not responses.is_for_element(request, "places"):
                messages.info(request, responses.UNCHANGED)
            return show_places_result(request, event=done.event)
    return _show_page(request, status=responses.REFUSED, **forms)


def _show_page(
    request: PageRequest,
    *,
    add_form: PlaceForm | None = None,
    edit_form: PlaceForm | None = None,
    status: int = 200,
    **said: Any,
) -> HttpResponse:
    context = {
        "places": list_places("name"),
        "add_form": add_form or PlaceForm(),
        "edit_form": edit_form,
        "edited": edit_form.place if edit_form else None,
        **said,
    }
    if responses.is_for_element(request, "places"):
        return TemplateResponse(request, "memory/_places.html", context, status=status)
    return responses.show_page(request, "places", context, status=status)
