"""The actions on one fact."""

from collections.abc import Callable
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_POST

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.web import PageRequest, owned_act, owned_view
from memory.facts import services
from memory.facts.versions import FactAmbiguous, FactChanged, FactNotFound, FactWrite, get_last_version
from memory.models import UserFact
from memory.web.forms import EditFactForm, LinkForm
from memory.web.views import fact_list
from memory.web.views.responses import CONFLICT, REFUSED, UNCHANGED, is_for_element, write_or_404


@owned_act
def edit_fact(request: PageRequest, fact_id: UUID) -> HttpResponse:
    """Correct a fact's text, topic, category, shorter line or detail."""
    now = timezone.now()
    form = EditFactForm(get_last_version(fact_id), request.POST)
    status = REFUSED
    if form.is_valid():
        try:
            with write_or_404(request, FactNotFound):
                done = services.supersede_fact(fact_id=fact_id, **form.cleaned_data, now=now)
        except FactChanged:
            # The form is now based on the newest version, so a second save replaces it knowingly.
            form = EditFactForm(get_last_version(fact_id), request.POST)
            form.add_error(None, _format_conflict(form.fact))
            status = CONFLICT
        except DomainError as error:
            form.add_error("content", str(error))
        else:
            return fact_list.show_write(request, fact_id, done, now)
    form.focus_first_field()
    if is_for_element(request, "slot-"):
        return fact_list.show_edit_form(request, form, status=status)
    return fact_list.show_fact_page(request, form.fact, now, form=form, status=status)


def _action_view(write: Callable[..., FactWrite]) -> Callable[..., HttpResponseBase]:
    """Return the view of one write to a fact."""

    @require_POST
    @owned_view
    def view(request: PageRequest, fact_id: UUID) -> HttpResponse:
        now = timezone.now()
        try:
            with write_or_404(request, FactNotFound):
                done = write(fact_id=fact_id, now=now)
        except DomainError as error:
            return fact_list.show_refusal(request, fact_id, str(error), now)
        return fact_list.show_write(request, fact_id, done, now)

    return view


promote = _action_view(services.promote_fact)
demote = _action_view(services.demote_fact)
confirm = _action_view(services.confirm_fact)
archive = _action_view(services.archive_fact)
delete = _action_view(services.delete_fact)
restore = _action_view(services.restore_fact)


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
            return fact_list.show_result(request, last.pk, now, event=event, notice=UNCHANGED)
    return fact_list.show_fact_page(request, last, now, link_form=form, status=REFUSED)


@owned_act
def unlink_fact(request: PageRequest, fact_id: UUID, link_id: UUID) -> HttpResponse:
    """Remove a link and show the address's fact."""
    now = timezone.now()
    last = get_last_version(fact_id)
    with owned_tx(request.user):
        event = services.unlink_facts(link_id=link_id, now=now)
    return fact_list.show_result(request, last.pk, now, event=event)


def _format_conflict(last: UserFact) -> str:
    if last.is_archived:
        return "This fact was archived, so nothing was saved. Restore it first; your words are kept below."
    return f"This fact has changed. It now reads: “{last.content}” Your words are kept; save again to replace it."
