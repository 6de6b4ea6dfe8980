"""Tools that read markets, news and events."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Final
from uuid import UUID

from pydantic import ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from chat.tools.base import Args, Result, ToolContext, tool
from chat.tools.records import Row, count_rows, take, within_limits
from config.lib.figures import format_instant, round_pct
from config.lib.words.markets import CalendarKind
from trading.market.queries import Overview, get_overview, list_events, list_news, list_symbols
from trading.record.exposure import Exposure, list_deployment_exposures
from trading.record.trade_queries import list_symbols_in_use
from trading.skills.schemas import MAX_EVENT_LOOKAHEAD_HOURS, Symbol

MARKETS: Final = 20  # symbols looked at in one call
_OF_HEADLINE: Final = ("headline", "source", "published_at", "symbols", "sentiment", "is_simulated")
_OF_EVENT: Final = ("kind", "title", "importance", "symbols", "is_simulated")


class GetMarketOverviewArgs(Args):
    symbols: list[Symbol] = Field([], max_length=MARKETS)


# As a list of values, which every provider reads; not as a reference to a definition.
_Kind = Annotated[CalendarKind, WithJsonSchema({"type": "string", "enum": [kind.value for kind in CalendarKind]})]


class _CamelArgs(Args):
    """Arguments that the seeds spell in camelCase."""

    model_config = ConfigDict(alias_generator=to_camel)


class GetRecentNewsArgs(_CamelArgs):
    symbols: list[Symbol] = Field([], max_length=MARKETS)
    lookback_hours: int = Field(24, ge=1, le=168)
    limit: int = Field(10, ge=1, le=20)


class GetUpcomingEventsArgs(_CamelArgs):
    lookahead_hours: int = Field(24, ge=1, le=MAX_EVENT_LOOKAHEAD_HOURS)
    types: list[_Kind] = Field([], max_length=len(CalendarKind))
    symbols: list[Symbol] = Field([], max_length=MARKETS)
    min_importance: float = Field(0.4, ge=0, le=1)
    deployment_id: UUID | None = None


@tool(
    "Markets",
    "Symbols now (default: those held or traded): last price, 24-hour change, funding (last payment, one every "
    "funding_hours), basis, realised volatility (annualised), regime (trend, chop, shock, unknown). null: no data; "
    "never fill it in. Say so, and that is_simulated is a made-up market.",
    summarise=lambda result: ", ".join(market["symbol"] for market in result.get("markets", ())) or "no symbols",
)
def get_market_overview(context: ToolContext, args: GetMarketOverviewArgs) -> Result:
    symbols = list(dict.fromkeys(args.symbols)) or list_symbols_in_use()[:MARKETS] or list_symbols(MARKETS)
    return {
        "as_of": format_instant(context.now),
        "markets": [_market_row(get_overview(symbol, context.now)) for symbol in symbols],
    }


@tool(
    "News",
    "Headlines, newest first, with source and sentiment (-1 to 1; null: unrated); no symbols: the whole market.",
    summarise=lambda result: _count_in_hours(result, "news", "headline", result.get("lookback_hours")),
    untrusted=("news",),
)
def get_recent_news(context: ToolContext, args: GetRecentNewsArgs) -> Result:
    since = context.now - timedelta(hours=args.lookback_hours)
    news = list_news(args.symbols, since=since, now=context.now, limit=args.limit)
    return {"lookback_hours": args.lookback_hours, "news": [take(item, *_OF_HEADLINE) for item in news]}


@tool(
    "Upcoming events",
    "Scheduled macro and crypto events; no symbols: about all. With deploymentId, your_exposure sets its open "
    "positions against each: median_abs_move_pct and worst_move_pct are percents of the price in the hour after "
    "past events of the kind, quiet_median_abs_move_pct that of the same hours without one; worst below zero is "
    "against the position. Null below three such events: warn in words, without numbers.",
    summarise=lambda result: _count_in_hours(result, "events", "event", result.get("lookahead_hours")),
    untrusted=("events",),
)
def get_upcoming_events(context: ToolContext, args: GetUpcomingEventsArgs) -> Result:
    events = list_events(
        context.now,
        until=context.now + timedelta(hours=args.lookahead_hours),
        kinds=args.types,
        symbols=args.symbols,
        min_importance=args.min_importance,
    )
    rows = [take(event, *_OF_EVENT, event_id=str(event.pk), scheduled_at=event.starts_at) for event in events]
    result: Row = {"lookahead_hours": args.lookahead_hours, "events": rows}
    if args.deployment_id is not None:
        found = list_deployment_exposures(args.deployment_id, events, context.now)
        result["your_exposure"] = [_exposure_row(one) for one in found]
    return within_limits(result)


def _count_in_hours(result: Result, name: str, noun: str, hours: object) -> str:
    return f"{count_rows(result, name, noun, or_none=True)} in {hours} hours"


def _market_row(seen: Overview) -> Row:
    is_known = seen.price is not None
    return take(
        seen,
        *("symbol", "funding_hours"),
        last_price=seen.price,
        last_price_at=seen.at,
        change_24h_pct=seen.change_24h_fraction,
        funding_rate_pct=seen.funding_rate_fraction,
        basis_pct=seen.basis_fraction,
        realised_vol_pct=seen.realised_volatility_fraction,
        regime=seen.regime.value if is_known else None,
        is_simulated=seen.is_simulated if is_known else None,
    )


def _exposure_row(exposure: Exposure) -> Row:
    past = exposure.past
    return take(
        exposure,
        *("notional_usd", "price_at", "is_simulated"),
        event_id=str(exposure.event.pk),
        symbol=exposure.trade.symbol,
        position_side=exposure.trade.side,
        similar_events_back=past.events,
        median_abs_move_pct=past.median_abs_move_fraction,
        median_abs_move_usd=_move_usd(exposure, past.median_abs_move_fraction),
        worst_move_pct=past.worst_move_fraction,
        worst_move_usd=_move_usd(exposure, past.worst_move_fraction),
        quiet_hours_back=past.quiet_hours,
        quiet_median_abs_move_pct=past.quiet_abs_move_fraction,
    ) | {"median_90pct_interval": [round_pct(bound) for bound in past.median_interval_fraction or ()] or None}


def _move_usd(exposure: Exposure, share: float | None) -> Decimal | None:
    return None if share is None else exposure.notional_usd * Decimal(str(share))
