"""Home: the landing page, or the dashboard of a signed-in user."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from chat.rules import follow_facts, read_fact
from chat.web.home import POSITIONS_SHOWN, SHOWN, STEPS, describe_home
from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.web import AuthedRequest, find_time_zone, owned_act, owned_view
from config.lib.words.compile import Refusal
from memory.facts.services import remember_fact
from memory.models import Confidence, FactSource
from trading.account.services import skip_first_steps


@require_safe
@login_not_required
def home(request: HttpRequest) -> HttpResponseBase:
    """Show the landing page, or the dashboard."""
    if not request.user.is_authenticated:
        return TemplateResponse(request, "landing.html")
    return _show_dashboard(request)


@owned_view
def _show_dashboard(request: AuthedRequest, status: int = HTTPStatus.OK, **typed: Any) -> HttpResponse:
    zone = find_time_zone(request.user.time_zone)
    shown = describe_home(request.user, zone=zone, now=timezone.now())
    context = {**shown, "most": SHOWN, "most_positions": POSITIONS_SHOWN, **typed}
    return TemplateResponse(request, "chat/home.html", context, status=status)


@owned_act
def take_step(request: AuthedRequest) -> HttpResponseBase:
    """Take or skip a step of the first run, or skip them all."""
    if "rule" in request.POST:
        return _save_rule(request, request.POST["rule"])
    skipped = request.POST.get("skip", "")
    if skipped in (*STEPS, "all"):
        with owned_tx(request.user):
            skip_first_steps(steps=STEPS if skipped == "all" else [skipped])
    return redirect("home")


def _save_rule(request: AuthedRequest, text: str) -> HttpResponseBase:
    """Save a rule as a fact; its owner then confirms how Keel reads it."""
    now = timezone.now()
    try:
        with owned_tx(request.user):
            saved = remember_fact(
                content=text, topic="risk", confidence=Confidence.ASSERTED, source=FactSource.PROFILE, now=now
            )
            read = read_fact(saved.fact.pk)
            follow_facts(now=now)
    except DomainError as error:
        return _show_dashboard(request, HTTPStatus.UNPROCESSABLE_ENTITY, rule=text, refusal=str(error))
    if isinstance(read, Refusal):
        why = f"{read.reason.rstrip('.')}. " if read.reason else ""
        messages.warning(request, f"Kept as a fact, but Keel cannot check trades by it. {why}Say it in other words.")
        return redirect("home")
    messages.success(request, "Kept. Confirm how Keel reads it, and your trades are checked by it.")
    return redirect("chat:rules")
