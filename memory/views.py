"""The page of what Keel knows, and each fact's own.

A view answers htmx with the piece it asked for, which it tells by the id of the element that the answer goes into:
`results` the list, `add` the form above it, `slot-<uuid>` one fact in the list, `fact-page` a fact's own page,
`memory-<uuid>` a line in a chat. Without htmx a write redirects to where it came from, with the undo line there.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers
from django_htmx.middleware import HtmxDetails

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.web import AuthedRequest, owned_view, safe_next
from memory.forms import SUGGESTED_TOPICS, EditFactForm, FactFilterForm, FactForm
from memory.models import Confidence, FactSource, MemoryEvent, UserFact
from memory.queries import (
    count_facts,
    find_event,
    find_last_version,
    list_as_shown,
    list_facts,
    list_history,
    list_topics,
)
from memory.services import (
    FactChanged,
    FactNotFound,
    Written,
    archive_fact,
    confirm_fact,
    demote_fact,
    promote_fact,
    remember_fact,
    restore_fact,
    supersede_fact,
    undo_event,
)

UNCHANGED = "Nothing changed: it was so already."
KNOWN = "Keel knows this already."
REFUSED = HTTPStatus.UNPROCESSABLE_ENTITY
CONFLICT = HTTPStatus.CONFLICT


class PageRequest(AuthedRequest):
    """A request of a signed-in user, with what htmx says of it."""

    htmx: HtmxDetails


# Back must show what was changed meanwhile, and what Keel knows stays out of the browser's cache: hence `never_cache`.
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@vary_on_headers("HX-Request", "HX-Target")
@owned_view
def facts(request: PageRequest) -> HttpResponse:
    """Show the facts, and take a new one."""
    if request.method == "POST":
        return _add(request)
    if _goes_into(request, "add"):
        form = _new_form() if "add" in request.GET else None
        return TemplateResponse(request, "memory/_adding.html", {"form": form, "here": _came_from(request)})
    listing = _listing(request.GET, timezone.now())
    if not _goes_into(request, "results"):
        return _facts_page(request, listing)
    response = TemplateResponse(request, "memory/_found.html", listing)
    before, after = _shown_query(request).get("q"), request.GET.get("q")
    # Typing on stays in one entry of the browser's history; anything else makes a new one.
    is_typing_on = bool(before and after) and before != after
    response["HX-Replace-Url" if is_typing_on else "HX-Push-Url"] = listing["here"]
    return response


@require_safe
@never_cache
@vary_on_headers("HX-Request", "HX-Target")
@owned_view
def fact(request: PageRequest, fact_id: UUID) -> HttpResponse:
    """Show one fact with its history; to htmx in the list, the fact alone or its form."""
    now = timezone.now()
    last = _last_version(fact_id)
    if _goes_into(request, "slot-"):
        if "edit" not in request.GET or last.is_archived:
            return _slot(request, last, now)
        form = EditFactForm(last)
        form.begin_here()
        return _editing(request, form)
    if last.pk != fact_id:
        # The address of an older version, from a chat or a bookmark, leads to the newest.
        return redirect(_address(last, request.GET))
    return _fact_page(request, last, now, event=_event_of(request.GET))


@require_POST
@owned_view
def edit(request: PageRequest, fact_id: UUID) -> HttpResponse:
    """Correct a fact's words, topic or category."""
    now = timezone.now()
    form = EditFactForm(_last_version(fact_id), request.POST)
    status = REFUSED
    if form.is_valid():
        try:
            with _writing(request):
                written = supersede_fact(fact_id=fact_id, **form.cleaned_data, now=now)
        except FactChanged:
            # The form now stands on the newest version: who saves again does so knowing it.
            form = EditFactForm(_last_version(fact_id), request.POST)
            form.add_error(None, _conflict(form.fact))
            status = CONFLICT
        except DomainError as error:
            form.add_error("content", str(error))
        else:
            return _written(request, fact_id, written, now)
    form.begin_here()
    if _goes_into(request, "slot-"):
        return _editing(request, form, status=status)
    return _fact_page(request, form.fact, now, form=form, status=status)


@require_POST
@owned_view
def promote(request: PageRequest, fact_id: UUID) -> HttpResponse:
    """Mark a fact as said by its owner."""
    return _act(request, fact_id, promote_fact)


@require_POST
@owned_view
def demote(request: PageRequest, fact_id: UUID) -> HttpResponse:
    """Mark a fact as concluded by Keel."""
    return _act(request, fact_id, demote_fact)


