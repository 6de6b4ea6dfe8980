"""The settings page: switches, export and import."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from config.lib.edge.second_factor import read_proof
from config.lib.errors import DomainError
from config.lib.owned import owned, owned_tx
from config.lib.web import PageRequest, owned_form, owned_page, render_now, scoped_form
from memory.facts.document import dump_document, export_document
from memory.facts.services import set_switches
from memory.transfer.uploads import parse_memory
from memory.web.forms import ImportForm, SwitchForm
from memory.web.views.responses import REFUSED, is_for_element, redirect_back, show_page

_REFUSED_SHOWN = 5


@owned_form
def show_settings(request: PageRequest) -> HttpResponse:
    """Show the settings, or set a switch."""
    if request.method != "POST":
        return show_page(request, "settings", {"form": ImportForm()})
    form = SwitchForm(request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest("Say which switch, and on or off.")
    switch = form.cleaned_data["switch"]
    with owned_tx(request.user):
        set_switches(**{switch: form.cleaned_data["to"] == "on"})
    if is_for_element(request, "switches"):
        return show_page(request, "settings", {"focus": switch}, part="_switches")
    return redirect_back(request, reverse("memory:settings"))


@owned_page
def export_memory(request: HttpRequest) -> HttpResponse:
    """Send the memory document as a file."""
    now, proof = timezone.now(), read_proof(request, page=reverse("memory:settings"))
    text = dump_document(export_document(proof=proof, now=now))
    response = HttpResponse(text, content_type="application/json; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="keel-memory-{now:%Y-%m-%d}.json"'
    return response


@require_POST
@scoped_form
def bring_memory(request: PageRequest) -> HttpResponseBase:
    """Import a memory that Keel exported, or propose the facts of a list."""
    form = ImportForm(request.POST, request.FILES)
    if form.is_valid():
        is_list = form.cleaned_data["kind"] == "list"
        try:
            bring = parse_memory(form.cleaned_data["brought"], is_list=is_list)
            with owned_tx(request.user):
                done = bring(now=timezone.now())
        except DomainError as error:
            form.add_error("text", str(error))
        else:
            what, page = ("to review", "memory:review") if is_list else ("new", "memory:facts")
            counted = f"{done.added} {what}, {done.known} known already, {len(done.refused)} left out."
            messages.success(request, counted)
            for refusal in done.refused[:_REFUSED_SHOWN]:
                messages.warning(request, f"Left out: {refusal}")
            return redirect_back(request, reverse(page), batch=done.batch_id)
    with owned(request.user):
        return render_now(show_page(request, "settings", {"form": form}, status=REFUSED))
