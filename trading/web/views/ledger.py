"""The trades page, its export and each trade's page."""

from dataclasses import replace
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
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from config.lib.owned import owned, owned_tx
from config.lib.paging import build_page_links
from config.lib.web import AuthedRequest, owned_view
from trading.models import ReconcileState, Trade
from trading.record.exports import trades_as_csv, trades_as_json
from trading.record.intake.excursions import measure_paths
from trading.record.trade_queries import TradeFilter, get_trade
from trading.rules.services import find_trades_by_verdict, judge_trade
from trading.web.filters import TradeFilterForm
from trading.web.trades import get_trade_details, get_trades_page, list_trade_choices, read_trades_after
from trading.web.views.exports import export_rows
from trading.web.views.fragments import PageRequest, goes_into, render_results
from trading.web.views.skills import or_404


@require_safe
@never_cache
@vary_on_headers("HX-Request", "HX-Target")
@owned_view
def show_trades(request: PageRequest) -> HttpResponse:
    """List the filtered trades; the filter bar gets the list alone."""
    filters = _build_filters(request.GET)
    ledger = get_trades_page(_build_which(filters), filters.known.get("page", 1))
    page, home = ledger.page, reverse("trading:trades")
    export = reverse("trading:export_trades")
    context: dict[str, Any] = {
        "filters": filters,
        "ledger": ledger,
        "page": page,
        "totals": page.totals,
        "is_narrowed": filters.is_narrowed(),
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
    if goes_into(request, "results"):
        here = home + filters.build_query(page=page.number if page.number > 1 else None)
        return render_results(request, "trading/_trades_results.html", context, here=here, typed="q")
    return TemplateResponse(request, "trading/trades.html", context)


@require_safe
@never_cache
def export_trades(request: AuthedRequest) -> HttpResponseBase:
    """Export the filtered trades, newest entry first."""
    with owned(request.user):
        which = _build_which(_build_filters(request.GET))
    writers = {"csv": trades_as_csv, "json": trades_as_json}
    return export_rows(request, "trades", read=lambda cursor: read_trades_after(which, cursor), writers=writers)


@require_safe
@never_cache
@owned_view
def show_trade(request: AuthedRequest, trade_id: UUID) -> HttpResponse:
    """Show one trade."""
    with or_404():
        shown = get_trade_details(trade_id, timezone.now())
    context = {"shown": shown, "trade": shown.trade, "verdicts": judge_trade(trade_id)}
    return TemplateResponse(request, "trading/trade.html", context)


def _build_which(filters: TradeFilterForm) -> TradeFilter:
    """Return which trades to list, those of a verdict by their ids."""
    which, verdict = filters.to_trade_filter(), filters.known.get("verdict")
    return replace(which, trade_ids=find_trades_by_verdict(verdict, filters.known.get("rule"))) if verdict else which


@require_POST
@owned_view
def measure_trade(request: AuthedRequest, trade_id: UUID) -> HttpResponse:
    """Measure best and worst again, by the bars stored since."""
    with or_404(), owned_tx(request.user):
        trade = get_trade(trade_id)
        has_path = measure_paths(Trade.objects.filter(pk=trade.pk), now=timezone.now())
    if has_path:
        messages.success(request, "Measured: best and worst follow the stored bars now.")
    else:
        messages.info(request, f"Still not known: too few bars of {trade.symbol} at that time are stored.")
    return redirect("trading:trade", trade_id)


def _build_filters(query: QueryDict) -> TradeFilterForm:
    try:
        run_id = UUID(query.get("backtests", ""))
    except ValueError:
        run_id = None
    choices = list_trade_choices(run_id=run_id)
    return TradeFilterForm(
        query,
        skills=choices.skills,
        deployments=choices.deployments,
        symbols=choices.symbols,
        runs=choices.runs,
        has_rules=choices.has_rules,
    )