@require_POST
@owned_view
def confirm(request: PageRequest, fact_id: UUID) -> HttpResponse:
    """Note that its owner affirmed a fact."""
    return _act(request, fact_id, confirm_fact)


@require_POST
@owned_view
def archive(request: PageRequest, fact_id: UUID) -> HttpResponse:
    """Take a fact out of use, and keep it."""
    return _act(request, fact_id, archive_fact)


@require_POST
@owned_view
def restore(request: PageRequest, fact_id: UUID) -> HttpResponse:
    """Take an archived fact back into use."""
    return _act(request, fact_id, restore_fact)


@require_POST
@owned_view
def undo(request: PageRequest, event_id: UUID) -> HttpResponse:
    """Take a write back, from these pages or from a line in a chat."""
    now = timezone.now()
    refusal = ""
    try:
        with _writing(request):
            undo_event(event_id=event_id, now=now)
    except DomainError as error:
        refusal = str(error)
    event = find_event(event_id)
    if event is None:
        raise Http404
    if _goes_into(request, "memory-") or (request.htmx and request.POST.get("surface") == "chat"):
        context = {"event": event, "refusal": refusal}
        status = CONFLICT if refusal else HTTPStatus.OK
        return TemplateResponse(request, "memory/_memory_line.html", context, status=status)
    if refusal:
        return _refused(request, event.lineage, refusal, now)
    return _answer(request, event.lineage, now, event=event)


def _add(request: PageRequest) -> HttpResponse:
    now = timezone.now()
    form = FactForm(request.POST, auto_id="add-%s")
    if form.is_valid():
        try:
            with _writing(request):
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
    if _goes_into(request, "add"):
        context = {"form": form, "here": _came_from(request)}
        return TemplateResponse(request, "memory/_add.html", context, status=REFUSED)
    return _facts_page(request, _listing(_shown_query(request), now), form, status=REFUSED)


def _added(request: PageRequest, written: Written, now: datetime) -> HttpResponse:
    if not _goes_into(request, "add"):
        return _answer(request, written.fact.pk, now, event=written.event, notice=KNOWN)
    listing = _listing(_shown_query(request), now, event=written.event)
    context = {**listing, "form": _new_form(), "known": None if written.event else written.fact}
    return TemplateResponse(request, "memory/_added.html", context)


def _act(request: PageRequest, fact_id: UUID, write: Callable[..., Written]) -> HttpResponse:
    now = timezone.now()
    try:
        with _writing(request):
            written = write(fact_id=fact_id, now=now)
    except DomainError as error:
        return _refused(request, fact_id, str(error), now)
    return _written(request, fact_id, written, now)


@contextmanager
def _writing(request: PageRequest) -> Iterator[None]:
    """Open the door to write; what is not there, or not theirs, is a 404."""
    try:
        with owned_tx(request.user):
            yield
    except FactNotFound as error:
        raise Http404 from error


def _goes_into(request: PageRequest, element_id: str) -> bool:
    return bool(request.htmx) and (request.htmx.target or "").startswith(element_id)


def _written(request: PageRequest, fact_id: UUID, written: Written, now: datetime) -> HttpResponse:
    """Answer a write to the fact of that id; the slot stays with its lineage, a page follows the words into another."""
    shown_id = fact_id if _goes_into(request, "slot-") else written.fact.pk
    return _answer(request, shown_id, now, event=written.event, notice=UNCHANGED)


def _answer(
    request: PageRequest, fact_id: UUID, now: datetime, *, event: MemoryEvent | None, notice: str = ""
) -> HttpResponse:
    """Show the fact as it now is, with the undo line of `event` or, without one, the notice."""
    notice = "" if event else notice
    if _goes_into(request, "slot-"):
        return _slot(request, _last_version(fact_id), now, event=event, notice=notice)
    if _goes_into(request, "fact-page"):
        return _fact_page(request, _last_version(fact_id), now, event=event, notice=notice)
    if notice:
        messages.info(request, notice)
    back = urlsplit(safe_next(request, reverse("memory:fact", args=[fact_id])))
    query = QueryDict(back.query, mutable=True)
    query.pop("event", None)
    if event:
        query["event"] = str(event.pk)
    return redirect(f"{back.path}?{query.urlencode()}#done" if query else back.path)


