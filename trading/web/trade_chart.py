"""The price path of one trade: bars, fills, stops, events."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse

from config.lib.charts.thinning import Ohlc
from config.lib.charts.values import Chart, PriceMark, draw_price
from config.lib.figures import format_price, format_quantity
from trading.market.candles import Candles, read_candles
from trading.market.queries import is_about
from trading.market.tape import STORED, choose_tape
from trading.models import BrokerKind, DecisionSnapshot, Fill, Order, OrderState, Trade, TradeSide
from trading.web.deployments import draw_span, list_levels, list_marks

MOST_FILLS: Final = 100  # drawn, the first ones; the table of fills has all
_BESIDE: Final = timedelta(hours=6)  # shown before and after, at least


def list_stops(trade: Trade, now: datetime) -> list[Order]:
    """Return the orders that set a stop of a trade, in order."""
    snapshot: DecisionSnapshot | None = trade.entry_snapshot
    decided = [at for at in (trade.entry_decided_at, snapshot and snapshot.tick_at) if at]
    while_held = min(decided, default=trade.entry_at), trade.exit_at or now
    orders = Order.objects.filter(
        deployment=trade.deployment_id, symbol=trade.symbol, stop_price__isnull=False, proposed_at__range=while_held
    )
    return list(orders.exclude(state=OrderState.REFUSED).order_by("proposed_at", "id"))


def draw_trade(trade: Trade, fills: Sequence[Fill], stops: Sequence[Order], now: datetime) -> Chart:
    """Return the price around a trade, with its fills, stops, extremes and events."""
    ends_at = trade.exit_at or now
    beside = max((ends_at - trade.entry_at) / 4, _BESIDE)
    candles = read_candles(
        trade.symbol, trade.entry_at - beside, min(ends_at + beside, now), tape=choose_tape(trade.deployment)
    )
    held = [bar for bar in candles.bars if bar.at + candles.length > trade.entry_at and bar.at < ends_at]
    ends = _iter_fills(trade, fills) if fills else list_marks(trade)  # no fills: read from the position alone
    return draw_price(
        candles.bars,
        title=f"{trade.symbol} while it was held",
        marks=[*ends, *_iter_extremes(trade, held), *_iter_events(trade, candles)],
        levels=list_levels(trade, stops),
        spans=[draw_span(trade)],
        empty=f"No prices of {trade.symbol} for these days are stored. Import bars, and its path can be drawn.",
        simulated=candles.is_simulated,
    )


def _iter_fills(trade: Trade, fills: Sequence[Fill]) -> Iterator[PriceMark]:
    for number, fill in enumerate(fills[:MOST_FILLS]):
        is_in = (fill.quantity > 0) == (trade.side == TradeSide.LONG)
        what = "Bought" if fill.quantity > 0 else "Sold"
        text = f"{what} {format_quantity(abs(fill.quantity))} at {format_price(fill.price)}"
        yield PriceMark(fill.at, fill.price, "exit" if not is_in else "add" if number else "entry", text, trade.side)


def _iter_extremes(trade: Trade, held: Sequence[Ohlc]) -> Iterator[PriceMark]:
    if not held:
        return
    high, low = max(held, key=lambda bar: bar.high), min(held, key=lambda bar: bar.low)
    is_long = trade.side == TradeSide.LONG
    yield PriceMark(high.at, high.high, "best" if is_long else "worst", f"Highest: {format_price(high.high)}")
    yield PriceMark(low.at, low.low, "worst" if is_long else "best", f"Lowest: {format_price(low.low)}")


def _iter_events(trade: Trade, candles: Candles) -> Iterator[PriceMark]:
    if not candles.bars:
        return
    is_live = trade.deployment.broker_kind == BrokerKind.LIVE
    for event in STORED.events(candles.bars[0].at, candles.bars[-1].at + candles.length):
        if is_about(event.symbols, [trade.symbol]) and not (is_live and event.is_simulated):
            bar = next((bar for bar in reversed(candles.bars) if bar.at <= event.starts_at), candles.bars[0])
            words = {"first_day": f"{event.starts_at:%Y-%m-%d}", "last_day": f"{event.starts_at:%Y-%m-%d}"}
            address = f"{reverse('trading:calendar')}?{urlencode({**words, 'event': event.pk})}"
            yield PriceMark(event.starts_at, bar.close, "event", event.title, href=address)
