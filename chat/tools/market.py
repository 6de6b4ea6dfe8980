"""Tools that read markets, news and events."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Final
from uuid import UUID

from pydantic import ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from chat.tools.base import Args, Result, ToolContext, tool
from chat.tools.records import Row, count_rows, within_limits
from config.lib.figures import format_instant, round_number, round_pct, round_price, round_usd
from config.lib.text import prompt_line
from config.lib.words.markets import EventKind
from trading.market.queries import Overview, get_overview, list_events, list_news, list_symbols
from trading.models import MarketEvent, NewsItem
from trading.record.exposure import Exposure, list_deployment_exposures
from trading.record.trade_queries import list_symbols_in_use
from trading.skills.schemas import MAX_EVENT_LOOKAHEAD_HOURS, Symbol

MARKETS: Final = 20  # symbols looked at in one call


class GetMarketOverviewArgs(Args):
    symbols: list[Symbol] = Field([], max_length=MARKETS)


# As a list of values, which every provider reads; not as a reference to a definition.
_Kind = Annotated[EventKind, WithJsonSchema({"type": "string", "enum": [kind.value for kind in EventKind]})]


class _CamelArgs(Args):
    """Arguments that the seeds spell in camelCase."""

    model_config = ConfigDict(alias_generator=to_camel)


class GetRecentNewsArgs(_CamelArgs):
    symbols: list[Symbol] = Field([], max_length=MARKETS)
    lookback_hours: int = Field(24, ge=1, le=168)
    limit: int = Field(10, ge=1, le=20)


class GetUpcomingEventsArgs(_CamelArgs):
    lookahead_hours: int = Field(24, ge=1, le=MAX_EVENT_LOOKAHEAD_HOURS)
    types: list[_Kind] = Field([], max_length=len(EventKind))
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
    return {"lookback_hours": args.lookback_hours, "news": [_headline_row(item) for item in news]}


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
    result: Row = {"lookahead_hours": args.lookahead_hours, "events": [_event_row(event) for event in events]}
    if args.deployment_id is not None:
        found = list_deployment_exposures(args.deployment_id, events, context.now)
        result["your_exposure"] = [_exposure_row(one) for one in found]
    return within_limits(result)


def _count_in_hours(result: Result, name: str, noun: str, hours: object) -> str:
    return f"{count_rows(result, name, noun, or_none=True)} in {hours} hours"


def _market_row(seen: Overview) -> Row:
    is_known = seen.price is not None
    return {
        "symbol": seen.symbol,
        "last_price": round_price(seen.price),
        "last_price_at": format_instant(seen.at),
        "change_24h_pct": round_pct(seen.change_24h_fraction),
        "funding_rate_pct": round_pct(seen.funding_rate_fraction, 4),
        "funding_hours": seen.funding_hours,
        "basis_pct": round_pct(seen.basis_fraction, 3),
        "realised_vol_pct": round_pct(seen.realised_volatility_fraction, 1),
        "regime": seen.regime.value if is_known else None,
        "is_simulated": seen.is_simulated if is_known else None,
    }


def _headline_row(item: NewsItem) -> Row:
    return {
        "headline": prompt_line(item.headline),
        "source": prompt_line(item.source),
        "published_at": format_instant(item.published_at),
        "symbols": [prompt_line(symbol) for symbol in item.symbols],
        "sentiment": round_number(item.sentiment, 2),
        "is_simulated": item.is_simulated,
    }


def _event_row(event: MarketEvent) -> Row:
    return {
        "event_id": str(event.pk),
        "kind": event.kind,
        "title": prompt_line(event.title),
        "scheduled_at": format_instant(event.starts_at),
        "importance": round_number(event.importance, 2),
        "symbols": [prompt_line(symbol) for symbol in event.symbols],
        "is_simulated": event.is_simulated,
    }


def _exposure_row(exposure: Exposure) -> Row:
    interval = exposure.past.median_interval_fraction
    return {
        "event_id": str(exposure.event.pk),
        "symbol": prompt_line(exposure.trade.symbol),
        "position_side": exposure.trade.side,
        "notional_usd": round_usd(exposure.notional_usd),
        "price_at": format_instant(exposure.price_at),
        "is_simulated": exposure.is_simulated,
        "similar_events_back": exposure.past.events,
        "median_abs_move_pct": round_pct(exposure.past.median_abs_move_fraction),
        "median_abs_move_usd": _move_usd(exposure, exposure.past.median_abs_move_fraction),
        "worst_move_pct": round_pct(exposure.past.worst_move_fraction),
        "worst_move_usd": _move_usd(exposure, exposure.past.worst_move_fraction),
        "median_90pct_interval": [round_pct(bound) for bound in interval] if interval else None,
        "quiet_hours_back": exposure.past.quiet_hours,
        "quiet_median_abs_move_pct": round_pct(exposure.past.quiet_abs_move_fraction),
    }


def _move_usd(exposure: Exposure, share: float | None) -> float | None:
    return None if share is None else round_usd(exposure.notional_usd * Decimal(str(share)))
