"""Trades, questions to them and planned trades over REST."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils import timezone
from rest_framework import serializers
from rest_framework.response import Response

from config.lib.rest.operations import action, read, read_page
from config.lib.rest.views import ApiViewSet, InputSerializer, PageQuery
from config.lib.web import find_time_zone
from trading import models
from trading.api.fields import ExactRowSerializer, ValueSerializer
from trading.asking.answers import describe_answer, describe_check
from trading.asking.check import check_plan
from trading.asking.planner import answer_question
from trading.asking.query import GROUPS, MEASURES, QUESTION, parse_query
from trading.asking.sizing import NUMBERS, PLAN, parse_plan
from trading.record.exports import TRADE_FIELDS
from trading.record.trade_queries import ORDERS, TradeFilter, get_trade, list_fills, select_trades
from trading.record.trade_values import TradeValues


class TradeListQuery(PageQuery):
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


class AllTradesQuery(TradeListQuery):
    deployment_id = serializers.UUIDField(default=None)
    with_backtests = serializers.BooleanField(default=False)


class TradeSerializer(ExactRowSerializer):
    """A round trip; `realized_pnl_usd` is gross - fees + funding so far, best and worst are those of the last tick."""

    class Meta:
        model = models.Trade
        fields = TRADE_FIELDS

    def to_representation(self, instance: models.Trade) -> dict[str, Any]:
        """Return the trade's values; what is not known is null."""
        return super().to_representation(TradeValues(instance))


class FillSerializer(ExactRowSerializer):
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


def _describe_word(name: str) -> str:
    several = "One value, or several with commas between them."
    return {
        "measure": f"{', '.join(MEASURES)}; by default net.",
        "group": f"{', '.join(GROUPS)}; empty: no groups.",
        "period": "Of the exit, in the user's zone: last month, last 30 days, 2026-03, 2026-03-01..2026-03-15.",
        "hour": f"Of the entry, such as 14 or 9-17. {several}",
        "skill": "Its id or its name.",
        "deployment": "Its id; that of a backtest's deployment counts the backtest's trades.",
        **NUMBERS,
    }.get(name, several)


def _define_query(name: str, words: Sequence[str]) -> type[InputSerializer]:
    """Return the query of words that the record's own parser reads; what is left out lets all pass."""
    fields = {word: serializers.CharField(default="", max_length=200, help_text=_describe_word(word)) for word in words}
    return type(name, (InputSerializer,), fields)


QuestionQuery = _define_query("QuestionQuery", QUESTION)
PlanQuery = _define_query("PlanQuery", PLAN)  # symbol and side are needed


_CHECK_NUMBERS = {
    "price": "Of the plan, else the last known one.",
    "stop_price": "Of the plan.",
    "stop_distance_pct": "From price to stop, 0..100.",
    "size_usd": "What the risk, the stop, the leverage and the equity allow.",
    "quantity": "Of the coin, for that size.",
    "risk_usd": "Lost at the stop, before costs.",
    "risk_pct": "The same, of the equity (0..100).",
    "leverage": "The size over the equity.",
    "equity_usd": "That the plan is sized by.",
    "exposure_usd": "Open positions at their marks; null: one has no price.",
    "exposure_after_usd": "The same with this plan.",
}
_CHECK_LISTS = {
    "positions": "The open positions: symbol, side, notional_usd.",
    "rules": "Your confirmed rules, each with its verdict on this plan: kept, broken or cannot tell, and why.",
    "events": (
        "Events of the next 72 hours: kind, starts_at, importance; past_events of the kind with the median move of the "
        "symbol beside them, its interval and the worst move, in percent."
    ),
}


