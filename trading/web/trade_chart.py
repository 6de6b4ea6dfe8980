"""The price path of one trade: bars, fills, stops, events."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal
from urllib.parse import urlencode

from django.db.models import Q
from django.urls import reverse

from config.lib.charts.thinning import Candle
from config.lib.charts.values import Chart, Level, Mark, Span, draw_price
from config.lib.figures import format_price, format_quantity
from trading.market.queries import is_about
from trading.market.tape import STORED
from trading.models import Bar, BrokerKind, Fill, MarketEvent, Order, OrderState, Trade, TradeSide
from trading.models.choices import INTERVALS

MOST_BARS: Final = 1_000
MOST_FILLS: Final = 100  # drawn, the first ones; the table of fills has all
_BESIDE: Final = timedelta(hours=6)  # shown before and after, at least
_WHOLE: Final = 0.9  # of the time that bars of one length must cover to be preferred to longer ones


def list_stops(trade: Trade, now: datetime) -> list[Order]:
    """Return the orders that set a stop of a trade, in order."""
    since = trade.entry_decided_at or trade.entry_at
    while_held = Q(proposed_at__range=(since, trade.exit_at or now))
    of_entry = Q(snapshot=trade.entry_snapshot_id) if trade.entry_snapshot_id else Q(pk=None)
    orders = Order.objects.filter(
        while_held | of_entry, deployment=trade.deployment_id, symbol=trade.symbol, stop_price__isnull=False
    )
    return list(orders.exclude(state=OrderState.REFUSED).order_by("proposed_at", "id"))


def draw_trade(trade: Trade, fills: Sequence[Fill], stops: Sequence[Order], now: datetime) -> Chart:
    """Return the price around a trade, with its fills, stops, extremes and events."""
    ends_at = trade.exit_at or now
    beside = max((ends_at - trade.entry_at) / 4, _BESIDE)
    bars = _read_bars(trade.symbol, trade.entry_at - beside, min(ends_at + beside, now))
    held = [bar for bar in bars if bar.closed_at > trade.entry_at and bar.opened_at < ends_at]
    marks = [*_iter_fills(trade, fills), *_iter_extremes(trade, held), *_iter_events(trade, bars)]
    ends = [*(order.proposed_at for order in stops[1:]), ends_at]
    way: Literal["gain", "loss", "open"] = (
        "open" if trade.exit_at is None else "gain" if trade.realized_pnl_usd > 0 else "loss"
    )
    return draw_price(
        [Candle(bar.opened_at, bar.open, bar.high, bar.low, bar.close) for bar in bars],
        title=f"{trade.symbol} while it was held",
        marks=marks,
        levels=[
            Level(order.stop_price, order.proposed_at, until, f"Stop {format_price(order.stop_price)}")
            for order, until in zip(stops, ends, strict=False)
            if order.stop_price is not None
        ],
        spans=[Span(trade.entry_at, trade.exit_at, way)],
        empty=f"No bars of {trade.symbol} at this time are stored, so the path of its price is not known.",
        simulated=any(bar.is_simulated for bar in bars),
    )


def _read_bars(symbol: str, since: datetime, until: datetime) -> list[Bar]:
    """Return the shortest bars that cover a time, at most MOST_BARS."""
    fitting = [name for name, length in INTERVALS.items() if (until - since) / length <= MOST_BARS]
    found: dict[str, list[Bar]] = {}
    rows = Bar.objects.filter(symbol=symbol, interval__in=fitting, opened_at__gte=since, opened_at__lt=until)
    for bar in rows.order_by("opened_at"):
        found.setdefault(bar.interval, []).append(bar)

    def cover(interval: str) -> float:
        return len(found[interval]) * (INTERVALS[interval] / (until - since))

    known = [interval for interval in fitting if interval in found]
    chosen = next((one for one in known if cover(one) >= _WHOLE), max(known, key=cover, default=""))
    return found.get(chosen, [])


def _iter_fills(trade: Trade, fills: Sequence[Fill]) -> Iterator[Mark]:
    for number, fill in enumerate(fills[:MOST_FILLS]):
        is_in = (fill.quantity > 0) == (trade.side == TradeSide.LONG)
        what = "Bought" if fill.quantity > 0 else "Sold"
        text = f"{what} {format_quantity(abs(fill.quantity))} at {format_price(fill.price)}"
        yield Mark(fill.at, fill.price, "exit" if not is_in else "add" if number else "entry", text, trade.side)
    if not fills:
        yield Mark(
            trade.entry_at, trade.entry_price, "entry", f"Entry at {format_price(trade.entry_price)}", trade.side
        )
        if trade.exit_at and trade.exit_price:
            yield Mark(trade.exit_at, trade.exit_price, "exit", f"Exit at {format_price(trade.exit_price)}", trade.side)


def _iter_extremes(trade: Trade, held: Sequence[Bar]) -> Iterator[Mark]:
    if not held:
        return
    high, low = max(held, key=lambda bar: bar.high), min(held, key=lambda bar: bar.low)
    is_long = trade.side == TradeSide.LONG
    yield Mark(high.opened_at, high.high, "best" if is_long else "worst", f"Highest: {format_price(high.high)}")
    yield Mark(low.opened_at, low.low, "worst" if is_long else "best", f"Lowest: {format_price(low.low)}")


def _iter_events(trade: Trade, bars: Sequence[Bar]) -> Iterator[Mark]:
    if not bars:
        return
    events: Iterable[MarketEvent] = STORED.events(bars[0].opened_at, bars[-1].closed_at)
    is_live = trade.deployment.broker_kind == BrokerKind.LIVE
    for event in events:
        if is_about(event.symbols, [trade.symbol]) and not (is_live and event.is_simulated):
            bar = next((bar for bar in reversed(bars) if bar.opened_at <= event.starts_at), bars[0])
            day = f"{event.starts_at:%Y-%m-%d}"
            calendar = (
                f"{reverse('trading:calendar')}?{urlencode({'first_day': day, 'last_day': day, 'event': event.pk})}"
            )
            yield Mark(event.starts_at, bar.close, "event", event.title, href=calendar)
