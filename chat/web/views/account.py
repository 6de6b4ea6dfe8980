"""What a user has here as a whole: its use of models, its export, its sessions and its end."""

from decimal import Decimal
from typing import ClassVar

from allauth.account.decorators import reauthentication_required
from allauth.usersessions.forms import ManageUserSessionsForm
from allauth.usersessions.internal.flows.sessions import end_sessions
from allauth.usersessions.models import UserSession
from allauth.usersessions.views import ListUserSessionsView
from asgiref.sync import async_to_sync
from django import forms
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from chat.conversations.usage import get_daily_budget, get_day, list_days
from chat.endings.erasure import erase_user
from chat.endings.export import iter_zip
from chat.turns.live import tell_recheck
from chat.web.forms import EraseAccountForm
from config.lib.edge.second_factor import read_proof
from config.lib.edge.streaming import stream_file
from config.lib.web import AuthedRequest, owned_page

DAYS_SHOWN = 30


@owned_page
def usage(request: AuthedRequest) -> HttpResponse:
    """Show the tokens and the cost of the last days."""
    days = list_days(DAYS_SHOWN)
    today = get_day(timezone.now().date())
    budget = get_daily_budget(request.user.daily_token_budget)
    context = {
        "days": days,
        "saved_usd": sum((day.saved_usd for day in days), Decimal(0)),
        "used": today.used_tokens,
        "reserved": today.reserved_tokens,
        "budget": budget,
        "left": max(0, budget - today.used_tokens - today.reserved_tokens),
    }
    return TemplateResponse(request, "chat/usage.html", context)


@owned_page
def show_export(request: AuthedRequest) -> HttpResponse:
    """Say what the export has, and offer it."""
    return TemplateResponse(request, "chat/export.html")


@owned_page
def export_everything(request: AuthedRequest) -> HttpResponseBase:
    """Send the zip while it is written."""
    now, proof = timezone.now(), read_proof(request, page=reverse("chat:export"))
    parts = iter_zip(request.user.pk, proof=proof, now=now)
    return stream_file(request, parts, content_type="application/zip", filename=f"keel-{now:%Y-%m-%d}.zip")


@require_http_methods(["GET", "HEAD", "POST"])
@reauthentication_required  # type: ignore[untyped-decorator]
def erase_account(request: AuthedRequest) -> HttpResponse:
    """Delete the account after its address is typed."""
    form = EraseAccountForm(request.POST or None, address=request.user.email)
    if request.method == "POST" and form.is_valid():
        user_id = request.user.pk
        logout(request)
        erase_user(user_id=user_id)
        messages.success(request, "Your account and everything in it is deleted.")
        return redirect("home")
    return TemplateResponse(request, "chat/erase_account.html", {"form": form}, status=422 if form.errors else 200)


class EndSessionsForm(ManageUserSessionsForm):  # type: ignore[misc]
    """Ends one session of the user, or all but this one."""

    session = forms.IntegerField(required=False, min_value=1)

    def save(self, request: HttpRequest) -> None:
        chosen = self.cleaned_data["session"]
        if chosen is None:
            super().save(request)
        else:
            end_sessions(request, list(UserSession.objects.filter(user_id=request.user.pk, pk=chosen)))


class SessionsView(ListUserSessionsView):  # type: ignore[misc]
    """Lists the user's sessions and ends them; their sockets close at once."""

    form_class = EndSessionsForm
    http_method_names: ClassVar = ["get", "head", "post"]

    def form_valid(self, form: EndSessionsForm) -> HttpResponse:
        user_id: int = self.request.user.pk
        response: HttpResponse = super().form_valid(form)
        async_to_sync(tell_recheck)(user_id)
        return response
