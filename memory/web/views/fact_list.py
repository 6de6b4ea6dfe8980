"""How facts are shown: the list, one fact in it, and a fact's own page."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse

from config.lib.paging import ways_on
from memory.facts.history import list_history
from memory.facts.queries import count_facts, find_last_version, list_as_shown, list_facts, list_topics
from memory.facts.versions import Written
from memory.models import MemoryEvent, UserFact
from memory.web.forms import SUGGESTED_TOPICS, EditFactForm, FactFilterForm, FactForm, LinkForm
from memory.web.queries import find_message, list_forgotten, list_linked_facts
from memory.web.views.responses import (
    CONFLICT,
    UNCHANGED,
    PageRequest,
    around,
    back_with,
    batch_of,
    came_from,
    event_of,
    goes_into,
    said_of,
    shown_query,
)


def last_version(fact_id: UUID) -> UserFact:
    """Return the newest row of a fact; a 404 if there is none."""
    last = find_last_version(fact_id)
    if last is None:
        raise Http404
    return last


def address(last: UserFact, query: QueryDict | None = None) -> str:
    """Return the address of a fact's own page."""
    return reverse("memory:fact", args=[last.pk]) + (f"?{query.urlencode()}" if query else "")


def listing(query: QueryDict, now: datetime, *, event: MemoryEvent | None = None, notice: str = "") -> dict[str, Any]:
    """Return what the list shows for a query string, and the addresses that lead on from it."""
    topics = list_topics()
    filters = FactFilterForm(query, topics=topics)
    wanted = filters.wanted()
    page = list_facts(wanted, page=filters.known.get("page", 1), now=now)
    event, batch = event or event_of(query), batch_of(query)
    is_front = not filters.known.keys() - {"sort", "group"}
    home = reverse("memory:facts")
    here = home + filters.query(page=page.number if page.number > 1 else None)

    def shelf(name: str | None) -> str:
        return home + filters.query(show=name, sort=None, group=None, page=None)

    return {
        "filters": filters,
        "page": page,
        "counts": count_facts(),
        "topics": sorted({*topics, *SUGGESTED_TOPICS}),
        "shelf": filters.known.get("show", "believed"),
        "is_narrowed": filters.is_narrowed(),
        "all_selected": "select" in query,
        "forgotten": list_forgotten(now) if is_front else [],
        "event": event,
        "event_is_listed": event is not None and any(event.lineage == shown.fact.lineage for shown in page.facts),
        "batch": batch,
        "batch_said": said_of(batch),
        "notice": notice,
        "here": here,
        "links": {
            "believed": shelf(None),
            "archived": shelf("archived"),
            "trash": shelf("trash"),
            "clear": home + filters.query(**dict.fromkeys(filters.NARROWING), page=None),
            "select": here + ("&" if "?" in here else "?") + "select=all",
            **ways_on(page, lambda number: home + filters.query(page=number)),
        },
    }


def batch_listing(request: PageRequest, batch_id: UUID | None, now: datetime, *, notice: str) -> dict[str, Any]:
    """Return what the list that is shown shows after a batch, with its undo line."""
    query = shown_query(request).copy()
    for name in ("event", "select"):
        query.pop(name, None)
    query["batch"] = str(batch_id or "")
    return listing(query, now, notice=notice)


def new_form() -> FactForm:
    """Return the empty form for a new fact, which takes the keyboard."""
    form = FactForm(auto_id="add-%s")
    form.begin_here()
    return form


def facts_page(
    request: PageRequest, shown: dict[str, Any], form: FactForm | None = None, *, status: int = 200
) -> HttpResponse:
    """Show the whole page of facts."""
    if form is None and "add" in request.GET:
        form = new_form()
    context = {**shown, **around("facts"), "form": form}
    return TemplateResponse(request, "memory/facts.html", context, status=status)


def fact_page(
    request: PageRequest,
    last: UserFact,
    now: datetime,
    *,
    form: EditFactForm | None = None,
    link_form: LinkForm | None = None,
    status: int = 200,
    **said: Any,
) -> HttpResponse:
    """Show a fact's own page, or to htmx the piece of it that changes."""
    context = {
        "shown": list_as_shown([last], now)[0],
        "history": list_history(last.lineage),
        "form": form or (None if last.is_archived else EditFactForm(last)),
        "link_form": link_form or LinkForm(),
        "linked": list_linked_facts(last),
        "message_id": find_message(last),
        "topics": sorted({*list_topics(), *SUGGESTED_TOPICS}),
        **said,
    }
    if not goes_into(request, "fact-page"):
        return TemplateResponse(request, "memory/fact.html", {**context, **around("facts")}, status=status)
    context["focus"] = form is None and link_form is None  # a form that was refused takes the keyboard itself
    response = TemplateResponse(request, "memory/_fact_page.html", context, status=status)
    response["HX-Replace-Url"] = address(last)
    return response


def slot(request: PageRequest, last: UserFact, now: datetime, *, status: int = 200, **said: Any) -> HttpResponse:
    """Show one fact in its place in the list."""
    context = {"shown": list_as_shown([last], now)[0], "counts": count_facts(), "here": came_from(request), **said}
    return TemplateResponse(request, "memory/_slot_answer.html", context, status=status)


def editing(request: PageRequest, form: EditFactForm, *, status: int = 200) -> HttpResponse:
    """Show the form to correct a fact in its place in the list."""
    context = {"form": form, "here": came_from(request)}
    return TemplateResponse(request, "memory/_editing.html", context, status=status)


def written(request: PageRequest, fact_id: UUID, done: Written, now: datetime) -> HttpResponse:
    """Answer a write to the fact of that id; the slot stays with its lineage, a page follows the words into another."""
    shown_id = fact_id if goes_into(request, "slot-") else done.fact.pk
    return answer(request, shown_id, now, event=done.event, notice=UNCHANGED)


def answer(
    request: PageRequest, fact_id: UUID, now: datetime, *, event: MemoryEvent | None, notice: str = ""
) -> HttpResponse:
    """Show the fact as it now is, with the undo line of `event` or, without one, the notice."""
    notice = "" if event else notice
    if goes_into(request, "slot-"):
        return slot(request, last_version(fact_id), now, event=event, notice=notice)
    if goes_into(request, "fact-page"):
        return fact_page(request, last_version(fact_id), now, event=event, notice=notice)
    if notice:
        messages.info(request, notice)
    return back_with(request, reverse("memory:fact", args=[fact_id]), event=event.pk if event else None)


def refused(request: PageRequest, fact_id: UUID, refusal: str, now: datetime) -> HttpResponse:
    """Show the fact as it is, and why it was left so."""
    last = last_version(fact_id)
    if goes_into(request, "slot-"):
        return slot(request, last, now, refusal=refusal, status=CONFLICT)
    return fact_page(request, last, now, refusal=refusal, status=CONFLICT)
