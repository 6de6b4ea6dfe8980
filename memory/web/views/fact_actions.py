"""What can be done to one fact: correct it, mark it, archive it, put it into the trash, take it back, link it."""

from collections.abc import Callable
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_POST

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.web import owned_view
from memory.facts import services
from memory.facts.versions import FactAmbiguous, FactChanged, FactNotFound, Written
from memory.models import UserFact
from memory.web.forms import EditFactForm, LinkForm
from memory.web.views.fact_list import answer, editing, fact_page, last_version, refused, written
from memory.web.views.responses import CONFLICT, REFUSED, UNCHANGED, PageRequest, goes_into, writing


@require_POST
@owned_view
def edit(request: PageRequest, fact_id: UUID) -> HttpResponse:
    """Correct a fact's words, topic, category, shorter line or detail."""
    now = timezone.now()
    form = EditFactForm(last_version(fact_id), request.POST)
    status = REFUSED
    if form.is_valid():
        try:
            with writing(request, FactNotFound):
                done = services.supersede_fact(fact_id=fact_id, **form.cleaned_data, now=now)
        except FactChanged:
            # The form now stands on the newest version: who saves again does so knowing it.
            form = EditFactForm(last_version(fact_id), request.POST)
            form.add_error(None, _conflict(form.fact))
            status = CONFLICT
        except DomainError as error:
            form.add_error("content", str(error))
        else:
            return written(request, fact_id, done, now)
    form.begin_here()
    if goes_into(request, "slot-"):
        return editing(request, form, status=status)
    return fact_page(request, form.fact, now, form=form, status=status)


def _action_view(write: Callable[..., Written]) -> Callable[..., HttpResponseBase]:
    """Return the view that does `write` to one fact."""

    @require_POST
    @owned_view
    def view(request: PageRequest, fact_id: UUID) -> HttpResponse:
        now = timezone.now()
        try:
            with writing(request, FactNotFound):
                done = write(fact_id=fact_id, now=now)
        except DomainError as error:
            return refused(request, fact_id, str(error), now)
        return written(request, fact_id, done, now)

    return view


promote = _action_view(services.promote_fact)
demote = _action_view(services.demote_fact)
confirm = _action_view(services.confirm_fact)
archive = _action_view(services.archive_fact)
delete = _action_view(services.delete_fact)
restore = _action_view(services.restore_fact)


@require_POST
@owned_view
def link(request: PageRequest, fact_id: UUID) -> HttpResponse:
    """Relate a fact to another one, named by its words or picked among those that fit."""
    now = timezone.now()
    last = last_version(fact_id)
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
            return answer(request, last.pk, now, event=event, notice=UNCHANGED)
    return fact_page(request, last, now, link_form=form, status=REFUSED)


@require_POST
@owned_view
def unlink(request: PageRequest, fact_id: UUID, link_id: UUID) -> HttpResponse:
    """Take a link away; the page of the fact of that id is shown."""
    now = timezone.now()
    last = last_version(fact_id)
    with writing(request, FactNotFound):
        event = services.unlink_facts(link_id=link_id, now=now)
    return answer(request, last.pk, now, event=event)


def _conflict(last: UserFact) -> str:
    if last.is_archived:
        return "This fact was archived meanwhile, so nothing was saved. Restore it first; your words are kept below."
    return f"This fact changed meanwhile. It now reads: “{last.content}” Your words are kept; save again to replace it."
