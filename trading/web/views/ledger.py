"""The trades page, its export and each trade's page."""

from dataclasses import fields, replace
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from config.lib.owned import owned, owned_tx
from config.lib.paging import build_page_links
from config.lib.text import parse_uuid
from config.lib.web import AuthedRequest, PageRequest, find_time_zone, goes_into, owned_act, owned_page, render_results
from trading.account.filters import FilterRefused, delete_filter, list_filters, save_filter
from trading.ledger.excursions import measure_paths
from trading.models import ReconcileState, Trade
from trading.models.remarks import MAX_QUERY
from trading.record.exports import TRADE_WRITERS
from trading.record.trade_queries import ORDERS, TradeFilter, get_trade, select_trades
from trading.rules.services import find_trades_by_verdict
from trading.web.filters import TradeFilterForm
from trading.web.selection import describe_selection
from trading.web.trades import TradeChoices, describe_trade, describe_trades, list_trade_choices
from trading.web.views.exports import export_rows


@owned_page
@vary_on_headers("HX-Request", "HX-Target")
def show_trades(request: PageRequest) -> HttpResponse:
    """List the filtered trades; the filter bar gets the list alone."""
    choices = _list_choices(request.GET)
    filters = _build_filters(request, choices)
    which, home, shown = _build_which(filters), reverse("trading:trades"), filters.known.get("show", "")
    listed = describe_trades(which, filters.known.get("page", 1), columns=filters.chosen_columns, now=timezone.now())
    page, export = listed["page"], reverse("trading:export_trades")

    def narrow(**changes: str) -> str:
        return home + filters.build_query(**{"page": None, "show": None, "columns": None, **changes})

    context: dict[str, Any] = {
        "filters": filters,
        **listed,
        "totals": page.totals,
        "is_narrowed": filters.is_narrowed(),
        "chips": [(label, value, home + query) for label, value, query in filters.list_chips()],
        "saved": list_filters(),
        "here_query": filters.build_query(page=None),
        "tabs": [
            (label, home + filters.build_query(show=name, page=None), name == shown)
            for name, label in filters.SHOWS.items()
        ],
        "links": {
            "clear": home + filters.build_query(**dict.fromkeys(filters.NARROWING), page=None),
            **build_page_links(page, lambda number: home + filters.build_query(page=number)),
            "csv": export + filters.build_query(format="csv", page=None),
            "json": export + filters.build_query(format="json", page=None),
            # Where the list is of one kind alone, its words lead nowhere else.
            **{
                state: "" if "reconciled" in filters.known else home + filters.build_query(reconciled=state, page=None)
                for state in (ReconcileState.ESTIMATED, ReconcileState.GAP)
            },
        },
    }
    if page.totals.closed_trades:
        context["strip"], context["charts"] = describe_selection(
            select_trades(which), shown, zone=filters.zone, narrow=narrow
        )
    if goes_into(request, "results"):
        here = home + filters.build_query(page=page.number if page.number > 1 else None)
        return render_results(request, "trading/_trades_results.html", context, here=here, typed="q")
    return TemplateResponse(request, "trading/trades.html", context)


@owned_act
def add_filter(request: AuthedRequest) -> HttpResponse:
    """Save the filters of an address under a name."""
    given = QueryDict(request.POST.get("query", "")[:MAX_QUERY].removeprefix("?"))
    filters = _build_filters(request, _list_choices(given), given)
    query = filters.build_query(page=None).removeprefix("?")
    try:
        with owned_tx(request.user):
            saved = save_filter(name=request.POST.get("name", ""), query=query, now=timezone.now())
    except FilterRefused as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"Saved as “{saved.name}”.")
    return redirect(f"{reverse('trading:trades')}{query and '?'}{query}")


@owned_act
def remove_filter(request: AuthedRequest, filter_id: UUID) -> HttpResponse:
    """Delete a saved filter."""
    with owned_tx(request.user):
        delete_filter(filter_id)
    messages.success(request, "Deleted the saved filter. Its trades stay.")
    return redirect("trading:trades")


@require_safe
@never_cache
def export_trades(request: AuthedRequest) -> HttpResponseBase:
    """Export the filtered trades, newest entry first."""
    with owned(request.user):
        which = _build_which(_build_filters(request, _list_choices(request.GET)))
    return export_rows(
        request, "trades", lambda: select_trades(which).defer("state"), by=ORDERS["newest"][1], writers=TRADE_WRITERS
    )


@owned_page
def show_trade(request: AuthedRequest, trade_id: UUID) -> HttpResponse:
    """Show one trade."""
    return TemplateResponse(request, "trading/trade.html", describe_trade(trade_id, timezone.now()))


def _build_which(filters: TradeFilterForm) -> TradeFilter:
    """Return which trades to list, those of a verdict by their ids."""
    which, verdict = filters.to_trade_filter(), filters.known.get("verdict")
    return replace(which, trade_ids=find_trades_by_verdict(verdict, filters.known.get("rule"))) if verdict else which


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


def _list_choices(query: QueryDict) -> TradeChoices:
    return list_trade_choices(run_id=parse_uuid(query.get("backtests", "")))


def _build_filters(request: AuthedRequest, choices: TradeChoices, query: QueryDict | None = None) -> TradeFilterForm:
    zone = find_time_zone(request.user.time_zone)
    given = {field.name: getattr(choices, field.name) for field in fields(choices)}
    return TradeFilterForm(request.GET if query is None else query, zone=zone, now=timezone.now(), **given)
