"""The page of all facts, the page of one fact, and the acts on one fact or many."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST
from django.views.decorators.vary import vary_on_headers

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.web import PageRequest, or_404, owned_act, owned_form, owned_page, owned_view
from memory.facts import services
from memory.facts.queries import list_shown_facts
from memory.facts.review import close_fulfilled
from memory.facts.versions import FactAmbiguous, FactChanged, FactNotFound, FactWrite, Origin, get_last_version
from memory.models import Confidence, FactSource
from memory.web.forms import EditFactForm, FactFilterForm, FactForm, LinkForm
from memory.web.views import fact_list, responses
from memory.web.views.responses import CONFLICT, REFUSED, get_source_address, is_for_element, parse_source_query

KNOWN: Final = "Keel knows this already."
ARCHIVED_SINCE: Final = "This fact was archived, so nothing was saved. Restore it first; your words are kept below."
CHANGED_SINCE: Final = "This fact has changed. It now reads: “{}” Your words are kept; save again to replace it."
MOST_AT_ONCE: Final = 500  # facts
ACTS: Final[dict[str, Callable[..., FactWrite]]] = {
    "promote": services.promote_fact,
    "demote": services.demote_fact,
    "confirm": services.confirm_fact,
    "archive": services.archive_fact,
    "delete": services.delete_fact,
    "restore": services.restore_fact,
}


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
    filters: FactFilterForm = shown["filters"]
    return filters.respond(request, "memory/facts.html", "memory/_found.html", shown, typed="q")


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
    return fact_list.show_fact_page(request, last, now, event=responses.find_query_event(request.GET))


def _add_fact(request: PageRequest) -> HttpResponse:
    now = timezone.now()
    form = FactForm(request.POST, auto_id="add-%s")
    if form.is_valid():
        try:
            with or_404(), owned_tx(request.user):
                written = services.remember_fact(
                    **{**form.cleaned_data, "category": form.cleaned_data["category"] or None},
                    confidence=Confidence.ASSERTED,
                    source=FactSource.PROFILE,
                    now=now,
                )
                close_fulfilled(conversation_id=None, now=now)
        except DomainError as error:
            form.add_error("content", str(error))
        else:
            if not is_for_element(request, "add"):
                return fact_list.show_result(request, written.fact.pk, now, event=written.event, notice=KNOWN)
            shown = fact_list.build_listing(parse_source_query(request), now, event=written.event)
            context = {**shown, "form": fact_list.make_fact_form(), "known": None if written.event else written.fact}
            return TemplateResponse(request, "memory/_added.html", context)
    form.focus_first_field()
    if is_for_element(request, "add"):
        context = {"form": form, "here": get_source_address(request)}
        return TemplateResponse(request, "memory/_add.html", context, status=REFUSED)
    shown = fact_list.build_listing(parse_source_query(request), now)
    return fact_list.show_facts_page(request, shown, form, status=REFUSED)


@owned_act
def edit_fact(request: PageRequest, fact_id: UUID) -> HttpResponse:
    """Correct a fact's text, topic, category, shorter line or detail."""
    now = timezone.now()
    form = EditFactForm(get_last_version(fact_id), request.POST)
    status = REFUSED
    if form.is_valid():
        try:
            with or_404(), owned_tx(request.user):
                done = services.supersede_fact(fact_id=fact_id, **form.cleaned_data, now=now)
        except FactChanged:
            # The form is now based on the newest version, so a second save replaces it knowingly.
            last = get_last_version(fact_id)
            form = EditFactForm(last, request.POST)
            form.add_error(None, ARCHIVED_SINCE if last.is_archived else CHANGED_SINCE.format(last.content))
            status = CONFLICT
        except DomainError as error:
            form.add_error("content", str(error))
        else:
            return fact_list.show_write(request, fact_id, done, now)
    form.focus_first_field()
    if is_for_element(request, "slot-"):
        return fact_list.show_edit_form(request, form, status=status)
    return fact_list.show_fact_page(request, form.fact, now, form=form, status=status)


