"""Trades and the calendar."""

from typing import Any

from rest_framework import serializers

from config.lib.rest.views import PageQuery
from config.lib.words.markets import EventKind
from trading import models
from trading.api.serializers.fields import AmountField, RowSerializer, SymbolsField, ValueSerializer
from trading.record.exports import TRADE_FIELDS

MAX_AHEAD_HOURS = 366 * 24


class TradeQuery(PageQuery):
    """Which trades to list. Filters that are left out let all pass."""

    skill_id = serializers.UUIDField(default=None)
    symbol = serializers.CharField(default="", max_length=32)
    side = serializers.ChoiceField(models.TradeSide.choices, default="")
    status = serializers.ChoiceField(models.TradeStatus.choices, default="")
    exit_kind = serializers.ChoiceField(models.ExitKind.choices, default="")
    regime = serializers.ChoiceField(models.RegimeTag.choices, default="", help_text="At the entry.")
    words = serializers.CharField(default="", max_length=200, help_text="They stand in a reason.")
    reconciled = serializers.ChoiceField(models.ReconcileState.choices, default="")
    since = serializers.DateField(default=None, help_text="The first day of entries, in UTC.")
    until = serializers.DateField(default=None, help_text="The last day of entries, in UTC.")
    tag = serializers.CharField(default="", max_length=200, help_text="One of your tags.")
    # A cursor takes columns that are never null and that every database compares exactly.
    order = serializers.ChoiceField(["newest", "oldest", "symbol"], default="newest", help_text="By the entry.")


class AllTradesQuery(TradeQuery):
    deployment_id = serializers.UUIDField(default=None)
    with_backtests = serializers.BooleanField(default=False)


class TradeSerializer(RowSerializer):
    """A round trip; `realized_pnl_usd` is gross - fees + funding so far, best and worst are those of the last tick."""

    class Meta:
        model = models.Trade
        fields = TRADE_FIELDS

    def to_representation(self, instance: models.Trade) -> dict[str, Any]:
        """Return the trade; what no bars tell is null."""
        shown: dict[str, Any] = super().to_representation(instance)
        return shown if instance.knows_path else {**shown, "mfe_usd": None, "mae_usd": None}


class FillSerializer(RowSerializer):
    """One execution. `quantity` is bought above zero, sold below."""

    class Meta:
        model = models.Fill
        fields = (
            *("fill_id", "symbol", "at", "quantity", "price", "fee_usd", "fee_coin", "fee_in_coin"),
            *("is_liquidation", "start_quantity", "order", "tick"),
        )


class WholeTradeSerializer(TradeSerializer):
    """A round trip with its fills, some shared with another trade."""

    fills = FillSerializer(many=True, read_only=True)


class EventQuery(PageQuery):
    lookahead_hours = serializers.IntegerField(default=72, min_value=1, max_value=MAX_AHEAD_HOURS)
    kind = serializers.ChoiceField([kind.value for kind in EventKind], default="")
    symbol = serializers.CharField(default="", max_length=32, help_text="Those that concern it.")
    min_importance = serializers.FloatField(default=0.0, min_value=0, max_value=1)
    deployment_id = serializers.UUIDField(default=None, help_text="Whose open positions to hold against the events.")


class MarketEventSerializer(RowSerializer):
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
