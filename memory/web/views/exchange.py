"""Export and import memory."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from config.lib.errors import DomainError
from config.lib.owned import owned, owned_tx
from config.lib.web import PageRequest, owned_page, render_now, scoped_form
from memory.facts.document import export_document
from memory.transfer.arrival import ImportResult
from memory.transfer.lists import import_list, import_own, parse_list, parse_own
from memory.web.forms import ImportForm
from memory.web.views.responses import REFUSED, get_page_frame, redirect_back

_REFUSED_SHOWN = 5


@owned_page
def export_memory(request: HttpRequest) -> HttpResponse:
    """Send the memory document as a file."""
    now = timezone.now()
    response = HttpResponse(export_document(now=now), content_type="application/json; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="keel-memory-{now:%Y-%m-%d}.json"'
    return response


@require_POST
@scoped_form
def import_memory(request: PageRequest) -> HttpResponseBase:
    """Import a memory document, or propose the facts of a list."""
    form = ImportForm(request.POST, request.FILES)
    if form.is_valid():
        kind, text = form.cleaned_data["kind"], form.cleaned_data["brought"]
        try:
            done = _import(request, text) if kind == "document" else _propose(request, text)
        except DomainError as error:
            form.add_error("text", str(error))
        else:
            page = "memory:facts" if kind == "document" else "memory:review"
            return _redirect_with_result(request, done, page, done.batch_id)
    with owned(request.user):
        context = {**get_page_frame("settings"), "form": form}
        return render_now(TemplateResponse(request, "memory/settings.html", context, status=REFUSED))


def _import(request: PageRequest, text: str) -> ImportResult:
    own = parse_own(text)
    with owned_tx(request.user):
        return import_own(own, now=timezone.now())


def _propose(request: PageRequest, text: str) -> ImportResult:
    facts = parse_list(text)
    with owned_tx(request.user):
        return import_list(facts, now=timezone.now())


def _redirect_with_result(request: PageRequest, done: ImportResult, page: str, batch_id: UUID | None) -> HttpResponse:
    what = "to review" if page == "memory:review" else "new"
    messages.success(request, f"{done.added} {what}, {done.known} known already, {len(done.refused)} left out.")
    for refusal in done.refused[:_REFUSED_SHOWN]:
        messages.warning(request, f"Left out: {refusal}")
    return redirect_back(request, reverse(page), batch=batch_id)
