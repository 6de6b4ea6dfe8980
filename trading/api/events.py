"""The calendar over REST."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from config.lib.paging import get_page
from config.lib.rest.operations import read
from config.lib.rest.views import ApiView, PageQuery, narrow, page_serializer
from config.lib.words.markets import CalendarKind
from trading import models
from trading.api.fields import AmountField, ExactRowSerializer, SymbolsField, ValueSerializer
from trading.market.queries import is_about
from trading.record.exposure import list_deployment_exposures

MAX_AHEAD_HOURS = 366 * 24


class EventQuery(PageQuery):
    lookahead_hours = serializers.IntegerField(default=72, min_value=1, max_value=MAX_AHEAD_HOURS)
    kind = serializers.ChoiceField([kind.value for kind in CalendarKind], default="")
    symbol = serializers.CharField(default="", max_length=32, help_text="Those that concern it.")
    min_importance = serializers.FloatField(default=0.0, min_value=0, max_value=1)
    deployment_id = serializers.UUIDField(default=None, help_text="Whose open positions to hold against the events.")


class MarketEventSerializer(ExactRowSerializer):
    """A scheduled event that may move prices."""

    symbols = SymbolsField(read_only=True, help_text="Empty: all.")

    class Meta:
        model = models.MarketEvent
        fields = ("id", "kind", "title", "starts_at", "importance", "symbols", "source", "is_simulated")


class ExposureSerializer(ValueSerializer):
    """A position's exposure to an event; null below three past ones."""

    symbol = serializers.CharField(source="trade.symbol")
    position_side = serializers.ChoiceField(models.TradeSide.choices, source="trade.side")
    notional_usd = AmountField()
    price_at = serializers.DateTimeField(help_text="When the price of notional_usd was.")
    is_simulated = serializers.BooleanField(help_text="Whether the prices are simulated.")
    similar_events_back = serializers.IntegerField(source="past.events")
    median_abs_move_fraction = serializers.FloatField(source="past.median_abs_move_fraction", allow_null=True)
    worst_move_fraction = serializers.FloatField(
        source="past.worst_move_fraction", allow_null=True, help_text="Below zero is against the position."
    )
    median_interval_fraction = serializers.ListField(
        source="past.median_interval_fraction",
        child=serializers.FloatField(),
        allow_null=True,
        help_text="Where the median lies with about 90 %; null below five past events.",
    )
    quiet_hours = serializers.IntegerField(source="past.quiet_hours")
    quiet_abs_move_fraction = serializers.FloatField(
        source="past.quiet_abs_move_fraction",
        allow_null=True,
        help_text="The median move of the same hours a week before and after, without an event.",
    )


class ExposedEventSerializer(MarketEventSerializer):
    """A scheduled event, and what the deployment asked about holds against it."""

    exposures = ExposureSerializer(many=True, read_only=True)


class EventsView(ApiView):
    areas = frozenset(("record",))

    @read("list_events", page_serializer(ExposedEventSerializer), EventQuery)
    def get(self, **query: Any) -> Any:
        """List upcoming events, with the exposure of a deployment.

        A page may have fewer than `limit`, also none: the filter by symbol comes after it.
        """
        now = timezone.now()
        until = now + timedelta(hours=query["lookahead_hours"])
        rows = models.MarketEvent.objects.filter(starts_at__range=(now, until), importance__gte=query["min_importance"])
        rows = narrow(rows, kind=query["kind"])
        page = get_page(rows, by=("starts_at", "id"), cursor=query["cursor"], limit=query["limit"])
        symbols = [query["symbol"].upper()] if query["symbol"] else ()
        events: list[Any] = [event for event in page.items if is_about(event.symbols, symbols)]
        deployment_id = query["deployment_id"]
        exposed = list_deployment_exposures(deployment_id, events, now) if deployment_id else []
        for event in events:
            event.exposures = [one for one in exposed if one.event == event]
        return {"items": events, "next_cursor": page.next_cursor}
