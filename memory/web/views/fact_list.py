"""Views of facts: the list, an entry, a fact's page."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse

from config.lib.lists import address
from config.lib.web import PageRequest
from memory.facts.conflicts import list_clashes
from memory.facts.history import list_history
from memory.facts.limits import measure_document
from memory.facts.queries import count_facts, list_facts, list_links, list_shown_facts, list_topics
from memory.facts.versions import FactWrite, get_last_version
from memory.models import MemoryEvent, UserFact
from memory.web.forms import SUGGESTED_TOPICS, EditFactForm, FactFilterForm, FactForm, LinkForm
from memory.web.queries import find_batch, find_message, list_forgotten_facts
from memory.web.views import responses


def get_fact_address(last: UserFact, query: QueryDict | None = None) -> str:
    """Return the address of a fact's own page."""
    return reverse("memory:fact", args=[last.pk]) + (f"?{query.urlencode()}" if query else "")


def build_listing(
    query: QueryDict, now: datetime, *, event: MemoryEvent | None = None, notice: str = ""
) -> dict[str, Any]:
    """Return the list's context for a query string."""
    counts = count_facts(now)
    filters = FactFilterForm(query, topics=counts.topics)
    wanted = filters.build_filter()
    page = list_facts(wanted, page=filters.number, now=now)
    event = event or responses.find_query_event(query)
    is_front = not filters.known.keys() - {"sort", "group"}
    return {
        "filters": filters,
        "page": page,
        "counts": counts,
        "document": measure_document(outside=counts.outside, now=now),
        "topics": sorted({*counts.topics, *SUGGESTED_TOPICS}),
        "shelf": filters.known.get("show", "believed"),
        "is_narrowed": filters.is_narrowed(),
        "as_of": filters.known.get("as_of"),
        "clashes": list_clashes(now) if is_front else [],
        "all_selected": "select" in query,
        "forgotten": list_forgotten_facts(now) if is_front else [],
        "event": event,
        "event_is_listed": event is not None and any(event.lineage == shown.fact.lineage for shown in page.facts),
        "batch": responses.find_named(query, "batch", find_batch),
        "notice": notice,
        "here": address(filters, page=page.number),
    }


def build_batch_listing(request: PageRequest, batch_id: UUID | None, now: datetime, *, notice: str) -> dict[str, Any]:
    """Return the list's context after a batch, with its undo line."""
    query = responses.parse_source_query(request).copy()
    for name in ("event", "select"):
        query.pop(name, None)
    query["batch"] = str(batch_id or "")
    return build_listing(query, now, notice=notice)


def make_fact_form(content: str = "") -> FactForm:
    """Return the focused form for a new fact, with what the address says of it."""
    form = FactForm(initial={"content": content}, auto_id="add-%s")
    form.focus_first_field()
    return form


def show_facts_page(
    request: PageRequest, shown: dict[str, Any], form: FactForm | None = None, *, status: int = 200
) -> HttpResponse:
    """Show the whole page of facts."""
    if form is None and "add" in request.GET:
        form = make_fact_form(request.GET.get("content", ""))
    return responses.show_page(request, "facts", {**shown, "form": form}, status=status)


def show_fact_page(
    request: PageRequest,
    last: UserFact,
    now: datetime,
    *,
    form: EditFactForm | None = None,
    link_form: LinkForm | None = None,
    status: int = 200,
    **said: Any,
) -> HttpResponse:
    """Show a fact's own page, or for htmx its changing part."""
    history = list_history(last.lineage)
    versions = [entry.version for entry in history if entry.version is not None]
    context = {
        "shown": list_shown_facts([last], now)[0],
        "history": history,
        # A changed text keeps its detail, which was written about the text before.
        "is_detail_older": any(row.body == last.body and row.content != last.content for row in versions),
        "form": form or (None if last.is_archived else EditFactForm(last)),
        "link_form": link_form or LinkForm(),
        "linked": list_links(last),
        "message_id": find_message(last),
        "topics": sorted({*list_topics(), *SUGGESTED_TOPICS}),
        **said,
    }
    if not responses.is_for_element(request, "fact-page"):
        return responses.show_page(request, "fact", context, status=status)
    context["focus"] = form is None and link_form is None  # a refused form takes the focus itself
    response = TemplateResponse(request, "memory/_fact_page.html", context, status=status)
    response["HX-Replace-Url"] = get_fact_address(last)
    return response


def show_slot(request: PageRequest, last: UserFact, now: datetime, *, status: int = 200, **said: Any) -> HttpResponse:
    """Show one fact in its place in the list."""
    context = {
        "shown": list_shown_facts([last], now)[0],
        "counts": count_facts(now),
        "here": responses.get_source_address(request),
        **said,
    }
    return TemplateResponse(request, "memory/_slot_answer.html", context, status=status)


def show_edit_form(request: PageRequest, form: EditFactForm, *, status: int = 200) -> HttpResponse:
    """Show a fact's edit form in the list."""
    context = {"form": form, "here": responses.get_source_address(request)}
    return TemplateResponse(request, "memory/_editing.html", context, status=status)


def show_write(request: PageRequest, fact_id: UUID, done: FactWrite, now: datetime) -> HttpResponse:
    """Show a written fact; a page follows merges, a slot does not."""
    shown_id = fact_id if responses.is_for_element(request, "slot-") else done.fact.pk
    return show_result(request, shown_id, now, event=done.event, notice=responses.UNCHANGED)


def show_result(
    request: PageRequest, fact_id: UUID, now: datetime, *, event: MemoryEvent | None, notice: str = ""
) -> HttpResponse:
    """Show the fact with the undo line of `event`, or the notice."""
    notice = "" if event else notice
    if responses.is_for_element(request, "slot-"):
        return show_slot(request, get_last_version(fact_id), now, event=event, notice=notice)
    if responses.is_for_element(request, "fact-page"):
        return show_fact_page(request, get_last_version(fact_id), now, event=event, notice=notice)
    if notice:
        messages.info(request, notice)
    return responses.redirect_back(request, reverse("memory:fact", args=[fact_id]), event=event.pk if event else None)


def show_refusal(request: PageRequest, fact_id: UUID, refusal: str, now: datetime) -> HttpResponse:
    """Show the unchanged fact and the refusal."""
    last = get_last_version(fact_id)
    if responses.is_for_element(request, "slot-"):
        return show_slot(request, last, now, refusal=refusal, status=responses.CONFLICT)
    return show_fact_page(request, last, now, refusal=refusal, status=responses.CONFLICT)
