"""Scheduled events by day, with positions exposed to them."""

from datetime import datetime, time

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.vary import vary_on_headers

from config.lib.lists import address
from config.lib.web import PageRequest, find_time_zone, owned_page
from trading.web.calendar import EVENTS_SHOWN, get_calendar, list_weeks
from trading.web.filters import DAY, CalendarForm


@owned_page
@vary_on_headers("HX-Request", "HX-Target")
def show_calendar(request: PageRequest) -> HttpResponse:
    """Show a range's events; the filter bar gets the days alone."""
    now, zone = timezone.now(), find_time_zone(request.user.time_zone)
    today = now.astimezone(zone).date()
    filters = CalendarForm(request.GET, today=today)
    known = filters.known
    first, last = filters.get_days(known)
    shown = get_calendar(
        datetime.combine(first, time(), zone),
        datetime.combine(last + DAY, time(), zone),
        kinds=known.get("kind", ()),
        symbols=known.get("symbols", "").split(),
        min_importance=float(known.get("importance", 0)),
        zone=zone,
        now=now,
    )
    days, is_month = last - first + DAY, bool(known.get("view"))
    before, after = (first - days, first - DAY), (last + DAY, last + days)
    if is_month:
        before, after = ((first - DAY).replace(day=1), None), (last + DAY, None)  # type: ignore[assignment]
    context: dict[str, object] = {
        "filters": filters,
        "shown": shown,
        "weeks": list_weeks(shown, first, last) if is_month else [],
        "first": first,
        "last": last,
        "today": today,
        "now": now,
        "most": EVENTS_SHOWN,
        "is_narrowed": bool(known.keys() - {"view"}),
        "before": address(filters, first_day=before[0], last_day=before[1]),
        "after": address(filters, first_day=after[0], last_day=after[1]),
    }
    return filters.respond(request, "trading/calendar.html", "trading/_calendar_days.html", context, typed="symbols")
