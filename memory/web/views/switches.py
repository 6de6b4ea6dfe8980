"""The switches of memory: whether chats use what Keel knows, and whether they teach it anything."""

from django.http import HttpResponse, HttpResponseBadRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from config.lib.owned import owned_tx
from config.lib.web import owned_view
from memory.facts.services import set_switches
from memory.web.forms import ImportForm, SwitchForm
from memory.web.views.responses import PageRequest, around, back_with, goes_into


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@owned_view
def settings(request: PageRequest) -> HttpResponse:
    """Show the switches, and turn one."""
    if request.method != "POST":
        return TemplateResponse(request, "memory/settings.html", {**around("settings"), "form": ImportForm()})
    form = SwitchForm(request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest("Say which switch, and on or off.")
    with owned_tx(request.user):
        set_switches(**{form.cleaned_data["switch"]: form.cleaned_data["to"] == "on"})
    if goes_into(request, "switches"):
        return TemplateResponse(
            request, "memory/_switches.html", {**around("settings"), "focus": form.cleaned_data["switch"]}
        )
    return back_with(request, reverse("memory:settings"))
