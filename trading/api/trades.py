"""Trades and the calendar over REST."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone
from rest_framework.response import Response

from config.lib.paging import Page, get_page
from config.lib.rest.operations import describe_pages, read
from config.lib.rest.views import ApiRequest, ApiView, answer_page
from trading.api.serializers import trades as shapes
from trading.market.queries import is_about
from trading.models import MarketEvent, Trade
from trading.record.deployment_queries import get_deployment
from trading.record.exposure import list_deployment_exposures
from trading.record.trade_queries import ORDERS, TradeFilter, get_trade, list_fills, select_trades


class TradesView(ApiView):
    @describe_pages("list_trades", "trades", shapes.TradeSerializer, shapes.AllTradesQuery)
    def get(self, request: ApiRequest) -> Response:
        """List trades, newest first, by default without backtests."""
        return answer_page(_page_of_trades(self.query(shapes.AllTradesQuery)), shapes.TradeSerializer)


class DeploymentTradesView(ApiView):
    @describe_pages("list_deployment_trades", "deployments", shapes.TradeSerializer, shapes.TradeQuery)
    def get(self, request: ApiRequest, deployment_id: UUID) -> Response:
        """List a deployment's or backtest's trades, newest first."""
        deployment = get_deployment(deployment_id, or_backtest=True)
        query = {**self.query(shapes.TradeQuery), "deployment_id": deployment.pk, "with_backtests": True}
        return answer_page(_page_of_trades(query), shapes.TradeSerializer)


def _page_of_trades(query: dict[str, Any]) -> Page[Trade]:
    page = {name: query.pop(name) for name in ("cursor", "limit")}
    return get_page(select_trades(TradeFilter(**query)).defer("state"), by=ORDERS[query["order"]][1], **page)


class TradeView(ApiView):
    @read("get_trade", "trades", shapes.WholeTradeSerializer)
    def get(self, trade_id: UUID) -> Response:
        """Return a trade with its fills."""
        trade = get_trade(trade_id)
        fills = shapes.FillSerializer(list_fills(trade), many=True).data
        return Response({**shapes.TradeSerializer(trade).data, "fills": fills})


class EventsView(ApiView):
    @describe_pages("list_events", "events", shapes.ExposedEventSerializer, shapes.EventQuery)
    def get(self, request: ApiRequest) -> Response:
        """List upcoming events, with the exposure of a deployment.

        A page may have fewer than `limit`, also none: the filter by symbol comes after it.
        """
        query, now = self.query(shapes.EventQuery), timezone.now()
        until = now + timedelta(hours=query["lookahead_hours"])
        rows = MarketEvent.objects.filter(starts_at__range=(now, until), importance__gte=query["min_importance"])
        rows = rows.filter(kind=query["kind"]) if query["kind"] else rows
        page = get_page(rows, by=("starts_at", "id"), cursor=query["cursor"], limit=query["limit"])
        symbols = [query["symbol"].upper()] if query["symbol"] else ()
        events = [event for event in page.items if is_about(event.symbols, symbols)]
        deployment_id = query["deployment_id"]
        exposed = list_deployment_exposures(deployment_id, events, now) if deployment_id else []
        shown = [
            {
                **shapes.MarketEventSerializer(event).data,
                "exposures": shapes.ExposureSerializer([one for one in exposed if one.event == event], many=True).data,
            }
            for event in events
        ]
        return Response({"items": shown, "next_cursor": page.next_cursor})