def act_view(write: Callable[..., FactWrite]) -> Callable[..., HttpResponseBase]:
    """Return the view of one of ACTS."""

    @require_POST
    @owned_view
    def view(request: PageRequest, fact_id: UUID) -> HttpResponse:
        now = timezone.now()
        try:
            with or_404(), owned_tx(request.user):
                done = write(fact_id=fact_id, now=now)
        except DomainError as error:
            return fact_list.show_refusal(request, fact_id, str(error), now)
        return fact_list.show_write(request, fact_id, done, now)

    return view


@owned_act
def link_fact(request: PageRequest, fact_id: UUID) -> HttpResponse:
    """Link a fact to another one, found by words or picked."""
    now = timezone.now()
    last = get_last_version(fact_id)
    form = LinkForm(request.POST)
    if form.is_valid():
        try:
            with owned_tx(request.user):
                event = services.link_facts(
                    from_id=str(last.pk),
                    to_id=request.POST.get("pick") or form.cleaned_data["to"],
                    relation=form.cleaned_data["relation"],
                    now=now,
                )
        except FactAmbiguous as error:
            form.candidates = error.candidates
            form.add_error("to", "Several facts hold these words. Pick the one you mean.")
        except DomainError as error:
            form.add_error("to", str(error))
        else:
            return fact_list.show_result(request, last.pk, now, event=event, notice=responses.UNCHANGED)
    return fact_list.show_fact_page(request, last, now, link_form=form, status=REFUSED)


@owned_act
def unlink_fact(request: PageRequest, fact_id: UUID, link_id: UUID) -> HttpResponse:
    """Remove a link and show the address's fact."""
    now = timezone.now()
    last = get_last_version(fact_id)
    with owned_tx(request.user):
        event = services.unlink_facts(link_id=link_id, now=now)
    return fact_list.show_result(request, last.pk, now, event=event)


@owned_act
def change_facts(request: PageRequest) -> HttpResponse:
    """Do one action on all selected facts, in one batch with one undo; report those left unchanged."""
    now, act = timezone.now(), request.POST.get("act", "")
    fact_ids = responses.parse_uuids(request.POST.getlist("fact"), MOST_AT_ONCE)
    if act not in ACTS or act == "confirm" or not fact_ids:
        refusal = "Select at least one fact first, then say what to do with it."
        shown = fact_list.build_listing(parse_source_query(request), now, notice=refusal)
        if is_for_element(request, "results"):
            return TemplateResponse(request, "memory/_found.html", shown, status=REFUSED)
        return fact_list.show_facts_page(request, shown, status=REFUSED)
    batch_id = uuid4()
    with owned_tx(request.user):
        counted = Counter(_write_fact(ACTS[act], fact_id, Origin(batch_id=batch_id), now) for fact_id in fact_ids)
    if counted["missing"] == len(fact_ids):
        raise Http404
    left = counted["refused"] + counted["missing"]
    notice = "" if counted["changed"] else responses.UNCHANGED
    if left:
        notice = f"{left} changed since and {'was' if left == 1 else 'were'} left alone. Look at them again."
    written = batch_id if counted["changed"] else None
    if is_for_element(request, "results"):
        shown = fact_list.build_batch_listing(request, written, now, notice=notice)
        return TemplateResponse(request, "memory/_found.html", {**shown, "focus": True})
    if notice:
        messages.warning(request, notice)
    return responses.redirect_back(request, reverse("memory:facts"), batch=written)


def _write_fact(write: Callable[..., FactWrite], fact_id: UUID, origin: Origin, now: datetime) -> str:
    """Write one fact and return what came of it; a refused write has changed nothing, so the others remain valid."""
    try:
        written = write(fact_id=fact_id, origin=origin, now=now)
    except FactNotFound:
        return "missing"
    except DomainError:
        return "refused"
    return "changed" if written.event else "unchanged"
