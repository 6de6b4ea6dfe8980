"""The settings page: switches and import."""

from django.http import HttpResponse, HttpResponseBadRequest
from django.template.response import TemplateResponse
from django.urls import reverse

from config.lib.owned import owned_tx
from config.lib.web import PageRequest, owned_form
from memory.facts.services import set_switches
from memory.web.forms import ImportForm, SwitchForm
from memory.web.views.responses import get_page_frame, is_for_element, redirect_back


@owned_form
def show_settings(request: PageRequest) -> HttpResponse:
    """Show the settings, or set a switch."""
    if request.method != "POST":
        return TemplateResponse(request, "memory/settings.html", {**get_page_frame("settings"), "form": ImportForm()})
    form = SwitchForm(request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest("Say which switch, and on or off.")
    with owned_tx(request.user):
        set_switches(**{form.cleaned_data["switch"]: form.cleaned_data["to"] == "on"})
    if is_for_element(request, "switches"):
        return TemplateResponse(
            request, "memory/_switches.html", {**get_page_frame("settings"), "focus": form.cleaned_data["switch"]}
        )
    return redirect_back(request, reverse("memory:settings"))
