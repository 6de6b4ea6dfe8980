"""The journal day by day, and the review of a week."""

from datetime import date
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from chat.conversations.journal import NoteRefused, set_day_note
from chat.web.journal import TRADES_SHOWN, find_monday, get_review, get_week
from chat.web.markdown import render_markdown
from config.lib.owned import owned_tx
from config.lib.web import AuthedRequest, find_time_zone, owned_act, owned_page


@owned_page
def show_week(request: AuthedRequest) -> HttpResponse:
    """Show the days of a week, the newest first."""
    return _show_week(request, request.GET.get("week", ""))


def _show_week(request: AuthedRequest, week: str, *, status: int = HTTPStatus.OK, **typed: Any) -> HttpResponse:
    now, zone = timezone.now(), find_time_zone(request.user.time_zone)
    today = now.astimezone(zone).date()
    shown = get_week(find_monday(week, today=today), zone=zone, now=now)
    days = [(day, [(one, render_markdown(one.text)) for one in day.entries]) for day in reversed(shown.days)]
    here = f"{reverse('chat:journal')}?week={shown.first}"
    context = {"week": shown, "days": days, "today": today, "most": TRADES_SHOWN, "here": here, **typed}
    return TemplateResponse(request, "chat/journal.html", context, status=status)


@owned_page
def show_review(request: AuthedRequest) -> HttpResponse:
    """Show the review of a week, to be read or printed."""
    now, zone = timezone.now(), find_time_zone(request.user.time_zone)
    monday = find_monday(request.GET.get("week", ""), today=now.astimezone(zone).date())
    return TemplateResponse(request, "chat/review.html", {"review": get_review(monday, zone=zone, now=now)})


@owned_act
def write_note(request: AuthedRequest) -> HttpResponseBase:
    """Write, change or clear the note of a day."""
    given, text = request.POST.get("day", ""), request.POST.get("text", "")
    try:
        day = date.fromisoformat(given)
    except ValueError:
        raise Http404 from None
    try:
        with owned_tx(request.user):
            set_day_note(day=day, text=text, now=timezone.now())
    except NoteRefused as error:
        typed = {"refusal": str(error), "typed": text, "typed_day": day}
        return _show_week(request, given, status=HTTPStatus.UNPROCESSABLE_ENTITY, **typed)
    messages.success(request, "Your note is saved." if text.strip() else "The day has no note now.")
    return redirect(f"{reverse('chat:journal')}?week={day}#day-{day}")