def _refused(request: PageRequest, fact_id: UUID, refusal: str, now: datetime) -> HttpResponse:
    """Show the fact as it is, and why it was left so."""
    last = _last_version(fact_id)
    if _goes_into(request, "slot-"):
        return _slot(request, last, now, refusal=refusal, status=CONFLICT)
    return _fact_page(request, last, now, refusal=refusal, status=CONFLICT)


def _slot(request: PageRequest, last: UserFact, now: datetime, *, status: int = 200, **said: Any) -> HttpResponse:
    context = {"shown": list_as_shown([last], now)[0], "counts": count_facts(), "here": _came_from(request), **said}
    return TemplateResponse(request, "memory/_slot_answer.html", context, status=status)


def _editing(request: PageRequest, form: EditFactForm, *, status: int = 200) -> HttpResponse:
    context = {"form": form, "here": _came_from(request)}
    return TemplateResponse(request, "memory/_editing.html", context, status=status)


def _new_form() -> FactForm:
    form = FactForm(auto_id="add-%s")
    form.begin_here()
    return form


def _facts_page(
    request: PageRequest, listing: dict[str, Any], form: FactForm | None = None, *, status: int = 200
) -> HttpResponse:
    if form is None and "add" in request.GET:
        form = _new_form()
    return TemplateResponse(request, "memory/facts.html", {**listing, "form": form}, status=status)


def _fact_page(
    request: PageRequest,
    last: UserFact,
    now: datetime,
    *,
    form: EditFactForm | None = None,
    status: int = 200,
    **said: Any,
) -> HttpResponse:
    context = {
        "shown": list_as_shown([last], now)[0],
        "history": list_history(last.lineage),
        "form": form or (None if last.is_archived else EditFactForm(last)),
        "topics": sorted({*list_topics(), *SUGGESTED_TOPICS}),
        **said,
    }
    if not _goes_into(request, "fact-page"):
        return TemplateResponse(request, "memory/fact.html", context, status=status)
    context["focus"] = form is None  # a form that was refused takes the keyboard itself
    response = TemplateResponse(request, "memory/_fact_page.html", context, status=status)
    response["HX-Replace-Url"] = _address(last)
    return response


def _listing(query: QueryDict, now: datetime, *, event: MemoryEvent | None = None) -> dict[str, Any]:
    """Return what the list shows for a query string, and the addresses that lead on from it."""
    topics = list_topics()
    filters = FactFilterForm(query, topics=topics)
    wanted = filters.wanted()
    page = list_facts(wanted, page=filters.known.get("page", 1), now=now)
    event = event or _event_of(query)
    home = reverse("memory:facts")
    return {
        "filters": filters,
        "page": page,
        "counts": count_facts(),
        "topics": sorted({*topics, *SUGGESTED_TOPICS}),
        "archived": wanted.archived,
        "is_narrowed": filters.is_narrowed(),
        "event": event,
        "event_is_listed": event is not None and any(event.lineage == shown.fact.lineage for shown in page.facts),
        "here": home + filters.query(page=page.number if page.number > 1 else None),
        "links": {
            "current": home + filters.query(show=None, sort=None, page=None),
            "archived": home + filters.query(show="archived", sort=None, page=None),
            "clear": home + ("?show=archived" if wanted.archived else ""),
            "previous": home + filters.query(page=page.number - 1) if page.number > 1 else "",
            "next": home + filters.query(page=page.number + 1) if page.number < page.pages else "",
        },
    }


def _last_version(fact_id: UUID) -> UserFact:
    last = find_last_version(fact_id)
    if last is None:
        raise Http404
    return last


def _address(last: UserFact, query: QueryDict | None = None) -> str:
    return reverse("memory:fact", args=[last.pk]) + (f"?{query.urlencode()}" if query else "")


def _event_of(query: QueryDict) -> MemoryEvent | None:
    """Return the event whose undo line an address asks for."""
    try:
        return find_event(UUID(query.get("event", "")))
    except ValueError:
        return None


def _came_from(request: PageRequest) -> str:
    """Return the address of the page a request came from, on this site, or an empty text."""
    return (request.htmx.current_url_abs_path or "") if request.htmx else safe_next(request, "")


def _shown_query(request: PageRequest) -> QueryDict:
    return QueryDict(urlsplit(_came_from(request)).query)


def _conflict(last: UserFact) -> str:
    if last.is_archived:
        return "This fact was archived meanwhile, so nothing was saved. Restore it first; your words are kept below."
    return f"This fact changed meanwhile. It now reads: “{last.content}” Your words are kept; save again to replace it."