class PlanCheckSerializer(ValueSerializer):
    """A plan, sized and held against the record; null: not known."""

    verdict = serializers.CharField(help_text="fits, breaks a rule, or not enough record.")
    why = serializers.ListField(child=serializers.CharField(), help_text="The reasons, in sentences.")
    symbol = serializers.CharField()
    side = serializers.CharField(help_text="long or short.")
    price_at = serializers.CharField(
        allow_null=True, help_text="When the last known price was; null: the price was given."
    )
    is_simulated = serializers.BooleanField(allow_null=True, help_text="Whether that price is of the simulated market.")
    equity_of = serializers.CharField(help_text="Whose equity it is; empty: not known.")
    similar = serializers.DictField(
        help_text="Closed trades of the symbol and side: n, expectancy_usd and win_rate_pct with their intervals, link."
    )
    link = serializers.CharField(help_text="The page that shows this check.")

    def get_fields(self) -> dict[str, Any]:
        numbers = {name: serializers.FloatField(allow_null=True, help_text=of) for name, of in _CHECK_NUMBERS.items()}
        lists = {
            name: serializers.ListField(child=serializers.DictField(), help_text=of)
            for name, of in _CHECK_LISTS.items()
        }
        return {**super().get_fields(), **numbers, **lists}


class RecordAnswerSerializer(ValueSerializer):
    """The answer to a question; null: not known."""

    measure = serializers.CharField()
    unit = serializers.CharField(help_text="usd, count, pct (0..100), ratio, minutes or r.")
    scope = serializers.CharField(help_text="Which trades, in words.")
    period = serializers.DictField(
        child=serializers.CharField(allow_null=True),
        required=False,
        help_text="The first day (from) and the last (to), null: not bounded; zone.",
    )
    n = serializers.IntegerField(help_text="Trades that the value rests on.")
    value = serializers.FloatField(allow_null=True)
    mean = serializers.FloatField(required=False, help_text="Of a sum: what a trade adds.")
    interval_90pct = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        allow_null=True,
        help_text="Null below five trades; an upper null is not bounded. Groups share the 90 %.",
    )
    interval_of = serializers.CharField(help_text="value, or mean where the value is a sum.")
    not_known = serializers.IntegerField(required=False, help_text="Trades without a known value.")
    is_too_few = serializers.BooleanField()
    groups = serializers.ListField(
        child=serializers.DictField(),
        required=False,
        help_text="Of each group its name with n, value, mean and interval; of the group trade each trade's value.",
    )
    groups_left_out = serializers.IntegerField(required=False)
    best = serializers.DictField(required=False, help_text="The trade with the highest value; worst: the lowest.")
    worst = serializers.DictField(required=False)
    trade_ids = serializers.ListField(child=serializers.UUIDField(), help_text="The last to close, newest first.")
    trades_left_out = serializers.IntegerField(required=False)
    link = serializers.CharField(help_text="The page that answers the question.")


def filter_trades(**query: Any) -> models.TradeQuerySet:
    """Return the trades that a `TradeListQuery` asks for, in its order."""
    return select_trades(TradeFilter(**query)).defer("state").order_by(*ORDERS[query["order"]][1])


class TradeViewSet(ApiViewSet):
    areas = frozenset(("record",))
    lookup_url_kwarg = "trade_id"

    @read_page("list_trades", TradeSerializer, AllTradesQuery)
    def list(self, **query: Any) -> models.TradeQuerySet:
        """List trades, newest first, by default without backtests."""
        return filter_trades(**query)

    @read("get_trade", WholeTradeSerializer)
    def retrieve(self, trade_id: UUID) -> Any:
        """Return a trade with its fills."""
        trade: Any = get_trade(trade_id)
        trade.fills = list_fills(trade)
        return trade

    @read("query_trades", RecordAnswerSerializer, QuestionQuery)
    @action(detail=False, url_path="query")
    def ask(self, **words: Any) -> Response:
        """Return a figure of the closed trades that fit, by group."""
        zone = find_time_zone(self.user.time_zone)
        return Response(describe_answer(answer_question(parse_query(words, zone=zone, now=timezone.now()))))

    @read("check_trade", PlanCheckSerializer, PlanQuery)
    @action(detail=False)
    def check(self, **words: Any) -> Response:
        """Size a planned trade and check it; commit nothing."""
        zone = find_time_zone(self.user.time_zone)
        return Response(describe_check(check_plan(parse_plan(words), zone=zone, now=timezone.now())))
