"""The trades page, its export and each trade's page."""

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from config.lib.lists import address
from config.lib.owned import owned, owned_tx
from config.lib.web import AuthedRequest, PageRequest, find_time_zone, owned_act, owned_page
from trading.account.services import FilterRefused, delete_filter, list_filters, save_filter
from trading.ledger.arrivals import measure_paths
from trading.models import Trade
from trading.models.filters import MAX_QUERY
from trading.record.exports import TRADE_WRITERS
from trading.record.trade_queries import ORDERS, get_trade, select_trades
from trading.web.filters import TradeFilterForm
from trading.web.selection import describe_selection
from trading.web.trades import describe_trade, describe_trades
from trading.web.views.exports import export_rows


@owned_page
@vary_on_headers("HX-Request", "HX-Target")
def show_trades(request: PageRequest) -> HttpResponse:
    """List the filtered trades; the filter bar gets the list alone."""
    filters = _build_filters(request, request.GET)
    which = filters.to_trade_filter()
    context: dict[str, Any] = {"filters": filters, "saved": list_filters()}
    context |= describe_trades(which, filters.number, columns=filters.chosen_columns, now=filters.now)
    if context["totals"].closed_trades:
        narrow = partial(address, filters, show=None, columns=None)
        context["strip"], context["charts"] = describe_selection(
            select_trades(which), filters.shown, zone=filters.zone, narrow=narrow
        )
    return filters.respond(request, "trading/trades.html", "trading/_trades_results.html", context, typed="q")


@owned_act
def add_filter(request: AuthedRequest) -> HttpResponse:
    """Save the filters of an address under a name."""
    filters = _build_filters(request, QueryDict(request.POST.get("query", "")[:MAX_QUERY].removeprefix("?")))
    query = address(filters, home="").removeprefix("?")
    try:
        with owned_tx(request.user):
            saved = save_filter(name=request.POST.get("name", ""), query=query, now=timezone.now())
    except FilterRefused as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"Saved as “{saved.name}”.")
    return redirect(address(filters))


@owned_act
def remove_filter(request: AuthedRequest, filter_id: UUID) -> HttpResponse:
    """Delete a saved filter."""
    with owned_tx(request.user):
        delete_filter(filter_id)
    messages.success(request, "Deleted the saved filter. Its trades stay.")
    return redirect("trading:trades")


@require_safe
def export_trades(request: AuthedRequest) -> HttpResponseBase:
    """Export the filtered trades, newest entry first."""
    with owned(request.user):
        which = _build_filters(request, request.GET).to_trade_filter()
    return export_rows(
        request, "trades", lambda: select_trades(which).defer("state"), by=ORDERS["newest"][1], writers=TRADE_WRITERS
    )


@owned_page
def show_trade(request: AuthedRequest, trade_id: UUID) -> HttpResponse:
    """Show one trade."""
    return TemplateResponse(request, "trading/trade.html", describe_trade(trade_id, timezone.now()))


@owned_act
def measure_trade(request: AuthedRequest, trade_id: UUID) -> HttpResponse:
    """Measure best and worst again, by the bars stored since."""
    with owned_tx(request.user):
        trade = get_trade(trade_id)
        has_path = measure_paths(Trade.objects.filter(pk=trade.pk), now=timezone.now())
    if has_path:
        messages.success(request, "Measured: best and worst follow the stored bars now.")
    else:
        messages.info(request, f"Still not known: too few bars of {trade.symbol} at that time are stored.")
    return redirect("trading:trade", trade_id)


def _build_filters(request: AuthedRequest, query: QueryDict) -> TradeFilterForm:
    return TradeFilterForm(query, zone=find_time_zone(request.user.time_zone), now=timezone.now())
